"""Values: frozen, slotted, compared by what they hold."""

import dataclasses

import pytest

from barnabas.model.value import value


@value
class Point:
    x: int
    y: int = 0


def test_values_are_equal_and_hash_alike_when_they_hold_the_same() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1) != Point(2)


def test_values_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc]  # -- what is tested


def test_values_have_nothing_but_their_fields() -> None:
    with pytest.raises((AttributeError, TypeError)):
        Point(1).z = 3  # type: ignore[attr-defined]  # -- what is tested
    assert repr(Point(1)) == "Point(x=1, y=0)"
