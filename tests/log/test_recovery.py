"""Opening a log after whatever happened to it."""

import zlib
from collections.abc import Callable
from dataclasses import replace
from errno import EIO

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from barnabas.log.checkpoints import (
    CLEANER_OFFSETS,
    RECOVERY_POINTS,
    decode_offsets,
    encode_offsets,
)
from barnabas.log.config import LogConfig
from barnabas.log.health import DirectoryFailed
from barnabas.log.names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX, segment_file
from barnabas.log.partition_log import Appended, PartitionLog
from barnabas.log.producers import Origin
from barnabas.log.recovery import Progress
from barnabas.log.timestamps import TimestampedOffset, first_not_older
from barnabas.records.batch import header_at
from barnabas.sim.disk_faults import PROFILES, Injection, Profile
from tests.log.storage import (
    ORDERS,
    PATH,
    SMALL,
    TOPIC_ID,
    Crashed,
    Machine,
    batch,
    content,
    marker,
    offsets,
    run,
    transactional,
)
from tests.sim.drawing import Seeded

DIRECTORY = f"{PATH}/{ORDERS}"
LAST_OFFSET_DELTA_AT = 23
COMPACTED = replace(SMALL, compact=True, delete=False)


def filled(machine: Machine) -> PartitionLog:
    """Return a log of several segments with producers, transactions and epochs, not flushed."""
    log = machine.log()
    for number in range(60):
        log.append_as_leader(batch(b"a" * 50, b"b", producer=(1, 0, 2 * number)), 0, 0)
        if number % 20 == 3:
            log.append_as_leader(transactional(b"t", producer=(2, number, 0)), 0, 0)
        if number % 20 == 17:
            data = marker((2, number - 14), commit=False)
            log.append_as_leader(data, 0, 0, Origin.COORDINATOR)
    log.append_as_leader(batch(b"last"), 5, 0)
    return log


def overwrite(machine: Machine, name: str, at: int, data: bytes) -> None:
    machine.process.open(f"{DIRECTORY}/{name}", "write").write(at, [data])


def derived(log: PartitionLog) -> object:
    return (
        log.epochs.entries(),
        log.producers.entries,
        log.producers.open,
        log.aborted_between(0, log.end_offset),
        [list(segment.offsets.entries()) for segment in log.segments],
        [segment.youngest for segment in log.segments],
    )


def test_a_killed_process_loses_nothing() -> None:
    machine = Machine()
    log = filled(machine)
    held, before = content(log), derived(log)
    machine.crash()
    again = machine.log()
    assert content(again) == held
    assert derived(again) == before
    assert again.recovery_point == again.end_offset
    machine.crash("prefix")
    assert content(machine.log()) == held, "what was read was made durable"


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("flushed", [0, 9, 20])
def test_what_a_failed_sync_has_lost_is_written_again(flushed: int, profile: Profile) -> None:
    machine = Machine()
    config = LogConfig(index_interval_bytes=100)
    log = machine.log(config)
    for number in range(40):
        log.append_as_leader(batch(bytes([number]) * 500), 1, 0)
        if number < flushed:
            run(log.flush())
    run(machine.directory_of().checkpoint())
    held = content(log)
    machine.disk.inject(Injection("sync", log.segments[-1].file.path, EIO))
    with pytest.raises(DirectoryFailed):
        run(log.flush())
    # Only the process dies: memory shows what the device never got, and calls it clean.
    machine.crash()
    again = machine.log(config)
    assert content(again) == held
    assert again.recovery_point == again.end_offset
    machine.crash(profile)
    assert content(machine.log(config)) == held


def test_a_clean_stop_leaves_everything_as_it_was() -> None:
    machine = Machine()
    log = filled(machine)
    held, before = content(log), derived(log)
    run(machine.directory_of().close(1))
    again = machine.log()
    assert content(again) == held
    assert derived(again) == before
    assert again.recovery_point == again.end_offset == log.end_offset
    again.append_as_leader(batch(b"x"), 6, 0)
    assert offsets(again)[-1] == (log.end_offset, log.end_offset)


@pytest.mark.parametrize(
    "damage",
    [
        lambda size: (size - 30, b"\0" * 30),
        lambda size: (size - 40, b"\xff"),
        lambda size: (size, b"\0" * 5000),
        lambda size: (size, b"garbage" * 100),
        lambda size: (size, b"\0" * 11 + b"\x32" + b"\0\0\0\0\2"),
    ],
)
def test_a_torn_tail_is_cut_and_nothing_else(damage: Callable[[int], tuple[int, bytes]]) -> None:
    machine = Machine()
    log = filled(machine)
    held, name = content(log), segment_file(log.segments[-1].base_offset, LOG)
    at, data = damage(log.segments[-1].size_bytes)
    whole = held if at == log.segments[-1].size_bytes else held[:-1]
    machine.crash()
    overwrite(machine, name, at, data)
    again = machine.log()
    assert content(again) == whole
    assert again.segments[-1].file.size() == again.segments[-1].size_bytes
    assert again.append_as_leader(batch(b"x"), 6, 0) == Appended(
        whole[-1][0].next_offset, whole[-1][0].next_offset, -1
    )


def test_what_lies_behind_a_bad_batch_goes_with_it() -> None:
    machine = Machine()
    log = filled(machine)
    held = content(log)
    second = log.segments[1]
    batches = len([header for header, _ in held if header.last_offset < second.base_offset])
    machine.crash()
    overwrite(machine, segment_file(second.base_offset, LOG), 200, b"\xff" * 8)
    again = machine.log()
    left = content(again)
    assert left == held[: len(left)]
    assert batches <= len(left) < batches + 4
    assert [segment.base_offset for segment in again.segments] == [0, second.base_offset]
    again.append_as_leader(batch(b"x"), 6, 0)


def test_a_batch_of_an_older_epoch_does_not_continue_the_log() -> None:
    # MS-13: the bytes of an earlier turn, whole and at the very place where the log goes on.
    machine = Machine()
    log = machine.log()
    log.append_as_leader(batch(b"a"), 4, 0)
    size = log.segments[-1].size_bytes
    machine.crash()
    overwrite(machine, segment_file(0, LOG), size, batch(b"b", base_offset=1, epoch=3))
    assert offsets(machine.log()) == [(0, 0)]


def test_offsets_that_do_not_rise_do_not_continue_the_log() -> None:
    machine = Machine()
    log = machine.log()
    log.append_as_leader(batch(b"a", b"b"), 4, 0)
    size = log.segments[-1].size_bytes
    machine.crash()
    overwrite(machine, segment_file(0, LOG), size, batch(b"b", base_offset=1, epoch=4))
    assert offsets(machine.log()) == [(0, 1)]


def test_a_segment_whose_name_was_lost_takes_the_later_ones_with_it() -> None:
    machine = Machine()
    log = filled(machine)
    held, missing = content(log), log.segments[1].base_offset
    machine.crash()
    machine.process.remove(f"{DIRECTORY}/{segment_file(missing, LOG)}")
    again = machine.log()
    assert again.end_offset == missing
    assert content(again) == [one for one in held if one[0].last_offset < missing]
    again.append_as_leader(batch(b"x"), 6, 0)
    run(again.flush())


@pytest.mark.parametrize("noted", [True, False])
def test_a_segment_may_end_early_only_where_the_log_is_known_to_be_compacted(noted: bool) -> None:
    # Kafka's compaction takes the last batch of a segment as well, if it has no records left.
    machine = Machine()
    log = filled(machine)
    end, last, following = log.end_offset, log.segments[0], log.segments[1].base_offset
    positions = [position for position, _ in last.headers()]
    machine.crash()
    machine.process.open(last.path(LOG), "write").truncate(positions[-1])
    cleaned = machine.process.open(f"{PATH}/{CLEANER_OFFSETS}", "create")
    cleaned.write(0, [encode_offsets({ORDERS: following if noted else following - 1})])
    again = machine.log()
    if noted:
        assert again.end_offset == end
        assert again.producers.entries[1].last_offset == log.producers.entries[1].last_offset
    else:
        assert again.end_offset < following


def test_a_truncation_takes_back_what_was_known_to_be_compacted() -> None:
    machine = Machine()
    directory = machine.directory()
    log = run(directory.create_log(ORDERS, TOPIC_ID, COMPACTED, 0))
    for _ in range(60):
        log.append_as_leader(batch(b"a" * 50), 0, 0)
    log.set_high_watermark(log.end_offset)
    run(directory.compact(ORDERS, 5000))
    assert directory.cleaned_to(ORDERS) > 20
    log.high_watermark = 20
    run(log.truncate(20, 6000))
    assert directory.cleaned_to(ORDERS) <= 20


@pytest.mark.parametrize("kind", [INDEX, TIME_INDEX, TRANSACTION_INDEX])
@pytest.mark.parametrize("garbage", [b"", b"abc", None])
def test_derived_files_may_be_broken_or_missing(kind: str, garbage: bytes | None) -> None:
    machine = Machine()
    log = filled(machine)
    held, before = content(log), derived(log)
    touched = list(log.segments[:-1])
    run(machine.directory_of().close(1))
    for segment in touched:
        path = f"{DIRECTORY}/{segment_file(segment.base_offset, kind)}"
        if machine.process.exists(path):
            if garbage is None and kind != TRANSACTION_INDEX:
                machine.process.remove(path)
            else:
                file = machine.process.open(path, "write")
                if kind != TRANSACTION_INDEX:
                    file.truncate(0)
                file.write(0, [garbage or b"\xff"])
                file.close()
    again = machine.log()
    assert content(again) == held
    if garbage != b"" or kind == TRANSACTION_INDEX:
        assert derived(again) == before
    for offset in range(0, again.end_offset, 7):
        assert header_at(again.read(offset, 1, again.end_offset)[1].read()).last_offset >= offset


def test_a_broken_epoch_checkpoint_is_read_from_the_batches() -> None:
    # Epoch 0 among them (KAFKA-10432).
    machine = Machine()
    log = filled(machine)
    run(machine.directory_of().close(1))
    overwrite(machine, "leader-epoch-checkpoint", 0, b"garbage")
    assert machine.log().epochs.entries() == log.epochs.entries() == [(0, 0), (5, 126)]


def test_snapshots_above_the_recovery_point_are_not_believed() -> None:
    machine = Machine()
    log = filled(machine)
    assert log.snapshots.offsets() != []
    base = log.segments[1].base_offset
    before = log.producers.entries
    machine.crash()
    # What somebody might have left there: a table of another log.
    forged = batch(b"x", producer=(99, 0, 0))
    other = Machine().log()
    other.append_as_leader(forged, 1, 0)
    other.producers.end_offset = base
    file = machine.process.open(f"{DIRECTORY}/{segment_file(base, '.snapshot')}", "write")
    file.truncate(0)
    file.write(0, [other.producers.snapshot()])
    assert machine.log().producers.entries == before


def test_only_what_lies_above_the_recovery_point_is_read() -> None:
    machine = Machine()
    log = filled(machine)
    run(log.flush())
    run(machine.directory_of().checkpoint())
    held, active = content(log), log.segments[-1].size_bytes
    machine.crash()
    told: list[Progress] = []

    async def report(progress: Progress) -> None:
        told.append(progress)

    again = run(machine.directory().open_log(ORDERS, SMALL, 0, report))
    assert content(again) == held
    assert told[-1].bytes_total == told[-1].bytes_read == active
    assert told[-1].segments_left == 1


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(8))
def test_space_that_a_settled_segment_gave_back_is_no_part_of_it(
    profile: Profile, seed: int
) -> None:
    # Found by seed 31 of the log profile.  (1) A flush makes a batch durable, in a file with
    # space reserved behind it; (2) the segment is rolled, which gives the space back; (3) the
    # process dies before the next flush; (4) the log is opened, flushes what is new and believes
    # the old segment; (5) the power fails, and the space is there again, as zeros.
    machine = Machine(Seeded(seed))
    config = replace(SMALL, preallocate=True)
    log = machine.log(config)
    log.append_as_leader(batch(b"first"), 0, 0)
    log.roll(0)
    log.append_as_leader(batch(b"a"), 0, 0)
    run(log.flush())
    run(machine.directory_of().checkpoint())
    log.roll(0)
    machine.crash()
    log = machine.log(config)
    log.append_as_leader(batch(b"b"), 0, 0)
    run(log.flush())
    run(machine.directory_of().checkpoint())
    held = content(log)
    machine.crash(profile)
    assert content(machine.log(config)) == held


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("profile", PROFILES)
def test_a_recovery_that_is_cut_short_takes_no_later_segment_with_it(
    profile: Profile, seed: int
) -> None:
    # Found by seed 7132 of the log profile.  (1) Two segments are flushed, and no checkpoint says
    # so; (2) the process dies; (3) the next one reads them, makes the first a byte longer and as
    # long as before, so that its size is written again, and fails before it has synced; (4) the
    # power fails, and of the two sizes the disk has got the first.
    machine = Machine(Seeded(seed))
    log = filled(machine)
    run(log.flush())
    held = content(log)
    machine.crash()
    directory = machine.directory()
    machine.disk.inject(Injection("sync_directory", error=EIO))
    with pytest.raises(DirectoryFailed):
        run(directory.open_log(ORDERS, SMALL, 0))
    machine.crash(profile)
    assert content(machine.log()) == held


def test_a_byte_too_many_in_an_old_segment_does_not_cost_the_segments_behind_it() -> None:
    # Found by seed 10460 of the log profile.  (1) Segments are durable, but no checkpoint says so;
    # (2) recovery reads them and gives each its length anew, one byte too long first, so that the
    # next sync has it to write; (3) the power fails between the two; (4) the next recovery finds
    # a byte that is no batch in the middle of the log.
    machine = Machine()
    held = content(filled(machine))
    run(machine.log_of().flush())
    machine.crash()
    names = [name for name in machine.process.names(DIRECTORY) if name.endswith(LOG)]
    file = machine.process.open(f"{DIRECTORY}/{names[1]}", "write")
    file.truncate(file.size() + 1)
    run(file.sync())
    machine.crash("prefix")
    log = machine.log()
    assert content(log) == held
    assert log.segments[1].file.size() == log.segments[1].size_bytes


def test_a_power_loss_anywhere_in_a_recovery_costs_nothing_that_was_durable() -> None:
    machine = Machine()
    held = content(filled(machine))
    run(machine.log_of().flush())
    image = machine.disk.image()
    for at in range(1, 1_000, 3):
        machine.disk.restore(image)
        machine.disk.draw = Seeded(at)
        machine.start()
        machine.operations, machine.crash_at = 0, at
        try:
            machine.log()
        except Crashed:
            machine.crash("prefix")
        else:
            assert at > 100, "a recovery does more than so few operations"
            return
        assert content(machine.log()) == held


def test_the_end_of_the_log_is_not_believed_unread_after_a_clean_stop() -> None:
    # Found by seed 177 of the log profile: the header of the last batch says where the next
    # begins, and a bit of it was another.
    machine = Machine()
    machine.log().append_as_leader(batch(b"a"), 1, 0)
    log = machine.log_of()
    log.append_as_leader(batch(b"b"), 1, 0)
    found = log.segments[0].find(1)
    assert found is not None
    run(machine.directory_of().close(1))
    path = f"{DIRECTORY}/{segment_file(0, LOG)}"
    assert machine.disk.rot(path, found[0] + LAST_OFFSET_DELTA_AT, 0x20)
    machine.crash()
    log = machine.log()
    assert machine.directory_of().was_clean
    assert offsets(log) == [(0, 0)]
    assert log.append_as_leader(batch(b"c"), 2, 0) == Appended(1, 1, -1)


def test_what_recovery_has_cut_off_is_not_vouched_for_any_more() -> None:
    # Found by seed 154 of the log profile.  Were the old recovery point to stay: (1) the log is
    # cut at 1, below it; (2) new batches are written there, and a segment is rolled; (3) the power
    # fails before they are flushed; (4) that segment ends below the recovery point, is believed
    # and not read.
    machine = Machine()
    log = machine.log()
    for number in range(5):
        log.append_as_leader(batch(b"%d" % number), 1, 0)
    run(machine.directory_of().close(1))
    found = log.segments[0].size_bytes - 3
    assert machine.disk.rot(f"{DIRECTORY}/{segment_file(0, LOG)}", found)
    machine.crash()
    log = machine.log()
    assert log.end_offset == 4
    there = machine.disk.durable_content(f"{PATH}/{RECOVERY_POINTS}")
    assert there is not None
    content_of = there.read(0, there.size)
    assert decode_offsets(content_of, RECOVERY_POINTS) == {ORDERS: 4}


def test_a_batch_larger_than_what_is_read_at_once_is_read_whole() -> None:
    machine = Machine()
    config = LogConfig(max_message_bytes=1 << 23)
    log = machine.log(config)
    for size in (3_000_000, 10, 1_500_000, 10):
        log.append_as_leader(batch(bytes(size)), 1, 0)
    held = content(log)
    machine.crash()
    assert content(machine.log(config)) == held


def test_leftovers_of_kafka_are_cleared_away() -> None:
    machine = Machine()
    log = filled(machine)
    held = content(log)
    machine.crash()
    leftovers = [
        "00000000000000000000.log.deleted",
        "00000000000000000000.index.cleaned",
        "00000000000000000000.log.cleaned",
        "00000000000000009999.index",
        "leader-epoch-checkpoint.7.tmp",
    ]
    for name in leftovers:
        machine.process.open(f"{DIRECTORY}/{name}", "create").write(0, [b"x"])
    others = ["00000000000000000100-0000000003.checkpoint", "quorum-state"]
    for name in others:
        machine.process.open(f"{DIRECTORY}/{name}", "create")
    assert content(machine.log()) == held
    names = machine.process.names(DIRECTORY)
    assert not set(leftovers) & set(names)
    assert set(others) <= set(names)


def test_a_log_whose_start_was_recorded_begins_there() -> None:
    machine = Machine()
    log = filled(machine)
    run(log.flush())
    base = log.segments[2].base_offset
    run(machine.directory_of().record_start(ORDERS, base + 1))
    machine.crash("prefix")
    again = machine.log()
    assert again.start_offset == base + 1
    assert again.segments[0].base_offset == base
    assert again.epochs.entries() == [(0, base + 1), (5, 126)]


def test_a_start_behind_the_end_means_that_nothing_is_left() -> None:
    machine = Machine()
    log = filled(machine)
    run(log.flush())
    run(machine.directory_of().record_start(ORDERS, 1000))
    machine.crash("prefix")
    again = machine.log()
    assert (again.start_offset, again.end_offset) == (1000, 1000)
    assert content(again) == []
    assert again.producers.entries == {}
    assert again.epochs.entries() == []


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    first=st.sampled_from([None, *PROFILES]),
    second=st.sampled_from([None, *PROFILES]),
    step=st.integers(1, 60),
)
def test_a_crash_during_recovery_changes_nothing(
    seed: int, first: Profile | None, second: Profile | None, step: int
) -> None:
    machine = Machine(Seeded(seed))
    log = filled(machine)
    held = content(log)
    machine.crash(first)
    image = machine.disk.image()
    if first is None:
        once = held
    else:
        # What a recovery without a crash makes of the same disk.
        once = content(machine.log())
        machine.disk.restore(image)
        machine.start()
    machine.crash_at = machine.operations + step
    try:
        machine.log()
    except Crashed:
        # Once more, from wherever that left the disk.
        machine.crash_at = None
    machine.crash(second)
    twice = content(machine.log())
    assert once == held[: len(once)]
    assert twice == once[: len(twice)]
    if first is not None or second is None:
        assert twice == once, "what has survived the power loss is durable"


def old_message(offset: int, magic: int, value: bytes) -> bytes:
    """Return a message as Kafka wrote it before 0.11."""
    stamp = (1000 + offset).to_bytes(8) if magic else b""
    body = bytes((magic, 0)) + stamp + b"\0\0\0\1k" + len(value).to_bytes(4) + value
    message = zlib.crc32(body).to_bytes(4) + body
    return offset.to_bytes(8) + len(message).to_bytes(4) + message


@pytest.mark.parametrize("magic", [0, 1])
def test_segments_of_old_kafkas_are_read_and_continued(magic: int) -> None:
    machine = Machine()
    machine.log()
    machine.crash()
    old = b"".join(old_message(offset, magic, b"x" * 20) for offset in range(30))
    overwrite(machine, segment_file(0, LOG), 0, old + old_message(30, magic, b"torn")[:-1])
    log = machine.log()
    assert log.end_offset == 30
    assert log.segments[0].size_bytes == len(old)
    log.append_as_leader(batch(b"new"), 7, 0)
    assert log.read(17, 1, 31)[1].read() == old_message(17, magic, b"x" * 20)
    assert header_at(log.read(30, 1, 31)[1].read()).base_offset == 30
    if magic:
        assert first_not_older(log, 1012) == TimestampedOffset(12, 1012, -1)


@pytest.mark.slow
def test_a_recovery_that_is_cut_short_loses_nothing_that_was_flushed() -> None:
    # What is written again may leave a segment longer than it was, with a zero that is no batch's.
    ways: tuple[Profile | None, ...] = (None, *PROFILES)
    step, is_open = 0, False
    while not is_open:
        step += 1
        machine = Machine(Seeded(step))
        log = filled(machine)
        run(log.flush())
        held = content(log)
        machine.crash(ways[step % 6])
        machine.crash_at = machine.operations + step
        try:
            machine.log()
            is_open = True
        except Crashed:
            pass
        machine.crash(ways[step // 6 % 6])
        assert content(machine.log()) == held
    assert step > 20
