"""The stupid twins: right where they are asked, and not by the same code."""

import pytest

from barnabas.sim.profiles.log.naive import Reading, is_reduced
from tests.log.storage import batch, marker, transactional


def test_compaction_may_drop_old_values_and_nothing_else() -> None:
    stored = [
        batch(b"1", b"2", keys=(b"a", b"b")),
        batch(b"3", keys=(b"a",), base_offset=2),
        batch(b"4", keys=(b"c",), base_offset=3),
    ]
    reduced = batch(b"2", keys=(b"b",), base_offset=1)
    assert is_reduced(stored, stored, 4)
    assert not is_reduced(stored[1:], stored, 4), "b is gone"
    assert not is_reduced([reduced, *stored[1:]], stored, 4), "a batch keeps its base offset"
    assert not is_reduced([*stored, batch(b"5", base_offset=9)], stored, 4)
    assert is_reduced(stored[:2], stored, 3), "the end was cut off"


def test_every_aborted_transaction_is_told_with_its_marker() -> None:
    reading = Reading(
        [
            transactional(b"a", producer=(7, 0, 0)),
            at(1, transactional(b"b", producer=(8, 0, 0))),
            at(2, marker((7, 0), commit=False)),
            at(3, marker((8, 0), commit=True)),
            at(4, transactional(b"c", producer=(8, 0, 1))),
        ]
    )
    assert [(one.producer_id, one.first_offset, one.last_offset) for one in reading.aborted] == [
        (7, 0, 2)
    ]
    assert reading.producers.open == {8: 4}
    assert reading.broken == {}


@pytest.mark.parametrize("sequence", [0, 2, 5])
def test_a_number_that_is_left_out_or_comes_twice_is_told(sequence: int) -> None:
    stored = [batch(b"a", producer=(7, 0, 0)), at(1, batch(b"b", producer=(7, 0, sequence)))]
    assert list(Reading(stored).broken) == [7]


def test_a_new_epoch_begins_with_zero() -> None:
    first = batch(b"a", producer=(7, 0, 0))
    assert Reading([first, at(1, batch(b"b", producer=(7, 1, 0)))]).broken == {}
    assert list(Reading([first, at(1, batch(b"b", producer=(7, 1, 1)))]).broken) == [7]


def at(offset: int, data: bytes) -> bytes:
    """Return a batch as it is stored at an offset."""
    return offset.to_bytes(8) + data[8:]
