"""Oracles of snapshots: each says no when it should, and not before."""

import pytest

from barnabas.raft.control_records import snapshot_footer, snapshot_header
from barnabas.raft.effects import CleanLog
from barnabas.raft.events import CleanAsked, SnapshotInstalled, SnapshotTaken
from barnabas.raft.outline import Outline, SnapshotId
from barnabas.raft.states import Follower, Leader
from barnabas.records.snapshot import snapshot_batches
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.sim.profiles.raft.ghost import Ghost
from barnabas.sim.profiles.raft.snapshots import (
    LogBounded,
    SnapshotCoversStart,
    SnapshotInstallAtomic,
    SnapshotValid,
    values_in,
)
from barnabas.sim.profiles.raft.table import Table, Tables, encode, entry
from barnabas.sim.world import Violation
from tests.sim.profiles.raft.steps import FakeNode, facts, life, step

FOLLOWS = Follower(3, 2, ())
TABLE = Table().apply([entry("a", "1")])


def stored(table: Table = TABLE) -> bytes:
    values = [encode(each) for each in table.entries()]
    return b"".join(snapshot_batches(3, 0, snapshot_header(0), values, snapshot_footer()))


def test_a_snapshot_is_read_whole_or_not_at_all() -> None:
    assert values_in(stored()) == [encode(each) for each in TABLE.entries()]
    assert values_in(stored()[:-1]) is None
    assert values_in(stored()[:61]) is None
    assert values_in(stored()[:30] + b"X" + stored()[31:]) is None


def test_a_snapshot_that_is_not_durable_is_noticed_and_so_is_one_of_the_future() -> None:
    node = FakeNode(Outline(0, 5, [(3, 0)], [SnapshotId(5, 3)]))
    taken, before = SnapshotTaken(SnapshotId(5, 3)), facts(FOLLOWS, end=5, high_watermark=5)
    with pytest.raises(Violation, match=r"R-28: .* durable"):
        SnapshotValid(Ghost()).step(step(life(node=node), taken, (), before))
    early = facts(FOLLOWS, end=5, high_watermark=4)
    with pytest.raises(Violation, match=r"R-28: .* above"):
        SnapshotValid(Ghost()).step(step(life(node=node), taken, (), early))


def test_a_snapshot_of_other_content_or_at_another_end_is_noticed() -> None:
    tables = Tables()
    ghost = Ghost(tables)
    ghost.commit(Batch(0, 5, 3, 0, True, None, 0, 0, 9), b"", "n1.1")
    tables.at[5] = TABLE
    oracle, of = SnapshotValid(ghost), life()
    oracle._examine(of, SnapshotId(5, 3), stored())
    for snapshot, data in (
        (SnapshotId(5, 3), stored(Table())),
        (SnapshotId(4, 3), stored()),
        (SnapshotId(5, 2), stored()),
        (SnapshotId(5, 3), b""),
    ):
        with pytest.raises(Violation, match="R-28"):
            oracle._examine(of, snapshot, data)


def test_a_log_without_a_beginning_is_noticed() -> None:
    of = life()
    SnapshotCoversStart().opened(of)
    of.facts = facts(FOLLOWS, start=5, end=6)
    with pytest.raises(Violation, match="R-29"):
        SnapshotCoversStart().opened(of)
    before = facts(FOLLOWS, snapshot=SnapshotId(5, 3))
    first = SnapshotId(6, 3)
    with pytest.raises(Violation, match="R-29"):
        SnapshotCoversStart().step(step(of, CleanAsked(first), [CleanLog(first)], before))


def test_half_an_installation_is_noticed() -> None:
    installed = SnapshotInstalled(SnapshotId(5, 3), None, 0)
    oracle = SnapshotInstallAtomic()
    whole = facts(FOLLOWS, start=5, end=5, flushed=5, high_watermark=5)
    oracle.step(step(life(), installed, (), facts(FOLLOWS), whole))
    with pytest.raises(Violation, match="R-30"):
        oracle.step(step(life(), installed, (), facts(FOLLOWS), facts(FOLLOWS, end=5)))
    with pytest.raises(Violation, match="R-30"):
        oracle.step(step(life(), installed, (), facts(Leader(3, 0)), whole))
    of = life()
    of.facts = facts(FOLLOWS, end=4, snapshot=SnapshotId(5, 3))
    with pytest.raises(Violation, match="R-30"):
        oracle.opened(of)


def test_a_log_without_snapshots_is_noticed() -> None:
    node = FakeNode(high_watermark=5)
    of = life(node=node)
    of.log.batches.append(Batch(0, 5, 3, 0, False, None, 0, 0, 100))
    LogBounded(100).finish([of])
    of.log.batches.extend([Batch(5, 6, 3, 0, False, 3, 0, 0, 100)] * 3)
    # They are not committed, and belong into no snapshot yet.
    LogBounded(100).finish([of])
    node.high_watermark = 6
    with pytest.raises(Violation, match="RL-8"):
        LogBounded(100).finish([of])
