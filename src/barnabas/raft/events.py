"""What can happen to a replica of a quorum."""

from enum import StrEnum
from typing import TypeAlias

from barnabas.model.value import value
from barnabas.raft.messages import Answer, Question
from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import VoterSet


class Alarm(StrEnum):
    """The timers of a replica."""

    ELECTION = "election"
    FETCH = "fetch"
    CHECK_QUORUM = "check quorum"
    BEGIN_EPOCH = "begin epoch"
    TURN = "turn"
    UPDATE_VOTER = "update voter"
    CHANGE = "voter change"
    RETRY = "retry"


@value
class Patience:
    """The timer of a fetch that waits for something to send."""

    token: int


Timer: TypeAlias = Alarm | Patience


@value
class Started:
    """The replica has read what it had written, and begins."""


@value
class TimerFired:
    """A timer has come that was neither cancelled nor set anew since."""

    timer: Timer


@value
class Asked:
    """Somebody asks, and waits for the answer to this token."""

    token: int
    question: Question


@value
class Answered:
    """What was asked under a number is answered."""

    request: int
    answer: Answer


@value
class Unanswered:
    """What was asked under a number was lost, or took too long."""

    request: int
    why: str


@value
class AppendAsked:
    """The leader's own state machine wants records appended, at ``promised_offset``."""

    records: int


@value
class Flushed:
    """Everything below an offset is on the disk: what stood there when the flush was asked for."""

    cuts: int
    """Of the flush that tells it."""
    end_offset: int


@value
class SnapshotTaken:
    """A state machine has written a snapshot of what is committed, and it is on the disk."""

    snapshot: SnapshotId


@value
class SnapshotInstalled:
    """A fetched snapshot was found whole and has taken the place of the log."""

    snapshot: SnapshotId
    voters: VoterSet | None
    version: int


@value
class SnapshotRefused:
    """A fetched snapshot is no snapshot, and was thrown away."""

    snapshot: SnapshotId
    why: str


@value
class CleanAsked:
    """The log may begin where a snapshot ends, and older snapshots may go."""

    first: SnapshotId


@value
class ResignAsked:
    """The state machine that leads an epoch cannot go on."""

    epoch: int


@value
class StopAsked:
    """The process is to end in good order."""


Event: TypeAlias = (
    Started
    | TimerFired
    | Asked
    | Answered
    | Unanswered
    | AppendAsked
    | Flushed
    | SnapshotTaken
    | SnapshotInstalled
    | SnapshotRefused
    | CleanAsked
    | ResignAsked
    | StopAsked
)
