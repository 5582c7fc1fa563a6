"""Identities: numbers and names that must not be taken for one another.

A ``NewType`` costs nothing while running and makes the type checker refuse an offset where an
epoch belongs.
"""

from base64 import b64decode, urlsafe_b64encode
from typing import Final, NamedTuple, NewType

Uuid = NewType("Uuid", bytes)
"""Sixteen bytes, most significant first, exactly as the wire carries them.

Not ``uuid.UUID``: making one costs more than decoding the whole struct around it, and a broker
compares and forwards far more ids than it prints.
"""

ZERO_UUID: Final = Uuid(bytes(16))
"""What Kafka sends for "no id"."""

UUID_BYTES: Final = 16
UUID_CHARACTERS_MAX: Final = 24

FOREIGN: Final = str.maketrans("+/", "!!")

RESERVED_DIRECTORY_IDS: Final = 100
"""Kafka keeps the first so many numbers for what directories may be besides themselves."""


def uuid_text(id_: Uuid) -> str:
    """Return an id as Kafka prints it: base64, safe in URLs, without padding."""
    return urlsafe_b64encode(id_).decode().rstrip("=")


def parse_uuid(text: str) -> Uuid:
    """Read an id as Kafka prints it; ``ValueError`` in Kafka's words if it is none."""
    if len(text) > UUID_CHARACTERS_MAX:
        raise ValueError(
            f"Input string with prefix `{text[:UUID_CHARACTERS_MAX]}` is too long to be decoded as "
            f"a base64 UUID"
        )
    try:
        # Only the alphabet that is safe in URLs: b64decode would take both.
        padded = text.translate(FOREIGN) + "=" * (-len(text) % 4)
        data = b64decode(padded, altchars=b"-_", validate=True)
    except ValueError as error:
        raise ValueError(f"Input string `{text}` is no base64: {error}") from None
    if len(data) != UUID_BYTES:
        raise ValueError(
            f"Input string `{text}` decoded as {len(data)} bytes, which is not equal to the "
            f"expected {UUID_BYTES} bytes of a base64-encoded UUID"
        )
    return Uuid(data)


def is_reserved_directory(directory_id: Uuid) -> bool:
    """Tell whether no directory may have this id."""
    return int.from_bytes(directory_id) < RESERVED_DIRECTORY_IDS


class TopicIdPartition(NamedTuple):
    """A partition of one topic, which another topic of the same name is not."""

    topic_id: Uuid
    topic: str
    partition: int
