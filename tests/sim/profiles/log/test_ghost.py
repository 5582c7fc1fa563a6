"""The ghost: every oracle says no when it should, and not before."""

import pytest

from barnabas.log.producers import Origin
from barnabas.records.batch import header_at
from barnabas.sim.profiles.log.ghost import Ghost, content, is_reduced, naive_producers
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


def test_the_naive_reading_is_that_of_the_log() -> None:
    ghost, machine = told(Machine())
    assert naive_producers(ghost.stored).entries == machine.log_of().producers.entries
    assert [header_at(data).base_offset for data in content(machine.log_of())] == [0, 1, 2, 3, 4, 5]
