"""Oracles of disks: each says no when it should, and not before."""

import pytest

from barnabas.raft.effects import HighWatermark
from barnabas.raft.events import Alarm, Asked, Flushed, TimerFired
from barnabas.raft.messages import Fetch
from barnabas.raft.outline import Outline
from barnabas.raft.states import Leader
from barnabas.sim.profiles.raft.durability import (
    CommitRule,
    Durability,
    EpochDurable,
    FsyncMeansDurable,
    StateBeforeLog,
    VoteOnce,
)
from barnabas.sim.world import Violation
from tests.sim.profiles.raft.steps import ONE_TO_THREE, FakeNode, facts, key, life, step

TIMEOUT = TimerFired(Alarm.ELECTION)


class Led:
    """A leadership, as far as the commit rule asks."""

    def __init__(self, high_watermark: int) -> None:
        self.high_watermark = high_watermark


def test_a_vote_that_is_told_before_it_is_durable_is_noticed() -> None:
    with pytest.raises(Violation, match="R-02"):
        VoteOnce().telling(life(), 3, key(2))


def test_two_votes_in_one_epoch_are_noticed() -> None:
    of = life()
    of.home.votes[3] = key(2)
    with pytest.raises(Violation, match=r"R-02: .* has for"):
        VoteOnce().telling(of, 3, key(3))


def test_an_epoch_that_could_be_forgotten_is_not_told() -> None:
    EpochDurable().telling(life(), 0)
    with pytest.raises(Violation, match="R-03"):
        EpochDurable().telling(life(), 1)


def test_a_log_that_is_durable_before_its_epoch_is_noticed() -> None:
    StateBeforeLog().flushed(life(), [(3, 0)])
    with pytest.raises(Violation, match="R-34"):
        StateBeforeLog().flushed(life(), [(3, 1)])


def test_a_majority_has_to_have_said_so_and_to_have_it() -> None:
    leader, follower = life(1, node=FakeNode(Outline(0, 5, [(3, 0)]), Led(5))), life(2)
    oracle = CommitRule([leader.home, follower.home], {})
    leads = facts(Leader(3, 0), end=5, flushed=5, voting=ONE_TO_THREE)
    commits = step(leader, Asked(1, Fetch(key(2), 3, 5, 3, 0, 500, 9)), [HighWatermark(5)], leads)
    leader.home.durable.append((5, 3))
    leader.unread_from = None
    with pytest.raises(Violation, match=r"R-11: .* have it on their disks"):
        oracle.step(commits)
    follower.home.durable.append((5, 3))
    oracle.step(commits)
    with pytest.raises(Violation, match=r"R-11: .* have said so"):
        CommitRule([leader.home, follower.home], {}).step(step(leader, TIMEOUT, (), leads))


def test_what_is_of_earlier_epochs_alone_is_not_committed() -> None:
    leader = life(1, node=FakeNode(Outline(0, 5, [(1, 0)]), Led(4)))
    leads = facts(Leader(3, 4), end=5, flushed=5, voting=ONE_TO_THREE)
    with pytest.raises(Violation, match="R-11"):
        CommitRule([], {}).step(step(leader, TIMEOUT, (), leads))


def test_a_disk_that_forgets_is_noticed() -> None:
    of = life(node=FakeNode(Outline(0, 5, [(1, 0)])))
    of.home.durable.append((5, 1))
    Durability().opened(of)
    of.home.durable.append((6, 1))
    with pytest.raises(Violation, match="R-10"):
        Durability().opened(of)


def test_who_counts_more_than_was_flushed_is_noticed() -> None:
    before = facts(flushed=2, end=9)
    FsyncMeansDurable().step(step(life(), Flushed(0, 5), (), before, facts(flushed=5, end=9)))
    with pytest.raises(Violation, match="S-08"):
        FsyncMeansDurable().step(step(life(), Flushed(0, 5), (), before, facts(flushed=6, end=9)))
