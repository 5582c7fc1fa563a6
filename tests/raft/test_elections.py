"""Standing for election, and giving one's vote."""

from dataclasses import replace

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import (
    AppendLeaderChange,
    Ask,
    Became,
    Effect,
    PersistElection,
    Reply,
    SetTimer,
)
from barnabas.raft.events import (
    Alarm,
    Answered,
    Asked,
    StopAsked,
    TimerFired,
    Unanswered,
)
from barnabas.raft.messages import Vote, VoteAnswer
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import SnapshotId
from barnabas.raft.states import (
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Unattached,
)
from barnabas.raft.voters import ReplicaKey
from tests.raft.kit import (
    TOKEN,
    answer,
    ask,
    at,
    config,
    fetched,
    follower,
    history,
    key,
    leader,
    node,
    now,
    only,
    questions,
    records,
    standing,
)

YES, NO = True, False


def vote(
    epoch: int, *, end: int = 4, last_epoch: int = 1, pre: bool = False, candidate: int = 3
) -> Vote:
    """Return what a candidate asks of 1."""
    return Vote(key(candidate), key(1), epoch, SnapshotId(end, last_epoch), pre)


def stand(raft: RaftNode) -> list[Effect]:
    """Let an election timeout pass."""
    return raft.step(TimerFired(Alarm.ELECTION), 0)


def said(raft: RaftNode, effects: list[Effect], voter_id: int, granted: bool) -> list[Effect]:
    """Let a voter answer."""
    asked = next(
        each
        for each in only(effects, Ask)
        if isinstance(each.question, Vote) and each.question.voter.id == voter_id
    )
    return raft.step(Answered(asked.request, VoteAnswer(standing(raft.epoch), granted)), 0)


# --- standing --------------------------------------------------------------------------------


def test_a_voter_asks_all_others_whether_they_would_elect_it() -> None:
    raft = node()
    effects = stand(raft)
    assert raft.state == Prospective(1, None, (), None)
    assert not only(effects, PersistElection), "a pre-vote changes nothing"
    last = SnapshotId(4, 1)
    assert questions(effects) == [
        Vote(key(1), key(2), 1, last, True),
        Vote(key(1), key(3), 1, last, True),
    ]
    assert SetTimer(Alarm.ELECTION, 1_000, 1_000) in effects


def test_a_majority_of_pre_votes_raises_the_epoch_and_a_majority_of_votes_makes_a_leader() -> None:
    raft = node()
    effects = said(raft, stand(raft), 3, YES)
    assert effects[:2] == [
        PersistElection(Election(2, None, key(1))),
        Became(Candidate(2, key(1))),
    ]
    assert all(isinstance(q, Vote) and not q.pre_vote for q in questions(effects))
    effects = said(raft, effects, 2, YES)
    assert effects[:2] == [PersistElection(Election(2, 1)), Became(Leader(2, 4))]
    (change,) = only(effects, AppendLeaderChange)
    assert change == AppendLeaderChange(4, 2, (1, 2, 3), (1, 2), None, None)


def test_who_lost_a_leader_goes_back_to_it_when_others_have_not() -> None:
    raft, effects = follower(2)
    raft.step(TimerFired(Alarm.FETCH), 0)
    assert raft.state == Prospective(2, 2, at(2), None)
    raft, effects = follower(2)
    effects = raft.step(TimerFired(Alarm.FETCH), 0)
    said(raft, effects, 2, NO)
    assert isinstance(raft.state, Prospective)
    effects = said(raft, effects, 3, NO)
    assert now(raft) == Follower(2, 2, at(2))
    assert SetTimer(Alarm.FETCH, 2_000) in effects


def test_a_pre_vote_that_is_granted_counts_although_the_voter_remembers_the_leader() -> None:
    raft, _ = follower(2)
    effects = raft.step(TimerFired(Alarm.FETCH), 0)
    answer(raft, effects, VoteAnswer(standing(2, 2), YES))
    assert raft.state == Candidate(3, key(1))


def test_who_lost_no_leader_waits_anew_when_it_would_not_be_elected() -> None:
    raft = node(election=Election(1, None, key(3)))
    effects = stand(raft)
    said(raft, effects, 2, NO)
    effects = said(raft, effects, 3, NO)
    assert raft.state == Unattached(1, None, key(3)), "and keeps its vote"
    assert SetTimer(Alarm.ELECTION, 1_000, 1_000) in effects


def test_who_has_refused_is_asked_again_when_it_has_lost_its_leader_too() -> None:
    # 2 led; 1 has more records than 3, which has refused because it had not lost 2 yet.
    raft, _ = follower(2)
    effects = raft.step(TimerFired(Alarm.FETCH), 0)
    assert said(raft, effects, 3, NO) == []
    effects = raft.step(Asked(TOKEN, vote(2, end=3, pre=True)), 0)
    (reply,) = only(effects, Reply)
    assert isinstance(reply.answer, VoteAnswer)
    assert not reply.answer.granted
    (question,) = questions(effects)
    assert isinstance(question, Vote)
    assert (question.voter, question.pre_vote) == (key(3), True)
    said(raft, effects, 3, YES)
    assert now(raft) == Candidate(3, key(1))


def test_of_two_that_stand_at_once_the_one_with_the_better_claim_goes_first() -> None:
    # 3 led; 1 and 2 have lost it at the same moment, and have the same records.
    first, _ = follower(2, leader_id=3, config=config(1))
    second, _ = follower(2, leader_id=3, config=config(2))
    asks = [each.step(TimerFired(Alarm.FETCH), 0) for each in (first, second)]
    for raft, other in ((first, 2), (second, 1)):
        raft.step(Asked(TOKEN, Vote(key(other), raft.config.key, 2, SnapshotId(4, 1), True)), 0)
    assert isinstance(first.state, Prospective)
    said(first, asks[0], 2, YES)
    assert now(first) == Candidate(3, key(1))
    said(second, asks[1], 1, YES)
    assert isinstance(second.state, Prospective), "it lets the other go first"
    second.step(TimerFired(Alarm.TURN), 50)
    assert now(second) == Candidate(3, key(2)), "and only for a moment"


def test_a_round_that_is_not_answered_ends_with_a_timeout() -> None:
    raft = node()
    stand(raft)
    stand(raft)
    assert raft.state == Unattached(1)
    stand(raft)
    assert isinstance(raft.state, Prospective)


def test_a_candidate_that_has_lost_waits_and_then_asks_before_it_raises_again() -> None:
    raft = node()
    effects = said(raft, stand(raft), 3, YES)
    said(raft, effects, 2, NO)
    assert said(raft, effects, 3, NO) == []
    assert raft.state == Candidate(2, key(1))
    stand(raft)
    assert now(raft) == Prospective(2, None, (), key(1))


def test_who_was_not_answered_is_asked_again_and_who_was_is_not() -> None:
    raft = node()
    effects = stand(raft)
    said(raft, effects, 2, NO)
    (timer,) = raft.step(Unanswered(only(effects, Ask)[1].request, "lost"), 0)
    assert timer == SetTimer(Alarm.RETRY, 20, 20)
    (again,) = questions(raft.step(TimerFired(Alarm.RETRY), 20))
    assert isinstance(again, Vote)
    assert again.voter == key(3)


def test_an_answer_that_comes_twice_counts_once() -> None:
    raft = node(history_=history(1, 2, 3, 4, 5))
    effects = stand(raft)
    said(raft, effects, 2, YES)
    assert said(raft, effects, 2, YES) == []
    assert isinstance(raft.state, Prospective)


def test_a_pre_vote_is_no_vote() -> None:
    raft = node()
    pre = stand(raft)
    effects = said(raft, pre, 3, YES)
    # The answer of 2 to the pre-vote, which comes only now, elects nobody.
    assert said(raft, pre, 2, YES) == []
    assert raft.state == Candidate(2, key(1))
    assert len(questions(effects)) == 2


def test_a_voter_that_knows_no_pre_votes_is_asked_for_its_vote() -> None:
    raft = node()
    unknown = VoteAnswer(standing(-1, None, ErrorCode.UNSUPPORTED_VERSION), NO)
    answer(raft, stand(raft), unknown)
    assert raft.state == Candidate(2, key(1))
    # Of a vote it says nothing that would help.
    before = raft.state
    request = next(iter(raft._asked))
    raft.step(Answered(request, unknown), 0)
    assert raft.state is before


def test_an_answer_of_a_higher_epoch_ends_the_round() -> None:
    raft = node()
    answer(raft, stand(raft), VoteAnswer(standing(7, 2, ErrorCode.FENCED_LEADER_EPOCH), NO))
    assert raft.state == Follower(7, 2, at(2))


def test_the_only_voter_elects_itself_and_commits_what_it_has_flushed() -> None:
    raft = node(history_=history(1))
    assert raft.state == Leader(2, 4)
    assert raft.high_watermark == raft.flushed_offset == 5
    raft.step(Asked(TOKEN, vote(9, end=99, last_epoch=8)), 0)
    assert now(raft) == Leader(10, 5), "it voted for somebody that it does not know, and went on"
    assert raft.promised_offset is None, "before it is flushed"


def test_who_is_stopping_is_elected_no_more() -> None:
    raft = node()
    effects = stand(raft)
    raft.step(StopAsked(), 0)
    said(raft, effects, 2, YES)
    assert isinstance(raft.state, Prospective)
    assert raft.is_stopped


def test_an_observer_stands_for_nothing() -> None:
    raft = node(history_=history(2, 3))
    assert not raft.is_set(Alarm.ELECTION)
    raft.step(Asked(TOKEN, vote(2, end=9)), 0)
    assert raft.state == Unattached(2, None, key(3)), "but it may be a voter that has not heard"
    assert not raft.is_set(Alarm.ELECTION)


# --- giving one's vote -----------------------------------------------------------------------


def test_a_vote_is_durable_before_it_is_told() -> None:
    raft = node()
    effects = raft.step(Asked(TOKEN, vote(2)), 0)
    (reply,) = only(effects, Reply)
    assert reply.answer == VoteAnswer(standing(2), YES)
    written = PersistElection(Election(2, None, key(3)))
    assert effects.index(written) < effects.index(reply)


def test_one_vote_an_epoch_which_may_be_told_twice() -> None:
    raft = node()
    assert ask(raft, vote(2), VoteAnswer).granted
    assert not ask(raft, vote(2, candidate=2), VoteAnswer).granted
    assert ask(raft, vote(2), VoteAnswer).granted
    other_disk = replace(vote(2), candidate=key(3, disk=9))
    assert not ask(raft, other_disk, VoteAnswer).granted
    assert ask(raft, vote(3, candidate=2), VoteAnswer).granted


def test_a_prospective_may_vote_and_stays_one() -> None:
    raft = node()
    stand(raft)
    raft.step(Asked(TOKEN, replace(vote(1), last=SnapshotId(9, 0))), 0)
    assert raft.state == Prospective(1, None, (), None), "the log is older"
    raft = node(election=Election(2))
    stand(raft)
    assert ask(raft, vote(2), VoteAnswer).granted
    assert raft.state == Prospective(2, None, (), key(3))


@pytest.mark.parametrize(
    ("end", "last_epoch", "granted"),
    [(4, 1, YES), (5, 1, YES), (1, 2, YES), (3, 1, NO), (9, 0, NO)],
)
@pytest.mark.parametrize("pre", [True, False])
def test_a_vote_goes_to_who_has_as_much_epochs_first(
    end: int, last_epoch: int, granted: bool, pre: bool
) -> None:
    raft = node()
    question = vote(3, end=end, last_epoch=last_epoch, pre=pre)
    assert ask(raft, question, VoteAnswer).granted is granted
    assert raft.epoch == 3, "the epoch is taken on in either case"


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (vote(0), ErrorCode.INVALID_REQUEST),
        (vote(1), ErrorCode.INVALID_REQUEST),
        (vote(3, end=-1), ErrorCode.INVALID_REQUEST),
        (vote(3, last_epoch=-1), ErrorCode.INVALID_REQUEST),
        # A candidate has raised its epoch above all records; a prospective need not have.
        (vote(3, last_epoch=3), ErrorCode.INVALID_REQUEST),
        (vote(3, last_epoch=4, pre=True), ErrorCode.INVALID_REQUEST),
        (vote(1, last_epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        (replace(vote(3), candidate=ReplicaKey(-1)), ErrorCode.INVALID_REQUEST),
        (vote(3, candidate=1), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_vote_that_cannot_be_is_refused_and_changes_nothing(
    question: Vote, code: ErrorCode
) -> None:
    raft = node(election=Election(2))
    before = raft.state
    effects = raft.step(Asked(TOKEN, question), 0)
    assert effects == [Reply(TOKEN, VoteAnswer(raft.standing(code), NO))]
    assert raft.state is before


def test_a_prospective_of_the_epoch_of_its_last_record_is_heard() -> None:
    raft = node()
    assert ask(raft, vote(3, last_epoch=3, pre=True), VoteAnswer).granted


def test_who_was_meant_before_its_disk_was_lost_does_not_vote() -> None:
    raft = node()
    other = replace(vote(3), voter=key(1, disk=9))
    found = ask(raft, other, VoteAnswer)
    assert (found.standing.error, found.granted) == (ErrorCode.INVALID_VOTER_KEY, NO)
    assert raft.state == Unattached(3), "but the epoch is news"
    assert ask(raft, replace(vote(4), voter=ReplicaKey(1)), VoteAnswer).granted


def test_who_knows_a_leader_votes_for_nobody_else_in_its_epoch() -> None:
    raft = node(election=Election(5, 9))
    assert not ask(raft, vote(5), VoteAnswer).granted
    assert ask(raft, vote(5, pre=True), VoteAnswer).granted


def test_a_follower_grants_a_pre_vote_until_its_leader_has_answered() -> None:
    raft, effects = follower(2)
    assert ask(raft, vote(2, pre=True), VoteAnswer).granted
    assert not ask(raft, vote(2), VoteAnswer).granted
    answer(raft, effects, fetched(2, records(5, 2)))
    assert not ask(raft, vote(2, end=9, last_epoch=2, pre=True), VoteAnswer).granted


def test_who_does_not_know_that_it_votes_grants_a_pre_vote_when_its_leader_is_silent() -> None:
    raft, effects = follower(2, history_=history(2, 3))
    answer(raft, effects, fetched(2, records(5, 2)))
    wants = vote(2, end=9, last_epoch=2, pre=True)
    assert not ask(raft, wants, VoteAnswer).granted
    raft.step(TimerFired(Alarm.FETCH), 2_000)
    assert ask(raft, wants, VoteAnswer).granted
    assert now(raft) == Follower(2, 2, at(2))
    # It had only been slow.
    raft, effects = follower(2, history_=history(2, 3))
    raft.step(TimerFired(Alarm.FETCH), 2_000)
    assert ask(raft, wants, VoteAnswer).granted
    answer(raft, effects, fetched(2, records(5, 2)))
    assert not ask(raft, wants, VoteAnswer).granted


def test_a_leader_grants_nothing_and_who_has_resigned_grants_pre_votes() -> None:
    raft = leader()
    best = vote(2, end=99)
    assert not ask(raft, best, VoteAnswer).granted
    assert not ask(raft, replace(best, pre_vote=True), VoteAnswer).granted
    raft.step(StopAsked(), 0)
    assert raft.state == Resigned(2)
    last = replace(vote(2, pre=True), last=raft.outline.last)
    assert ask(raft, last, VoteAnswer).granted
    assert not ask(raft, best, VoteAnswer).granted


def test_a_candidate_grants_pre_votes_and_no_vote() -> None:
    raft = node()
    said(raft, stand(raft), 3, YES)
    assert ask(raft, vote(2, pre=True), VoteAnswer).granted
    assert not ask(raft, vote(2), VoteAnswer).granted


def test_a_pre_vote_of_its_own_epoch_changes_nothing_at_all() -> None:
    raft = node()
    effects = raft.step(Asked(TOKEN, vote(1, pre=True)), 0)
    assert [type(each) for each in effects] == [Reply]
    assert raft.state == Unattached(1)


def test_who_votes_waits_anew() -> None:
    raft = node()
    effects = raft.step(Asked(TOKEN, vote(2)), 0)
    assert SetTimer(Alarm.ELECTION, 1_000, 1_000) in effects
    # Who only hears of a higher epoch does not, or it would never stand.
    effects = raft.step(Asked(TOKEN, vote(3, last_epoch=0)), 0)
    assert not only(effects, SetTimer)
