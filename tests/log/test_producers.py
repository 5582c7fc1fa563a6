"""Sequence numbers, epochs, duplicates and transactions of one log."""

import struct

import hypothesis.strategies as st
import pytest
from hypothesis import given

from barnabas.log.producers import (
    Appended,
    Duplicate,
    Finished,
    Marker,
    Origin,
    ProducerEntry,
    ProducerTable,
    read_snapshot,
)
from barnabas.model.errors import CorruptLog, ErrorCode, Refused
from barnabas.records.batch import CONTROL, TRANSACTIONAL, BatchHeader
from barnabas.records.builder import BLANK


def header(
    producer: int, epoch: int, sequence: int, count: int = 1, attributes: int = 0
) -> BatchHeader:
    return BLANK._replace(
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        last_offset_delta=count - 1,
        record_count=count,
        max_timestamp=100,
        attributes=attributes,
    )


def put(table: ProducerTable, batch: BatchHeader, origin: Origin = Origin.CLIENT) -> object:
    staging = table.stage(origin)
    duplicate = staging.batch(batch, table.end_offset)
    if duplicate is None:
        table.install(staging, table.end_offset + batch.last_offset_delta + 1)
    return duplicate


def end(
    table: ProducerTable,
    producer: int,
    epoch: int,
    commit: bool,
    coordinator: int = 0,
    origin: Origin = Origin.COORDINATOR,
) -> list[tuple[Finished, int]]:
    staging = table.stage(origin)
    batch = header(producer, epoch, -1, attributes=CONTROL | TRANSACTIONAL)
    staging.marker(batch, Marker(commit, coordinator, 200), table.end_offset)
    return table.install(staging, table.end_offset + 1)


def refusal(table: ProducerTable, batch: BatchHeader, origin: Origin = Origin.CLIENT) -> ErrorCode:
    before = dict(table.entries)
    with pytest.raises(Refused) as refused:
        put(table, batch, origin)
    assert table.entries == before, "a refused batch changes nothing"
    return refused.value.code


def test_batches_in_sequence_are_new() -> None:
    table = ProducerTable(0)
    assert put(table, header(7, 0, 0, 3)) is None
    assert put(table, header(7, 0, 3)) is None
    assert table.entries[7].last_sequence == 3
    assert table.end_offset == 4


def test_a_gap_in_the_sequence_is_refused() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 0))
    assert refusal(table, header(7, 0, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("back", range(1, 6))
def test_each_of_the_last_five_batches_is_a_duplicate(back: int) -> None:
    table = ProducerTable(0)
    for number in range(8):
        put(table, header(7, 0, 2 * number, 2))
    again = 8 - back
    assert put(table, header(7, 0, 2 * again, 2)) == Duplicate(2 * again, 2 * again + 1, 100)


def test_a_sixth_batch_back_is_out_of_order() -> None:
    table = ProducerTable(0)
    for number in range(8):
        put(table, header(7, 0, number))
    assert refusal(table, header(7, 0, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_other_bounds_are_not_a_duplicate() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 0, 2))
    assert refusal(table, header(7, 0, 0, 3)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequence_numbers_go_round() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 2**31 - 2, 2))
    assert put(table, header(7, 0, 0)) is None
    assert put(table, header(7, 0, 2**31 - 2, 2)) == Duplicate(0, 1, 100)


def test_a_batch_may_go_round_in_its_middle() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 2**31 - 1, 3))
    assert put(table, header(7, 0, 2**31 - 1, 3)) == Duplicate(0, 2, 100)
    assert put(table, header(7, 0, 2)) is None


def test_an_unknown_producer_may_go_on_with_any_number() -> None:
    assert put(ProducerTable(0), header(7, 3, 4711)) is None


def test_a_new_epoch_begins_at_zero() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 0))
    assert refusal(table, header(7, 1, 1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert put(table, header(7, 1, 0)) is None


def test_an_old_epoch_is_fenced() -> None:
    table = ProducerTable(0)
    put(table, header(7, 1, 0))
    assert refusal(table, header(7, 0, 1)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(table, header(7, 0, 1), Origin.COORDINATOR) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_coordinator_needs_no_sequence() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, -1), Origin.COORDINATOR)
    assert put(table, header(7, 0, -1), Origin.COORDINATOR) is None


def test_what_a_leader_has_written_is_taken_as_it_is() -> None:
    table = ProducerTable(0)
    put(table, header(7, 3, 5))
    assert put(table, header(7, 1, 99), Origin.REPLICATION) is None
    assert table.entries[7].epoch == 1


def test_the_oldest_open_transaction_bounds_what_is_stable() -> None:
    table = ProducerTable(0)
    put(table, header(1, 0, 0, attributes=TRANSACTIONAL))
    put(table, header(2, 0, 0, attributes=TRANSACTIONAL))
    put(table, header(1, 0, 1, attributes=TRANSACTIONAL))
    assert table.first_unstable() == 0
    assert end(table, 1, 0, commit=False) == [(Finished(1, 0, 3, False), 1)]
    assert table.first_unstable() == 0, "the marker is not replicated yet"
    table.replicated(4)
    assert table.first_unstable() == 1
    end(table, 2, 0, commit=True)
    table.replicated(5)
    assert table.first_unstable() is None


def test_a_marker_without_a_transaction_ends_nothing() -> None:
    table = ProducerTable(0)
    assert end(table, 7, 0, commit=True) == []
    assert table.entries[7].epoch == 0


def test_a_marker_of_a_new_epoch_fences_the_old_one() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 0, attributes=TRANSACTIONAL))
    end(table, 7, 1, commit=False)
    assert refusal(table, header(7, 0, 1)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert put(table, header(7, 1, 0)) is None


def test_sequence_numbers_go_on_behind_a_marker_of_the_same_epoch() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 0, attributes=TRANSACTIONAL))
    end(table, 7, 0, commit=True)
    assert refusal(table, header(7, 0, 0, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert put(table, header(7, 0, 1, attributes=TRANSACTIONAL)) is None


def test_a_late_marker_of_version_two_does_not_end_the_next_transaction() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 0, attributes=TRANSACTIONAL))
    end(table, 7, 1, commit=True)
    put(table, header(7, 1, 0, attributes=TRANSACTIONAL))
    staging = table.stage(Origin.COORDINATOR)
    again = header(7, 1, -1, attributes=CONTROL | TRANSACTIONAL)
    with pytest.raises(Refused) as refused:
        staging.marker(again, Marker(True, 0, 200), 3, with_new_epoch=True)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert table.open == {7: 2}
    staging.marker(header(7, 2, -1), Marker(True, 0, 200), 3, with_new_epoch=True)


def test_a_deposed_coordinator_writes_no_marker() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 0, attributes=TRANSACTIONAL))
    end(table, 7, 0, commit=True, coordinator=5)
    with pytest.raises(Refused) as refused:
        end(table, 7, 0, commit=True, coordinator=4)
    assert refused.value.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    end(table, 7, 0, commit=True, coordinator=4, origin=Origin.REPLICATION)


def test_a_producer_stays_in_its_transaction() -> None:
    table = ProducerTable(0)
    put(table, header(7, 0, 0, attributes=TRANSACTIONAL))
    assert refusal(table, header(7, 0, 1)) is ErrorCode.INVALID_TXN_STATE


def test_one_append_may_end_a_transaction_and_begin_the_next() -> None:
    table = ProducerTable(0)
    staging = table.stage(Origin.REPLICATION)
    data = header(7, 0, 0, attributes=TRANSACTIONAL)
    staging.batch(data, 0)
    staging.marker(header(7, 0, -1), Marker(False, 0, 1), 1)
    staging.batch(header(7, 0, 1, attributes=TRANSACTIONAL), 2)
    assert table.first_unstable() is None, "nothing happened yet"
    table.install(staging, 3)
    assert table.open == {7: 2}


def test_idle_producers_are_forgotten_but_not_in_a_transaction() -> None:
    table = ProducerTable(0)
    put(table, header(1, 0, 0))
    put(table, header(2, 0, 0, attributes=TRANSACTIONAL))
    table.expire(wall_ms=149, expiration_ms=50)
    assert sorted(table.entries) == [1, 2]
    table.expire(wall_ms=150, expiration_ms=50)
    assert sorted(table.entries) == [2]


def test_a_snapshot_begins_as_kafka_writes_it() -> None:
    table = ProducerTable(0)
    put(table, header(7, 3, 5, 2, attributes=TRANSACTIONAL))
    content = table.snapshot()
    assert content[:2] == b"\0\1"
    entry = struct.pack(">iqhiqiqiq", 1, 7, 3, 6, 1, 1, 100, -1, 0)
    assert content[6:] == entry


entries = st.builds(
    ProducerEntry,
    epoch=st.integers(0, 2**15 - 1),
    coordinator_epoch=st.integers(-1, 9),
    last_timestamp=st.just(100),
    transaction_start=st.integers(-1, 50),
    batches=st.lists(
        st.builds(
            Appended,
            last_sequence=st.integers(0, 2**31 - 1),
            last_offset=st.integers(0, 99),
            offset_delta=st.integers(0, 9),
            timestamp=st.integers(99, 101),
        ),
        max_size=5,
    ).map(tuple),
)


@given(st.dictionaries(st.integers(0, 2**40), entries, max_size=5))
def test_a_snapshot_is_read_as_it_was_written(known: dict[int, ProducerEntry]) -> None:
    table = ProducerTable(100)
    table.entries = known
    again = read_snapshot(table.snapshot(), 100, "f")
    assert again.entries == known
    begun = {p: e.transaction_start for p, e in known.items() if e.transaction_start >= 0}
    assert again.open == begun
    assert list(again.open.values()) == sorted(begun.values())


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_spoils_a_snapshot(at: int, bit: int) -> None:
    table = ProducerTable(0)
    put(table, header(7, 3, 5))
    put(table, header(7, 3, 6))
    content = bytearray(table.snapshot())
    content[at % len(content)] ^= 1 << bit
    with pytest.raises(CorruptLog):
        read_snapshot(bytes(content), 2, "f")


@pytest.mark.parametrize("size", [0, 5, 9, 20])
def test_a_snapshot_cut_short_is_noticed(size: int) -> None:
    table = ProducerTable(0)
    put(table, header(7, 3, 5))
    with pytest.raises(CorruptLog):
        read_snapshot(table.snapshot()[:size], 1, "f")
