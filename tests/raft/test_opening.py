"""Opening the quorum's log after whatever happened to it."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from barnabas.log.names import LOG, segment_file
from barnabas.model.errors import CorruptLog
from barnabas.raft.flushed_mark import FLUSHED_MARK
from barnabas.raft.outline import SnapshotId
from barnabas.raft.states import Election
from barnabas.raft.storage import Storage
from barnabas.records.batch import batches
from barnabas.sim.disk_faults import PROFILES, Profile
from tests.log.storage import Crashed, Machine, run
from tests.raft.replica import (
    DIRECTORY,
    THREE,
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
)
from tests.sim.drawing import Seeded

WAYS: tuple[Profile | None, ...] = (None, *PROFILES)

FIRST, SECOND, THIRD = SnapshotId(13, 1), SnapshotId(26, 2), SnapshotId(39, 3)
FOREIGN = SnapshotId(500, 7)
ELECTION = Election(8, 2)


def prepared(seed: int) -> tuple[Machine, Storage, bytes]:
    """Return a log of three epochs with two snapshots, all of it durable, and its bytes."""
    machine = Machine(Seeded(seed))
    storage = opened(machine)
    filled(storage, 3, 6)
    for snapshot in (FIRST, SECOND):
        run(storage.write_snapshot(snapshot, [b"x" * 300], 0))
    run(storage.persist(ELECTION))
    receive(storage, FOREIGN, snapshot_bytes(FOREIGN, b"y" * 500))
    return machine, storage, everything(storage)


def tail(held: bytes, storage: Storage) -> bytes:
    """Return what a log held from where it begins now: at its oldest snapshot's end (R-29)."""
    start = storage.outline.start_offset
    snapshots = storage.outline.snapshots
    assert start == snapshots[0].end_offset
    begins = [at for at, header in batches(held) if header.base_offset == start]
    return held[begins[0] :] if begins else b""


Work = Callable[[Storage], Coroutine[Any, Any, Any]]
Verdict = Callable[[Storage, bytes, bool], None]


async def vote(storage: Storage) -> None:
    await storage.persist(Election(9, None))


def voted(storage: Storage, held: bytes, is_done: bool) -> None:
    assert storage.election in ((Election(9, None),) if is_done else (Election(9, None), ELECTION))
    assert everything(storage) == tail(held, storage)


async def install(storage: Storage) -> None:
    await storage.install(FOREIGN)


def installed(storage: Storage, held: bytes, is_done: bool) -> None:
    outline = storage.outline
    if is_done or outline.end_offset == 500:
        assert (outline.start_offset, outline.end_offset) == (500, 500)
        assert outline.snapshots == [FOREIGN]
        assert len(b"".join(storage.read_snapshot(FOREIGN))) > 500
    else:
        assert outline.snapshots == [FIRST, SECOND]
        assert everything(storage) == tail(held, storage)


async def clean(storage: Storage) -> None:
    await storage.clean(SECOND)


def cleaned(storage: Storage, held: bytes, is_done: bool) -> None:
    outline = storage.outline
    assert outline.start_offset in ((26,) if is_done else (13, 26))
    assert outline.end_offset == 39
    assert outline.snapshots[-1] == SECOND
    assert everything(storage) == tail(held, storage)


async def take_snapshot(storage: Storage) -> None:
    assert await storage.write_snapshot(THIRD, [b"z" * 700, b"z" * 700], 9)


def taken(storage: Storage, held: bytes, is_done: bool) -> None:
    snapshots = storage.outline.snapshots
    assert list(snapshots[:2]) == [FIRST, SECOND]
    assert len(snapshots) == 3 or not is_done
    if THIRD in snapshots:
        assert len(b"".join(storage.read_snapshot(THIRD))) > 1400
    assert everything(storage) == tail(held, storage)


async def cut(storage: Storage) -> None:
    await storage.truncate(27)


def was_cut(storage: Storage, held: bytes, is_done: bool) -> None:
    assert 27 <= storage.end_offset <= (27 if is_done else 39)
    assert tail(held, storage).startswith(everything(storage))


async def append(storage: Storage) -> None:
    await storage.persist(Election(9, 1))
    leading(storage, 9)
    for number in range(5):
        appended(storage, 9, b"n%d" % number * 100)
    assert await storage.flush() == 45
    appended(storage, 9, b"not flushed")


def was_appended(storage: Storage, held: bytes, is_done: bool) -> None:
    assert everything(storage).startswith(tail(held, storage))
    assert storage.end_offset >= (45 if is_done else 39)
    assert storage.election is not None
    assert storage.election.epoch >= storage.outline.last_epoch


SCENES: dict[str, tuple[Work, Verdict]] = {
    "a vote": (vote, voted),
    "a received snapshot": (install, installed),
    "making room": (clean, cleaned),
    "a snapshot of our own": (take_snapshot, taken),
    "a cut": (cut, was_cut),
    "appending and flushing": (append, was_appended),
}


def operations_of(work: Work) -> int:
    """Return how many operations of the disk a work takes."""
    machine, storage, _ = prepared(0)
    before = machine.operations
    run(work(storage))
    return machine.operations - before


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scene", SCENES)
def test_a_crash_at_any_point_leaves_what_was_or_what_is_to_be(
    scene: str, way: Profile | None
) -> None:
    work, verdict = SCENES[scene]
    for at in range(1, operations_of(work) + 2):
        machine, storage, held = prepared(at)
        machine.crash_at = machine.operations + at
        try:
            run(work(storage))
            is_done = True
        except Crashed:
            is_done = False
        machine.crash(way)
        again = opened(machine)
        verdict(again, held, is_done)
        before = (again.election, everything(again), list(again.outline.snapshots))
        machine.crash(way)
        once_more = opened(machine)
        verdict(once_more, held, is_done)
        # What an opening has shown is durable.
        assert (
            once_more.election,
            everything(once_more),
            list(once_more.outline.snapshots),
        ) == before
        assert not any(name.endswith(".part") for name in machine.process.names(DIRECTORY))


# --- what was promised, and what never was -------------------------------------------------------


def test_a_tail_that_was_never_flushed_is_cut_where_it_is_torn() -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage, 1, 4)
    end = storage.end_offset
    appended(storage, 1, b"torn")
    size = len(everything(storage))
    machine.crash()
    overwrite(machine, f"{DIRECTORY}/{segment_file(0, LOG)}", size - 3, b"\xff")
    again = opened(machine)
    assert again.end_offset == end


@pytest.mark.parametrize("stops", ["well", "badly"])
def test_a_flushed_batch_that_has_rotted_stops_the_node(stops: str) -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage, 1, 4)
    appended(storage, 1, b"not flushed")
    if stops == "well":
        run(storage.close())
    machine.crash()
    path = f"{DIRECTORY}/{segment_file(0, LOG)}"
    rotten = content_of(machine, path)
    overwrite(machine, path, 250, bytes([rotten[250] ^ 1]))
    before = content_of(machine, path)
    for _ in range(2):
        with pytest.raises(CorruptLog, match=rf"{path}.*offset \d+.*was on this disk.*anew"):
            opened(machine)
        machine.crash()
    assert content_of(machine, path) == before, "nothing was changed"


def test_a_log_that_ends_before_what_was_flushed_stops_the_node() -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage, 3, 20)
    machine.crash()
    logs = [name for name in machine.process.names(DIRECTORY) if name.endswith(LOG)]
    assert len(logs) > 2
    machine.process.remove(f"{DIRECTORY}/{logs[-1]}")
    with pytest.raises(CorruptLog, match="the log ends at offset"):
        opened(machine)
    machine.crash()
    machine.process.remove(f"{DIRECTORY}/{logs[0]}")
    with pytest.raises(CorruptLog, match="the log begins at"):
        opened(machine)


def test_a_log_that_another_program_has_cut_since_is_believed() -> None:
    # Kafka does not know of the mark; it cuts only when it follows a leader of a later epoch.
    machine = Machine()
    storage = opened(machine)
    filled(storage, 1, 4)
    run(storage.close())
    mark = content_of(machine, f"{DIRECTORY}/{FLUSHED_MARK}")
    machine.crash()
    storage = opened(machine)
    run(storage.persist(Election(2, 2)))
    run(storage.truncate(3))
    run(storage.close())
    overwrite(machine, f"{DIRECTORY}/{FLUSHED_MARK}", 0, mark)
    machine.crash()
    assert opened(machine).end_offset == 3


def test_without_a_mark_the_log_is_believed_as_kafka_believes_it() -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage, 1, 4)
    run(storage.close())
    machine.crash()
    machine.process.remove(f"{DIRECTORY}/{FLUSHED_MARK}")
    overwrite(machine, f"{DIRECTORY}/{segment_file(0, LOG)}", 250, b"\xff\xfe")
    assert 0 < opened(machine).end_offset < 9


# --- snapshots and the log -----------------------------------------------------------------------


def test_a_received_snapshot_that_could_not_take_its_place_takes_it_now() -> None:
    machine = Machine()
    storage = opened(machine, THREE)
    filled(storage)
    run(storage.close())
    machine.crash()
    file = machine.process.open(path_of(FOREIGN), "create")
    file.write(0, [snapshot_bytes(FOREIGN)])
    again = opened(machine)
    assert (again.outline.start_offset, again.end_offset) == (500, 500)
    assert again.outline.last == FOREIGN
    assert again.outline.epochs == []


def test_a_snapshot_of_a_later_epoch_takes_the_place_of_a_longer_log() -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage)
    run(storage.close())
    machine.crash()
    snapshot = SnapshotId(100, 5)
    file = machine.process.open(path_of(snapshot), "create")
    file.write(0, [snapshot_bytes(snapshot)])
    again = opened(machine)
    assert (again.outline.start_offset, again.end_offset) == (100, 100)
    leading(again, 6)
    run(again.flush())
    assert [header.base_offset for header in headers(again)] == [100]


def test_the_log_begins_where_the_oldest_snapshot_ends() -> None:
    machine, _, held = prepared(0)
    machine.crash()
    again = opened(machine)
    assert again.outline.start_offset == 13
    assert again.outline.epochs == [(2, 13), (3, 26)]
    assert everything(again) == tail(held, again)


def test_a_log_that_was_never_cleaned_needs_no_snapshot_and_a_cleaned_one_does() -> None:
    machine = Machine()
    storage = opened(machine)
    filled(storage, 3, 20)
    run(storage.write_snapshot(SnapshotId(123, 3), [], 0))
    run(storage.clean(SnapshotId(123, 3)))
    run(storage.close())
    machine.crash()
    machine.process.remove(path_of(SnapshotId(123, 3)))
    with pytest.raises(CorruptLog, match="no snapshot says what came before"):
        opened(machine)


def test_snapshots_that_end_before_the_log_begins_are_forgotten() -> None:
    # Kafka removes segments first, then snapshots.
    machine = Machine()
    storage = opened(machine)
    filled(storage, 3, 20)
    run(storage.write_snapshot(SnapshotId(123, 3), [], 0))
    run(storage.clean(SnapshotId(123, 3)))
    run(storage.close())
    machine.crash()
    old = SnapshotId(41, 1)
    machine.process.open(path_of(old), "create").write(0, [snapshot_bytes(old)])
    again = opened(machine)
    assert again.outline.snapshots == [SnapshotId(123, 3)]
    assert not machine.process.exists(path_of(old))


def test_a_newest_snapshot_that_has_gone_bad_stops_the_node() -> None:
    machine, _, _ = prepared(0)
    machine.crash()
    overwrite(machine, path_of(SECOND), 250, b"\xff\xff")
    with pytest.raises(CorruptLog, match=rf"{path_of(SECOND)} at \d+.*checksum"):
        opened(machine)


def test_what_was_never_finished_goes() -> None:
    machine, _, _ = prepared(0)
    machine.crash()
    for name in (
        "00000000000000000041-0000000001-17.checkpoint.part",
        "00000000000000000041-0000000001.checkpoint.deleted",
        "quorum-state.tmp",
        "quorum-state.3.tmp",
    ):
        machine.process.open(f"{DIRECTORY}/{name}", "create").write(0, [b"x"])
    opened(machine)
    left = machine.process.names(DIRECTORY)
    assert not [name for name in left if name.endswith((".part", ".deleted", ".tmp"))]


# --- files that are not ours ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"leaderId":1,"leaderEpoch":2,"votedId":-1}',
        b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":2}',
        b'{"leaderId":1,"leaderEpoch":"2","votedId":-1,"data_version":1}',
        b'{"leaderId":1,"leaderEpoch":2,"votedId":3,"votedDirectoryId":"x","data_version":1}',
        b'{"leaderId":1,"leaderEpoch":-2,"votedId":-1,"appliedOffset":0,"data_version":0}',
    ],
)
def test_a_vote_that_cannot_be_read_stops_the_node(content: bytes) -> None:
    machine, _, _ = prepared(0)
    machine.crash()
    file = machine.process.open(f"{DIRECTORY}/quorum-state", "write")
    file.truncate(0)
    file.write(0, [content])
    with pytest.raises(CorruptLog, match=r"quorum-state: .*vote twice"):
        opened(machine)


def test_the_log_of_another_topic_is_left_alone() -> None:
    machine, _, _ = prepared(0)
    machine.crash()
    path = f"{DIRECTORY}/partition.metadata"
    overwrite(machine, path, len("version: 0\ntopic_id: "), b"B")
    with pytest.raises(CorruptLog, match=r"the log of topic 04.*elsewhere"):
        opened(machine)
