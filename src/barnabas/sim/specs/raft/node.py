"""A replica as the specification has it, and what replicas say to each other.

    on its disk       saved (epoch, leader, vote) · log up to ``flushed`` · snapshots
    in its memory     role · the log behind that · high watermark · questions · a leader's progress

Every action of the port takes a ``Node`` and what happened, and returns a ``Step``: the node after
it and what it says.  Nobody sees anybody else's node.  Messages are values without a place: the
closed model keeps them in a set, the validator takes them from what the product was told.
"""

from dataclasses import replace
from enum import StrEnum
from typing import TypeAlias

from barnabas.model.value import value
from barnabas.sim.specs.raft.log import Key, Log, Run, Voters


class Role(StrEnum):
    """What a replica is to its quorum."""

    UNATTACHED = "unattached"
    FOLLOWER = "follower"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    LEADER = "leader"
    RESIGNED = "resigned"


@value
class Snapshot:
    """What sums up everything below an offset, the last of it of an epoch."""

    end: int
    epoch: int
    voters: Voters


# --- Messages --------------------------------------------------------------------------------


@value
class VoteRequest:
    """May I lead this epoch?  Or, before: would you let me (``pre_vote``)?"""

    candidate: Key
    voter: Key
    epoch: int
    rank: tuple[int, int]
    pre_vote: bool = False


@value
class VoteAnswer:
    """Yes or no."""

    request: VoteRequest
    epoch: int
    granted: bool


@value
class FetchRequest:
    """Send me what follows; everything below ``offset`` is on my disk."""

    replica: Key
    epoch: int
    offset: int
    last_epoch: int


@value
class Records:
    """Records from the offset of the request on."""

    runs: tuple[Run, ...]


@value
class Diverging:
    """An epoch of yours, or an older one, ends earlier in my log."""

    epoch: int
    end: int


@value
class FetchAnswer:
    """What follows, or where to cut, or what to load first."""

    request: FetchRequest
    epoch: int
    hwm: int
    content: Records | Diverging | Snapshot


@value
class Leads:
    """Somebody leads an epoch: BeginQuorumEpoch, and what every answer tells of the leader."""

    epoch: int
    leader: int


Message: TypeAlias = VoteRequest | VoteAnswer | FetchRequest | FetchAnswer | Leads
Question: TypeAlias = VoteRequest | FetchRequest


@value
class Asked:
    """A question that stands; the number tells two of one content apart."""

    number: int
    question: Question


# --- Nodes -----------------------------------------------------------------------------------


@value
class Election:
    """What must not be forgotten of an epoch."""

    epoch: int = 0
    leader: int | None = None
    voted: Key | None = None


@value
class Node:
    """One replica."""

    key: Key
    role: Role = Role.UNATTACHED
    epoch: int = 0
    leader: int | None = None
    voted: Key | None = None
    saved: Election = Election()
    log: Log = Log()
    # Below it everything is on its disk, as far as it knows; and as it is.
    flushed: int = 0
    on_disk: int = 0
    hwm: int = 0
    snapshots: tuple[Snapshot, ...] = ()
    # Questions of this role and epoch that stand, and who said yes to them, by id.
    asked: frozenset[Asked] = frozenset()
    granted: frozenset[int] = frozenset()
    # As a follower: whether its leader has ever answered a fetch.
    has_fetched: bool = False
    # As a leader: where its epoch begins, and what others have on their disks, by their keys.
    epoch_start: int = 0
    progress: frozenset[tuple[Key, int]] = frozenset()

    @property
    def election(self) -> Election:
        """What it must not forget as it is now."""
        return Election(self.epoch, self.leader, self.voted)

    @property
    def voters(self) -> Voters:
        """Who votes, as far as its own log says."""
        return self.log.voters

    @property
    def is_voter(self) -> bool:
        """Whether it votes."""
        return any(voter.names(self.key) for voter in self.voters)

    @property
    def majority(self) -> int:
        """How many voters decide."""
        return len(self.voters) // 2 + 1

    @property
    def others(self) -> Voters:
        """The voters that it is not."""
        return frozenset(voter for voter in self.voters if not voter.names(self.key))

    @property
    def is_ready(self) -> bool:
        """Whether it leads and has committed something of its epoch."""
        return self.role is Role.LEADER and self.hwm > self.epoch_start

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot."""
        return self.snapshots[-1] if self.snapshots else None

    def stands(self, asked: Asked) -> bool:
        """Tell whether a question still waits for its answer."""
        return asked in self.asked

    def ask(self, asked: Asked) -> "Node":
        """Return the node with one more question that stands."""
        return replace(self, asked=self.asked | {asked})

    def answered(self, asked: Asked) -> "Node":
        """Return the node with that question answered, or lost."""
        return replace(self, asked=self.asked - {asked})


@value
class Step:
    """What comes of an action: the replica after it, and what it says."""

    node: Node
    said: Message | None = None
