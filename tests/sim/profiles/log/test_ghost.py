"""The ghost: every oracle says no when it should, and not before."""

import pytest

from barnabas.log.producers import Origin
from barnabas.records.batch import header_at
from barnabas.sim.profiles.log.ghost import Ghost, content, partial_bytes
from barnabas.sim.profiles.log.naive import Reading
from barnabas.sim.world import Violation
from tests.log.storage import Machine, batch, marker, run, transactional


def told(machine: Machine, count: int = 6) -> tuple[Ghost, Machine]:
    """Return a ghost that saw every append of a machine's log."""
    log, ghost = machine.log(), Ghost("plain", compacted=False)
    ghost.recovered(log)
    for number in range(count):
        data = batch(b"v" * 50, producer=(7, 0, number))
        ghost.begin_append(data)
        log.append_as_leader(data, number // 3, 0)
        ghost.appended(log, number)
    return ghost, machine


def test_a_log_that_is_as_it_must_be_is_left_in_peace() -> None:
    ghost, machine = told(Machine())
    log = machine.log_of()
    log.append_as_leader(transactional(b"t", producer=(8, 0, 0)), 2, 0)
    ghost.appended(log, 6)
    log.append_as_leader(marker((8, 0), commit=False), 2, 0, Origin.COORDINATOR)
    ghost.appended(log, 7)
    target = run(log.flush())
    ghost.flushed(log, machine.disk, target)
    ghost.epochs_written(log, machine.disk)
    ghost.agrees(log)
    machine.crash("block")
    ghost.recovered(machine.log())


def test_an_offset_that_is_assigned_twice_is_noticed() -> None:
    ghost, machine = told(Machine())
    with pytest.raises(Violation, match="S-06"):
        ghost.appended(machine.log_of(), 3)


def test_a_durable_batch_that_is_gone_is_noticed() -> None:
    ghost, machine = told(Machine())
    ghost.durable_end = 6
    run(machine.log_of().truncate(3, 0))
    machine.crash()
    with pytest.raises(Violation, match="S-01"):
        ghost.recovered(machine.log())


def test_a_batch_that_was_never_there_is_noticed() -> None:
    ghost, machine = told(Machine())
    machine.log_of().append_as_leader(batch(b"foreign"), 9, 0)
    machine.crash()
    with pytest.raises(Violation, match="S-01"):
        ghost.recovered(machine.log())


def test_a_cut_that_had_begun_may_have_happened_or_not() -> None:
    ghost, machine = told(Machine())
    ghost.begin_cut(4)
    machine.crash()
    ghost.recovered(machine.log())
    assert ghost.end == 6
    ghost.begin_cut(4)
    run(machine.log_of().truncate(4, 0))
    machine.crash()
    ghost.recovered(machine.log())
    assert ghost.end == 4


def test_a_flush_that_lies_is_noticed() -> None:
    ghost, machine = told(Machine())
    with pytest.raises(Violation, match="S-08"):
        ghost.flushed(machine.log_of(), machine.disk, 6)


def test_epochs_that_are_not_on_the_disk_are_noticed() -> None:
    ghost, machine = told(Machine())
    with pytest.raises(Violation, match="S-04"):
        ghost.epochs_written(machine.log_of(), machine.disk)


def test_what_the_log_forgot_of_its_batches_is_noticed() -> None:
    ghost, machine = told(Machine())
    log = machine.log_of()
    entry = log.producers.entries.pop(7)
    with pytest.raises(Violation, match="I-03"):
        ghost.agrees(log)
    log.producers.entries[7] = entry
    log.producers.open[9] = 3
    with pytest.raises(Violation, match="T-08"):
        ghost.agrees(log)
    del log.producers.open[9]
    log.epochs.clear()
    with pytest.raises(Violation, match="S-10"):
        ghost.agrees(log)


def test_rotten_bytes_are_noticed() -> None:
    ghost, machine = told(Machine())
    log = machine.log_of()
    log.segments[0].file.write(log.segments[0].size_bytes - 3, [b"X"])
    with pytest.raises(Violation, match="S-02"):
        ghost.agrees(log)


def test_the_naive_reading_is_that_of_the_log() -> None:
    ghost, machine = told(Machine())
    assert Reading(ghost.stored).producers.entries == machine.log_of().producers.entries
    assert [header_at(data).base_offset for data in content(machine.log_of())] == [0, 1, 2, 3, 4, 5]


def test_a_high_watermark_that_grew_in_a_crash_is_noticed() -> None:
    ghost, machine = told(Machine())
    log = machine.log_of()
    log.set_high_watermark(3)
    ghost.agrees(log)
    run(machine.directory_of().checkpoint())
    machine.crash()
    ghost.recovered(machine.log())
    ghost.high_watermark = 2
    machine.crash()
    with pytest.raises(Violation, match="S-05"):
        ghost.recovered(machine.log())


def test_a_snapshot_that_vanishes_is_noticed_and_one_that_rots_is_excused() -> None:
    ghost, machine = told(Machine())
    log = machine.log_of()
    log.roll(0)
    ghost.agrees(log)
    path = log.snapshots.path(6)
    machine.process.remove(path)
    ghost.rotten[path] = None
    ghost.agrees(log)
    ghost, machine = told(Machine())
    log = machine.log_of()
    log.roll(0)
    ghost.agrees(log)
    machine.process.remove(log.snapshots.path(6))
    with pytest.raises(Violation, match="S-11"):
        ghost.agrees(log)


def test_a_snapshot_that_was_vouched_for_and_is_not_durable_is_noticed() -> None:
    ghost, machine = told(Machine())
    log = machine.log_of()
    log.roll(0)
    log.append_as_leader(batch(b"v", producer=(7, 0, 6)), 1, 0)
    ghost.appended(log, 6)
    log.snapshots.close()
    run(log.flush())
    with pytest.raises(Violation, match="S-11"):
        ghost.flushed(log, machine.disk, 7)


def test_what_retention_may_not_delete_is_noticed() -> None:
    ghost, machine = told(Machine(), 40)
    log = machine.log_of()
    log.set_high_watermark(log.end_offset)
    ghost.agrees(log)
    ghost.retained(log, 40)
    run(log.advance_start(30))
    with pytest.raises(Violation, match="S-13"):
        ghost.retained(log, 20)


def test_a_part_of_a_batch_that_can_be_seen_is_noticed() -> None:
    ghost, machine = told(Machine())
    log = machine.log_of()
    ghost.nothing_partial(log)
    log.segments[-1].file.write(log.segments[-1].size_bytes, [b"half a batch"])
    assert partial_bytes(log.segments[-1]) == 0
    log.segments[-1].size_bytes += 12
    assert partial_bytes(log.segments[-1]) == 12
    with pytest.raises(Violation, match="S-15"):
        ghost.nothing_partial(log)


def test_aborted_transactions_that_are_not_told_are_noticed() -> None:
    ghost, machine = told(Machine())
    log = machine.log_of()
    log.append_as_leader(transactional(b"t", producer=(8, 0, 0)), 2, 0)
    ghost.appended(log, 6)
    log.append_as_leader(marker((8, 0), commit=False), 2, 0, Origin.COORDINATOR)
    ghost.appended(log, 7)
    ghost.agrees(log)
    log.segments[-1].aborted.reset()
    with pytest.raises(Violation, match="T-08"):
        ghost.agrees(log)


def test_a_destroyed_batch_is_excused_as_long_as_nobody_can_believe_it() -> None:
    ghost, machine = told(Machine())
    log = machine.log_of()
    file = log.segments[0].file
    found = log.segments[0].find(3)
    assert found is not None
    position, header = found
    whole = file.read(position, header.size_bytes)
    file.write(position + header.size_bytes - 3, [b"X"])
    ghost.damaged[3] = None
    ghost.agrees(log)
    # With a checksum that fits, it is another batch.
    file.write(position, [batch(b"w" * 50, base_offset=3, epoch=1, producer=(7, 0, 3))])
    with pytest.raises(Violation, match="S-18"):
        ghost.agrees(log)
    file.write(position, [whole])
    ghost.agrees(log)


def test_recovery_may_end_a_log_at_a_destroyed_batch_and_not_before() -> None:
    for damaged, excused in ((3, True), (4, False)):
        ghost, machine = told(Machine())
        run(machine.log_of().truncate(3, 0))
        machine.crash()
        ghost.durable_end = 6
        ghost.damaged[damaged] = None
        if excused:
            ghost.recovered(machine.log())
            assert (ghost.end, ghost.is_damaged) == (3, False)
        else:
            with pytest.raises(Violation, match="S-01"):
                ghost.recovered(machine.log())


def test_each_look_is_counted() -> None:
    marks: list[str] = []
    machine = Machine()
    ghost = Ghost("plain", compacted=False, mark=marks.append)
    ghost.recovered(machine.log())
    assert marks == ["S-01 asked", "S-05 asked"]
