"""Compaction: by example, against a naive reading, and through crashes."""

from typing import Final, TypeAlias

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from barnabas.log.compaction import Compacted, compact, digest, first_uncleanable, is_due
from barnabas.log.config import LogConfig
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producers import Origin
from barnabas.model.errors import CorruptLog
from barnabas.model.value import value
from barnabas.records.batch import header_at
from barnabas.records.record import records
from barnabas.sim.disk_faults import PROFILES, Profile
from tests.log.storage import Crashed, Machine, batch, content, marker, run
from tests.sim.drawing import Seeded

CONFIG: Final = LogConfig(
    segment_bytes=600,
    index_interval_bytes=100,
    compact=True,
    delete=False,
    delete_retention_ms=100,
    timestamp_after_max_ms=10**9,
)


def put(log: PartitionLog, *pairs: tuple[str, bytes | None], wall_ms: int = 0) -> None:
    """Append a batch of keys and values, and replicate it."""
    keys = tuple(key.encode() for key, _ in pairs)
    data = batch(*(content for _, content in pairs), keys=keys, timestamp=1000)
    log.append_as_leader(data, 1, wall_ms)
    log.set_high_watermark(log.end_offset)


def clean(log: PartitionLog, wall_ms: int = 0, first_dirty: int = 0) -> Compacted | None:
    return run(compact(log, first_dirty, wall_ms))


def held(log: PartitionLog) -> list[tuple[int, str, bytes | None]]:
    """Return offset, key and value of every record that is not a control record."""
    found = []
    for header, data in content(log):
        if not header.is_control:
            for record in records(data, 0, header):
                assert record.key is not None
                value = None if record.value is None else bytes(record.value)
                found.append((record.offset, bytes(record.key).decode(), value))
    return found


def test_the_newest_record_of_each_key_stays_where_it_is() -> None:
    log = Machine().log(CONFIG)
    put(log, ("a", b"1"), ("b", b"1"))
    put(log, ("a", b"2"), ("c", b"1"))
    log.roll(0)
    put(log, ("c", b"2"))
    assert clean(log) is not None
    assert held(log) == [(1, "b", b"1"), (2, "a", b"2"), (3, "c", b"1"), (4, "c", b"2")]
    log.roll(0)
    put(log, ("d", b"1"))
    assert clean(log, first_dirty=4) is not None
    assert held(log)[:3] == [(1, "b", b"1"), (2, "a", b"2"), (4, "c", b"2")]


def test_batches_keep_their_bounds_and_every_offset_is_found() -> None:
    log = Machine().log(CONFIG)
    put(log, ("a", b"1"), ("b", b"1"), ("a", b"2"))
    put(log, ("b", b"2"), ("b", b"3"))
    log.roll(0)
    clean(log)
    assert [(h.base_offset, h.last_offset, h.record_count) for h, _ in content(log)] == [
        (0, 2, 1),
        (3, 4, 1),
    ]
    for offset in range(5):
        _, part = log.read(offset, 1, log.end_offset)
        assert header_at(part.read()).last_offset >= offset


def test_the_active_segment_is_left_alone() -> None:
    log = Machine().log(CONFIG)
    put(log, ("a", b"1"), ("a", b"2"))
    assert clean(log) is None
    assert len(held(log)) == 2


def test_what_is_not_replicated_or_not_decided_is_left_alone() -> None:
    log = Machine().log(CONFIG)
    put(log, ("a", b"1"), ("a", b"2"))
    log.roll(0)
    log.append_as_leader(batch(b"3", keys=(b"a",), attributes=0x10, producer=(7, 0, 0)), 1, 0)
    log.roll(0)
    log.high_watermark = 1
    assert first_uncleanable(log, 0) == 1
    log.set_high_watermark(3)
    assert first_uncleanable(log, 0) == 2
    clean(log)
    assert held(log) == [(1, "a", b"2"), (2, "a", b"3")]


def test_young_records_wait_for_their_lag() -> None:
    log = Machine().log(
        LogConfig(compact=True, min_compaction_lag_ms=100, min_cleanable_dirty_percent=1)
    )
    put(log, ("a", b"1"), ("a", b"2"))
    log.roll(0)
    assert not is_due(log, 0, 1100)
    assert clean(log, wall_ms=1100) is None
    assert is_due(log, 0, 1101)
    assert clean(log, wall_ms=1101) is not None


def test_compaction_is_due_by_share_or_by_age() -> None:
    config = LogConfig(compact=True, min_cleanable_dirty_percent=50, max_compaction_lag_ms=5000)
    log = Machine().log(config)
    for number in range(4):
        put(log, (f"k{number}", b"v"))
        log.roll(0)
    assert is_due(log, 0, 1000)
    assert is_due(log, 2, 1000)
    assert not is_due(log, 3, 1000), "a quarter is less than a half"
    assert is_due(log, 3, 6001), "the dirty quarter has waited for too long"
    assert not is_due(log, 4, 10**6), "nothing is dirty"
    log.configure(LogConfig())
    assert not is_due(log, 0, 10**6)


def test_a_tombstone_stays_until_its_horizon() -> None:
    log = Machine().log(CONFIG)
    put(log, ("a", b"1"))
    put(log, ("a", None), ("b", b"1"))
    log.roll(0)
    put(log, ("z", b"1"))
    clean(log, wall_ms=5000)
    assert held(log)[:2] == [(1, "a", None), (2, "b", b"1")]
    assert content(log)[0][0].delete_horizon_ms == 5100
    for wall_ms, left in ((5099, 2), (5100, 1)):
        log.roll(0)
        put(log, ("z", b"1"), ("z", b"2"))
        clean(log, wall_ms=wall_ms)
        assert len([one for one in held(log) if one[1] in "ab"]) == left


def transaction(log: PartitionLog, producer: int, key: str, commit: bool) -> None:
    sequence = 0
    if producer in log.producers.entries:
        sequence = log.producers.entries[producer].last_sequence + 1
    data = batch(b"t", keys=(key.encode(),), attributes=0x10, producer=(producer, 0, sequence))
    log.append_as_leader(data, 1, 0)
    log.append_as_leader(marker((producer, 0), commit), 1, 0, Origin.COORDINATOR)
    log.set_high_watermark(log.end_offset)


def test_aborted_records_go_and_their_marker_stays_a_while() -> None:
    log = Machine().log(CONFIG)
    put(log, ("a", b"1"))
    transaction(log, 7, "a", commit=False)
    transaction(log, 7, "b", commit=True)
    log.roll(0)
    log.producers.entries.clear()
    clean(log, wall_ms=1000)
    assert held(log) == [(0, "a", b"1"), (3, "b", b"t")]
    assert [h.base_offset for h, _ in content(log) if h.is_control] == [2, 4]
    assert [one.producer_id for one in log.aborted_between(0, 99)] == [7]
    # Now nothing of it is left but the marker, which gets a horizon, and then goes.
    for wall_ms, markers in ((2000, [2, 4]), (2100, [4])):
        put(log, ("z", b"1"))
        log.roll(0)
        log.producers.entries.clear()
        clean(log, wall_ms=wall_ms)
        assert [h.base_offset for h, _ in content(log) if h.is_control] == markers
    assert log.aborted_between(0, 99) == []


def test_the_last_batch_of_a_live_producer_stays_without_its_records() -> None:
    machine = Machine()
    log = machine.log(CONFIG)
    sent = batch(b"1", b"2", keys=(b"a", b"b"), producer=(7, 0, 0))
    log.append_as_leader(sent, 1, 0)
    put(log, ("a", b"3"), ("b", b"3"))
    log.roll(0)
    put(log, ("z", b"1"))
    clean(log)
    empty, _ = content(log)[0]
    assert (empty.record_count, empty.base_offset, empty.last_offset) == (0, 0, 1)
    assert (empty.producer_id, empty.last_sequence) == (7, 1)
    # After a crash the log alone knows the producer (KAFKA-5490).
    machine.crash()
    for name in machine.process.names(log.directory):
        if name.endswith(".snapshot"):
            machine.process.remove(f"{log.directory}/{name}")
    again = machine.log(CONFIG)
    assert not hasattr(again.append_as_leader(sent, 1, 0), "append_ms")
    log = again
    log.producers.entries.clear()
    log.set_high_watermark(99)
    log.roll(0)
    clean(log, wall_ms=1)
    assert content(log)[0][0].base_offset == 2, "nobody needs it any more"


def test_a_map_that_is_full_cleans_a_part() -> None:
    log = Machine().log(CONFIG)
    for number in range(4):
        put(log, (f"k{number}", b"1"), (f"k{number}", b"2"))
    log.roll(0)
    done = run(compact(log, 0, 0, keys_max=2))
    assert done is not None
    assert done.end_offset == 4
    assert [one[0] for one in held(log)] == [1, 3, 4, 5, 6, 7]
    assert run(compact(log, 4, 0, keys_max=0)) is None


def test_small_segments_are_put_together() -> None:
    log = Machine().log(CONFIG)
    for number in range(6):
        put(log, (f"k{number}", b"1"), ("same", b"x" * 20))
        log.roll(0)
    done = clean(log)
    assert done is not None
    assert done.bytes_after < done.bytes_before
    assert len(log.segments) < 4
    assert [one[1] for one in held(log)] == [*(f"k{number}" for number in range(6)), "same"]
    assert all(segment.size_bytes <= CONFIG.segment_bytes for segment in log.segments)


def test_rotten_bytes_are_not_made_valid() -> None:
    log = Machine().log(CONFIG)
    put(log, ("a", b"1"), ("a", b"2"))
    log.roll(0)
    segment = log.segments[0]
    segment.file.write(segment.size_bytes - 2, [b"X"])
    run(log.flush())
    before = log.disk.names(log.directory)
    with pytest.raises(CorruptLog):
        clean(log)
    assert log.disk.names(log.directory) == before


def test_a_log_that_began_anew_meanwhile_is_left_alone() -> None:
    machine = Machine()
    log = machine.log(CONFIG)
    put(log, ("a", b"1"), ("a", b"2"))
    log.roll(0)
    machine.hold()
    work = compact(log, 0, 0)
    work.send(None)
    while not any(name.endswith(".cleaned") for name in log.disk.names(log.directory)):
        work.send(None)
    machine.let_go()
    run(log.restart_at(100, 0))
    assert run(work) is None
    assert not any(name.endswith(".cleaned") for name in log.disk.names(log.directory))
    assert log.end_offset == 100


def test_long_keys_are_hashed_and_short_ones_are_not() -> None:
    assert digest(b"short") == b"short"
    assert len(digest(b"x" * 16)) == len(digest(b"x" * 99)) == 16
    assert digest(b"x" * 16) != digest(b"x" * 17)


keyed = st.tuples(st.sampled_from("abcd"), st.none() | st.binary(max_size=8))


@value
class Transaction:
    """One record in a transaction of its own."""

    producer: int
    key: str
    commit: bool


Step: TypeAlias = list[tuple[str, bytes | None]] | Transaction | str

step: st.SearchStrategy[Step] = st.one_of(
    st.lists(keyed, min_size=1, max_size=4),
    st.builds(Transaction, st.integers(1, 2), st.sampled_from("abcd"), st.booleans()),
    st.just("roll"),
    st.just("clean"),
)


@settings(max_examples=150)
@given(steps=st.lists(step, max_size=25))
def test_readers_see_what_they_would_without_compaction(steps: list[Step]) -> None:
    log, plain = Machine().log(CONFIG), Machine().log(CONFIG)
    dirty = 0
    for each in [*steps, "roll", "clean"]:
        match each:
            case list(pairs):
                put(log, *pairs)
                put(plain, *pairs)
            case Transaction(producer, key, commit):
                transaction(log, producer, key, commit)
                transaction(plain, producer, key, commit)
            case "roll":
                log.roll(0)
            case _:
                done = clean(log, wall_ms=0, first_dirty=dirty)
                dirty = done.end_offset if done is not None else dirty
    committed = committed_of(plain)
    newest: dict[str, int] = {key: offset for offset, key, _ in committed}
    expected = [one for one in committed if newest[one[1]] == one[0] or one[0] >= dirty]
    kept = committed_of(log)
    assert [one for one in kept if newest[one[1]] == one[0] or one[0] >= dirty] == expected
    assert set(kept) <= set(committed)
    assert [one for one in kept if one[0] < dirty] == [one for one in expected if one[0] < dirty]
    assert log.end_offset == plain.end_offset


def committed_of(log: PartitionLog) -> list[tuple[int, str, bytes | None]]:
    """Return what a reader of committed data sees, with what the log tells it of aborts."""
    aborted = log.aborted_between(0, log.end_offset)
    hidden = {
        offset
        for header, _ in content(log)
        if header.is_transactional and not header.is_control
        for one in aborted
        if one.producer_id == header.producer_id
        and one.first_offset <= header.base_offset <= one.last_offset
        for offset in range(header.base_offset, header.next_offset)
    }
    return [one for one in held(log) if one[0] not in hidden]


@pytest.mark.parametrize("profile", [None, *PROFILES])
def test_a_crash_leaves_the_segments_or_their_copy(profile: Profile | None) -> None:
    step, finished, outcomes = 0, False, set()
    while not finished:
        step += 2
        machine = Machine(Seeded(step))
        log = machine.log(CONFIG)
        for number in range(6):
            put(log, (f"k{number}", b"1"), ("same", b"x" * 20))
            if number == 2:
                transaction(log, 7, "aborted", commit=False)
            if number % 2:
                log.roll(0)
        put(log, ("last", b"1"))
        run(log.flush())
        before = held(log)
        machine.crash_at = machine.operations + step
        try:
            clean(log)
            finished = True
        except Crashed:
            finished = False
        machine.crash(profile)
        again = machine.log(CONFIG)
        left = held(again)
        assert set(left) <= set(before)
        assert again.end_offset == before[-1][0] + 1
        visible = {key: value for _, key, value in committed_of(again)}
        assert visible == {"same": b"x" * 20, "last": b"1"} | {
            f"k{number}": b"1" for number in range(6)
        }
        assert not [n for n in machine.process.names(again.directory) if "swap" in n or "cl" in n]
        for offset in range(again.end_offset):
            assert again.read(offset, 1, again.end_offset)[1].size_bytes
        outcomes.add(len(left))
    assert len(outcomes) > 1, "some crashes came before the swap, some after"
