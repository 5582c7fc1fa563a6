"""How a replica hears of epochs and leaders, and what it does not believe."""

from dataclasses import replace

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft import news
from barnabas.raft.effects import Became, Note, PersistElection, Reply, SetTimer
from barnabas.raft.events import Alarm, Asked, TimerFired
from barnabas.raft.messages import BeginQuorumEpoch, EndQuorumEpoch, EpochAnswer, Fetch, Standing
from barnabas.raft.node import RaftNode
from barnabas.raft.states import (
    Candidate,
    Election,
    Follower,
    Prospective,
    Resigned,
    State,
    Unattached,
)
from barnabas.raft.voters import Endpoint, ReplicaKey
from tests.raft.kit import TOKEN, ask, at, config, follower, key, leader, node, now, only, standing

OWN = key(1)


def begin(leader_id: int, epoch: int, voter: ReplicaKey = OWN) -> BeginQuorumEpoch:
    """Return what a leader tells a voter."""
    return BeginQuorumEpoch(leader_id, epoch, at(leader_id), voter)


def end(epoch: int, *preferred: int) -> EndQuorumEpoch:
    """Return what 2 tells when it has resigned."""
    return EndQuorumEpoch(2, epoch, at(2), tuple(key(each) for each in preferred), OWN)


@pytest.mark.parametrize(
    ("before", "leader_id", "epoch", "after"),
    [
        # A higher epoch is taken on, with its leader if that can be reached.
        (Unattached(3), None, 5, Unattached(5)),
        (Unattached(3), 2, 5, Follower(5, 2, at(2))),
        (Unattached(3), 9, 5, Unattached(5, 9)),
        (Follower(3, 2, at(2), key(3)), 3, 5, Follower(5, 3, at(3))),
        # Led by itself in an earlier life: no vote of it in that epoch.
        (Unattached(3), 1, 5, Unattached(6)),
        # The leader of its own epoch, keeping the vote.
        (Unattached(3, None, key(3)), 2, 3, Follower(3, 2, at(2), key(3))),
        (Unattached(3, 2, key(3)), 2, 3, Follower(3, 2, at(2), key(3))),
        (Candidate(3, OWN), 2, 3, Follower(3, 2, at(2), OWN)),
        (Prospective(3, None, (), key(3)), 2, 3, Follower(3, 2, at(2), key(3))),
        # That others still know the leader that is missed says nothing about it.
        (Prospective(3, 2, at(2), None), 2, 3, None),
        (Unattached(3), 9, 3, None),
        (Unattached(3), 1, 3, None),
        (Unattached(3), None, 3, None),
        (Follower(3, 2, at(2)), 2, 3, None),
        # Of the past.
        (Unattached(3), 2, 2, None),
        (Resigned(3), None, 3, None),
    ],
)
def test_news_of_a_leader_are_taken_if_they_are_any(
    before: State, leader_id: int | None, epoch: int, after: State | None
) -> None:
    raft = in_state(before)
    places = at(leader_id) if leader_id == 2 else ()
    effects = news.learn(raft, leader_id, epoch, places)
    assert raft.state == (after or before)
    assert [each.state for each in only(effects, Became)] == ([after] if after else [])


def in_state(state: State) -> RaftNode:
    """Return a machine in any state, however it got there."""
    raft = node()
    raft._state, raft.is_new = state, False
    raft._duty = raft._duty_of(state, None)
    return raft


def test_a_follower_learns_more_places_of_its_leader_and_goes_on() -> None:
    raft, _ = follower(2)
    raft.following.has_fetched = True
    more = (*at(2), Endpoint("OTHER", "node2", 1))
    assert [type(each) for each in news.learn(raft, 2, 2, more)] == [Became]
    assert raft.state == Follower(2, 2, more)
    assert raft.following.has_fetched, "it is the same leader"
    assert raft.asking(Fetch), "and still asked"


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        (standing(2, 2), True),
        (standing(2), True),
        (standing(1, 3), False),
        (standing(2, 2, ErrorCode.NOT_LEADER_OR_FOLLOWER), False),
        (standing(2, 2, ErrorCode.FENCED_LEADER_EPOCH), False),
        (standing(-1, None, ErrorCode.UNSUPPORTED_VERSION), False),
        # Another leader of the same epoch.
        (standing(2, 3), False),
        # It made something else of the replica.
        (standing(3), False),
    ],
)
def test_an_answer_counts_in_its_epoch_without_an_error(said: Standing, counts: bool) -> None:
    raft, _ = follower(2)
    assert news.heed(raft, said)[1] is counts


def test_two_leaders_of_an_epoch_are_noted_and_not_believed() -> None:
    raft, _ = follower(2)
    before = raft.state
    (note,), _ = news.heed(raft, standing(2, 3))
    assert isinstance(note, Note)
    assert "told that 3 leads epoch 2" in note.text
    assert raft.state is before


def test_a_voter_follows_who_tells_it_that_an_epoch_has_begun() -> None:
    raft = node()
    answer = ask(raft, begin(2, 5), EpochAnswer)
    assert answer.standing == standing(5, 2)
    assert raft.state == Follower(5, 2, at(2))
    # Again, because the answer was lost: nothing new.
    assert raft.step(Asked(TOKEN, begin(2, 5)), 0) == [Reply(TOKEN, answer)]


def test_a_leader_that_was_missed_is_followed_when_it_tells_so_itself() -> None:
    raft, _ = follower(2)
    raft.step(TimerFired(Alarm.FETCH), 0)
    assert isinstance(raft.state, Prospective)
    ask(raft, begin(2, 2), EpochAnswer)
    assert now(raft) == Follower(2, 2, at(2))


@pytest.mark.parametrize(
    ("told", "code"),
    [
        (begin(2, 1), ErrorCode.FENCED_LEADER_EPOCH),
        (begin(3, 2), ErrorCode.INVALID_REQUEST),
        (begin(1, 3), ErrorCode.INVALID_REQUEST),
        (replace(begin(2, 3), leader_id=-1), ErrorCode.INVALID_REQUEST),
        (replace(end(2), leader_id=3), ErrorCode.INVALID_REQUEST),
        (end(1), ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    told: BeginQuorumEpoch | EndQuorumEpoch, code: ErrorCode
) -> None:
    raft, _ = follower(2)
    before = raft.state
    effects = raft.step(Asked(TOKEN, told), 0)
    assert effects == [Reply(TOKEN, EpochAnswer(raft.standing(code)))]
    assert raft.state is before


def test_an_epoch_is_believed_although_another_voter_was_meant() -> None:
    raft = node()
    answer = ask(raft, begin(2, 5, key(1, disk=9)), EpochAnswer)
    assert answer.standing.error is ErrorCode.INVALID_VOTER_KEY
    assert raft.state == Follower(5, 2, at(2))
    anybody = ask(raft, begin(2, 6, ReplicaKey(1)), EpochAnswer)
    assert anybody.standing.error is ErrorCode.NONE


def test_a_leader_that_hears_of_a_higher_epoch_leads_no_more() -> None:
    raft = leader()
    ask(raft, begin(2, raft.epoch + 1), EpochAnswer)
    assert raft.state == Follower(3, 2, at(2))
    assert raft.leading is None


# --- the end of an epoch ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preferred", "after_ms"),
    [
        # Kafka's strictExponentialElectionBackoffMs, for a longest wait of 1,000 ms.
        ((1,), 0),
        ((1, 3), 0),
        ((3, 1), 500),
        ((3, 1, 4), 250),
        ((3, 4, 1), 500),
        ((3, 4, 5, 1), 500),
        ((3, 4), 1_000),
        ((), 0),
    ],
)
def test_successors_stand_in_the_order_of_how_much_they_have(
    preferred: tuple[int, ...], after_ms: int
) -> None:
    raft, _ = follower(2)
    effects = raft.step(Asked(TOKEN, end(2, *preferred)), 0)
    assert SetTimer(Alarm.FETCH, after_ms) in effects
    raft.step(TimerFired(Alarm.FETCH), after_ms)
    assert isinstance(raft.state, Prospective)


def test_the_end_of_an_epoch_may_be_the_first_that_is_heard_of_it() -> None:
    raft = node()
    effects = raft.step(Asked(TOKEN, end(5, 1)), 0)
    assert PersistElection(Election(5, 2)) in effects
    assert raft.state == Follower(5, 2, at(2))
    # Its turn comes at once, not after the timeout of a leader that lives.
    assert only(effects, SetTimer)[0] == SetTimer(Alarm.FETCH, 0)
    assert sum(each.timer is Alarm.FETCH for each in only(effects, SetTimer)) == 1


def test_an_observer_stands_in_no_order() -> None:
    raft, _ = follower(2, config=replace(config(), can_vote=False))
    effects = raft.step(Asked(TOKEN, end(2, 1)), 0)
    assert not only(effects, SetTimer)
    assert raft.state == Follower(2, 2, at(2))
