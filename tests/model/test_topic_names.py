"""What topics may be called, and which names collide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.topic_names import check_topic_name, collisions, unified

NAMES = st.text("a._", min_size=1, max_size=5)


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "...", "x" * 249, "__consumer_offsets"])
def test_letters_digits_points_underscores_and_dashes_are_names(name: str) -> None:
    check_topic_name(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "longer than the max allowed length 249"),
        ("a b", "contains one or more characters other than"),
        ("ä", "contains one or more characters other than"),
        ("a\n", "contains one or more characters other than"),
    ],
)
def test_what_is_no_name_is_refused(name: str, why: str) -> None:
    with pytest.raises(Refused) as caught:
        check_topic_name(name)
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert caught.value.why.startswith("Topic name is invalid: ")
    assert why in caught.value.why


@given(NAMES, st.frozensets(NAMES, max_size=30))
def test_names_collide_if_only_points_and_underscores_differ(
    name: str, names: frozenset[str]
) -> None:
    signs = "." in name or "_" in name
    expected = {one for one in names if signs and unified(one) == unified(name)}
    assert set(collisions(name, sorted(names), names)) == expected


def test_a_name_of_many_signs_is_not_spelled_out() -> None:
    name, other = "._" * 100, "__" * 100
    assert list(collisions(name, [other, "a"], {other})) == [other]
