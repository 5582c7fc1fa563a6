"""What replicas of a quorum ask each other, and what they answer, whatever the wire's version.

``asking`` and ``serving`` make these of the protocol's messages and back.  The names are Kafka's.

Every answer carries the *standing* of who gives it: its epoch and the leader it knows of.  That is
how news of elections spreads, errors included.
"""

from typing import Final, TypeAlias

from barnabas.model.errors import ErrorCode
from barnabas.model.value import value
from barnabas.raft.outline import Diverges, NeedsSnapshot, SnapshotId
from barnabas.raft.voters import Endpoints, ReplicaKey, Voter, VoterSet

# --- Questions -------------------------------------------------------------------------------


@value
class Vote:
    """May I lead this epoch?  Or, before: would you let me, if I asked (KIP-996)?"""

    candidate: ReplicaKey
    voter: ReplicaKey
    epoch: int
    last: SnapshotId
    pre_vote: bool


@value
class BeginQuorumEpoch:
    """I lead this epoch."""

    leader_id: int
    epoch: int
    endpoints: Endpoints
    voter: ReplicaKey


@value
class EndQuorumEpoch:
    """I lead this epoch no longer; these would be good successors, best first."""

    leader_id: int
    epoch: int
    endpoints: Endpoints
    preferred: tuple[ReplicaKey, ...]
    voter: ReplicaKey
    """Who is told; the wire does not carry it."""


@value
class Fetch:
    """Send me what follows my last record; everything below ``offset`` is on my disk."""

    replica: ReplicaKey
    epoch: int
    offset: int
    last_epoch: int
    high_watermark: int
    max_wait_ms: int
    max_bytes: int


@value
class FetchSnapshot:
    """Send me a part of a snapshot."""

    replica: ReplicaKey
    epoch: int
    snapshot: SnapshotId
    position: int
    max_bytes: int


@value
class AddVoter:
    """Let this replica vote."""

    voter: ReplicaKey
    endpoints: Endpoints
    timeout_ms: int
    ack_when_committed: bool


@value
class RemoveVoter:
    """Let this replica vote no longer."""

    voter: ReplicaKey


@value
class UpdateVoter:
    """I am a voter, and this is how I am reached."""

    epoch: int
    voter: Voter


@value
class ApiVersions:
    """Which kraft.versions can you work with?"""


Question: TypeAlias = (
    Vote
    | BeginQuorumEpoch
    | EndQuorumEpoch
    | Fetch
    | FetchSnapshot
    | AddVoter
    | RemoveVoter
    | UpdateVoter
    | ApiVersions
)

# --- Answers ---------------------------------------------------------------------------------


@value
class Standing:
    """What who answers makes of it: an error or none, its epoch, the leader it knows of."""

    error: ErrorCode
    epoch: int
    leader_id: int | None
    endpoints: Endpoints


@value
class VoteAnswer:
    """Yes or no."""

    standing: Standing
    granted: bool


@value
class EpochAnswer:
    """Heard: the answer to the beginning and the end of an epoch, and to an update."""

    standing: Standing


@value
class Lent:
    """Records for a follower, to be read from the log when the answer is written."""

    offset: int
    end_offset: int
    max_bytes: int


@value
class Batches:
    """Whole batches that a follower got and found sound, and what they say about voters."""

    data: bytes
    end_offset: int
    epochs: tuple[tuple[int, int], ...]
    """Epoch and end offset of each run of batches of one epoch."""
    voters: tuple[tuple[int, VoterSet], ...]
    versions: tuple[tuple[int, int], ...]


NO_BATCHES: Final = Batches(b"", -1, (), (), ())


@value
class FetchAnswer:
    """Records, or where to cut, or which snapshot to fetch first."""

    standing: Standing
    high_watermark: int
    content: Lent | Batches | Diverges | NeedsSnapshot


@value
class SnapshotAnswer:
    """A part of a snapshot; none if there was an error."""

    standing: Standing
    snapshot: SnapshotId
    size_bytes: int
    position: int
    data: bytes | Lent


@value
class VoterAnswer:
    """What came of adding or removing a voter."""

    error: ErrorCode
    why: str = ""


@value
class VersionsAnswer:
    """The range of kraft.versions somebody can work with."""

    error: ErrorCode
    versions: tuple[int, int]


Answer: TypeAlias = (
    VoteAnswer | EpochAnswer | FetchAnswer | SnapshotAnswer | VoterAnswer | VersionsAnswer
)
