"""What is too old or too much goes, by whole segments."""

import pytest

from barnabas.log.config import LogConfig
from barnabas.log.partition_log import PartitionLog
from barnabas.log.retention import deletable, delete_old_segments
from barnabas.sim.disk_faults import PROFILES, Profile
from tests.log.storage import PATH, Crashed, Machine, batch, content, run
from tests.sim.drawing import Seeded

DAY = 86_400_000


def filled(machine: Machine, config: LogConfig) -> PartitionLog:
    """Return a log of five segments of ten records, one a millisecond, all replicated."""
    log = machine.log(config)
    for number in range(50):
        if number and number % 10 == 0:
            log.roll(0)
        log.append_as_leader(batch(b"a" * 100, timestamp=1000 + number), 1, 0)
    log.set_high_watermark(log.end_offset)
    return log


def test_segments_go_when_their_youngest_record_is_too_old() -> None:
    log = filled(Machine(), LogConfig(retention_ms=100))
    assert deletable(log, 1109) == 0
    assert deletable(log, 1110) == 1
    assert run(delete_old_segments(log, 1125)) > 0
    assert (log.start_offset, log.segments[0].base_offset) == (20, 20)


def test_the_active_segment_goes_too_once_everything_is_too_old() -> None:
    log = filled(Machine(), LogConfig(retention_ms=100))
    run(delete_old_segments(log, 1000 * DAY))
    assert (log.start_offset, log.end_offset) == (50, 50)
    assert [segment.size_bytes for segment in log.segments] == [0]
    assert log.append_as_leader(batch(b"x"), 1, 0).first_offset == 50
    assert deletable(log, 1000 * DAY) == 0, "the new record is not replicated"


def test_segments_go_while_what_remains_is_enough() -> None:
    log = filled(Machine(), LogConfig(retention_ms=-1, retention_bytes=5000))
    size = log.segments[0].size_bytes
    kept = 5
    while (kept - 1) * size >= 5000:
        kept -= 1
    run(delete_old_segments(log, 0))
    assert len(log.segments) == kept < 5


def test_segments_below_the_start_go_whatever_the_policy() -> None:
    log = filled(Machine(), LogConfig(delete=False, compact=True))
    run(log.advance_start(25))
    run(delete_old_segments(log, 1000 * DAY))
    assert (log.start_offset, log.segments[0].base_offset) == (25, 20)


def test_nothing_goes_that_is_not_replicated() -> None:
    log = filled(Machine(), LogConfig(retention_ms=100))
    log.set_high_watermark(29)
    run(delete_old_segments(log, 1000 * DAY))
    assert log.start_offset == 20


def test_records_without_time_do_not_age() -> None:
    log = Machine().log(LogConfig(retention_ms=1))
    log.append_as_leader(batch(b"a", timestamp=-1), 1, 0)
    log.set_high_watermark(1)
    assert deletable(log, 1000 * DAY) == 0


def test_snapshots_go_with_their_segments() -> None:
    log = filled(Machine(), LogConfig(retention_ms=100))
    run(delete_old_segments(log, 1125))
    assert log.snapshots.offsets() == [20, 30, 40]


@pytest.mark.parametrize("profile", [None, *PROFILES])
def test_a_crash_in_between_leaves_no_hole(profile: Profile | None) -> None:
    finished = False
    step = 0
    while not finished:
        step += 1
        machine = Machine(Seeded(step))
        log = filled(machine, LogConfig(retention_ms=100))
        run(log.flush())
        held = content(log)
        machine.crash_at = machine.operations + step
        try:
            run(delete_old_segments(log, 1135))
            finished = True
        except Crashed:
            finished = False
        machine.crash(profile)
        again = machine.log()
        left = content(again)
        assert left == held[len(held) - len(left) :]
        assert again.start_offset in (0, 30)
        assert again.segments[0].base_offset <= again.start_offset
        assert machine.process.exists(f"{PATH}/orders-0")
    assert step > 5


def test_producers_outlive_their_records_though_a_snapshot_is_lost() -> None:
    machine = Machine()
    config = LogConfig(retention_ms=100)
    log = machine.log(config)
    log.append_as_leader(batch(b"1", producer=(7, 0, 0)), 1, 0)
    log.roll(0)
    log.append_as_leader(batch(b"2", timestamp=9_000), 1, 0)
    log.set_high_watermark(2)
    log.snapshots.remove([1])
    run(delete_old_segments(log, 9_000))
    assert log.start_offset == 1
    machine.crash("block")
    assert sorted(machine.log(config).producers.entries) == [7]
