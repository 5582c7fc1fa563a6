"""A replica's memory: what it is after a restart, and what becoming something else forgets."""

from dataclasses import replace

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import Became, CancelTimer, Flush, PersistElection, Reply, SetTimer
from barnabas.raft.events import Alarm, Answered, Asked, Flushed, Patience, Started, TimerFired
from barnabas.raft.messages import AddVoter, Fetch, FetchAnswer, VoteAnswer, VoterAnswer
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import Outline, SnapshotId
from barnabas.raft.states import (
    Election,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
)
from barnabas.raft.voters import Endpoint, History
from barnabas.runtime.network import Address
from tests.raft.kit import (
    TOKEN,
    at,
    config,
    configured,
    fetch,
    history,
    key,
    leader,
    node,
    only,
    outline,
    questions,
    standing,
    voters,
)


def born(election: Election | None, log: Outline | None = None, own: int = 1) -> RaftNode:
    """Return a machine that has not begun."""
    return RaftNode(
        config(own), election, outline((1, 4)) if log is None else log, history(1, 2, 3)
    )


@pytest.mark.parametrize(
    ("election", "state"),
    [
        (Election(1), Unattached(1)),
        (Election(5, None, key(3)), Unattached(5, None, key(3))),
        # A leader that voters describe is followed; another is known by its name alone.
        (Election(5, 2, key(3)), Follower(5, 2, at(2), key(3))),
        (Election(5, 9, key(3)), Unattached(5, 9, key(3))),
        # A leader begins as one that has resigned.
        (Election(5, 1), Resigned(5)),
        # A candidate keeps its vote, and asks for no other in this epoch again.
        (Election(5, None, key(1)), Unattached(5, None, key(1))),
        (Election(5, 2, key(1)), Follower(5, 2, at(2), key(1))),
        # The log is newer than what was written down: its epoch, and no vote in it.
        (Election(0), Unattached(1)),
        (None, Unattached(1)),
    ],
)
def test_a_replica_that_comes_back_is_neither_leader_nor_candidate(
    election: Election | None, state: State
) -> None:
    raft = born(election)
    assert raft.state == state
    persists = only(raft.step(Started(), 0), PersistElection)
    changed = election is None or election.epoch != state.epoch
    assert [each.election.epoch for each in persists] == ([state.epoch] if changed else [])


def test_what_a_killed_process_left_in_the_page_cache_is_not_believed() -> None:
    raft = born(Election(1, 2))
    assert raft.flushed_offset == 0
    effects = raft.step(Started(), 0)
    assert Flush(0) in effects
    assert not raft.asking(Fetch)
    (asked,) = questions(raft.step(Flushed(0, 4), 1))
    assert isinstance(asked, Fetch)
    assert asked.offset == 4


def test_nothing_is_flushed_where_there_is_nothing_but_a_snapshot() -> None:
    snapshot = SnapshotId(7, 3)
    raft = born(Election(3, 2), Outline(7, 7, [], [snapshot]))
    assert (raft.flushed_offset, raft.high_watermark) == (7, 7)
    assert not only(raft.step(Started(), 0), Flush)


def test_a_flush_says_nothing_about_a_log_that_was_cut_meanwhile() -> None:
    raft = node()
    raft.outline.append(9, 1)
    old = raft.cuts
    raft.cuts += 1
    assert not raft.flushed(old, 9)
    assert raft.flushed_offset == 4
    assert raft.flushed(old + 1, 9)
    assert not raft.flushed(old + 1, 9), "nothing new"


def test_the_vote_of_an_epoch_is_written_down_before_it_is_told() -> None:
    raft = node()
    assert raft.become(Unattached(7))[:2] == [PersistElection(Election(7)), Became(Unattached(7))]
    voted = Unattached(7, None, key(3))
    assert raft.become(voted) == [PersistElection(Election(7, None, key(3))), Became(voted)]


def test_what_is_written_down_already_is_not_written_again() -> None:
    raft = node(election=Election(1))
    assert not only(raft.become(Prospective(1, None, (), None)), PersistElection)


def test_a_new_role_forgets_what_the_former_one_asked_and_set() -> None:
    raft = node()
    raft.step(TimerFired(Alarm.ELECTION), 0)
    request, vote = next(iter(raft._asked.items()))
    effects = raft.become(Follower(1, 2, at(2)))
    assert CancelTimer(Alarm.ELECTION) in effects
    assert raft.answered(request) is None, f"{vote} is still awaited"
    # So its answer, when it comes, changes nothing.
    before = raft.state
    raft.is_new = False
    assert raft.step(Answered(request, VoteAnswer(standing(1), True)), 0) == []
    assert raft.state is before


def test_an_epoch_that_rises_does_not_put_off_the_election() -> None:
    raft = node()
    assert raft.is_set(Alarm.ELECTION)
    assert not only(raft.become(Unattached(9)), CancelTimer)
    assert raft.is_set(Alarm.ELECTION)


def test_a_leader_that_goes_lets_go_of_everybody_who_waits() -> None:
    raft = leader()
    end = raft.outline.end_offset
    raft.step(Asked(TOKEN, Fetch(key(3), raft.epoch, end, 2, 99, 500, 1)), 0)
    raft.step(Asked(TOKEN + 1, AddVoter(key(4), at(4), 0, True)), 0)
    effects = raft.become(Unattached(raft.epoch + 1))
    assert CancelTimer(Patience(TOKEN)) in effects
    fetched, added = (reply.answer for reply in only(effects, Reply))
    assert isinstance(fetched, FetchAnswer)
    assert isinstance(added, VoterAnswer)
    assert fetched.standing.error is added.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetched.standing.epoch == raft.epoch
    assert raft.leading is None


def test_the_high_watermark_never_goes_back() -> None:
    raft = node()
    assert raft.raise_high_watermark(3)
    assert raft.raise_high_watermark(3) == raft.raise_high_watermark(2) == []
    assert raft.high_watermark == 3
    with pytest.raises(AssertionError, match="behind the end"):
        raft.raise_high_watermark(5)


def test_everybody_is_asked_in_turn_but_never_itself() -> None:
    bootstrap = (Address("b1", 1), Address("node1", 9093))
    raft = node(config=replace(config(), bootstrap=bootstrap))
    asked = [raft.somebody() for _ in range(6)]
    assert {*asked} == {Address("b1", 1), Address("node2", 9093), Address("node3", 9093)}
    assert asked[:3] == asked[3:]


def test_who_knows_of_nobody_asks_nobody() -> None:
    raft = node(history_=history(1), election=Election(1))
    assert raft.somebody() is None


def test_only_the_listener_of_the_replicas_is_asked() -> None:
    raft = node()
    other = Endpoint("PLAINTEXT", "node2", 1)
    assert raft.address((other,)) is None
    assert raft.address((other, *at(2))) == Address("node2", 9093)
    assert raft.ask((other,), Fetch(key(1), 1, 0, 0, 0, 0, 0)) == []


def test_a_timer_that_was_cancelled_is_not_heard() -> None:
    raft = node()
    assert raft.cancel(Alarm.ELECTION) == [CancelTimer(Alarm.ELECTION)]
    assert raft.cancel(Alarm.ELECTION) == []
    assert raft.step(TimerFired(Alarm.ELECTION), 0) == []
    assert raft.set(Alarm.ELECTION, 5, 7) == [SetTimer(Alarm.ELECTION, 5, 7)]


def test_a_voter_by_id_alone_is_one_where_voters_are_configured() -> None:
    raft = node(history_=History(configured(1, 2, 3)))
    assert raft.is_voter
    assert not raft.is_only_voter
    assert [voter.key.id for voter in raft.others] == [2, 3]
    assert not node(history_=History(configured(2, 3))).is_voter
    assert not node(config=replace(config(), can_vote=False)).is_voter


def test_an_answer_says_where_the_leader_is_as_far_as_it_is_known() -> None:
    raft = leader()
    own = raft.standing()
    assert (own.leader_id, own.endpoints) == (1, at(1))
    assert fetch(raft, 3, 4, epoch=1).standing == raft.standing(ErrorCode.FENCED_LEADER_EPOCH)
    raft.become(Unattached(9, 2))
    assert (raft.standing().leader_id, raft.standing().endpoints) == (2, ())
    raft.become(Follower(9, 2, at(2)))
    assert raft.standing().endpoints == at(2)


def test_a_leader_is_not_asked_for_what_it_has_not() -> None:
    raft = leader()
    assert isinstance(raft.state, Leader)
    for name in ("following", "ballot", "farewell"):
        with pytest.raises(AssertionError):
            getattr(raft, name)
    assert voters(1, 2, 3) == raft.voters.current
