"""Oracles of elections: each says no when it should, and not before."""

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import Ask, Became, Reply
from barnabas.raft.events import Alarm, Answered, Asked, TimerFired
from barnabas.raft.messages import NO_BATCHES, Fetch, FetchAnswer, Standing, Vote, VoteAnswer
from barnabas.raft.outline import SnapshotId
from barnabas.raft.states import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
)
from barnabas.raft.voters import Endpoint
from barnabas.runtime.network import Address
from barnabas.sim.profiles.raft.elections import (
    LATE_STEPS,
    CheckQuorum,
    ElectionSafety,
    EpochMonotonic,
    LegalTransition,
    NoLeaderAfterRestart,
    NoVoteAmnesia,
    PreVoteIsHarmless,
    ValidRoles,
    VoteLogCheck,
    legal,
)
from barnabas.sim.profiles.raft.ghost import Ghost
from barnabas.sim.profiles.raft.lives import Step
from barnabas.sim.world import Violation
from tests.sim.profiles.raft.steps import ONE_TO_THREE, facts, key, life, step, voters

TIMEOUT = TimerFired(Alarm.ELECTION)
AT = (Endpoint("CONTROLLER", "n2", 9093),)


def vote(epoch: int, end: int = 9, last_epoch: int = 1, pre_vote: bool = False) -> Asked:
    return Asked(1, Vote(key(2), key(1), epoch, SnapshotId(end, last_epoch), pre_vote))


def granted(epoch: int, leader: int | None = None, error: ErrorCode = ErrorCode.NONE) -> VoteAnswer:
    return VoteAnswer(Standing(error, epoch, leader, ()), error is ErrorCode.NONE)


def changed(before: State, *after: State) -> Step:
    effects = tuple(Became(state) for state in after)
    return step(life(), TIMEOUT, effects, facts(before), facts(after[-1]))


def test_two_leaders_in_one_epoch_are_noticed_wherever_they_are_named() -> None:
    oracle = ElectionSafety(Ghost())
    oracle.step(changed(Candidate(3, key(1)), Leader(3, 0)))
    oracle.step(step(life(2), TIMEOUT, [Became(Follower(3, 1, AT))]))
    with pytest.raises(Violation, match="R-01"):
        oracle.step(step(life(3), TIMEOUT, [Reply(1, granted(3, leader=2))]))


def test_an_epoch_that_goes_back_is_noticed() -> None:
    EpochMonotonic().changed(changed(Unattached(2), Unattached(3)))
    with pytest.raises(Violation, match="R-03"):
        EpochMonotonic().changed(changed(Unattached(3), Unattached(2)))


def test_a_vote_that_is_forgotten_in_its_epoch_is_noticed() -> None:
    kept = Prospective(3, None, (), key(2)), Unattached(3, None, key(2))
    NoVoteAmnesia().changed(changed(*kept))
    NoVoteAmnesia().changed(changed(Candidate(3, key(1)), Leader(3, 0), Resigned(3)))
    with pytest.raises(Violation, match="R-04"):
        NoVoteAmnesia().changed(changed(Prospective(3, None, (), key(2)), Unattached(3)))
    with pytest.raises(Violation, match="R-04"):
        NoVoteAmnesia().changed(changed(Resigned(3), Unattached(3)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Leader(3, 0), Follower(3, 2, AT)),
        (Follower(3, 2, AT), Follower(3, 1, AT)),
        (Follower(3, 2, AT), Unattached(3)),
        (Candidate(3, key(1)), Unattached(3)),
        (Unattached(3), Candidate(4, key(1))),
        (Prospective(3, None, (), None), Candidate(3, key(1))),
        (Prospective(3, None, (), None), Candidate(5, key(1))),
        (Resigned(3), Leader(3, 0)),
        (Unattached(3), Unattached(3)),
    ],
)
def test_what_the_table_does_not_have_is_not_legal(before: State, after: State) -> None:
    assert not legal(before, after)
    with pytest.raises(Violation, match="R-05"):
        LegalTransition().changed(changed(before, after))


def test_a_whole_career_is_legal() -> None:
    career: list[State] = [
        Unattached(0),
        Unattached(0, None, key(2)),
        Prospective(0, None, (), key(2)),
        Candidate(1, key(1)),
        Leader(1, 0),
        Resigned(1),
        Unattached(2),
        Follower(2, 2, AT),
        Prospective(2, 2, AT, None),
        Follower(2, 2, AT),
    ]
    LegalTransition().changed(changed(*career))


def test_an_observer_that_stands_is_noticed_and_so_is_one_that_leads_on() -> None:
    stands = facts(Prospective(1, None, (), None), voting=voters(2, 3))
    with pytest.raises(Violation, match="R-06"):
        ValidRoles().step(step(life(), TIMEOUT, (), stands))
    removed = facts(Leader(1, 0), voting=voters(2, 3), voters_offset=5, leading=5)
    ValidRoles().step(step(life(), TIMEOUT, (), removed))
    committed = facts(Leader(1, 0), voting=voters(2, 3), voters_offset=5, leading=6)
    with pytest.raises(Violation, match="R-06"):
        ValidRoles().step(step(life(), TIMEOUT, (), committed))


def test_who_follows_nobody_does_not_wait_for_records() -> None:
    fetch = Fetch(key(1), 1, 0, 0, 0, 500, 100)
    ask = [Ask(1, Address("n2", 9093), fetch)]
    with pytest.raises(Violation, match="R-06"):
        ValidRoles().step(step(life(), TIMEOUT, ask, facts(Unattached(1), voting=ONE_TO_THREE)))
    followed = facts(Follower(1, 2, AT), voting=ONE_TO_THREE)
    ValidRoles().step(step(life(), TIMEOUT, ask, followed))


def test_a_vote_for_less_is_noticed() -> None:
    reply = [Reply(1, granted(3))]
    own = facts(Unattached(3), end=9, last_epoch=1)
    VoteLogCheck().step(step(life(), vote(3), reply, own))
    VoteLogCheck().step(step(life(), vote(3, end=8), [], own))
    with pytest.raises(Violation, match="R-18"):
        VoteLogCheck().step(step(life(), vote(3, end=8), reply, own))
    with pytest.raises(Violation, match="R-18"):
        VoteLogCheck().step(step(life(), vote(3, end=99, last_epoch=0), reply, own))


def test_a_pre_vote_against_a_leader_that_answers_is_noticed() -> None:
    oracle, of = PreVoteIsHarmless(), life()
    follows = facts(Follower(3, 2, AT))
    reply = [Reply(1, granted(3))]
    oracle.step(step(of, vote(3, pre_vote=True), reply, follows))
    heard = Answered(5, FetchAnswer(Standing(ErrorCode.NONE, 3, 2, AT), 0, NO_BATCHES))
    oracle.step(step(of, heard, (), follows, answers=Fetch(key(1), 3, 0, 0, 0, 500, 9)))
    with pytest.raises(Violation, match="R-19"):
        oracle.step(step(of, vote(3, pre_vote=True), reply, follows))
    # In another stint it has to hear of its leader again.
    oracle.step(step(of, vote(3, pre_vote=True), reply, follows, stint=2))


def test_a_pre_vote_against_a_leader_that_is_missed_is_none_of_its_business() -> None:
    oracle, of = PreVoteIsHarmless(), life()
    follows = facts(Follower(3, 2, AT))
    reply = [Reply(1, granted(3))]
    heard = Answered(5, FetchAnswer(Standing(ErrorCode.NONE, 3, 2, AT), 0, NO_BATCHES))
    fetch = Fetch(key(1), 3, 0, 0, 0, 500, 9)
    oracle.step(step(of, heard, (), follows, answers=fetch))
    oracle.step(step(of, TimerFired(Alarm.FETCH), (), follows))
    oracle.step(step(of, vote(3, pre_vote=True), reply, follows))
    oracle.step(step(of, heard, (), follows, answers=fetch))
    with pytest.raises(Violation, match="R-19"):
        oracle.step(step(of, vote(3, pre_vote=True), reply, follows))


def test_a_pre_vote_that_changes_anything_is_noticed() -> None:
    after = facts(Unattached(3, None, key(2)))
    with pytest.raises(Violation, match="R-19"):
        PreVoteIsHarmless().step(
            step(life(), vote(3, pre_vote=True), (), facts(Unattached(3)), after)
        )


def test_who_is_elected_without_a_majority_is_noticed() -> None:
    oracle, of = PreVoteIsHarmless(), life()
    stands = facts(Candidate(3, key(1)), voting=ONE_TO_THREE)
    leads = Became(Leader(3, 0))
    with pytest.raises(Violation, match="R-19"):
        oracle.changed(step(of, TIMEOUT, [leads], stands))
    asked = Vote(key(1), key(2), 3, SnapshotId(0, 0), False)
    answered = step(of, Answered(1, granted(3)), [leads], stands, answers=asked)
    oracle.step(answered)
    oracle.changed(answered)


def test_an_epoch_that_nobody_asked_for_is_noticed() -> None:
    oracle = PreVoteIsHarmless()
    oracle.changed(changed(Resigned(3), Unattached(4)))
    with pytest.raises(Violation, match="R-19"):
        oracle.changed(changed(Unattached(3), Unattached(4)))


def test_who_comes_back_as_a_leader_is_noticed() -> None:
    of = life()
    NoLeaderAfterRestart().opened(of)
    of.facts = facts(Leader(3, 0))
    with pytest.raises(Violation, match="R-25"):
        NoLeaderAfterRestart().opened(of)


def test_a_leader_alone_is_noticed_and_one_that_is_heard_is_not() -> None:
    leads = facts(Leader(3, 0), voting=ONE_TO_THREE)
    oracle, of = CheckQuorum(), life(fetch_timeout_ms=1_000)
    fetch = Asked(1, Fetch(key(2), 3, 0, 0, 0, 500, 9))
    for at_ms in range(0, 9_000, 100):
        oracle.step(step(of, fetch, (), leads, at_ms=at_ms))
    late = [9_000 + 2_000 + 10 * number for number in range(LATE_STEPS)]
    for at_ms in late:
        oracle.step(step(of, TIMEOUT, (), leads, at_ms=at_ms))
    with pytest.raises(Violation, match="R-27"):
        oracle.step(step(of, TIMEOUT, (), leads, at_ms=late[-1] + 10))
