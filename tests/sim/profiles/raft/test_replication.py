"""Oracles of the log: each says no when it should, and not before."""

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import (
    AppendFetched,
    AppendRecords,
    Became,
    HighWatermark,
    Reply,
    Truncate,
)
from barnabas.raft.events import Alarm, Answered, Asked, TimerFired
from barnabas.raft.messages import Fetch, FetchAnswer, Lent, Standing
from barnabas.raft.outline import Diverges, Outline, SnapshotId
from barnabas.raft.states import Candidate, Follower, Leader, Unattached
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.sim.profiles.raft.ghost import Elected, Ghost
from barnabas.sim.profiles.raft.replication import (
    CommittedPrefixStable,
    DivergenceSound,
    EpochCacheExact,
    FetchEpochMatch,
    HwmMonotonic,
    LeaderAppendOnly,
    LeaderChangeFirst,
    LeaderCompleteness,
    LogMatching,
    NoTruncateBelowHwm,
    ObserverNeutral,
)
from barnabas.sim.world import Violation
from tests.sim.profiles.raft.steps import FakeNode, facts, key, life, step, voters

TIMEOUT = TimerFired(Alarm.ELECTION)
LEADS = Leader(3, 4)
FOLLOWS = Follower(3, 2, ())


def batch(base: int, end: int, epoch: int, crc: int = 7, before: int | None = None) -> Batch:
    return Batch(base, end, epoch, crc, False, before, 0, 0, 100)


def fetch(epoch: int = 3, offset: int = 4) -> Fetch:
    return Fetch(key(2), epoch, offset, 1, 0, 500, 100)


def answer(epoch: int = 3, hwm: int = -1, content: Lent | Diverges | None = None) -> FetchAnswer:
    standing = Standing(ErrorCode.NONE, epoch, 2, ())
    return FetchAnswer(standing, hwm, content or Lent(4, 5, 100))


def test_one_offset_with_two_batches_is_noticed_and_so_is_another_past() -> None:
    oracle = LogMatching(Ghost())
    oracle.read(life(1), [batch(0, 3, 1), batch(3, 5, 2, before=1)])
    oracle.read(life(2), [batch(0, 3, 1), batch(3, 5, 2, before=1)])
    with pytest.raises(Violation, match="R-33"):
        oracle.read(life(3), [batch(0, 3, 1, crc=8)])
    with pytest.raises(Violation, match="R-07"):
        oracle.read(life(3), [batch(3, 5, 2, before=0)])


def test_an_epoch_that_begins_with_anything_else_is_noticed() -> None:
    oracle = LeaderChangeFirst(Ghost())
    oracle.read(life(), [batch(3, 5, 2, before=2)])
    with pytest.raises(Violation, match="R-31"):
        oracle.read(life(), [batch(3, 5, 2, before=1)])


def test_what_is_committed_twice_is_noticed() -> None:
    oracle, one, other = CommittedPrefixStable(Ghost()), life(1), life(2)
    for each, crc in ((one, 7), (other, 8)):
        each.log.batches.append(batch(0, 3, 1, crc)._replace(is_control=True))
        each.log._ends.append(3)
        each.unread_from = None
        each.node.high_watermark = 3
    oracle.read(one, [])
    with pytest.raises(Violation, match="R-08"):
        oracle.read(other, [])


def test_a_leader_with_less_is_noticed() -> None:
    ghost = Ghost()
    ghost.commit(batch(0, 4, 1)._replace(is_control=True), b"", "somebody")
    leads = [Became(LEADS)]
    elected = facts(Candidate(3, key(1)), end=4)
    node = FakeNode(Outline(0, 5, [(1, 0), (3, 4)]))
    LeaderCompleteness(ghost).step(step(life(node=node), TIMEOUT, leads, elected, facts(LEADS)))
    assert ghost.elected[3].epoch_at(3) == 1
    less = facts(Candidate(3, key(1)), end=3)
    with pytest.raises(Violation, match="R-09"):
        LeaderCompleteness(ghost).step(step(life(node=node), TIMEOUT, leads, less))
    other = FakeNode(Outline(0, 5, [(2, 0), (3, 4)]))
    with pytest.raises(Violation, match="R-09"):
        LeaderCompleteness(ghost).step(step(life(node=other), TIMEOUT, leads, elected))


def test_a_high_watermark_that_falls_is_noticed_and_one_that_is_told_too_early() -> None:
    oracle = HwmMonotonic(Ghost())
    oracle.step(step(life(), TIMEOUT, (), facts(high_watermark=3, end=3)))
    with pytest.raises(Violation, match="R-12"):
        oracle.step(step(life(), TIMEOUT, (), facts(high_watermark=3, end=3), facts(end=3)))
    with pytest.raises(Violation, match="R-12"):
        oracle.step(step(life(), TIMEOUT, (), facts(end=3), facts(high_watermark=4, end=3)))
    leads = facts(LEADS, end=6, high_watermark=4)
    oracle.step(step(life(), Asked(1, fetch()), [Reply(1, answer(hwm=5))], leads))
    with pytest.raises(Violation, match="R-12"):
        oracle.step(step(life(), Asked(1, fetch()), [Reply(1, answer(hwm=4))], leads))


def test_a_cut_below_what_is_committed_is_noticed() -> None:
    before = facts(FOLLOWS, high_watermark=3, end=9, snapshot=SnapshotId(5, 1))
    NoTruncateBelowHwm().step(step(life(), TIMEOUT, [Truncate(5)], before))
    with pytest.raises(Violation, match="R-13"):
        NoTruncateBelowHwm().step(step(life(), TIMEOUT, [Truncate(4)], before))


def test_a_leader_that_does_anything_but_append_is_noticed() -> None:
    leads = facts(LEADS, end=9)
    LeaderAppendOnly().step(step(life(), TIMEOUT, [AppendRecords(9, 3)], leads))
    for effect in (AppendRecords(8, 3), AppendRecords(9, 2), Truncate(8), AppendFetched(b"", 9, 3)):
        with pytest.raises(Violation, match="R-14"):
            LeaderAppendOnly().step(step(life(), TIMEOUT, [effect], leads))


def test_epochs_that_are_not_those_of_the_log_are_noticed() -> None:
    of = life(node=FakeNode(Outline(0, 3, [(2, 0)])))
    of.log.batches.append(batch(0, 3, 1))
    of.log._ends.append(3)
    with pytest.raises(Violation, match="R-15"):
        EpochCacheExact().finish([of])


def test_an_answer_of_no_leader_is_noticed() -> None:
    oracle = FetchEpochMatch()
    asked, reply = Asked(1, fetch()), [Reply(1, answer())]
    oracle.step(step(life(), asked, reply, facts(LEADS)))
    for state in (Unattached(3), Leader(4, 0)):
        with pytest.raises(Violation, match="R-16"):
            oracle.step(step(life(), asked, reply, facts(state)))


def test_a_late_answer_that_is_taken_is_noticed() -> None:
    oracle, took = FetchEpochMatch(), [AppendFetched(b"", 6, 3)]
    event, before = Answered(1, answer()), facts(FOLLOWS, end=4)
    oracle.step(step(life(), event, took, before, answers=fetch()))
    with pytest.raises(Violation, match="R-16"):
        oracle.step(step(life(), event, took, before))
    with pytest.raises(Violation, match="R-16"):
        oracle.step(step(life(), event, took, before, answers=fetch(offset=3)))
    old = Answered(1, answer(epoch=2))
    with pytest.raises(Violation, match="R-16"):
        oracle.step(step(life(), old, took, before, answers=fetch()))


def test_a_follower_that_cuts_what_it_shares_is_noticed() -> None:
    ghost = Ghost()
    ghost.elected[3] = Elected(((1, 0), (2, 4), (3, 6)), 0, 7)
    of = life()
    for each in (batch(0, 4, 1), batch(4, 5, 2), batch(5, 9, 2)):
        of.log.batches.append(each)
        of.log._ends.append(each.end)
    event, before = Answered(1, answer(content=Diverges(2, 6))), facts(FOLLOWS, end=9)
    DivergenceSound(ghost).step(step(of, event, [Truncate(5)], before))
    for end in (4, 9):
        with pytest.raises(Violation, match="R-17"):
            DivergenceSound(ghost).step(step(of, event, [Truncate(end)], before))


def test_an_observer_that_counts_is_noticed() -> None:
    commits, event = [HighWatermark(5)], Asked(1, fetch())
    leads = facts(LEADS, voting=voters(1, 3), voters_offset=2, leading=4)
    with pytest.raises(Violation, match="R-32"):
        ObserverNeutral().step(step(life(), event, commits, leads))
    ObserverNeutral().step(step(life(), event, commits, facts(LEADS, voting=voters(1, 2))))
