"""Leading an epoch: what a leader appends, hands out, counts, and when it goes."""

from dataclasses import replace

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import (
    AppendLeaderChange,
    AppendRecords,
    Ask,
    CancelTimer,
    Effect,
    Flush,
    HighWatermark,
    Note,
    Reply,
    SetTimer,
)
from barnabas.raft.events import (
    Alarm,
    Answered,
    AppendAsked,
    Asked,
    Flushed,
    Patience,
    ResignAsked,
    StopAsked,
    TimerFired,
    Unanswered,
)
from barnabas.raft.messages import (
    BeginQuorumEpoch,
    EndQuorumEpoch,
    EpochAnswer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
    RemoveVoter,
    SnapshotAnswer,
    Vote,
    VoteAnswer,
)
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import BOOTSTRAP, Diverges, NeedsSnapshot, Outline, SnapshotId
from barnabas.raft.progress import OBSERVER_MS
from barnabas.raft.states import Follower, Leader, Resigned, Unattached
from barnabas.raft.voters import Endpoint, History
from tests.raft.kit import (
    TOKEN,
    ask,
    at,
    config,
    configured,
    fetch,
    flush,
    fresh_leader,
    history,
    key,
    leader,
    node,
    now,
    only,
    outline,
    questions,
    standing,
    voters,
)

QUORUM = SetTimer(Alarm.CHECK_QUORUM, 3_000)


# --- the beginning ---------------------------------------------------------------------------


def test_a_leader_begins_with_a_record_of_its_epoch_and_tells_the_others() -> None:
    raft = node()
    effects = elected(raft)
    assert only(effects, AppendLeaderChange) == [
        AppendLeaderChange(4, 2, (1, 2, 3), (1, 2), None, None)
    ]
    assert effects.index(Flush(0)) > effects.index(only(effects, AppendLeaderChange)[0])
    assert questions(effects) == [
        BeginQuorumEpoch(1, 2, at(1), key(2)),
        BeginQuorumEpoch(1, 2, at(1), key(3)),
    ]
    assert QUORUM in effects
    assert list(raft.outline.epochs) == [(1, 0), (2, 4)]


def elected(raft: RaftNode) -> list[Effect]:
    """Let a machine be elected with the help of 2; return what it does as a leader."""
    effects = raft.step(TimerFired(Alarm.ELECTION), 0)
    for _ in range(2):
        request = only(effects, Ask)[0].request
        effects = raft.step(Answered(request, VoteAnswer(standing(raft.epoch), True)), 0)
    return effects


def test_the_first_leader_puts_the_formatted_voters_into_the_log() -> None:
    raft = node(history_=History(voters(1, 2, 3), 1), log=outline(snapshots=[BOOTSTRAP]))
    (change,) = only(elected(raft), AppendLeaderChange)
    assert (change.version, change.voter_set) == (1, voters(1, 2, 3))
    assert (raft.voters.current_offset, raft.outline.end_offset) == (2, 3)


def test_a_leader_that_is_reached_in_another_way_than_the_log_says_writes_it_down() -> None:
    moved = replace(config(), endpoints=(Endpoint("CONTROLLER", "elsewhere", 1),))
    raft = node(config=moved)
    (change,) = only(elected(raft), AppendLeaderChange)
    assert change.voter_set == voters(1, 2, 3).with_voter(moved.voter)
    assert raft.voters.current.by_id(1) == moved.voter


def test_configured_voters_are_written_down_by_nobody() -> None:
    raft = node(history_=History(configured(1, 2, 3)))
    (change,) = only(elected(raft), AppendLeaderChange)
    assert (change.version, change.voter_set) == (None, None)
    # What they are is kept all the same.
    assert raft.leadership.described.by_id(1) == config().voter


def test_voters_that_do_not_fetch_are_told_again_and_those_that_do_are_not() -> None:
    raft = fresh_leader()
    fetch(raft, 2, 4, now_ms=500)
    for request in list(raft._asked):
        raft.step(Unanswered(request, "lost"), 600)
    effects = raft.step(TimerFired(Alarm.BEGIN_EPOCH), 1_000)
    assert questions(effects) == [BeginQuorumEpoch(1, 2, at(1), key(3))]
    # It is not told twice at once.
    effects = raft.step(TimerFired(Alarm.BEGIN_EPOCH), 1_499)
    assert questions(effects) == []
    effects = raft.step(TimerFired(Alarm.BEGIN_EPOCH), 1_500)
    assert questions(effects) == [BeginQuorumEpoch(1, 2, at(1), key(2))]


# --- what is committed -----------------------------------------------------------------------


def test_a_leader_decides_when_a_record_of_its_epoch_is_on_a_majority_of_disks() -> None:
    raft = fresh_leader()
    assert raft.promised_offset is None
    # All that was there before is on two disks; that does not count.
    answer = fetch(raft, 2, 4)
    assert (answer.high_watermark, raft.high_watermark) == (-1, 0)
    fetch(raft, 2, 5)
    assert raft.promised_offset is None, "it has not flushed itself"
    assert HighWatermark(5) in raft.step(Flushed(0, 5), 0)
    assert raft.promised_offset == 5


def test_two_followers_commit_what_their_leader_has_not_flushed() -> None:
    raft = fresh_leader()
    fetch(raft, 2, 5)
    fetch(raft, 3, 5)
    assert raft.high_watermark == 5
    assert raft.flushed_offset == 4


def test_an_observer_commits_nothing() -> None:
    raft = fresh_leader()
    flush(raft, [Flush(0)])
    fetch(raft, 9, 5)
    fetch(raft, 2, 5, disk=9)
    assert raft.high_watermark == 0


def test_a_fetch_without_an_id_is_served_and_counts_for_nobody() -> None:
    raft = leader()
    before = {*raft.leadership.progress}
    assert isinstance(fetch(raft, -1, 5, disk=0).content, Lent)
    assert {*raft.leadership.progress} == before


def test_records_are_appended_where_it_was_promised() -> None:
    raft = leader()
    assert raft.promised_offset == 5
    assert raft.step(AppendAsked(3), 0) == [AppendRecords(5, 2), Flush(0)]
    assert raft.promised_offset == 8


def test_nothing_is_appended_before_the_first_commit_nor_by_who_does_not_lead() -> None:
    with pytest.raises(AssertionError, match="before its first commit"):
        fresh_leader().step(AppendAsked(1), 0)
    with pytest.raises(AssertionError, match="leads nobody"):
        node().step(AppendAsked(1), 0)
    with pytest.raises(AssertionError, match="nothing"):
        leader().step(AppendAsked(0), 0)


def test_the_high_watermark_of_a_leader_never_goes_back() -> None:
    raft = leader()
    raft.step(AppendAsked(3), 0)
    flush(raft, [Flush(0)])
    fetch(raft, 2, 8)
    assert raft.high_watermark == 8
    # A follower that lost its log is behind what was committed with its help.
    fetch(raft, 2, 5)
    assert fetch(raft, 3, 5).high_watermark == 8


# --- being fetched from ----------------------------------------------------------------------


def test_a_fetch_brings_what_is_in_the_log_flushed_or_not() -> None:
    raft = leader()
    raft.step(AppendAsked(3), 0)
    answer = fetch(raft, 3, 4)
    assert answer.content == Lent(4, 8, 1_000)
    assert answer.high_watermark == 5
    assert answer.standing == raft.standing()


SOUND = Fetch(key(2), 2, 5, 2, 0, 0, 1)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (replace(SOUND, epoch=1, last_epoch=1), ErrorCode.FENCED_LEADER_EPOCH),
        (replace(SOUND, epoch=3), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (replace(SOUND, offset=-1), ErrorCode.INVALID_REQUEST),
        (replace(SOUND, max_wait_ms=-1), ErrorCode.INVALID_REQUEST),
        (replace(SOUND, last_epoch=-1), ErrorCode.INVALID_REQUEST),
        (replace(SOUND, last_epoch=3), ErrorCode.INVALID_REQUEST),
        (replace(SOUND, replica=key(1, disk=9)), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_fetch_that_makes_no_sense_is_refused_and_changes_nothing(
    question: Fetch, code: ErrorCode
) -> None:
    raft = leader()
    before = repr(raft.leading)
    assert ask(raft, question, FetchAnswer).standing == raft.standing(code)
    assert repr(raft.leading) == before


@pytest.mark.parametrize("state", [Unattached(2), Follower(2, 2, at(2))])
def test_who_does_not_lead_says_who_does(state: Unattached | Follower) -> None:
    raft = node()
    raft.become(state)
    raft.is_new = False
    found = ask(raft, Fetch(key(3), 2, 4, 1, 0, 500, 1), FetchAnswer)
    assert found.standing == raft.standing(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_who_diverges_is_told_where_and_counts_for_nothing() -> None:
    raft = leader(log=outline((1, 4)))
    raft.leadership.progress.clear()
    found = fetch(raft, 3, 9, last_epoch=1)
    assert found.content == Diverges(1, 4)
    assert not raft.leadership.progress


def test_who_is_behind_the_log_is_told_which_snapshot_to_fetch() -> None:
    log = Outline(4, 4, [], [SnapshotId(4, 1)])
    raft = leader(log=log)
    assert fetch(raft, 3, 2, last_epoch=1).content == NeedsSnapshot(SnapshotId(4, 1))
    assert fetch(raft, 3, 4, last_epoch=1).content == Lent(4, 5, 1_000)


def test_a_fetch_waits_for_news_as_long_as_it_wants_to() -> None:
    raft = leader()
    question = Fetch(key(3), 2, 5, 2, 5, 300, 1_000)
    effects = raft.step(Asked(TOKEN, question), 0)
    assert SetTimer(Patience(TOKEN), 300) in effects
    assert not only(effects, Reply)
    effects = raft.step(TimerFired(Patience(TOKEN)), 300)
    assert effects == [Reply(TOKEN, FetchAnswer(raft.standing(), 5, Lent(5, 5, 1_000)))]
    assert raft.step(TimerFired(Patience(TOKEN)), 301) == []


def test_a_fetch_that_waits_is_answered_by_records_and_by_a_commit() -> None:
    raft = leader()
    raft.step(Asked(TOKEN, Fetch(key(3), 2, 5, 2, 5, 300, 1_000)), 0)
    effects = raft.step(AppendAsked(2), 0)
    (reply,) = only(effects, Reply)
    assert isinstance(reply.answer, FetchAnswer)
    assert reply.answer.content == Lent(5, 7, 1_000)
    assert CancelTimer(Patience(TOKEN)) in effects
    flush(raft, effects)
    raft.step(Asked(TOKEN, Fetch(key(3), 2, 7, 2, 7, 300, 1_000)), 0)
    assert raft.high_watermark == 7
    # Who knows less than what is committed hears it at once (KIP-1166), others do not.
    assert fetch(raft, 2, 7, committed=6, wait_ms=300).high_watermark == 7


def test_all_who_wait_hear_of_a_commit() -> None:
    raft = leader()
    flush(raft, raft.step(AppendAsked(2), 0))
    for token, node_id in ((1, 7), (2, 8)):
        raft.step(Asked(token, Fetch(key(node_id), 2, 7, 2, 5, 300, 1_000)), 0)
    effects = raft.step(Asked(3, Fetch(key(2), 2, 7, 2, 5, 300, 1_000)), 0)
    assert {reply.token for reply in only(effects, Reply)} == {1, 2, 3}


def test_observers_that_are_gone_are_forgotten() -> None:
    raft = leader()
    fetch(raft, 9, 5)
    fetch(raft, 2, 5, now_ms=OBSERVER_MS + 1)
    assert {*raft.leadership.progress} == {key(2)}


@pytest.mark.parametrize(
    ("snapshot", "position", "epoch", "replica", "code"),
    [
        (SnapshotId(4, 1), 0, 2, 3, ErrorCode.NONE),
        (SnapshotId(4, 1), 9, 2, 3, ErrorCode.NONE),
        (SnapshotId(3, 1), 0, 2, 3, ErrorCode.SNAPSHOT_NOT_FOUND),
        (SnapshotId(4, 1), -1, 2, 3, ErrorCode.POSITION_OUT_OF_RANGE),
        (SnapshotId(4, 1), 0, 1, 3, ErrorCode.FENCED_LEADER_EPOCH),
        (SnapshotId(4, 1), 0, 3, 3, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (SnapshotId(4, 1), 0, 2, 1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_parts_of_a_snapshot_are_lent_by_who_leads(
    snapshot: SnapshotId, position: int, epoch: int, replica: int, code: ErrorCode
) -> None:
    raft = leader(log=Outline(4, 4, [], [SnapshotId(4, 1)]))
    question = FetchSnapshot(key(replica), epoch, snapshot, position, 100)
    found = ask(raft, question, SnapshotAnswer)
    assert found.standing == raft.standing(code)
    assert found.data == (Lent(position, position, 100) if code is ErrorCode.NONE else b"")


def test_the_snapshot_of_a_formatted_directory_is_lent_to_nobody() -> None:
    raft = leader(history_=History(voters(1, 2, 3), 1), log=outline(snapshots=[BOOTSTRAP]))
    found = ask(raft, FetchSnapshot(key(3), 1, BOOTSTRAP, 0, 100), SnapshotAnswer)
    assert found.standing.error is ErrorCode.SNAPSHOT_NOT_FOUND


# --- the end ---------------------------------------------------------------------------------


def test_a_leader_that_hears_no_majority_resigns() -> None:
    raft = leader()
    effects = raft.step(TimerFired(Alarm.CHECK_QUORUM), 3_000)
    assert raft.state == Resigned(2)
    assert "too few voters have fetched" in only(effects, Note)[0].text
    assert raft.promised_offset is None


@pytest.mark.parametrize(
    ("ids", "fetching", "enough"),
    [
        ((1, 2), (2,), True),
        ((1, 2, 3), (2,), True),
        ((1, 2, 3), (9,), False),
        ((1, 2, 3, 4), (2,), False),
        ((1, 2, 3, 4), (2, 4), True),
        ((1, 2, 3, 4, 5), (2, 2), False),
    ],
)
def test_the_fetches_of_a_majority_keep_a_leader(
    ids: tuple[int, ...], fetching: tuple[int, ...], enough: bool
) -> None:
    raft = node(history_=history(*ids))
    raft.step(TimerFired(Alarm.ELECTION), 0)
    while not isinstance(raft.state, Leader):
        request = next(iter(raft._asked))
        raft.step(Answered(request, VoteAnswer(standing(raft.epoch), True)), 0)
    found: list[Effect] = []
    for node_id in fetching:
        found += raft.step(Asked(TOKEN, Fetch(key(node_id), raft.epoch, 4, 1, 0, 0, 1)), 0)
    assert (QUORUM in found) is enough


def test_fetching_a_snapshot_is_a_sign_of_life_too() -> None:
    raft = leader(log=Outline(4, 4, [], [SnapshotId(4, 1)]))
    question = FetchSnapshot(key(3), 2, SnapshotId(4, 1), 0, 100)
    assert QUORUM in raft.step(Asked(TOKEN, question), 0)


def test_a_single_voter_needs_nobody() -> None:
    raft = node(history_=history(1))
    assert isinstance(raft.state, Leader)
    assert not raft.is_set(Alarm.CHECK_QUORUM)
    fetch(raft, 9, 5)
    assert not raft.is_set(Alarm.CHECK_QUORUM)


def test_a_leader_that_is_stopped_says_goodbye_and_waits_for_a_successor() -> None:
    raft = leader()
    fetch(raft, 3, 4)
    effects = raft.step(StopAsked(), 0)
    assert raft.state == Resigned(2)
    ends = questions(effects)
    assert ends == [
        EndQuorumEpoch(1, 2, at(1), (key(2), key(3)), key(2)),
        EndQuorumEpoch(1, 2, at(1), (key(2), key(3)), key(3)),
    ]
    assert not raft.is_stopped
    assert not raft.is_set(Alarm.ELECTION), "it does not begin anew"
    raft.step(Asked(TOKEN, Vote(key(2), key(1), 3, SnapshotId(9, 2), False)), 0)
    assert raft.is_stopped


def test_a_single_voter_that_is_stopped_stops() -> None:
    raft = node(history_=history(1))
    raft.step(StopAsked(), 0)
    assert raft.is_stopped


def test_who_has_not_heard_of_the_end_is_told_again() -> None:
    raft = leader()
    effects = raft.step(StopAsked(), 0)
    first, second = (ask.request for ask in only(effects, Ask))
    raft.step(Answered(first, EpochAnswer(standing(2, 1))), 0)
    raft.step(Answered(second, EpochAnswer(standing(2, 1, ErrorCode.INVALID_REQUEST))), 0)
    (again,) = questions(raft.step(TimerFired(Alarm.RETRY), 20))
    assert isinstance(again, EndQuorumEpoch)
    assert again.voter == key(3)


def test_a_state_machine_resigns_the_epoch_that_it_led_and_no_other() -> None:
    raft = leader()
    assert raft.step(ResignAsked(1), 0) == []
    raft.step(ResignAsked(2), 0)
    assert raft.state == Resigned(2)
    # After a while it raises the epoch: nobody may follow it in the one that it has led.
    raft.step(TimerFired(Alarm.ELECTION), 2_000)
    assert now(raft) == Unattached(3)


def test_a_leader_that_removed_itself_goes_when_that_is_committed() -> None:
    raft = leader()
    raft.step(Asked(1, RemoveVoter(key(1))), 0)
    assert not raft.is_voter
    flush(raft, [Flush(0)])
    fetch(raft, 2, 6)
    assert isinstance(raft.state, Leader), "2 alone is no majority of 2 and 3"
    raft.step(Asked(2, Fetch(key(9), 2, 6, 2, 5, 300, 1)), 0)
    effects = raft.step(Asked(3, Fetch(key(3), 2, 6, 2, 5, 300, 1)), 0)
    assert now(raft) == Resigned(2)
    assert HighWatermark(6) in effects
    answers = {reply.token: reply.answer for reply in only(effects, Reply)}
    assert {*answers} == {1, 2, 3}
    for token in (2, 3):
        found = answers[token]
        assert isinstance(found, FetchAnswer)
        assert found.standing.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    # It does not vote any more, and leaves its epoch all the same.
    raft.step(TimerFired(Alarm.ELECTION), 0)
    assert now(raft) == Unattached(3)
    assert not raft.is_set(Alarm.ELECTION)


def test_a_resigned_observer_that_hears_of_another_epoch_waits_for_no_election() -> None:
    raft = leader(history_=history(1, 2))
    raft.step(Asked(1, RemoveVoter(key(1))), 0)
    flush(raft, [Flush(0)])
    raft.step(Asked(3, Fetch(key(2), 2, 6, 2, 5, 300, 1)), 0)
    assert now(raft) == Resigned(2)
    effects = raft.step(Asked(4, Vote(key(2), key(1), 7, SnapshotId(4, 1), False)), 0)
    assert now(raft) == Unattached(7)
    assert CancelTimer(Alarm.ELECTION) in effects
