"""One partition: appending, reading, flushing, cutting."""

import errno
from dataclasses import replace

import pytest

from barnabas.log.config import LogConfig
from barnabas.log.epochs import EpochEnd
from barnabas.log.health import DirectoryFailed
from barnabas.log.partition_log import Appended, PartitionLog
from barnabas.log.producers import Duplicate, Origin
from barnabas.model.errors import ErrorCode, Refused
from barnabas.records.batch import MAGIC_AT, header_at, verify
from barnabas.sim.disk_faults import PROFILES, Injection, Kind
from tests.log.storage import (
    SMALL,
    Machine,
    batch,
    content,
    marker,
    offsets,
    run,
    transactional,
)

NOW = 1000


def filled(machine: Machine, count: int = 60, config: LogConfig = SMALL) -> PartitionLog:
    log = machine.log(config)
    for number in range(count):
        log.append_as_leader(batch(b"a" * 50, b"b"), 1, NOW + number)
    return log


def refusal(log: PartitionLog, data: bytes, origin: Origin = Origin.CLIENT) -> ErrorCode:
    before = content(log), log.end_offset, dict(log.producers.entries), log.epochs.entries()
    with pytest.raises(Refused) as refused:
        log.append_as_leader(data, 1, NOW, origin)
    after = content(log), log.end_offset, dict(log.producers.entries), log.epochs.entries()
    assert before == after, "a refused append changes nothing"
    return refused.value.code


# --- appending as a leader


def test_a_leader_stamps_offset_and_epoch_and_keeps_the_rest() -> None:
    log = Machine().log()
    sent = batch(b"a", b"b")
    assert log.append_as_leader(sent, 5, NOW) == Appended(0, 1, -1)
    assert log.append_as_leader(sent, 5, NOW) == Appended(2, 3, -1)
    (_, first), (header, second) = content(log)
    assert (header.base_offset, header.leader_epoch) == (2, 5)
    assert second[16:] == sent[16:] == first[16:]
    verify(second, 0, header)
    assert log.epochs.entries() == [(5, 0)]


def test_several_batches_of_a_coordinator_go_in_one_append() -> None:
    log = Machine().log()
    data = batch(b"a", b"b") + batch(b"c")
    assert log.append_as_leader(data, 1, NOW, Origin.COORDINATOR) == Appended(0, 2, -1)
    assert offsets(log) == [(0, 1), (2, 2)]


def test_the_time_of_the_append_is_the_record_s_where_the_topic_says_so() -> None:
    log = Machine().log(LogConfig(log_append_time=True))
    assert log.append_as_leader(batch(b"a"), 1, 7777) == Appended(0, 0, 7777)
    ((header, data),) = content(log)
    assert header.max_timestamp == 7777
    assert header.is_log_append_time
    verify(data, 0, header)


def test_a_retry_is_answered_with_the_offset_it_has() -> None:
    log = Machine().log()
    log.append_as_leader(batch(b"x"), 1, NOW)
    sent = batch(b"a", b"b", producer=(7, 0, 0))
    assert log.append_as_leader(sent, 1, NOW) == Appended(1, 2, -1)
    assert log.append_as_leader(sent, 1, NOW) == Duplicate(1, 2, 1001)
    assert log.end_offset == 3


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (batch(b"a")[:-1] + b"\xff", ErrorCode.CORRUPT_MESSAGE),
        (b"", ErrorCode.INVALID_RECORD),
        (batch(b"a")[:16] + b"\5" + batch(b"a")[17:], ErrorCode.CORRUPT_MESSAGE),
        (batch(b"a", base_offset=3), ErrorCode.INVALID_RECORD),
        (batch(b"a" * 5000), ErrorCode.MESSAGE_TOO_LARGE),
        (batch(b"a", timestamp=NOW + 10**9), ErrorCode.INVALID_TIMESTAMP),
        (batch(b"a", producer=(7, 0, -1)), ErrorCode.INVALID_RECORD),
        (batch(b"a", producer=(7, 0, 5)), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (batch(b"a", producer=(7, -1, 0)), ErrorCode.INVALID_PRODUCER_EPOCH),
        (batch(b"a", keys=(None,)), ErrorCode.INVALID_RECORD),
    ],
)
def test_what_must_not_be_appended_is_refused_with_kafka_s_code(
    data: bytes, code: ErrorCode
) -> None:
    log = Machine().log(LogConfig(max_message_bytes=4000, compact=True))
    log.append_as_leader(batch(b"x", producer=(7, 0, 0)), 1, NOW)
    assert refusal(log, data) is code


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = Machine().log(SMALL)
    assert refusal(log, batch(b"a" * 3000)) is ErrorCode.RECORD_LIST_TOO_LARGE


def test_control_records_are_not_for_clients() -> None:
    log = Machine().log()
    assert refusal(log, marker((7, 0), commit=True)) is ErrorCode.INVALID_RECORD


# --- appending as a follower


def test_a_follower_s_log_is_the_leader_s() -> None:
    leader, follower = filled(Machine()), Machine().log()
    leader.append_as_leader(transactional(b"t", producer=(7, 0, 0)), 3, NOW)
    leader.append_as_leader(marker((7, 0), commit=False), 3, NOW, Origin.COORDINATOR)
    while follower.end_offset < leader.end_offset:
        _, part = leader.read(follower.end_offset, 700, leader.end_offset)
        follower.append_as_follower(part.read(), 9, NOW)
    assert content(follower) == content(leader)
    assert follower.epochs.entries() == leader.epochs.entries() == [(1, 0), (3, 120)]
    assert follower.producers.entries == leader.producers.entries
    assert follower.aborted_between(0, 999) == leader.aborted_between(0, 999) != []


def test_a_follower_leaves_out_a_batch_that_is_cut_short() -> None:
    log = Machine().log()
    data = batch(b"a", epoch=1) + batch(b"b", base_offset=1, epoch=1)[:-1]
    assert log.append_as_follower(data, 9, NOW) == Appended(0, 0, -1)
    assert log.append_as_follower(data[:30], 9, NOW) == Appended(1, 0, -1)


def test_a_follower_checks_what_it_is_sent() -> None:
    log = Machine().log()
    log.append_as_follower(batch(b"a", epoch=1), 9, NOW)
    for data, code in (
        (batch(b"b", base_offset=1)[:-1] + b"\xff", ErrorCode.CORRUPT_MESSAGE),
        (batch(b"b", base_offset=0), ErrorCode.OFFSET_OUT_OF_RANGE),
        (batch(b"b", base_offset=1, epoch=10), ErrorCode.CORRUPT_MESSAGE),
        (batch(b"b", base_offset=1, epoch=0), ErrorCode.CORRUPT_MESSAGE),
        (
            batch(b"b", base_offset=1) + batch(b"b", base_offset=1),
            ErrorCode.OFFSET_OUT_OF_RANGE,
        ),
    ):
        with pytest.raises(Refused) as refused:
            log.append_as_follower(data, 9, NOW)
        assert refused.value.code is code
        assert offsets(log) == [(0, 0)]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_of_an_old_format_is_refused_whoever_sends_it(magic: int) -> None:
    # One bit of a leader's disk makes such a message of a batch; nobody may die of it.
    log = Machine().log()
    data = bytearray(batch(b"a"))
    data[MAGIC_AT] = magic
    with pytest.raises(Refused) as by_leader:
        log.append_as_leader(data, 1, NOW)
    assert by_leader.value.code is ErrorCode.INVALID_RECORD
    with pytest.raises(Refused) as by_follower:
        log.append_as_follower(data, 1, NOW)
    assert by_follower.value.code is ErrorCode.CORRUPT_MESSAGE
    assert log.end_offset == 0


def test_a_follower_takes_the_gaps_that_compaction_left() -> None:
    log = Machine().log()
    log.append_as_follower(batch(b"a", epoch=1), 9, NOW)
    log.append_as_follower(batch(b"b", base_offset=50, epoch=1), 9, NOW)
    log.append_as_follower(batch(b"c", base_offset=2**33, epoch=1), 9, NOW)
    assert offsets(log) == [(0, 0), (50, 50), (2**33, 2**33)]
    assert [segment.base_offset for segment in log.segments] == [0, 2**33]
    _, part = log.read(10, 1, log.end_offset)
    assert header_at(part.read()).base_offset == 50
    _, part = log.read(51, 1, log.end_offset)
    assert header_at(part.read()).base_offset == 2**33


# --- rolling


def test_a_segment_is_rolled_by_size() -> None:
    log = filled(Machine())
    assert len(log.segments) == 4
    assert all(segment.size_bytes <= SMALL.segment_bytes for segment in log.segments)
    ends = [segment.next_offset for segment in log.segments]
    assert [segment.base_offset for segment in log.segments[1:]] == ends[:-1]


def test_a_segment_is_rolled_by_the_time_of_its_records() -> None:
    log = Machine().log(LogConfig(segment_ms=100, segment_jitter_ms=10))
    for timestamp in (1000, 1090, 1091, 1092):
        log.append_as_leader(batch(b"a", timestamp=timestamp), 1, NOW)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_a_segment_of_records_without_time_is_rolled_by_the_clock() -> None:
    log = Machine().log(LogConfig(segment_ms=100))
    for wall_ms in (0, 100, 101):
        log.append_as_leader(batch(b"a", timestamp=-1), 1, wall_ms)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_a_segment_is_rolled_when_its_index_is_full() -> None:
    log = Machine().log(LogConfig(segment_index_bytes=24, index_interval_bytes=1))
    for number in range(10):
        log.append_as_leader(batch(b"a", timestamp=1000 + number), 1, NOW)
    assert len(log.segments) > 2
    assert all(len(segment.times) <= 3 for segment in log.segments)


def test_an_empty_segment_is_not_rolled() -> None:
    log = Machine().log()
    log.roll(NOW)
    assert len(log.segments) == 1
    log.append_as_leader(batch(b"a"), 1, NOW)
    log.roll(NOW)
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    assert log.snapshots.offsets() == [1]


# --- reading


def test_every_offset_is_read_from_its_batch() -> None:
    log = filled(Machine())
    for offset in range(log.end_offset):
        _, part = log.read(offset, 1, log.end_offset)
        header = header_at(part.read())
        assert header.base_offset <= offset <= header.last_offset
        assert part.size_bytes == header.size_bytes, "the first batch is whole, and no more"


def test_a_read_ends_before_what_must_not_be_seen() -> None:
    log = filled(Machine())
    for below in range(0, 21, 2):
        _, part = log.read(0, 10_000, below)
        assert part.size_bytes == sum(len(data) for _, data in content(log)[: below // 2][:16])
    assert log.read(4, 10_000, 4)[1].size_bytes == 0


def test_a_read_without_the_guarantee_may_be_less_than_a_batch() -> None:
    log = filled(Machine())
    assert log.read(0, 10, log.end_offset, at_least_one=False)[1].size_bytes == 10


def test_an_offset_outside_of_the_log_is_refused() -> None:
    log = filled(Machine(), 2)
    assert log.read(4, 10, 4)[1].read() == b""
    for offset in (-1, 5):
        with pytest.raises(Refused) as refused:
            log.read(offset, 10, 4)
        assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_end_of_an_epoch_is_answered() -> None:
    log = filled(Machine(), 3)
    log.append_as_leader(batch(b"a"), 4, NOW)
    assert log.end_of_epoch(2) == EpochEnd(1, 6)
    assert log.end_of_epoch(4) == EpochEnd(4, 7)


# --- transactions


def test_an_open_transaction_holds_the_stable_offset_back() -> None:
    log = Machine().log()
    log.append_as_leader(batch(b"a"), 1, NOW)
    log.append_as_leader(transactional(b"b", producer=(7, 0, 0)), 1, NOW)
    log.append_as_leader(batch(b"c"), 1, NOW)
    assert log.stable_offset == 0, "nothing is replicated"
    assert log.set_high_watermark(3) == 3
    assert log.stable_offset == 1
    log.append_as_leader(marker((7, 0), commit=True), 1, NOW, Origin.COORDINATOR)
    assert log.stable_offset == 1, "the marker is not replicated"
    log.set_high_watermark(99)
    assert log.stable_offset == log.high_watermark == 4


def test_a_reader_is_told_of_aborted_transactions_with_later_markers() -> None:
    log = Machine().log()
    log.append_as_leader(transactional(b"b" * 500, producer=(7, 0, 0)), 1, NOW)
    for _ in range(40):
        log.append_as_leader(batch(b"x" * 100), 1, NOW)
    log.append_as_leader(marker((7, 0), commit=False), 1, NOW, Origin.COORDINATOR)
    assert len(log.segments) > 1
    segment, part = log.read(0, 1, log.end_offset)
    assert [one.producer_id for one in log.aborted_in(segment, part, 0)] == [7]
    segment, part = log.read(42, 1, log.end_offset)
    assert log.aborted_in(segment, part, 42) == []


def test_a_marker_of_version_two_brings_a_new_epoch() -> None:
    log = Machine().log()
    log.append_as_leader(transactional(b"b", producer=(7, 0, 0)), 1, NOW)
    late, right = marker((7, 0), commit=True), marker((7, 1), commit=True)
    with pytest.raises(Refused) as refused:
        log.append_as_leader(late, 1, NOW, Origin.COORDINATOR, transaction_version=2)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    log.append_as_leader(right, 1, NOW, Origin.COORDINATOR, transaction_version=2)
    assert log.producers.open == {}


def test_idle_producers_are_forgotten() -> None:
    log = Machine().log(LogConfig(producer_expiration_ms=100))
    log.append_as_leader(batch(b"b", producer=(7, 0, 0)), 1, NOW)
    log.expire_producers(NOW + 99)
    assert sorted(log.producers.entries) == [7]
    log.expire_producers(NOW + 100)
    assert log.producers.entries == {}


# --- durability


def test_what_was_flushed_survives_anything() -> None:
    for profile in PROFILES:
        machine = Machine()
        log = filled(machine)
        log.append_as_leader(transactional(b"t", producer=(7, 0, 0)), 3, NOW)
        held = content(log)
        assert run(log.flush()) == 121
        assert log.recovery_point == 121
        machine.crash(profile)
        again = machine.log()
        assert content(again) == held
        assert again.producers.open == {7: 120}
        assert again.epochs.entries() == [(1, 0), (3, 120)]


def test_a_flush_is_due_after_so_many_records_or_so_long() -> None:
    log = Machine().log(LogConfig(flush_messages=3, flush_ms=100))
    assert not log.is_due_to_flush(10_000)
    log.append_as_leader(batch(b"a", b"b"), 1, NOW)
    assert not log.is_due_to_flush(NOW + 99)
    assert log.is_due_to_flush(NOW + 100)
    log.append_as_leader(batch(b"c"), 1, NOW)
    assert log.is_due_to_flush(NOW)
    run(log.flush())
    assert not log.is_due_to_flush(NOW + 1000)


def test_a_flush_vouches_only_for_what_was_there_when_it_began() -> None:
    machine = Machine()
    log = filled(machine, 2)
    machine.hold()
    flush = log.flush()
    flush.send(None)
    log.append_as_leader(batch(b"late"), 1, NOW)
    machine.let_go()
    assert run(flush) == 4
    assert log.recovery_point == 4


def test_a_flush_makes_the_epochs_durable_that_appends_have_begun() -> None:
    machine = Machine()
    log = filled(machine, 2)
    run(log.flush())
    log.append_as_leader(batch(b"a"), 7, NOW)
    assert run(log.flush()) == 5
    machine.crash("prefix")
    path = f"{log.directory}/leader-epoch-checkpoint"
    assert machine.process.open(path, "read").read(0, 99) == b"0\n2\n1 0\n7 4\n"


def test_a_segment_that_was_rolled_during_a_flush_is_durable_after_the_next() -> None:
    machine = Machine()
    log = filled(machine, 10)
    run(log.flush())
    log.append_as_leader(batch(b"a"), 1, NOW)
    machine.hold()
    flush = log.flush()
    flush.send(None)
    log.append_as_leader(batch(b"b"), 1, NOW)
    log.roll(NOW)
    log.append_as_leader(batch(b"c"), 1, NOW)
    machine.let_go()
    assert run(flush) == 21
    held = content(log)
    assert run(log.flush()) == log.recovery_point == 23
    machine.crash("prefix")
    assert content(machine.log()) == held


def test_a_flush_waits_for_no_file_twice() -> None:
    machine = Machine()
    log = filled(machine, 120)
    assert len(log.segments) > 5
    machine.hold()
    flush, waits = log.flush(), 0
    while True:
        try:
            flush.send(None)
        except StopIteration:
            break
        waits += 1
    # The directory, besides.
    assert waits <= len(machine.process.names(log.directory)) + 1


def test_an_epoch_is_durable_before_its_leader_writes() -> None:
    machine = Machine()
    log = filled(machine, 2)
    run(log.flush())
    run(log.begin_epoch(9))
    machine.crash("prefix")
    path = f"{log.directory}/leader-epoch-checkpoint"
    assert machine.process.open(path, "read").read(0, 99) == b"0\n2\n1 0\n9 4\n"


@pytest.mark.parametrize("kind", ["write", "sync", "open"])
def test_nothing_is_appended_after_an_error_of_the_disk(kind: Kind) -> None:
    machine = Machine()
    log = filled(machine, 3)
    other = log.end_offset
    machine.disk.inject(Injection(kind, error=errno.EIO))

    def work() -> None:
        for _ in range(40):
            log.append_as_leader(batch(b"x" * 100), 1, NOW)
            run(log.flush())

    with pytest.raises(DirectoryFailed):
        work()
    machine.disk.heal()
    with pytest.raises(DirectoryFailed):
        log.append_as_leader(batch(b"x"), 1, NOW)
    with pytest.raises(DirectoryFailed):
        run(log.flush())
    with pytest.raises(DirectoryFailed):
        log.read(0, 1, other)
    with pytest.raises(DirectoryFailed):
        run(log.truncate(0, NOW))
    machine.crash()
    again = machine.log()
    assert offsets(again)[:3] == [(0, 1), (2, 3), (4, 5)]


def test_a_write_that_fails_leaves_no_offset_taken_and_no_producer_known() -> None:
    machine = Machine()
    log = filled(machine, 1)
    machine.disk.inject(Injection("write", error=errno.ENOSPC))
    with pytest.raises(DirectoryFailed):
        log.append_as_leader(batch(b"x", producer=(7, 0, 0)), 1, NOW)
    assert log.end_offset == 2
    assert log.producers.entries == {}


# --- cutting


@pytest.mark.parametrize("offset", [0, 1, 2, 30, 31, 32, 33, 64, 65, 118, 119])
def test_a_truncation_leaves_what_is_whole_below_it(offset: int) -> None:
    machine = Machine()
    log = filled(machine)
    run(log.flush())
    held = content(log)[: offset // 2]
    run(log.truncate(offset, NOW))
    assert content(log) == held
    assert log.end_offset == offset - offset % 2
    assert log.recovery_point == log.end_offset
    assert log.append_as_leader(batch(b"new"), 2, NOW) == Appended(
        log.end_offset - 1, log.end_offset - 1, -1
    )
    machine.crash("prefix")
    assert content(machine.log())[: len(held)] == held


def test_a_truncation_takes_producers_transactions_and_epochs_back() -> None:
    log = filled(Machine(), 3)
    log.append_as_leader(transactional(b"t", producer=(7, 0, 0)), 2, NOW)
    log.append_as_leader(marker((7, 0), commit=False), 3, NOW, Origin.COORDINATOR)
    log.set_high_watermark(8)
    run(log.truncate(7, NOW))
    assert log.producers.open == {7: 6}
    assert log.aborted_between(0, 99) == []
    assert log.high_watermark == 7
    assert log.stable_offset == 6
    run(log.truncate(6, NOW))
    assert log.producers.entries == {}
    assert log.epochs.entries() == [(1, 0)]


def test_a_truncation_at_the_end_drops_an_epoch_that_wrote_nothing() -> None:
    log = filled(Machine(), 3)
    run(log.begin_epoch(9))
    run(log.truncate(6, NOW))
    assert log.epochs.entries() == [(1, 0)]
    assert log.end_offset == 6


def test_a_flush_under_way_does_not_vouch_for_what_was_cut() -> None:
    machine = Machine()
    log = filled(machine, 10)
    machine.hold()
    flush = log.flush()
    flush.send(None)
    machine.let_go()
    run(log.truncate(4, NOW))
    log.append_as_leader(batch(b"new"), 2, NOW)
    assert run(flush) <= 4
    assert log.recovery_point <= 4


@pytest.mark.parametrize("offset", [5, 60, 500])
def test_a_log_may_begin_anew_anywhere(offset: int) -> None:
    machine = Machine()
    log = filled(machine)
    run(log.flush())
    run(log.restart_at(offset, NOW))
    assert (log.start_offset, log.end_offset, log.high_watermark) == (offset, offset, offset)
    assert log.append_as_leader(batch(b"new"), 2, NOW) == Appended(offset, offset, -1)
    run(log.flush())
    machine.crash("prefix")
    again = machine.log()
    assert (again.start_offset, again.end_offset) == (offset, offset + 1)


def test_while_a_log_begins_anew_it_may_be_flushed_and_configured() -> None:
    machine = Machine()
    log = filled(machine)
    run(log.flush())
    machine.hold()
    restart = log.restart_at(500, NOW)
    flushes = []
    waiting = True
    while waiting:
        try:
            restart.send(None)
        except StopIteration:
            waiting = False
        log.configure(replace(SMALL, preallocate=True))
        flushes.append(log.flush())
        flushes[-1].send(None)
    machine.let_go()
    assert len(flushes) > len(log.segments)
    assert all(run(flush) <= 500 for flush in flushes)
    assert log.recovery_point == log.end_offset == 500


def test_a_cut_below_the_first_segment_begins_anew() -> None:
    log = filled(Machine(), 3)
    run(log.restart_at(100, NOW))
    run(log.truncate(50, NOW))
    assert (log.start_offset, log.end_offset) == (50, 50)


def test_records_are_deleted_from_the_start() -> None:
    machine = Machine()
    log = filled(machine, 5)
    log.set_high_watermark(6)
    run(log.advance_start(5))
    run(log.advance_start(3))
    with pytest.raises(Refused) as refused:
        run(log.advance_start(7))
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    machine.crash()
    assert machine.log().start_offset == 5


def test_slices_outlive_the_segment_they_lie_in() -> None:
    log = filled(Machine())
    _, part = log.read(0, 500, log.end_offset)
    before = part.read()
    run(log.restart_at(1000, NOW))
    assert part.read() == before
    log.reap(NOW - 1)
    assert part.read() == before
    log.reap(NOW)
    with pytest.raises(AssertionError):
        part.read()


def test_a_topic_may_change_its_mind() -> None:
    log = Machine().log()
    log.configure(LogConfig(max_message_bytes=100))
    assert refusal(log, batch(b"a" * 100)) is ErrorCode.MESSAGE_TOO_LARGE


def test_preallocated_space_is_written_over() -> None:
    machine = Machine()
    config = LogConfig(preallocate=True, segment_bytes=8000, index_interval_bytes=100)
    log = filled(machine, config=config)
    held = content(log)
    machine.crash()
    assert content(machine.log(config)) == held


def test_space_is_reserved_in_a_new_log_in_one_that_was_opened_and_after_a_cut() -> None:
    machine = Machine()
    config = LogConfig(preallocate=True, segment_bytes=8000)

    def reserved(log: PartitionLog) -> bool:
        log.append_as_leader(batch(b"a"), 1, NOW)
        return log.segments[-1].file.size() == 8000

    log = filled(machine, 10, config)
    assert reserved(log)
    run(log.truncate(4, NOW))
    assert reserved(log)
    run(machine.directory_of().close(1))
    machine.start()
    log = machine.log(replace(config, preallocate=False))
    assert not reserved(log)
    log.configure(config)
    assert reserved(log)


def test_the_index_of_a_segment_that_was_flushed_before_it_rolled_is_durable() -> None:
    machine = Machine()
    log = filled(machine, 10)
    run(log.flush())
    log.roll(NOW)
    run(log.flush())
    machine.crash("prefix")
    index = machine.disk.durable_content(f"{log.directory}/00000000000000000000.index")
    assert index is not None
    assert index.size > 0


def test_a_producer_is_remembered_by_the_time_that_is_stored() -> None:
    machine = Machine()
    config = replace(SMALL, log_append_time=True)
    log = machine.log(config)
    log.append_as_leader(batch(b"a", producer=(7, 0, 0), timestamp=1), 0, 5_000)
    assert log.producers.entries[7].last_timestamp == 5_000
    machine.crash()
    assert machine.log(config).producers.entries[7].last_timestamp == 5_000
