"""The disk of one replica: what is durable when, and what is refused."""

import json
from bisect import bisect_left
from collections.abc import Callable

import pytest

from barnabas.log.health import DirectoryFailed
from barnabas.model.errors import CorruptLog, ErrorCode, Refused
from barnabas.raft.control_records import (
    LeaderChanged,
    VersionSet,
    VotersSet,
    control_records,
    kraft_version,
    voters_record,
)
from barnabas.raft.effects import AppendLeaderChange, AppendVoters
from barnabas.raft.opening import METADATA_LOG
from barnabas.raft.outline import BOOTSTRAP, SnapshotId
from barnabas.raft.states import Election
from barnabas.raft.storage import Storage, gathered_to
from barnabas.raft.voters import NO_VOTERS, ReplicaKey
from barnabas.records.batch import batches, header_at
from barnabas.records.record import records
from barnabas.sim.disk_faults import Injection
from tests.log.storage import PATH, Machine, run
from tests.raft.replica import (
    DIRECTORY,
    FOUR,
    THREE,
    StillClock,
    appended,
    content_of,
    everything,
    filled,
    headers,
    leading,
    opened,
    overwrite,
    path_of,
    receive,
    snapshot_bytes,
    voter,
)


def test_a_new_directory_holds_nothing_and_says_whose_it_is() -> None:
    machine = Machine()
    storage = opened(machine, THREE)
    assert storage.election is None
    assert storage.outline.last == SnapshotId(0, 0)
    assert storage.voters.current == THREE
    assert not storage.voters.reconfigurable
    assert b"topic_id: AAAAAAAAAAAAAAAAAAAAAQ" in content_of(
        machine, f"{DIRECTORY}/partition.metadata"
    )


def test_an_epoch_begins_with_who_leads_who_votes_and_who_granted() -> None:
    storage = opened(Machine())
    run(storage.persist(Election(1, 2)))
    storage.append_leader_change(AppendLeaderChange(0, 1, (1, 2, 3), (1, 2), 1, THREE))
    data = storage.read(0, 3, 1)
    said = list(control_records(data, 0, header_at(data)))
    assert said == [(0, LeaderChanged(2)), (1, VersionSet(1)), (2, VotersSet(THREE))]
    assert header_at(data).leader_epoch == 1


def test_what_was_appended_is_read_in_whole_batches() -> None:
    storage = opened(Machine())
    leading(storage, 1)
    appended(storage, 1, b"one", b"two")
    appended(storage, 1, b"three")
    data = storage.read(1, 4, 1)
    assert [record.value for record in records(data, 0, header_at(data))] == [b"one", b"two"]
    assert [header.base_offset for _, header in batches(storage.read(0, 4, 1 << 20))] == [0, 1, 3]
    assert [header.base_offset for _, header in batches(storage.read(0, 3, 1 << 20))] == [0, 1]
    assert storage.read(4, 4, 100) == b""
    with pytest.raises(Refused, match="OFFSET_OUT_OF_RANGE"):
        storage.read(5, 6, 100)


def test_a_batch_that_is_too_large_is_refused_and_changes_nothing() -> None:
    storage = opened(Machine(), config=METADATA_LOG)
    leading(storage, 1)
    with pytest.raises(Refused) as refused:
        storage.append(1, 1, [b"x" * (8 * 1024 * 1024)])
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert storage.end_offset == 1


def test_records_land_where_it_was_promised_and_not_before_the_vote_is_durable() -> None:
    storage = opened(Machine())
    with pytest.raises(AssertionError, match="before any election"):
        storage.append(0, 1, [b"x"])
    leading(storage, 1)
    with pytest.raises(AssertionError, match="go on at 5"):
        storage.append(5, 1, [b"x"])
    with pytest.raises(AssertionError, match="of epoch 2"):
        storage.append(1, 2, [b"x"])


def test_no_promise_is_taken_back() -> None:
    storage = opened(Machine())
    run(storage.persist(Election(4, None, ReplicaKey(2))))
    for broken in (Election(3), Election(4, None, ReplicaKey(3))):
        with pytest.raises(AssertionError):
            run(storage.persist(broken))
    run(storage.persist(Election(4, 2, ReplicaKey(2))))
    with pytest.raises(AssertionError):
        run(storage.persist(Election(4, 3, ReplicaKey(2))))
    assert storage.election == Election(4, 2, ReplicaKey(2))


def test_the_vote_is_written_in_the_version_that_goes_with_the_voters() -> None:
    machine = Machine()
    storage = opened(machine, THREE)
    run(storage.persist(Election(1, None, voter(2).key)))
    told = json.loads(content_of(machine, f"{DIRECTORY}/quorum-state"))
    assert told["data_version"] == 0
    assert told["currentVoters"] == [{"voterId": 1}, {"voterId": 2}, {"voterId": 3}]
    storage.voters.add_version(0, 1)
    run(storage.persist(Election(2, None, voter(2).key)))
    machine.crash()
    assert opened(machine).election == Election(2, None, voter(2).key)


def test_a_follower_appends_what_it_judged_as_it_is() -> None:
    leader, follower = opened(Machine()), opened(Machine())
    filled(leader)
    run(follower.persist(Election(3, 1)))
    data = everything(leader)
    judged = follower.judge(data + data[:70], 0)
    assert judged.data == data
    assert judged.epochs == ((1, 41), (2, 82), (3, 123))
    follower.append_fetched(judged.data, 3)
    assert everything(follower) == data
    assert run(follower.flush()) == leader.end_offset


def test_a_cut_is_durable_when_it_returns() -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage)
    run(storage.truncate(82))
    machine.crash("data-first")
    again = opened(machine)
    assert again.end_offset == 82
    assert again.outline.epochs == [(1, 0), (2, 41)]
    with pytest.raises(AssertionError, match="reaches over 81"):
        run(again.truncate(81))


def test_voters_follow_the_log() -> None:
    machine = Machine()
    storage = opened(machine, NO_VOTERS)
    run(storage.persist(Election(1, 1)))
    storage.append_leader_change(AppendLeaderChange(0, 1, (1, 2, 3), (1,), 1, THREE))
    appended(storage, 1, b"x")
    storage.append_voters(AppendVoters(4, 1, FOUR))
    run(storage.flush())
    machine.crash("prefix")
    again = opened(machine)
    assert again.voters.current == FOUR
    assert again.voters.current_offset == 4
    assert again.voters.set_at(4) == THREE
    assert again.voters.version == 1


# --- snapshots -----------------------------------------------------------------------------------


def test_a_snapshot_tells_who_voted_at_its_end() -> None:
    machine = Machine()
    storage = opened(machine)
    run(storage.persist(Election(1, 1)))
    storage.append_leader_change(AppendLeaderChange(0, 1, (1, 2, 3), (1,), 1, THREE))
    storage.voters.add_version(1, 1)
    storage.voters.add_voters(2, THREE)
    appended(storage, 1, b"x")
    storage.append_voters(AppendVoters(4, 1, FOUR))
    storage.voters.add_voters(4, FOUR)
    assert run(storage.write_snapshot(SnapshotId(4, 1), [b"x"], 77))
    assert storage.contained_ms(SnapshotId(4, 1)) == 77
    run(storage.clean(SnapshotId(4, 1)))
    run(storage.truncate(4))
    machine.crash("prefix")
    again = opened(machine)
    assert again.voters.current == THREE
    assert again.outline.snapshots == [SnapshotId(4, 1)]
    values = [
        record.value
        for data in again.read_snapshot(SnapshotId(4, 1))
        for record in records(data, 0, header_at(data))
        if not header_at(data).is_control
    ]
    assert values == [b"x"]


def test_a_snapshot_ends_where_a_batch_of_its_epoch_does() -> None:
    storage = opened(Machine())
    filled(storage)
    for wrong, why in (
        (SnapshotId(2, 1), "inside of the batch at 1"),
        (SnapshotId(3, 2), "is of epoch 1"),
        (SnapshotId(200, 3), "snapshot"),
    ):
        with pytest.raises(AssertionError, match=why):
            run(storage.write_snapshot(wrong, [], 0))
    assert run(storage.write_snapshot(SnapshotId(41, 1), [], 0))
    assert not run(storage.write_snapshot(SnapshotId(41, 1), [], 0)), "there is one"
    assert not run(storage.write_snapshot(SnapshotId(3, 1), [], 0)), "there is a newer one"


def test_a_large_snapshot_is_written_in_many_batches() -> None:
    storage = opened(Machine())
    filled(storage)
    values = [b"%06d" % number * 20 for number in range(5000)]
    storage_id = SnapshotId(123, 3)
    run(storage.write_snapshot(storage_id, iter(values), 0))
    read = list(storage.read_snapshot(storage_id))
    assert len(read) > 3
    told = [
        bytes(record.value or b"")
        for data in read[1:-1]
        for record in records(data, 0, header_at(data))
    ]
    assert told == values


def test_values_are_gathered_in_runs_and_a_large_one_stands_alone() -> None:
    assert list(gathered_to(100, [b"a" * 10, b"b" * 10, b"c" * 500, b"d"])) == [
        [b"a" * 10, b"b" * 10],
        [b"c" * 500],
        [b"d"],
    ]
    assert list(gathered_to(100, [])) == []


def test_a_snapshot_is_lent_in_parts() -> None:
    storage = opened(Machine())
    filled(storage)
    snapshot = SnapshotId(123, 3)
    run(storage.write_snapshot(snapshot, [b"x" * 300], 0))
    size, first = storage.part(snapshot, 0, 100)
    assert len(first) == 100
    assert storage.part(snapshot, 100, 1 << 20) == (size, content(storage, snapshot)[100:])
    for position in (-1, size):
        with pytest.raises(Refused) as refused:
            storage.part(snapshot, position, 10)
        assert refused.value.code is ErrorCode.POSITION_OUT_OF_RANGE
    with pytest.raises(Refused) as refused:
        storage.part(SnapshotId(1, 1), 0, 10)
    assert refused.value.code is ErrorCode.SNAPSHOT_NOT_FOUND


def content(storage: Storage, snapshot: SnapshotId) -> bytes:
    return b"".join(storage.read_snapshot(snapshot))


def test_a_received_snapshot_takes_the_place_of_the_log() -> None:
    machine = Machine()
    storage = opened(machine, THREE)
    filled(storage)
    run(storage.write_snapshot(SnapshotId(41, 1), [], 0))
    snapshot = SnapshotId(500, 7)
    run(storage.persist(Election(8, 2)))
    data = snapshot_bytes(snapshot, b"x", version=kraft_version(1), voters=voters_record(FOUR))
    receive(storage, snapshot, data)
    assert run(storage.install(snapshot)) == (FOUR, 1)
    assert storage.end_offset == 500
    assert storage.part(snapshot, 0, 1 << 20) == (len(data), data)
    with pytest.raises(Refused):
        storage.part(SnapshotId(41, 1), 0, 10)
    leading(storage, 9)
    run(storage.flush())
    machine.crash("prefix")
    again = opened(machine)
    assert (again.outline.start_offset, again.end_offset) == (500, 501)
    assert again.outline.snapshots == [snapshot]
    assert again.voters.current == FOUR


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: data[:-1], "bytes are there"),
        (lambda data: data[: -len(footer())], "without a footer"),
        (lambda data: data + footer(), "goes on at"),
        (lambda data: data[:150] + b"\xff" + data[151:], "checksum"),
        (lambda data: data[100:], "magic"),
        (lambda data: b"", "without a footer"),
        (lambda data: snapshot_bytes(SnapshotId(500, 6), b"x"), "epoch 6"),
    ],
)
def test_what_is_no_snapshot_is_thrown_away(spoil: Callable[[bytes], bytes], why: str) -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage)
    snapshot = SnapshotId(500, 7)
    receive(storage, snapshot, spoil(snapshot_bytes(snapshot, b"x")))
    with pytest.raises(Refused, match=why) as refused:
        run(storage.install(snapshot))
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
    assert storage.end_offset == 123
    assert not [name for name in machine.process.names(DIRECTORY) if "checkpoint.part" in name]
    receive(storage, snapshot, snapshot_bytes(snapshot))
    run(storage.install(snapshot))


def footer() -> bytes:
    data = snapshot_bytes(SnapshotId(500, 7), b"x")
    return data[list(batches(data))[-1][0] :]


def test_a_snapshot_that_is_no_news_is_thrown_away() -> None:
    storage = opened(Machine())
    filled(storage)
    run(storage.write_snapshot(SnapshotId(82, 2), [], 0))
    receive(storage, SnapshotId(41, 1), snapshot_bytes(SnapshotId(41, 1)))
    with pytest.raises(Refused, match="no news"):
        run(storage.install(SnapshotId(41, 1)))


def test_another_snapshot_takes_the_place_of_one_that_is_half_received() -> None:
    machine = Machine()
    storage = opened(machine)
    run(storage.open_snapshot(SnapshotId(10, 1)))
    storage.store_part(SnapshotId(10, 1), 0, b"abc")
    with pytest.raises(AssertionError, match="after 3 bytes"):
        storage.store_part(SnapshotId(10, 1), 5, b"abc")
    run(storage.open_snapshot(SnapshotId(20, 2)))
    with pytest.raises(AssertionError, match="is received"):
        storage.store_part(SnapshotId(10, 1), 3, b"abc")
    parts = [name for name in machine.process.names(DIRECTORY) if name.endswith(".part")]
    assert len(parts) == 1


def test_making_room_leaves_the_log_from_a_snapshot_on() -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage)
    for snapshot in (SnapshotId(41, 1), SnapshotId(82, 2), SnapshotId(123, 3)):
        run(storage.write_snapshot(snapshot, [b"x" * 100], 0))
    kept = storage.read(82, 123, 1 << 20)
    run(storage.clean(SnapshotId(82, 2)))
    assert storage.read(82, 123, 1 << 20) == kept
    with pytest.raises(Refused):
        storage.read(81, 123, 100)
    machine.crash()
    again = opened(machine)
    assert again.outline.start_offset == 82
    assert again.outline.snapshots == [SnapshotId(82, 2), SnapshotId(123, 3)]
    assert again.outline.epochs == [(3, 82)]


def test_what_is_too_much_or_too_old_goes_but_never_the_newest_snapshot() -> None:
    storage = opened(Machine())
    filled(storage)
    assert storage.due_to_clean(0, 0) is None, "nothing may go without a snapshot"
    now = StillClock().wall_ms()
    for snapshot, age_ms in ((SnapshotId(41, 1), 5000), (SnapshotId(82, 2), 3000)):
        run(storage.write_snapshot(snapshot, [b"x" * 100], now - age_ms))
    assert storage.due_to_clean(0, 0) == SnapshotId(82, 2)
    run(storage.write_snapshot(SnapshotId(123, 3), [b"x" * 100], now))
    assert storage.due_to_clean(0, -1) == SnapshotId(123, 3)
    assert storage.due_to_clean(-1, -1) is None
    assert storage.due_to_clean(1 << 30, 5000) is None
    assert storage.due_to_clean(1 << 30, 4999) == SnapshotId(82, 2)
    assert storage.due_to_clean(1 << 30, 2999) == SnapshotId(123, 3)
    held = total(storage)
    assert storage.due_to_clean(held, -1) is None
    assert storage.due_to_clean(held - 1, -1) == SnapshotId(82, 2)
    run(storage.clean(SnapshotId(82, 2)))
    assert total(storage) < held - 100


def total(storage: Storage) -> int:
    """Return the least bound that everything there is keeps."""
    return bisect_left(
        range(1 << 16), True, key=lambda size: storage.due_to_clean(size, -1) is None
    )


def test_the_bootstrap_snapshot_says_who_votes_first() -> None:
    machine = Machine()
    data = snapshot_bytes(BOOTSTRAP, version=kraft_version(1), voters=voters_record(THREE))
    opened(machine).abandon()
    machine.crash()
    file = machine.process.open(path_of(BOOTSTRAP), "create")
    file.write(0, [data])
    storage = opened(machine)
    assert storage.voters.current == THREE
    assert storage.voters.current_offset == -1
    assert storage.voters.version == 1
    assert storage.outline.snapshots == [BOOTSTRAP]


# --- the world goes wrong ------------------------------------------------------------------------


def test_what_has_gone_bad_on_the_disk_is_not_handed_out() -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage, 1, 3)
    name = f"{DIRECTORY}/{0:020d}.log"
    overwrite(machine, name, headers(storage)[0].size_bytes + 70, b"\xff")
    with pytest.raises(CorruptLog, match=rf"{name} at \d+.*checksum"):
        storage.read(1, 7, 1 << 20)
    assert storage.read(0, 1, 1 << 20)


def test_after_an_error_of_the_disk_nothing_goes_on() -> None:
    machine = Machine()
    storage = opened(machine)
    leading(storage, 1)
    machine.disk.inject(Injection("sync", error=5))
    with pytest.raises(DirectoryFailed):
        run(storage.flush())
    for work in (storage.persist(Election(9)), storage.flush(), storage.truncate(0)):
        with pytest.raises(DirectoryFailed):
            run(work)
    with pytest.raises(DirectoryFailed):
        appended(storage, 1, b"x")


def test_a_vote_whose_write_fails_is_never_told() -> None:
    machine = Machine()
    storage = opened(machine)
    machine.disk.inject(Injection("sync", error=5))
    with pytest.raises(DirectoryFailed):
        run(storage.persist(Election(9)))


def test_two_processes_do_not_work_in_one_directory() -> None:
    machine = Machine()
    storage = opened(machine)
    with pytest.raises(BlockingIOError):
        opened(machine)
    run(storage.close())
    opened(machine).abandon()
    opened(machine)


def test_a_broker_that_has_claimed_the_directory_shares_it() -> None:
    machine = Machine()
    machine.directory()
    run(Storage.open(machine.process, PATH, NO_VOTERS, StillClock(), claims=False))


def test_a_stop_in_good_order_leaves_everything_durable() -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage)
    appended(storage, 3, b"last")
    held = everything(storage)
    run(storage.open_snapshot(SnapshotId(900, 9)))
    run(storage.close())
    machine.crash("block")
    assert everything(opened(machine)) == held
