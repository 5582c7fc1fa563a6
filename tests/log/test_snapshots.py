"""Producer tables on disk, and read from the log again."""

from barnabas.log.producers import Marker, Origin
from barnabas.log.snapshots import Snapshots, marker_in, replay
from barnabas.records.batch import header_at
from barnabas.records.control import ControlType, control_batch
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
