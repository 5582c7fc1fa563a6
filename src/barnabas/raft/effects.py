"""What a replica wants done, in the order given: *persist before send* is the order of a list."""

from typing import TypeAlias

from barnabas.model.value import value
from barnabas.raft.events import Timer
from barnabas.raft.messages import Answer, Question
from barnabas.raft.outline import SnapshotId
from barnabas.raft.states import Election, State
from barnabas.raft.voters import VoterSet
from barnabas.runtime.network import Address


@value
class Became:
    """It is something else now: for the log, for those who want to know the leader."""

    state: State


@value
class Note:
    """Something that an operator will look for."""

    text: str


@value
class PersistElection:
    """Make durable what it must not forget, before anything that follows."""

    election: Election


@value
class AppendLeaderChange:
    """Begin an epoch: who leads, who votes, who granted; then, at times, version and voters."""

    base_offset: int
    epoch: int
    voters: tuple[int, ...]
    granting: tuple[int, ...]
    version: int | None
    voter_set: VoterSet | None


@value
class AppendVoters:
    """Append a voters record."""

    base_offset: int
    epoch: int
    voter_set: VoterSet


@value
class AppendRecords:
    """Append the records that the state machine asked for."""

    base_offset: int
    epoch: int


@value
class AppendFetched:
    """Append what the leader sent, as it is."""

    data: bytes
    end_offset: int
    epoch: int


@value
class Flush:
    """Make the log durable, meanwhile; ``Flushed`` tells when it is, with the same ``cuts``.

    A flush that began before the log was cut, or replaced by a snapshot, says nothing of what was
    appended there since.
    """

    cuts: int
    """How often the log has been cut or replaced before."""


@value
class Truncate:
    """Cut the log, durably, before anything that follows."""

    end_offset: int


@value
class OpenSnapshot:
    """Begin to receive a snapshot; what was received of another one is not needed."""

    snapshot: SnapshotId


@value
class StorePart:
    """Write a part of the snapshot that is being received."""

    snapshot: SnapshotId
    position: int
    data: bytes


@value
class InstallSnapshot:
    """Let a received snapshot take the place of the log, durably, if it is whole.

    ``SnapshotInstalled`` or ``SnapshotRefused`` is the next event: nothing can be decided about a
    log of which nobody knows where it begins.
    """

    snapshot: SnapshotId


@value
class CleanLog:
    """Let the log begin where a snapshot ends, durably, and forget older snapshots."""

    first: SnapshotId


@value
class HighWatermark:
    """Everything below an offset is committed."""

    offset: int


@value
class SetTimer:
    """Let a timer come after so much time, and up to ``spread_ms`` more; it replaces itself."""

    timer: Timer
    after_ms: int
    spread_ms: int = 0


@value
class CancelTimer:
    """Let a timer not come."""

    timer: Timer


@value
class Ask:
    """Ask somebody; exactly one ``Answered`` or ``Unanswered`` follows."""

    request: int
    to: Address
    question: Question


@value
class Reply:
    """Answer who asked under a token."""

    token: int
    answer: Answer


Effect: TypeAlias = (
    Became
    | Note
    | PersistElection
    | AppendLeaderChange
    | AppendVoters
    | AppendRecords
    | AppendFetched
    | Flush
    | Truncate
    | OpenSnapshot
    | StorePart
    | InstallSnapshot
    | CleanLog
    | HighWatermark
    | SetTimer
    | CancelTimer
    | Ask
    | Reply
)
