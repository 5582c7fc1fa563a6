"""The machine as a whole: what every event leads to, whatever the role."""

import pytest

from barnabas.raft.effects import Became, CleanLog, Effect, PersistElection
from barnabas.raft.events import (
    Alarm,
    Answered,
    Asked,
    CleanAsked,
    Flushed,
    ResignAsked,
    SnapshotTaken,
    Started,
    StopAsked,
    TimerFired,
    Unanswered,
)
from barnabas.raft.messages import ApiVersions, EpochAnswer, Fetch, VoteAnswer
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import SnapshotId
from barnabas.raft.states import Election, Leader, Resigned, Unattached
from tests.raft.kit import (
    TOKEN,
    answer,
    config,
    fetched,
    follower,
    history,
    key,
    leader,
    node,
    now,
    only,
    outline,
    records,
    standing,
    voters,
)


def test_a_node_says_at_its_start_what_it_is() -> None:
    raft = RaftNode(config(), Election(1, None, key(3)), outline((1, 4)), history(1, 2, 3))
    effects = raft.step(Started(), 0)
    assert effects[0] == Became(Unattached(1, None, key(3)))
    assert not only(effects, PersistElection)


def test_a_single_voter_that_led_raises_the_epoch_by_itself() -> None:
    raft = node(history_=history(1), election=Election(1, 1))
    assert raft.state == Leader(3, 4)
    assert raft.promised_offset == 5


def test_a_leader_among_several_waits_before_it_raises_the_epoch() -> None:
    raft = node(election=Election(1, 1))
    assert raft.state == Resigned(1)
    assert raft.promised_offset is None
    assert raft.leading is None


def test_an_event_that_nobody_waits_for_any_more_changes_nothing() -> None:
    raft = node()
    late: list[list[Effect]] = [
        raft.step(Answered(99, VoteAnswer(standing(9), True)), 0),
        raft.step(Unanswered(99, "lost"), 0),
        raft.step(ResignAsked(1), 0),
        raft.step(Flushed(0, 4), 0),
        raft.step(Flushed(7, 4), 0),
        raft.step(TimerFired(Alarm.CHECK_QUORUM), 0),
    ]
    assert late == [[]] * 6
    assert raft.state == Unattached(1)


def test_an_answer_to_another_question_is_a_bug() -> None:
    raft = node()
    (request,) = raft._asked
    with pytest.raises(AssertionError, match="answers"):
        raft.step(Answered(request, EpochAnswer(standing(1))), 0)
    with pytest.raises(AssertionError, match="for the listener to answer"):
        raft.step(Asked(TOKEN, ApiVersions()), 0)


def test_a_role_is_begun_after_what_led_to_it_is_answered() -> None:
    raft = leader()
    effects = raft.step(StopAsked(), 0)
    assert only(effects, Became)[0].state == Resigned(2)
    assert not raft.is_new


# --- snapshots of one's own ------------------------------------------------------------------


def test_a_snapshot_of_what_is_committed_is_kept_and_the_log_cleaned_up_to_it() -> None:
    raft = leader()
    raft.step(SnapshotTaken(SnapshotId(4, 1)), 0)
    raft.step(SnapshotTaken(SnapshotId(5, 2)), 0)
    assert raft.outline.latest_snapshot == SnapshotId(5, 2)
    assert raft.step(CleanAsked(SnapshotId(4, 1)), 0) == [CleanLog(SnapshotId(4, 1))]
    assert (raft.outline.start_offset, list(raft.outline.epochs)) == (4, [(2, 4)])
    # What a snapshot says of the voters is what the log said.
    assert raft.voters.current == voters(1, 2, 3)


@pytest.mark.parametrize(
    "wrong",
    # Not committed; of another epoch than its last record; behind the end.
    [SnapshotId(6, 2), SnapshotId(4, 2), SnapshotId(5, 1), SnapshotId(99, 2)],
)
def test_a_snapshot_that_cannot_be_is_a_bug(wrong: SnapshotId) -> None:
    raft = leader()
    raft.outline.append(9, 2)
    with pytest.raises(AssertionError):
        raft.step(SnapshotTaken(wrong), 0)


def test_a_snapshot_that_a_fetched_one_has_overtaken_is_no_use() -> None:
    raft = leader()
    raft.step(SnapshotTaken(SnapshotId(5, 2)), 0)
    raft.step(CleanAsked(SnapshotId(5, 2)), 0)
    raft.step(SnapshotTaken(SnapshotId(3, 1)), 0)
    assert raft.outline.snapshots == [SnapshotId(5, 2)]


def test_only_a_snapshot_that_is_there_lets_the_log_begin_later() -> None:
    raft = leader()
    with pytest.raises(AssertionError, match="no snapshot"):
        raft.step(CleanAsked(SnapshotId(5, 2)), 0)


# --- a voter's life in a few lines -----------------------------------------------------------


def test_what_a_follower_flushes_lets_it_go_on_whatever_it_was_when_it_began() -> None:
    raft, effects = follower(2)
    answer(raft, effects, fetched(2, records(9, 2)))
    # It misses its leader while the disk is busy, and asks nothing that rests on the log …
    raft.step(TimerFired(Alarm.FETCH), 2_000)
    assert not raft.asking(Fetch)
    # … loses its leader's goodwill, and is done flushing as somebody else.
    raft.step(Flushed(0, 9), 2_001)
    assert raft.flushed_offset == 9


def test_who_stops_is_stopped_unless_it_is_needed() -> None:
    raft, _ = follower(2)
    assert not raft.is_stopped
    raft.step(StopAsked(), 0)
    assert raft.is_stopped
    raft = leader()
    raft.step(StopAsked(), 0)
    assert not raft.is_stopped
    assert now(raft) == Resigned(2)
