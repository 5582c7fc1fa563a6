"""What was come upon, and how many situations there were."""

from typing import cast

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import AppendVoters, Became, HighWatermark, OpenSnapshot, Reply, Truncate
from barnabas.raft.events import Alarm, Asked, Event, TimerFired
from barnabas.raft.messages import Standing, Vote, VoteAnswer
from barnabas.raft.outline import SnapshotId
from barnabas.raft.states import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from barnabas.sim.profiles.raft.lives import Life, Step
from barnabas.sim.profiles.raft.marks import MUST_SEE, Part, Sightings, situation
from barnabas.sim.world import World
from tests.sim.profiles.raft.steps import ONE_TO_THREE, facts, key, life, step, voters

TIMEOUT = TimerFired(Alarm.ELECTION)


class Marked:
    """A world that remembers marks."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def mark(self, what: str) -> None:
        """Remember."""
        self.seen.append(what)


def test_everything_that_must_be_seen_is_recognised() -> None:
    world = Marked()
    oracle, of = Sightings(cast(World, world)), life()

    def saw(each: Step) -> None:
        oracle.step(each)
        if each.changes:
            oracle.changed(each)

    def leads(epoch: int, of: Life = of, event: Event = TIMEOUT) -> None:
        saw(step(of, event, [Became(Leader(epoch, 0))], facts(Candidate(epoch, key(1)))))

    of.facts = facts(end=9, start=5, snapshot=SnapshotId(5, 1))
    oracle.opened(of)
    lost = facts(Prospective(1, None, (), None))
    saw(step(of, TIMEOUT, [Became(Unattached(1))], lost))
    vote = Vote(key(2), key(1), 3, SnapshotId(0, 0), False)
    refused = VoteAnswer(Standing(ErrorCode.NONE, 3, None, ()), False)
    saw(step(of, Asked(1, vote), [Reply(1, refused)], facts(end=9, last_epoch=1)))
    for epoch in (1, 2, 3, 4):
        leads(epoch)
    follows = facts(Follower(3, 2, ()), voting=ONE_TO_THREE, voters_offset=7, end=9)
    saw(step(of, TIMEOUT, [Truncate(7)], follows))
    resigns = TimerFired(Alarm.CHECK_QUORUM)
    saw(step(of, resigns, [Became(Resigned(3))], facts(Leader(3, 0))))
    changes = facts(Leader(3, 0), voting=ONE_TO_THREE)
    saw(step(of, TIMEOUT, [AppendVoters(9, 3, voters(2, 3))], changes))
    smaller = facts(Leader(3, 0), voting=voters(2, 3))
    saw(step(of, TIMEOUT, [AppendVoters(9, 3, ONE_TO_THREE)], smaller))
    saw(step(of, TIMEOUT, [OpenSnapshot(SnapshotId(5, 1))], follows))
    saw(step(of, TIMEOUT, [Became(Prospective(3, 2, (), None))], follows))
    alone = facts(Leader(3, 0), voting=voters(1))
    saw(step(of, TIMEOUT, [HighWatermark(5)], alone))
    assert set(world.seen) == set(MUST_SEE)


def test_names_and_numbers_make_no_other_situation() -> None:
    one = [Part("Leader", True, 7, (7, 90), 80, 0), Part("Follower", True, 7, (7, 80), 80, 0)]
    other = [Part("Follower", True, 3, (2, 5), 5, 0), Part("Leader", True, 3, (3, 6), 5, 0)]
    assert situation(one) == situation(other)
    behind = [one[0], Part("Follower", True, 6, (7, 80), 80, 0)]
    assert situation(behind) != situation(one)
