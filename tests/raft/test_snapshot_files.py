"""Snapshots as files: their names, and what is none."""

import pytest

from barnabas.model.errors import CorruptLog
from barnabas.raft.control_records import (
    kraft_version,
    leader_change,
    snapshot_footer,
    snapshot_header,
    voters_record,
)
from barnabas.raft.outline import BOOTSTRAP, SnapshotId
from barnabas.raft.snapshot_files import (
    SnapshotFiles,
    SnapshotSays,
    examine,
    is_leftover,
    last_contained_ms,
    snapshot_name,
    snapshot_of,
)
from barnabas.records.control import ControlType, control_batch
from barnabas.records.snapshot import data_batch, snapshot_footer_batch, snapshot_header_batch
from tests.log.storage import PATH, Machine, run
from tests.raft.replica import THREE, snapshot_bytes

SNAPSHOT = SnapshotId(120, 7)
HEAD = snapshot_header_batch(7, 0, snapshot_header(5))
DATA = data_batch(1, 7, 0, [b"x"])
FOOT = snapshot_footer_batch(2, 7, 0, snapshot_footer())


def test_a_snapshot_is_named_by_its_end_and_epoch() -> None:
    assert snapshot_name(SNAPSHOT) == "00000000000000000120-0000000007.checkpoint"
    assert snapshot_of(snapshot_name(SNAPSHOT)) == SNAPSHOT
    assert snapshot_of(snapshot_name(BOOTSTRAP)) == BOOTSTRAP
    for name in (
        "00000000000000000120-0000000007-3.checkpoint.part",
        "00000000000000000120-0000000007.checkpoint.deleted",
        "leader-epoch-checkpoint",
        "bootstrap.checkpoint",
        "00000000000000000120.log",
    ):
        assert snapshot_of(name) is None
    assert is_leftover("00000000000000000120-0000000007-987.checkpoint.part")
    assert not is_leftover(snapshot_name(SNAPSHOT))


def examined(data: bytes) -> SnapshotSays:
    machine = Machine()
    machine.process.open(f"{PATH}/s", "create").write(0, [data])
    return examine(machine.process, f"{PATH}/s", SNAPSHOT)


def test_a_snapshot_says_when_and_who_votes() -> None:
    assert examined(HEAD + DATA + FOOT) == SnapshotSays(5, 0, None)
    told = snapshot_bytes(SNAPSHOT, version=kraft_version(1), voters=voters_record(THREE))
    assert examined(told) == SnapshotSays(5, 1, THREE)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "without a footer"),
        (HEAD + DATA, "without a footer"),
        (HEAD[:-1], "bytes are there"),
        (HEAD + FOOT, "goes on at 1"),
        (HEAD + DATA + FOOT + data_batch(3, 7, 0, [b"x"]), "behind the footer"),
        (data_batch(0, 7, 0, [b"x"]), "before the header"),
        (HEAD + data_batch(1, 6, 0, [b"x"]), "epoch 6"),
        (HEAD + b"\0" * 100, "magic"),
        (
            HEAD + control_batch(1, 0, 7, (ControlType.SNAPSHOT_HEADER, snapshot_header(5))),
            "no place at 1",
        ),
        (
            HEAD + control_batch(1, 0, 7, (ControlType.LEADER_CHANGE, leader_change(1, (), ()))),
            "no place at 1",
        ),
        (
            HEAD + control_batch(1, 0, 7, (ControlType.KRAFT_VOTERS, voters_record(THREE))) + FOOT,
            "voters in a snapshot of kraft.version 0",
        ),
        (HEAD + control_batch(1, 0, 7, (ControlType.KRAFT_VOTERS, b"\0\0\1\0")), "of the voters"),
    ],
)
def test_what_is_no_snapshot_is_named(data: bytes, why: str) -> None:
    with pytest.raises(CorruptLog, match=f"^{PATH}/s.*{why}"):
        examined(data)


def test_the_time_in_the_header_is_read_without_the_rest() -> None:
    machine = Machine()
    machine.process.open(f"{PATH}/s", "create").write(0, [HEAD + b"garbage"])
    assert last_contained_ms(machine.process, f"{PATH}/s", SNAPSHOT) == 5


def test_a_snapshot_that_comes_late_is_thrown_away() -> None:
    machine = Machine()
    files = SnapshotFiles(machine.process, PATH)
    slow, quick = files.begin(SnapshotId(10, 1)), files.begin(SnapshotId(20, 1))
    for part in (slow, quick):
        part.append(HEAD)
    assert run(files.publish(quick))
    assert not run(files.publish(slow))
    assert files.known == [SnapshotId(20, 1)]
    assert machine.process.names(PATH) == ["00000000000000000020-0000000001.checkpoint"]
