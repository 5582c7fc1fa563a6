"""Snapshots as batches: what stands where, at which offset, and how large."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import batches, header_at, verify
from barnabas.records.control import ControlType, control_type
from barnabas.records.record import records
from barnabas.records.snapshot import (
    data_batch,
    gatherings,
    snapshot_batches,
    snapshot_footer_batch,
    snapshot_header_batch,
)

LEAST = 61 + 19


def content(data: bytes) -> list[tuple[int, ControlType | None, bytes]]:
    """Return offset, kind and value of every record."""
    told = []
    for position, header in batches(data):
        verify(data, position, header)
        for record in records(data, position, header):
            assert record.value is not None
            kind = control_type(record) if header.is_control else None
            told.append((record.offset, kind, bytes(record.value)))
    return told


def test_a_snapshot_is_records_between_a_header_and_a_footer() -> None:
    data = b"".join(snapshot_batches(7, 1000, b"head", [b"one", b"two"], b"foot"))
    assert content(data) == [
        (0, ControlType.SNAPSHOT_HEADER, b"head"),
        (1, None, b"one"),
        (2, None, b"two"),
        (3, ControlType.SNAPSHOT_FOOTER, b"foot"),
    ]
    headers = [header for _, header in batches(data)]
    assert [header.leader_epoch for header in headers] == [7, 7, 7]
    assert {header.base_timestamp for header in headers} == {1000}
    assert not any(header.has_producer_id for header in headers)


def test_the_quorum_stands_behind_the_header_in_the_same_batch() -> None:
    data = b"".join(snapshot_batches(0, 0, b"head", [b"one"], b"foot", b"1", b"voters"))
    assert content(data) == [
        (0, ControlType.SNAPSHOT_HEADER, b"head"),
        (1, ControlType.KRAFT_VERSION, b"1"),
        (2, ControlType.KRAFT_VOTERS, b"voters"),
        (3, None, b"one"),
        (4, ControlType.SNAPSHOT_FOOTER, b"foot"),
    ]
    assert [header.record_count for _, header in batches(data)] == [3, 1, 1]


def test_a_version_may_be_told_without_voters_but_not_the_other_way_round() -> None:
    assert len(content(snapshot_header_batch(0, 0, b"head", b"1"))) == 2
    with pytest.raises(AssertionError, match=r"kraft\.version"):
        snapshot_header_batch(0, 0, b"head", None, b"voters")


def test_a_snapshot_of_nothing_has_no_data_batch() -> None:
    data = b"".join(snapshot_batches(0, 0, b"head", [], b"foot"))
    assert [offset for offset, _, _ in content(data)] == [0, 1]


def test_its_parts_can_be_had_one_by_one() -> None:
    parts = [
        snapshot_header_batch(3, 5, b"head"),
        data_batch(1, 3, 5, [b"one"]),
        snapshot_footer_batch(2, 3, 5, b"foot"),
    ]
    assert parts == list(snapshot_batches(3, 5, b"head", [b"one"], b"foot"))


@given(st.lists(st.binary(max_size=200), max_size=60), st.integers(LEAST + 200, 1000))
def test_no_batch_is_larger_than_allowed_and_no_value_is_lost(
    values: list[bytes], batch_bytes_max: int
) -> None:
    made = list(snapshot_batches(0, 0, b"", values, b"", batch_bytes_max=batch_bytes_max))
    assert all(len(batch) <= batch_bytes_max for batch in made)
    told = content(b"".join(made))
    assert [value for _, kind, value in told if kind is None] == values
    assert [offset for offset, _, _ in told] == list(range(len(values) + 2))
    # As few batches as can be known beforehand: two neighbours would not have fitted into one.
    sizes = [sum(len(value) + 19 for value in run) for run in gatherings(values, batch_bytes_max)]
    firsts = [len(run[0]) + 19 for run in gatherings(values, batch_bytes_max)]
    assert all(61 + a + b > batch_bytes_max for a, b in zip(sizes, firsts[1:], strict=False))


def test_a_record_that_fits_no_batch_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="a record of 200 bytes"):
        list(gatherings([bytes(200)], 200))
    assert header_at(data_batch(0, 0, 0, [b""])).record_count == 1
