"""What every world does with random bytes."""

import base64
import uuid

from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.runtime.entropy import drawn_uuid


@given(st.lists(st.binary(min_size=16, max_size=16), min_size=1))
@example([b"\0" * 16])
@example([b"\xf8" * 16, b"\xfb" * 16])
def test_a_drawn_uuid_is_of_version_4_and_never_begins_with_a_dash(draws: list[bytes]) -> None:
    # A source that gives what it has and then something harmless.
    source = iter([*draws, b"\x11" * 16])
    drawn = uuid.UUID(bytes=drawn_uuid(lambda count: next(source)[:count]))
    assert (drawn.version, drawn.variant) == (4, uuid.RFC_4122)
    assert not base64.urlsafe_b64encode(drawn.bytes).startswith(b"-")
    # Kafka's reserved ones are those whose number is small.
    assert drawn.int >= 100


def test_only_what_begins_with_a_dash_is_drawn_again() -> None:
    for first in range(256):
        drawn = bytes([first, *b"\0" * 15])
        assert again(drawn) == base64.urlsafe_b64encode(drawn).startswith(b"-"), first


def again(drawn: bytes) -> bool:
    """Tell whether a source that gives this first is asked once more."""
    source = iter([drawn, b"\x11" * 16])
    drawn_uuid(lambda _: next(source))
    return not list(source)
