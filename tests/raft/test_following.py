"""Having what the leader has: records, cuts, snapshots, and whom to ask when there is no answer."""

from dataclasses import replace

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft.asking import failed
from barnabas.raft.effects import (
    AppendFetched,
    Ask,
    Effect,
    Flush,
    HighWatermark,
    InstallSnapshot,
    Note,
    OpenSnapshot,
    SetTimer,
    StorePart,
    Truncate,
)
from barnabas.raft.events import (
    Alarm,
    Answered,
    AppendAsked,
    Asked,
    Flushed,
    SnapshotInstalled,
    SnapshotRefused,
    StopAsked,
    TimerFired,
    Unanswered,
)
from barnabas.raft.messages import (
    NO_BATCHES,
    Batches,
    BeginQuorumEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    SnapshotAnswer,
    Vote,
)
from barnabas.raft.node import Contradiction, RaftNode
from barnabas.raft.outline import Diverges, NeedsSnapshot, SnapshotId
from barnabas.raft.states import Election, Follower, Leader, Prospective, Unattached
from barnabas.runtime.network import Address
from tests.raft.kit import (
    TOKEN,
    answer,
    at,
    config,
    fetched,
    flush,
    follower,
    history,
    key,
    leader,
    node,
    now,
    only,
    outline,
    questions,
    records,
    standing,
    voters,
)

SNAPSHOT = SnapshotId(9, 2)
OBSERVER = replace(config(), can_vote=False)


def part(position: int, data: bytes = b"12345678", size: int = 12) -> SnapshotAnswer:
    """Return a part of the snapshot, from 2."""
    return SnapshotAnswer(standing(2, 2), SNAPSHOT, size, position, data)


def asked(effects: list[Effect]) -> Fetch | FetchSnapshot:
    """Return the one question among some effects."""
    (question,) = questions(effects)
    assert isinstance(question, Fetch | FetchSnapshot)
    return question


def receiving() -> tuple[RaftNode, list[Effect]]:
    """Return a follower that asks for the first part of a snapshot."""
    raft, effects = follower(2)
    return raft, answer(raft, effects, fetched(2, NeedsSnapshot(SNAPSHOT)))


# --- records ---------------------------------------------------------------------------------


def test_a_follower_asks_for_what_comes_after_its_last_record() -> None:
    _, effects = follower(2)
    assert asked(effects) == Fetch(key(1), 2, 4, 1, 0, 500, 8 * 1024 * 1024)
    assert only(effects, Ask)[0].to == Address("node2", 9093)
    assert SetTimer(Alarm.FETCH, 2_000) in effects


def test_records_are_appended_flushed_and_only_then_asked_after() -> None:
    raft, effects = follower(2)
    effects = answer(raft, effects, fetched(2, records(6, 2), committed=5))
    assert effects == [
        AppendFetched(b"records", 6, 2),
        Flush(0),
        SetTimer(Alarm.FETCH, 2_000),
        HighWatermark(5),
    ]
    assert raft.flushed_offset == 4
    question = asked(raft.step(Flushed(0, 6), 1))
    assert (question.epoch, raft.outline.last) == (2, SnapshotId(6, 2))


def test_a_flush_of_less_than_all_does_not_let_it_ask() -> None:
    raft, effects = follower(2)
    answer(raft, effects, fetched(2, records(6, 2)))
    assert raft.step(Flushed(0, 5), 1) == []
    assert questions(raft.step(Flushed(0, 6), 2))


def test_committed_is_at_most_what_is_here() -> None:
    raft, effects = follower(2)
    assert HighWatermark(6) in answer(raft, effects, fetched(2, records(6, 2), committed=99))


def test_a_leader_that_has_committed_nothing_itself_says_nothing() -> None:
    raft, effects = follower(2)
    effects = answer(raft, effects, fetched(2, NO_BATCHES, committed=-1))
    assert not only(effects, HighWatermark)
    assert asked(effects).epoch == 2


def test_several_epochs_may_come_at_once() -> None:
    raft, effects = follower(5)
    some = Batches(b"records", 9, ((1, 6), (3, 8), (5, 9)), (), ())
    answer(raft, effects, fetched(5, some))
    assert list(raft.outline.epochs) == [(1, 0), (3, 6), (5, 8)]


@pytest.mark.parametrize(
    "wrong",
    [
        # Of an epoch that the leader has not reached, or that ours has left behind.
        records(6, 3),
        Batches(b"records", 6, ((0, 6),), (), ()),
        Batches(b"records", 6, ((2, 5), (1, 6)), (), ()),
        # Not after what is here, or not to where they say.
        records(4, 2),
        Batches(b"records", 7, ((2, 6),), (), ()),
    ],
)
def test_records_that_cannot_follow_are_not_appended(wrong: Batches) -> None:
    raft, effects = follower(2)
    before = raft.outline.last
    effects = answer(raft, effects, fetched(2, wrong, committed=4))
    assert "the leader of epoch 2 sent records" in only(effects, Note)[0].text
    assert raft.outline.last == before
    assert raft.high_watermark == 0
    assert SetTimer(Alarm.RETRY, 20, 20) in effects


def test_the_same_complaint_is_told_once() -> None:
    raft, effects = follower(2)
    effects = answer(raft, effects, fetched(2, records(6, 3)))
    assert len(only(effects, Note)) == 1
    effects = raft.step(TimerFired(Alarm.RETRY), 20)
    assert not only(answer(raft, effects, fetched(2, records(6, 3))), Note)


def test_who_asks_another_cluster_tells_it_once_and_forgets_when_it_has_found_its_own() -> None:
    raft, effects = follower(2)
    question, (retry, leader) = asked(effects), (TimerFired(Alarm.RETRY), standing(2, 2))
    foreign = failed(question, ErrorCode.INCONSISTENT_CLUSTER_ID)
    effects = answer(raft, effects, foreign)
    assert "own is cluster" in only(effects, Note)[0].text
    assert raft.is_foreign
    effects = raft.step(retry, 20)
    assert not only(answer(raft, effects, foreign), Note)
    effects = raft.step(retry, 40)
    answer(raft, effects, FetchAnswer(leader, 0, NO_BATCHES))
    assert not raft.is_foreign


def test_voters_among_the_records_are_in_force_at_once() -> None:
    raft, effects = follower(2)
    some = Batches(b"records", 6, ((2, 6),), ((5, voters(2, 3)),), ())
    effects = answer(raft, effects, fetched(2, some))
    assert raft.voters.current == voters(2, 3)
    assert not raft.is_voter
    # Who votes no more misses its leader, and does not stand for election.
    assert SetTimer(Alarm.FETCH, 2_000) in effects
    assert raft.following.has_fetched
    assert raft.step(TimerFired(Alarm.FETCH), 2_000) == []
    assert raft.state == Follower(2, 2, at(2))
    assert not raft.following.has_fetched


def test_a_newcomer_that_reads_that_it_votes_waits_for_its_leader() -> None:
    raft, effects = follower(2, history_=history(2, 3))
    some = Batches(b"records", 6, ((2, 6),), ((5, voters(1, 2, 3)),), ())
    assert SetTimer(Alarm.FETCH, 2_000) in answer(raft, effects, fetched(2, some))
    raft.step(TimerFired(Alarm.FETCH), 2_000)
    assert isinstance(raft.state, Prospective)


# --- cutting ---------------------------------------------------------------------------------


def test_what_the_leader_denies_is_cut_durably_before_anything_else_is_asked() -> None:
    raft, effects = follower(5, log=outline((1, 4), (3, 8)))
    effects = answer(raft, effects, fetched(5, Diverges(1, 3)))
    assert effects[0] == Truncate(3)
    question = asked(effects)
    assert isinstance(question, Fetch)
    assert (question.offset, question.last_epoch) == (3, 1)
    assert (raft.cuts, raft.flushed_offset) == (1, 3)


def begin(raft: RaftNode, leader_id: int, epoch: int) -> list[Effect]:
    """Let somebody lead."""
    return raft.step(Asked(TOKEN, BeginQuorumEpoch(leader_id, epoch, at(leader_id), key(1))), 0)


def test_a_flush_from_before_a_cut_says_nothing_about_what_stands_there_now() -> None:
    raft = leader()
    first = raft.step(AppendAsked(1), 0)
    second = raft.step(AppendAsked(3), 0)
    assert raft.outline.end_offset == 9
    assert first[1] == second[1] == Flush(0)
    # The later flush is done first; then another leader has it all cut, and sends something else.
    effects = [*raft.step(Flushed(0, 9), 0), *begin(raft, 3, 3)]
    effects = answer(raft, effects, fetched(3, Diverges(2, 5), leader_id=3))
    answer(raft, effects, fetched(3, records(8, 3), leader_id=3))
    assert raft.step(Flushed(0, 6), 0) == []
    assert raft.flushed_offset == 5
    assert questions(raft.step(Flushed(1, 8), 0))


def test_a_voters_record_that_is_cut_away_was_never_said() -> None:
    raft, effects = follower(2)
    some = Batches(b"records", 6, ((2, 6),), ((5, voters(2, 3)),), ())
    answer(raft, effects, fetched(2, some))
    effects = begin(raft, 3, 3)
    effects = [*effects, *raft.step(Flushed(0, 6), 0)]
    effects = answer(raft, effects, fetched(3, Diverges(1, 4), leader_id=3))
    assert raft.voters.current == voters(1, 2, 3)
    # It votes again, and has to stand if its leader dies now.
    assert SetTimer(Alarm.FETCH, 2_000) in effects


def test_what_is_committed_is_never_cut() -> None:
    raft, effects = follower(2)
    effects = answer(raft, effects, fetched(2, records(6, 2), committed=6))
    effects = raft.step(Flushed(0, 6), 0)
    with pytest.raises(Contradiction, match="cut at 4, but everything below 6 was committed"):
        answer(raft, effects, fetched(2, Diverges(1, 4)))


def test_a_cut_that_cuts_nothing_is_a_complaint() -> None:
    raft, effects = follower(2)
    effects = answer(raft, effects, fetched(2, Diverges(1, 9)))
    assert "ends epoch 1 at 9, behind (4, 1)" in only(effects, Note)[0].text
    assert raft.outline.end_offset == 4


# --- snapshots -------------------------------------------------------------------------------


def test_a_snapshot_comes_in_parts_and_takes_the_place_of_the_log() -> None:
    raft, effects = receiving()
    assert effects[0] == OpenSnapshot(SNAPSHOT)
    assert asked(effects) == FetchSnapshot(key(1), 2, SNAPSHOT, 0, 1024 * 1024)
    effects = answer(raft, effects, part(0))
    assert StorePart(SNAPSHOT, 0, b"12345678") in effects
    assert SetTimer(Alarm.FETCH, 2_000) in effects
    effects = answer(raft, effects, part(8, b"9abc"))
    assert effects[-2:] == [StorePart(SNAPSHOT, 8, b"9abc"), InstallSnapshot(SNAPSHOT)]
    effects = raft.step(SnapshotInstalled(SNAPSHOT, voters(1, 2), 1), 0)
    assert HighWatermark(9) in effects
    question = asked(effects)
    assert isinstance(question, Fetch)
    assert (question.offset, question.last_epoch, question.high_watermark) == (9, 2, 9)
    assert (raft.outline.start_offset, raft.flushed_offset, raft.cuts) == (9, 9, 1)
    assert raft.voters.current == voters(1, 2)


def test_nothing_happens_between_a_snapshot_and_the_log_that_it_becomes() -> None:
    raft, effects = receiving()
    effects = answer(raft, effects, part(0, b"x" * 12))
    with pytest.raises(AssertionError, match="while installing"):
        raft.step(TimerFired(Alarm.FETCH), 0)
    raft.step(SnapshotRefused(SNAPSHOT, "it is torn"), 0)
    with pytest.raises(AssertionError, match="while installing"):
        raft.step(SnapshotInstalled(SNAPSHOT, None, 0), 0)


def test_a_snapshot_that_is_none_is_told_and_asked_for_again() -> None:
    raft, effects = receiving()
    answer(raft, effects, part(0, b"x" * 12))
    effects = raft.step(SnapshotRefused(SNAPSHOT, "it is torn"), 0)
    assert "is of no use: it is torn" in only(effects, Note)[0].text
    assert raft.outline.end_offset == 4
    raft.step(TimerFired(Alarm.RETRY), 20)
    assert raft.asking(Fetch)


@pytest.mark.parametrize(
    "wrong",
    [
        part(1),
        part(0, b""),
        part(0, b"x" * 13),
        replace(part(0), snapshot=SnapshotId(8, 2)),
    ],
)
def test_a_part_that_was_not_asked_for_is_thrown_away(wrong: SnapshotAnswer) -> None:
    raft, effects = receiving()
    effects = answer(raft, effects, wrong)
    assert not only(effects, StorePart)
    assert "for (9, 2) at 0" in only(effects, Note)[0].text
    assert raft.following.receiving is None


@pytest.mark.parametrize("code", [ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE])
def test_a_snapshot_that_is_gone_is_asked_for_by_asking_for_records(code: ErrorCode) -> None:
    raft, effects = receiving()
    gone = replace(part(0, b""), standing=standing(2, 2, code))
    effects = answer(raft, effects, gone)
    assert isinstance(asked(effects), Fetch)
    assert SetTimer(Alarm.FETCH, 2_000) in effects, "the leader lives"


def test_a_leader_of_kafkas_that_cannot_say_why_is_asked_for_records_too() -> None:
    # Kafka 4.3 means SNAPSHOT_NOT_FOUND, but can write no error beside a part.
    raft, effects = receiving()
    unsaid = failed(asked(effects), ErrorCode.UNKNOWN_SERVER_ERROR)
    effects = answer(raft, effects, unsaid)
    assert only(effects, SetTimer)[0].timer is Alarm.RETRY
    assert isinstance(asked(raft.step(TimerFired(Alarm.RETRY), 0)), Fetch)
    assert raft.following.receiving is None


def test_a_snapshot_of_a_former_leader_is_not_gone_on_with() -> None:
    raft, effects = receiving()
    effects = answer(raft, effects, part(0))
    late = only(effects, Ask)[0].request
    effects = begin(raft, 3, 3)
    assert isinstance(asked(effects), Fetch)
    assert raft.step(Answered(late, part(8, b"9abc")), 0) == []


def test_what_a_snapshot_would_take_back_was_committed() -> None:
    raft, effects = follower(2, log=outline((1, 20)))
    effects = answer(raft, effects, fetched(2, records(21, 2), committed=21))
    effects = flush(raft, effects)
    with pytest.raises(Contradiction, match=r"offers snapshot \(9, 2\)"):
        answer(raft, effects, fetched(2, NeedsSnapshot(SNAPSHOT)))


def test_a_snapshot_that_is_here_is_not_fetched() -> None:
    log = outline((1, 4), start=0)
    log.add_snapshot(SnapshotId(4, 1))
    raft, effects = follower(2, log=log)
    effects = answer(raft, effects, fetched(2, NeedsSnapshot(SnapshotId(4, 1))))
    assert "which is here" in only(effects, Note)[0].text


def test_records_that_were_never_committed_do_not_keep_a_snapshot_away() -> None:
    # Ours are of a higher epoch than the snapshot, and reach farther: nobody has committed them.
    raft, effects = follower(7, log=outline((1, 2), (6, 12)))
    effects = answer(raft, effects, fetched(7, NeedsSnapshot(SNAPSHOT)))
    effects = answer(raft, effects, replace(part(0, b"x" * 12), standing=standing(7, 2)))
    raft.step(SnapshotInstalled(SNAPSHOT, None, 1), 0)
    assert raft.outline.last == SNAPSHOT


# --- who to ask ------------------------------------------------------------------------------


def test_who_knows_no_leader_asks_everybody_in_turn() -> None:
    raft = node(config=replace(config(), bootstrap=(Address("b1", 1),)))
    to = []
    for _ in range(4):
        raft.step(Unanswered(next(iter(raft._asked)), "lost"), 0)
        (ask,) = only(raft.step(TimerFired(Alarm.RETRY), 20), Ask)
        to.append(ask.to.host)
    assert {*to[:3]} == {"b1", "node2", "node3"}
    assert to[3] == to[0]


def test_the_answer_of_somebody_who_knows_leads_to_the_leader() -> None:
    raft = node()
    (request,) = raft._asked
    knows = FetchAnswer(standing(5, 2, ErrorCode.FENCED_LEADER_EPOCH), -1, NO_BATCHES)
    effects = raft.step(Answered(request, knows), 0)
    assert raft.state == Follower(5, 2, at(2))
    assert asked(effects).epoch == 5


def test_a_name_without_a_place_is_asked_for_until_somebody_knows_it() -> None:
    raft = node(election=Election(5, 9))
    assert raft.state == Unattached(5, 9)
    (request,) = raft._asked
    knows = FetchAnswer(
        replace(standing(5, 9, ErrorCode.NOT_LEADER_OR_FOLLOWER), endpoints=at(9)), -1, NO_BATCHES
    )
    raft.step(Answered(request, knows), 0)
    assert now(raft) == Follower(5, 9, at(9))


def test_who_asks_who_leads_tells_nothing_that_is_not_on_its_disk() -> None:
    # Whoever it asks may be the leader, and count it.
    raft = leader()
    raft.step(AppendAsked(2), 0)
    vote = Vote(key(3), key(1), 9, SnapshotId(4, 1), False)
    assert not questions(raft.step(Asked(TOKEN, vote), 0))
    assert raft.state == Unattached(9)
    question = asked(raft.step(Flushed(0, 7), 0))
    assert isinstance(question, Fetch)
    assert question.offset == 7


def test_an_observer_whose_leader_does_not_answer_stays_and_asks_others_too() -> None:
    raft, _ = follower(2, config=OBSERVER, history_=history(2, 3))
    assert not raft.is_set(Alarm.FETCH)
    to = []
    for _ in range(4):
        raft.step(Unanswered(next(iter(raft._asked)), "lost"), 0)
        (ask,) = only(raft.step(TimerFired(Alarm.RETRY), 20), Ask)
        to.append(ask.to.host)
    assert to[1::2] == ["node2", "node2"]
    assert to[::2] == ["node3", "node3"]
    assert raft.state == Follower(2, 2, at(2))


def test_an_observer_leaves_a_leader_that_has_resigned_when_it_hears_of_another() -> None:
    raft, effects = follower(2, config=OBSERVER, history_=history(2, 3))
    resigned = FetchAnswer(standing(2, 2, ErrorCode.NOT_LEADER_OR_FOLLOWER), -1, NO_BATCHES)
    answer(raft, effects, resigned)
    (ask,) = only(raft.step(TimerFired(Alarm.RETRY), 20), Ask)
    assert ask.to != Address("node2", 9093)
    knows = FetchAnswer(standing(3, 3, ErrorCode.FENCED_LEADER_EPOCH), -1, NO_BATCHES)
    raft.step(Answered(ask.request, knows), 0)
    assert now(raft) == Follower(3, 3, at(3))


def test_a_voter_whose_leader_does_not_answer_stands_for_election() -> None:
    raft, _ = follower(2)
    raft.step(TimerFired(Alarm.FETCH), 2_000)
    assert isinstance(raft.state, Prospective)


def test_who_is_stopping_asks_nothing_more() -> None:
    raft, effects = follower(2)
    raft.step(StopAsked(), 0)
    assert raft.is_stopped
    assert not questions(answer(raft, effects, fetched(2, NO_BATCHES)))
    assert not raft.is_set(Alarm.FETCH)
    assert not isinstance(raft.state, Leader)
