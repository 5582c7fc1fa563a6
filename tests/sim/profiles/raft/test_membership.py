"""Oracles of membership: each says no when it should, and not before."""

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import AppendLeaderChange, AppendVoters, Became
from barnabas.raft.events import Alarm, TimerFired
from barnabas.raft.outline import Outline
from barnabas.raft.states import Leader, Prospective, Resigned
from barnabas.raft.voters import History
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.sim.profiles.raft.ghost import Ghost
from barnabas.sim.profiles.raft.membership import (
    ClusterIdMatch,
    ConfigIsLastInLog,
    DepartingLeader,
    IdentityByDirectory,
    OneReconfigAtATime,
    ResignedForGood,
)
from barnabas.sim.world import Violation
from tests.sim.profiles.raft.steps import ONE_TO_THREE, FakeNode, facts, key, life, step, voters

TIMEOUT = TimerFired(Alarm.ELECTION)
LEADS = Leader(3, 4)


@pytest.mark.parametrize(
    ("leading", "voters_offset", "new", "why"),
    [
        (None, 1, (1, 2), "a change before the first commit"),
        (4, 1, (1, 2), "a change before the first commit"),
        (8, 8, (1, 2), "two changes at once"),
        (8, 1, (1,), "two voters at once"),
        (8, 1, (1, 4), "two voters at once"),
    ],
)
def test_a_change_of_voters_that_may_not_be_is_noticed(
    leading: int | None, voters_offset: int, new: tuple[int, ...], why: str
) -> None:
    before = facts(LEADS, voting=ONE_TO_THREE, leading=leading, voters_offset=voters_offset, end=9)
    with pytest.raises(Violation) as found:
        OneReconfigAtATime().step(step(life(), TIMEOUT, [AppendVoters(9, 3, voters(*new))], before))
    assert found.value.signature == f"R-20 {why}"


def test_one_voter_more_or_less_is_right() -> None:
    before = facts(LEADS, voting=ONE_TO_THREE, leading=8, voters_offset=1, end=9)
    for new in (voters(1, 2), voters(1, 2, 3, 4), ONE_TO_THREE):
        OneReconfigAtATime().step(step(life(), TIMEOUT, [AppendVoters(9, 3, new)], before))


def test_voters_that_are_not_those_of_the_log_are_noticed() -> None:
    history = History(ONE_TO_THREE, 1)
    of = life(node=FakeNode(Outline(0, 3, [(1, 0)]), voters=history))
    oracle = ConfigIsLastInLog(Ghost())
    of.log.batches.append(Batch(0, 3, 1, 0, False, 0, 0, 0, 9))
    of.log._ends.append(3)
    oracle.read(of, of.log.batches)
    oracle._records[of] = [(1, frozenset({key(1), key(2)}))]
    with pytest.raises(Violation, match="R-21"):
        oracle.read(of, [])


def test_a_leader_that_stays_after_its_removal_is_noticed() -> None:
    removed = facts(LEADS, voting=voters(2, 3), voters_offset=8, leading=8)
    DepartingLeader().step(step(life(), TIMEOUT, (), removed))
    committed = facts(LEADS, voting=voters(2, 3), voters_offset=8, leading=9)
    with pytest.raises(Violation, match="R-22"):
        DepartingLeader().step(step(life(), TIMEOUT, (), removed, committed))


def test_who_was_lost_or_takes_anothers_seat_is_noticed() -> None:
    stands = facts(Prospective(3, None, (), None), voting=ONE_TO_THREE)
    IdentityByDirectory({}).step(step(life(), TIMEOUT, (), stands))
    with pytest.raises(Violation, match="R-23"):
        IdentityByDirectory({}).step(step(life(1, directory=2), TIMEOUT, (), stands))
    with pytest.raises(Violation, match="R-23"):
        IdentityByDirectory({key(1): None}).step(step(life(), TIMEOUT, (), stands))


def test_a_stranger_that_is_answered_is_noticed() -> None:
    ClusterIdMatch().mistaken("n1.1", ErrorCode.INCONSISTENT_CLUSTER_ID, happened=False)
    for error, happened in ((0, False), (ErrorCode.INCONSISTENT_CLUSTER_ID, True)):
        with pytest.raises(Violation, match="R-24"):
            ClusterIdMatch().mistaken("n1.1", error, happened)


def test_who_resigns_an_epoch_begins_it_no_more() -> None:
    oracle = ResignedForGood()
    oracle.step(step(life(), TIMEOUT, [Became(Resigned(3))]))
    oracle.step(step(life(), TIMEOUT, [AppendLeaderChange(4, 4, (), (), None, None)]))
    with pytest.raises(Violation, match="R-22"):
        oracle.step(step(life(), TIMEOUT, [AppendLeaderChange(4, 3, (), (), None, None)]))
