"""Producer tables on disk, and read from the log again."""

import errno

import pytest

from barnabas.log.health import DirectoryFailed
from barnabas.log.producers import Marker, Origin, read_snapshot
from barnabas.log.snapshots import Snapshots, marker_in, replay
from barnabas.model.errors import CorruptLog
from barnabas.records.batch import HEADER_BYTES, header_at
from barnabas.records.control import ControlType, control_batch
from barnabas.sim.disk_faults import Injection
from tests.log.storage import ORDERS, PATH, Machine, batch, marker, run, transactional

DIRECTORY = f"{PATH}/{ORDERS}"


def test_a_marker_says_what_the_coordinator_decided() -> None:
    data = marker((7, 0), commit=True, coordinator_epoch=4)
    assert marker_in(data, 0, header_at(data)) == Marker(True, 4, 5000)


def test_other_control_records_decide_nothing() -> None:
    data = control_batch(0, 5, 1, (ControlType.LEADER_CHANGE, b"\0\0"))
    assert marker_in(data, 0, header_at(data)) is None


def test_a_table_is_the_snapshot_and_what_came_after() -> None:
    machine = Machine()
    log = machine.log()
    log.append_as_leader(batch(b"1", producer=(7, 0, 0)), 1, 1000)
    log.snapshots.take(log.producers)
    log.append_as_leader(transactional(b"2", producer=(8, 0, 0)), 1, 1000)
    log.append_as_leader(marker((8, 0), commit=False), 1, 1000, Origin.COORDINATOR)
    log.append_as_leader(transactional(b"3", producer=(7, 0, 1)), 1, 1000)
    table = log.snapshots.load(0, 1)
    assert sorted(table.entries) == [7]
    replay(table, log.segments, log.end_offset)
    assert table.entries == log.producers.entries
    assert table.open == log.producers.open == {7: 3}


def test_a_marker_that_rots_decides_nothing() -> None:
    machine = Machine()
    log = machine.log()
    log.append_as_leader(transactional(b"2", producer=(8, 0, 0)), 1, 1000)
    position = log.segments[0].size_bytes
    log.append_as_leader(marker((8, 0), commit=False), 1, 1000, Origin.COORDINATOR)
    # The last byte of the key says whether it is an abort or a commit.
    key_at = position + HEADER_BYTES + 7
    file = machine.process.open(log.segments[0].file.path, "write")
    assert file.read(key_at, 1) == b"\0"
    file.write(key_at, [b"\x01"])
    with pytest.raises(CorruptLog, match="checksum"):
        replay(log.snapshots.load(0, 0), log.segments, log.end_offset)


def test_a_damaged_snapshot_is_removed_and_an_older_one_taken() -> None:
    machine = Machine()
    log = machine.log()
    for number in range(2):
        log.append_as_leader(batch(b"1", producer=(7, 0, number)), 1, 1000)
        log.snapshots.take(log.producers)
    file = machine.process.open(log.snapshots.path(2), "write")
    file.write(10, [b"\xff"])
    assert log.snapshots.load(0, 2).end_offset == 1
    assert log.snapshots.offsets() == [1]


def test_snapshots_out_of_range_are_not_looked_at() -> None:
    machine = Machine()
    log = machine.log()
    log.append_as_leader(batch(b"1", b"2", producer=(7, 0, 0)), 1, 1000)
    log.snapshots.take(log.producers)
    assert log.snapshots.load(0, 1).entries == {}
    assert log.snapshots.load(2, 2).entries != {}


def test_a_snapshot_is_durable_after_a_sync() -> None:
    machine = Machine()
    log = machine.log()
    log.append_as_leader(batch(b"1", producer=(7, 0, 0)), 1, 1000)
    log.snapshots.take(log.producers)
    log.snapshots.take(log.producers)
    run(log.snapshots.sync())
    run(machine.process.sync_directory(DIRECTORY))
    machine.crash("meta-first")
    assert sorted(Snapshots(machine.process, DIRECTORY).load(0, 1).entries) == [7]


def test_a_snapshot_whose_sync_failed_is_durable_after_the_next_life_has_opened_the_log() -> None:
    # Found by seed 5061 of the log profile: (1) a flush is under way when a segment is rolled, so
    # the recovery point comes to lie at the new snapshot; (2) the next sync fails, and the kernel
    # takes the snapshot for written; (3) the process starts anew and reads it from memory.
    machine = Machine()
    log = machine.log()
    log.append_as_leader(batch(b"1", producer=(7, 0, 0)), 1, 1000)
    run(log.flush())
    log.roll(1000)
    run(machine.directory_of().checkpoint())
    path = log.snapshots.path(1)
    machine.disk.inject(Injection("sync", path, error=errno.EIO))
    with pytest.raises(DirectoryFailed):
        run(log.flush())
    machine.crash()
    assert machine.log().recovery_point == 1
    durable = machine.disk.durable_content(path)
    assert durable is not None
    whole = read_snapshot(durable.read(0, durable.size), 1, path)
    assert sorted(whole.entries) == [7]
