"""Changing who votes: every condition of Kafka's handlers, in their order, with their codes."""

from dataclasses import replace

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft.config import RaftConfig
from barnabas.raft.effects import (
    AppendVoters,
    Ask,
    CancelTimer,
    Effect,
    Flush,
    Note,
    Reply,
    SetTimer,
)
from barnabas.raft.events import Alarm, Answered, Asked, TimerFired, Unanswered
from barnabas.raft.messages import (
    AddVoter,
    ApiVersions,
    EpochAnswer,
    Fetch,
    RemoveVoter,
    UpdateVoter,
    VersionsAnswer,
    VoterAnswer,
)
from barnabas.raft.node import RaftNode
from barnabas.raft.states import Resigned
from barnabas.raft.voters import NO_VOTERS, Endpoint, History, ReplicaKey, Voter
from barnabas.runtime.network import Address
from tests.raft.kit import (
    TOKEN,
    VERSIONS,
    answer,
    ask,
    at,
    config,
    configured,
    fetch,
    flush,
    follower,
    fresh_leader,
    history,
    key,
    leader,
    node,
    only,
    questions,
    standing,
    voter,
    voters,
)

ADD = AddVoter(key(4), at(4), 2_000, True)
REMOVE = RemoveVoter(key(3))
UPDATE = UpdateVoter(2, Voter(key(2), (Endpoint("CONTROLLER", "elsewhere", 1),), VERSIONS))
FINE = VersionsAnswer(ErrorCode.NONE, VERSIONS)
OTHER_LISTENER = (Endpoint("PLAINTEXT", "node4", 1),)


def add(raft: RaftNode, question: AddVoter = ADD, token: int = TOKEN) -> list[Effect]:
    """Let an operator add a voter."""
    return raft.step(Asked(token, question), 0)


def caught_up() -> RaftNode:
    """Return a leader of three, whose observer 4 has all that it has."""
    raft = leader()
    fetch(raft, 4, 5)
    return raft


def code(effects: list[Effect]) -> ErrorCode:
    """Return what an operator is answered."""
    (reply,) = only(effects, Reply)
    assert isinstance(reply.answer, VoterAnswer)
    return reply.answer.error


# --- adding ----------------------------------------------------------------------------------


def test_a_voter_is_added_when_it_has_caught_up_and_answered_when_that_is_committed() -> None:
    raft = caught_up()
    effects = add(raft)
    assert SetTimer(Alarm.CHANGE, 2_000) in effects
    (asked,) = only(effects, Ask)
    assert (asked.to, asked.question) == (Address("node4", 9093), ApiVersions())
    effects = answer(raft, effects, FINE)
    assert only(effects, AppendVoters) == [AppendVoters(5, 2, voters(1, 2, 3, 4))]
    assert not only(effects, Reply)
    flush(raft, effects)
    fetch(raft, 2, 6)
    assert raft.high_watermark == 5, "three of four have to have it"
    effects = raft.step(Asked(1, fetches(raft, 4, 6)), 0)
    assert Reply(TOKEN, VoterAnswer(ErrorCode.NONE)) in effects
    assert CancelTimer(Alarm.CHANGE) in effects


def fetches(raft: RaftNode, node_id: int, offset: int) -> Fetch:
    """Return a fetch that waits for nothing."""
    return Fetch(key(node_id), raft.epoch, offset, 2, 99, 0, 1)


def test_who_need_not_know_of_the_commit_is_answered_at_once_and_only_once() -> None:
    raft = caught_up()
    effects = answer(raft, add(raft, replace(ADD, ack_when_committed=False)), FINE)
    assert Reply(TOKEN, VoterAnswer(ErrorCode.NONE)) in effects
    # The change is under way all the same.
    assert code(add(raft, token=1)) is ErrorCode.REQUEST_TIMED_OUT
    flush(raft, effects)
    fetch(raft, 2, 6)
    effects = raft.step(Asked(2, fetches(raft, 4, 6)), 0)
    assert {reply.token for reply in only(effects, Reply)} == {2}
    assert raft.leadership.change is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (replace(ADD, voter=ReplicaKey(4)), ErrorCode.INVALID_REQUEST),
        (replace(ADD, voter=replace(key(4), id=-1)), ErrorCode.INVALID_REQUEST),
        (replace(ADD, endpoints=OTHER_LISTENER), ErrorCode.INVALID_REQUEST),
        (replace(ADD, voter=key(3)), ErrorCode.DUPLICATE_VOTER),
        (replace(ADD, voter=key(3, disk=9)), ErrorCode.DUPLICATE_VOTER),
    ],
)
def test_who_cannot_be_a_voter_is_refused(question: AddVoter, expected: ErrorCode) -> None:
    raft = caught_up()
    assert code(add(raft, question)) is expected
    assert raft.leadership.change is None
    assert raft.voters.current == voters(1, 2, 3)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (VersionsAnswer(ErrorCode.UNSUPPORTED_VERSION, (0, 0)), ErrorCode.REQUEST_TIMED_OUT),
        (VersionsAnswer(ErrorCode.NONE, (0, 0)), ErrorCode.INVALID_REQUEST),
        (VersionsAnswer(ErrorCode.NONE, (2, 3)), ErrorCode.INVALID_REQUEST),
    ],
)
def test_who_cannot_work_with_the_version_is_refused(
    versions: VersionsAnswer, expected: ErrorCode
) -> None:
    raft = caught_up()
    assert code(answer(raft, add(raft), versions)) is expected
    assert raft.leadership.change is None


def test_who_lags_behind_is_refused() -> None:
    raft = leader()
    assert code(answer(raft, add(raft), FINE)) is ErrorCode.REQUEST_TIMED_OUT
    fetch(raft, 4, 4)
    assert code(answer(raft, add(raft), FINE)) is ErrorCode.REQUEST_TIMED_OUT


def test_who_does_not_answer_is_refused() -> None:
    raft = caught_up()
    (asked,) = only(add(raft), Ask)
    effects = raft.step(Unanswered(asked.request, "refused"), 0)
    assert code(effects) is ErrorCode.REQUEST_TIMED_OUT
    assert CancelTimer(Alarm.CHANGE) in effects


def test_what_one_newcomer_says_of_itself_counts_for_no_other() -> None:
    raft = caught_up()
    fetch(raft, 5, 5)
    (late,) = only(add(raft), Ask)
    assert code(raft.step(TimerFired(Alarm.CHANGE), 2_000)) is ErrorCode.REQUEST_TIMED_OUT
    add(raft, AddVoter(key(5), at(5), 0, True))
    assert raft.step(Answered(late.request, FINE), 2_001) == []
    assert raft.voters.current == voters(1, 2, 3)


# --- when nothing can be changed -------------------------------------------------------------


@pytest.mark.parametrize("question", [ADD, REMOVE])
def test_only_the_leader_changes_voters(question: AddVoter | RemoveVoter) -> None:
    raft, _ = follower(2)
    found = ask(raft, question, VoterAnswer)
    assert found.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("question", [ADD, REMOVE])
def test_nothing_is_changed_before_the_first_commit_of_an_epoch(
    question: AddVoter | RemoveVoter,
) -> None:
    raft = fresh_leader()
    fetch(raft, 4, 5)
    found = ask(raft, question, VoterAnswer)
    assert found.error is ErrorCode.REQUEST_TIMED_OUT
    assert "committed nothing" in found.why


@pytest.mark.parametrize("question", [ADD, REMOVE])
def test_configured_voters_cannot_be_changed(question: AddVoter | RemoveVoter) -> None:
    raft = leader(history_=History(configured(1, 2, 3)))
    fetch(raft, 4, 5)
    assert ask(raft, question, VoterAnswer).error is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("question", [ADD, REMOVE])
def test_one_change_after_the_other(question: AddVoter | RemoveVoter) -> None:
    raft = caught_up()
    raft.step(Asked(1, RemoveVoter(key(2))), 0)
    under_way = ask(raft, question, VoterAnswer)
    assert (under_way.error, "under way" in under_way.why) == (ErrorCode.REQUEST_TIMED_OUT, True)
    # Nobody waits for it any more; but it is in the log, and may yet be committed.
    assert code(raft.step(TimerFired(Alarm.CHANGE), 2_000)) is ErrorCode.REQUEST_TIMED_OUT
    uncommitted = ask(raft, question, VoterAnswer)
    assert uncommitted.error is ErrorCode.REQUEST_TIMED_OUT
    assert "the voters at 5 are not committed yet" in uncommitted.why
    flush(raft, [Flush(0)])
    fetch(raft, 3, 6)
    raft.step(Asked(2, question), 0)
    assert raft.leadership.change is not None


def test_a_change_that_its_leader_does_not_see_through_may_have_been_made() -> None:
    raft = leader()
    raft.step(Asked(TOKEN, REMOVE), 0)
    effects = raft.step(TimerFired(Alarm.CHECK_QUORUM), 3_000)
    assert raft.state == Resigned(2)
    (reply,) = only(effects, Reply)
    assert isinstance(reply.answer, VoterAnswer)
    assert reply.answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert "may have been made" in reply.answer.why


# --- removing --------------------------------------------------------------------------------


def test_a_voter_is_removed_and_its_own_disk_does_not_count_for_it() -> None:
    raft = leader()
    effects = raft.step(Asked(TOKEN, REMOVE), 0)
    assert only(effects, AppendVoters) == [AppendVoters(5, 2, voters(1, 2))]
    flush(raft, effects)
    fetch(raft, 3, 6)
    assert raft.high_watermark == 5
    effects = raft.step(Asked(1, fetches(raft, 2, 6)), 0)
    assert Reply(TOKEN, VoterAnswer(ErrorCode.NONE)) in effects


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        (ReplicaKey(3), ErrorCode.INVALID_REQUEST),
        (replace(key(3), id=-1), ErrorCode.INVALID_REQUEST),
        (key(3, disk=9), ErrorCode.VOTER_NOT_FOUND),
        (key(4), ErrorCode.VOTER_NOT_FOUND),
    ],
)
def test_who_is_no_voter_cannot_be_removed(gone: ReplicaKey, expected: ErrorCode) -> None:
    raft = leader()
    assert ask(raft, RemoveVoter(gone), VoterAnswer).error is expected
    assert raft.voters.current == voters(1, 2, 3)


def test_the_last_voter_stays() -> None:
    raft = node(history_=history(1))
    assert ask(raft, RemoveVoter(key(1)), VoterAnswer).error is ErrorCode.VOTER_NOT_FOUND


def test_when_one_of_two_is_gone_the_other_needs_nobody() -> None:
    raft = leader(history_=history(1, 2))
    effects = raft.step(Asked(TOKEN, RemoveVoter(key(2))), 0)
    assert CancelTimer(Alarm.CHECK_QUORUM) in effects
    effects = flush(raft, effects)
    assert Reply(TOKEN, VoterAnswer(ErrorCode.NONE)) in effects


def test_a_single_voter_that_is_joined_begins_to_need_the_other() -> None:
    raft = node(history_=history(1))
    fetch(raft, 4, 5)
    effects = answer(raft, add(raft), FINE)
    assert SetTimer(Alarm.CHECK_QUORUM, 3_000) in effects


def test_a_change_of_voters_is_no_sign_of_life_of_them() -> None:
    raft = leader()
    effects = raft.step(Asked(TOKEN, REMOVE), 0)
    assert not any(each.timer is Alarm.CHECK_QUORUM for each in only(effects, SetTimer))


# --- updating --------------------------------------------------------------------------------


def update(raft: RaftNode, question: UpdateVoter = UPDATE) -> ErrorCode:
    """Let a voter tell about itself."""
    return ask(raft, question, EpochAnswer).standing.error


def test_a_voter_that_has_moved_is_written_down() -> None:
    raft = leader()
    effects = raft.step(Asked(TOKEN, UPDATE), 0)
    assert only(effects, AppendVoters)[0].voter_set == voters(1, 2, 3).with_voter(UPDATE.voter)
    assert Reply(TOKEN, EpochAnswer(raft.standing())) in effects
    # It is a change like any other: not before the former is committed.
    assert update(raft) is ErrorCode.REQUEST_TIMED_OUT


def test_a_voter_that_tells_nothing_new_is_heard_and_not_written_down() -> None:
    raft = leader()
    effects = raft.step(Asked(TOKEN, UpdateVoter(2, voter(2))), 0)
    assert not only(effects, AppendVoters)
    assert SetTimer(Alarm.CHECK_QUORUM, 3_000) in effects


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (replace(UPDATE, epoch=1), ErrorCode.FENCED_LEADER_EPOCH),
        (replace(UPDATE, epoch=3), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (UpdateVoter(2, replace(voter(2), key=ReplicaKey(2))), ErrorCode.INVALID_REQUEST),
        (UpdateVoter(2, replace(voter(2), endpoints=OTHER_LISTENER)), ErrorCode.INVALID_REQUEST),
        (UpdateVoter(2, replace(voter(2), versions=(1, 0))), ErrorCode.INVALID_REQUEST),
        (UpdateVoter(2, replace(voter(2), versions=(0, 0))), ErrorCode.INVALID_REQUEST),
        (UpdateVoter(2, voter(2, disk=9)), ErrorCode.VOTER_NOT_FOUND),
        (UpdateVoter(2, voter(4)), ErrorCode.VOTER_NOT_FOUND),
    ],
)
def test_what_cannot_be_told_of_a_voter_is_refused(
    question: UpdateVoter, expected: ErrorCode
) -> None:
    raft = leader()
    assert update(raft, question) is expected
    assert raft.voters.current == voters(1, 2, 3)


def test_nothing_is_updated_before_the_first_commit_nor_while_voters_change() -> None:
    assert update(fresh_leader()) is ErrorCode.REQUEST_TIMED_OUT
    raft = leader()
    raft.step(Asked(1, REMOVE), 0)
    assert update(raft) is ErrorCode.REQUEST_TIMED_OUT


def test_what_configured_voters_tell_is_kept_and_not_written_down() -> None:
    raft = leader(history_=History(configured(1, 2, 3)))
    effects = raft.step(Asked(TOKEN, UPDATE), 0)
    assert not only(effects, AppendVoters)
    assert raft.leadership.described.by_id(2) == UPDATE.voter
    assert raft.voters.current == configured(1, 2, 3)


# --- introducing oneself ---------------------------------------------------------------------


def introduced(raft: RaftNode) -> list[Effect]:
    """Let it be time to tell the leader about oneself."""
    return raft.step(TimerFired(Alarm.UPDATE_VOTER), 2_000)


def test_a_voter_that_is_described_as_it_is_says_nothing() -> None:
    raft, _ = follower(2)
    assert introduced(raft) == [SetTimer(Alarm.UPDATE_VOTER, 2_000)]


def test_a_voter_that_has_moved_tells_its_leader_until_that_is_in_the_log() -> None:
    moved = replace(config(), endpoints=(Endpoint("CONTROLLER", "elsewhere", 1),))
    raft, _ = follower(2, config=moved)
    effects = introduced(raft)
    assert questions(effects) == [UpdateVoter(2, moved.voter)]
    assert questions(introduced(raft)) == [], "it is still asked"
    answer(raft, effects, EpochAnswer(standing(2, 2)))
    assert questions(introduced(raft)) == [UpdateVoter(2, moved.voter)]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ErrorCode.NONE, False),
        (ErrorCode.UNSUPPORTED_VERSION, False),
        (ErrorCode.REQUEST_TIMED_OUT, True),
    ],
)
def test_a_configured_voter_introduces_itself_to_every_leader_once(
    error: ErrorCode, again: bool
) -> None:
    raft, _ = follower(2, history_=History(configured(1, 2, 3)))
    effects = introduced(raft)
    assert questions(effects) == [UpdateVoter(2, config().voter)]
    # What is refused as a whole tells nothing of epochs.
    whole = error is ErrorCode.UNSUPPORTED_VERSION
    said = standing(-1, None, error) if whole else standing(2, 2, error)
    answer(raft, effects, EpochAnswer(said))
    assert bool(questions(introduced(raft))) is again


JOINS = replace(config(), auto_join=True)


def test_a_controller_that_is_to_join_asks_for_it() -> None:
    raft, _ = follower(2, config=JOINS, history_=history(2, 3))
    effects = introduced(raft)
    assert questions(effects) == [AddVoter(key(1), at(1), 2_000, False)]
    effects = answer(raft, effects, VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, "later"))
    assert "REQUEST_TIMED_OUT later" in only(effects, Note)[0].text
    assert questions(introduced(raft)) == [AddVoter(key(1), at(1), 2_000, False)]


def test_a_controller_with_a_new_disk_first_has_its_former_self_removed() -> None:
    former = History()
    former.add_version(0, 1)
    former.add_voters(1, voters(2, 3).with_voter(voter(1, disk=9)))
    raft, _ = follower(2, config=JOINS, history_=former)
    assert questions(introduced(raft)) == [RemoveVoter(key(1, disk=9))]


@pytest.mark.parametrize(
    ("settings", "known"),
    [
        (config(), history(2, 3)),
        (replace(JOINS, can_vote=False), history(2, 3)),
        (JOINS, History(configured(2, 3))),
        (JOINS, History(NO_VOTERS)),
    ],
)
def test_nobody_else_asks_to_join(settings: RaftConfig, known: History) -> None:
    raft, _ = follower(2, config=settings, history_=known)
    if raft.is_set(Alarm.UPDATE_VOTER):
        assert questions(introduced(raft)) == []
    assert not raft.asking(AddVoter)
