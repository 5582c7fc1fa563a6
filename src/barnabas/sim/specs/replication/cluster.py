"""What a controller and the brokers of a cluster know, and what they say to each other.

    controller    registrations of brokers · the metadata log: the partition after each change
    broker        its life · how far it has applied that log · its replica of the partition
      replica     role · what it knows of the partition · log, high watermark
        leader    what the others have · the proposal that stands
        follower  a fetcher for each leader: where it is, and whether it waits

There is one partition; whoever has several has one instance for each.  The controller is one, for
its quorum has a specification of its own.  Nobody sees anybody else's state.  Messages are values
without a place: the closed model keeps those that are under way, the walk along a trace keeps what
was said.

Where nobody leads, the leader is 0; brokers are numbered from 1.
"""

from dataclasses import replace
from enum import StrEnum
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.specs.replication.log import Log, Records

Ids: TypeAlias = frozenset[int]

NOBODY: Final = 0
NONE: Final[Ids] = frozenset()

# Of a broker that has no clean mark, and of members of the ISR in a proposal: not to be checked.
NO_EPOCH: Final = 0


# --- The controller --------------------------------------------------------------------------


@value
class Registration:
    """A broker as the controller has registered it."""

    fenced: bool
    epoch: int
    incarnation: int
    offset: int = 0
    """How long the metadata log was with this registration as its last record."""


Registrations: TypeAlias = tuple[Registration, ...]


@value
class Partition:
    """The partition as the controller has it."""

    replicas: Ids
    isr: Ids
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: Ids = NONE
    last_known: Ids = NONE
    """Who was in the ELR last; or who led last, where that is remembered instead."""
    adding: Ids = NONE
    removing: Ids = NONE

    @property
    def is_reassigned(self) -> bool:
        """Whether a reassignment is under way."""
        return bool(self.adding or self.removing)


@value
class Record:
    """What is so from an offset of the metadata log on."""

    partition: Partition
    brokers: Registrations = ()
    """Where the log tells of brokers, too."""


@value
class Controller:
    """The controller."""

    brokers: Registrations
    log: tuple[Record, ...]
    last_epoch: int
    """The largest epoch that it has given to a broker."""

    @property
    def partition(self) -> Partition:
        """The partition as it is."""
        return self.log[-1].partition

    @property
    def unfenced(self) -> Ids:
        """Who is not fenced."""
        return frozenset(at + 1 for at, each in enumerate(self.brokers) if not each.fenced)

    def registration(self, broker: int) -> Registration:
        """Return how a broker is registered."""
        return self.brokers[broker - 1]


# --- Messages --------------------------------------------------------------------------------


@value
class RegisterRequest:
    """I am this broker in a new life; I stopped cleanly in this epoch, or did not."""

    broker: int
    incarnation: int
    epoch: int


@value
class RegisterAnswer:
    """This life of yours has this epoch; the metadata log was this long."""

    broker: int
    incarnation: int
    epoch: int
    offset: int


@value
class AlterRequest:
    """Let these be in sync: AlterPartition."""

    leader: int
    isr: Ids
    epochs: tuple[tuple[int, int], ...]
    """Of each of them, the epoch of its life, or ``NO_EPOCH``."""
    broker_epoch: int
    leader_epoch: int
    partition_epoch: int


class Refusal(StrEnum):
    """Why a proposal is not accepted."""

    INELIGIBLE = "somebody in it may not be in sync; it was not applied, now or before"
    FENCED = "the partition or its leader is another by now, maybe by this very proposal"


@value
class AlterAnswer:
    """So it is now, or why not."""

    request: AlterRequest
    outcome: Partition | Refusal


@value
class FetchRequest:
    """Send me what follows."""

    follower: int
    leader: int
    broker_epoch: int
    leader_epoch: int
    offset: int
    last_epoch: int


@value
class Diverging:
    """An epoch of yours, or an older one, ends earlier in my log."""

    epoch: int
    end: int


class Unserved(StrEnum):
    """Why a fetch is not served."""

    UNKNOWN_EPOCH = "the follower is in a later epoch"
    FENCED_EPOCH = "the follower is in an earlier epoch"
    NO_LEADER = "it does not lead"
    OLD_LIFE = "the follower has begun another life"


@value
class FetchAnswer:
    """What follows, or where to cut, or why not."""

    leader: int
    follower: int
    leader_epoch: int
    offset: int
    hwm: int
    content: Records | Diverging | Unserved


Message: TypeAlias = (
    RegisterRequest | RegisterAnswer | AlterRequest | AlterAnswer | FetchRequest | FetchAnswer
)


# --- Brokers ---------------------------------------------------------------------------------


class Phase(StrEnum):
    """How far a broker is in its life."""

    STOPPED = "stopped"
    LOST = "stopped, its log lost"
    STARTING = "starting"
    RUNNING = "running"


class Role(StrEnum):
    """What a broker is to the partition."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


@value
class View:
    """The partition as a replica knows it."""

    replicas: Ids = NONE
    isr: Ids = NONE
    maximal: Ids = NONE
    """Who is in sync, or may be as soon as a proposal is accepted."""
    leader: int = NOBODY
    leader_epoch: int = 0
    partition_epoch: int = 0


@value
class Peer:
    """A follower as its leader knows it: from where on it has fetched, in which life."""

    broker: int
    end: int
    epoch: int


@value
class Pending:
    """A proposal that stands, and the partition epoch that it will bring."""

    epoch: int
    request: AlterRequest


@value
class Position:
    """Where a fetcher is."""

    offset: int
    last_epoch: int


@value
class Fetcher:
    """What fetches from one broker, and whether it waits for an answer."""

    leader: int
    position: Position | None = None
    waits: bool = False


@value
class Broker:
    """A broker, and its replica of the partition."""

    id: int
    phase: Phase = Phase.STOPPED
    # Of its life: what the controller has given it or, when it stopped cleanly, what its mark says.
    epoch: int = NO_EPOCH
    incarnation: int = 0
    # How much of the metadata log it has applied, and has to apply before anything of it counts.
    applied: int = 0
    registered_at: int = 0
    brokers: Registrations = ()
    role: Role = Role.NONE
    view: View = View()
    log: Log = Log()
    hwm: int = 0
    # As a leader: where its epoch begins, what it knows of others, what it has proposed, and when
    # it was refused.
    epoch_start: int | None = None
    peers: tuple[Peer, ...] = ()
    pending: Pending | None = None
    refused_at: int | None = None
    # From where on it has appended what clients wait for, since it leads; none if it has not.
    floor: int | None = None
    fetchers: tuple[Fetcher, ...] = ()

    @property
    def is_up(self) -> bool:
        """Whether its process runs."""
        return self.phase in (Phase.STARTING, Phase.RUNNING)

    @property
    def waits_for_answer(self) -> bool:
        """Whether a proposal of it is undecided, as far as it knows."""
        return self.pending is not None and self.pending.epoch > self.view.partition_epoch

    def peer(self, broker: int) -> Peer | None:
        """Return what it knows of a follower, if it has fetched."""
        return next((peer for peer in self.peers if peer.broker == broker), None)

    def fetcher(self, leader: int) -> Fetcher:
        """Return what fetches from a broker."""
        found = (each for each in self.fetchers if each.leader == leader)
        return next(found, Fetcher(leader))

    def with_peer(self, peer: Peer) -> "Broker":
        """Return the broker knowing this of a follower."""
        others = (each for each in self.peers if each.broker != peer.broker)
        return replace(self, peers=tuple(sorted((*others, peer), key=lambda each: each.broker)))

    def with_fetcher(self, fetcher: Fetcher) -> "Broker":
        """Return the broker with a fetcher as it is now; idle ones are not there."""
        others = (each for each in self.fetchers if each.leader != fetcher.leader)
        found = [each for each in (*others, fetcher) if each != Fetcher(each.leader)]
        return replace(self, fetchers=tuple(sorted(found, key=lambda each: each.leader)))


# --- What comes of an action -----------------------------------------------------------------


@value
class Sent:
    """A client's value was appended."""

    value: int


@value
class Raised:
    """The high watermark has risen: what is below it may be read, and is acknowledged.

    ``floor`` is from where on the leader has appended itself; what is older nobody waits for.
    """

    log: Log
    old: int
    new: int
    floor: int | None


@value
class Failed:
    """What is from an offset on will not be acknowledged by this leader."""

    log: Log
    first: int
    floor: int | None


@value
class Elected:
    """Somebody was elected who may not have all that is committed."""

    leader: int


Told: TypeAlias = Sent | Raised | Failed | Elected


@value
class Step:
    """What comes of an action of a broker: how it is, what it says, what clients are told."""

    broker: Broker
    said: Message | None = None
    told: tuple[Told, ...] = ()


@value
class Decision:
    """What comes of an action of the controller; of several one may be chosen."""

    controller: Controller
    said: Message | None = None
    told: tuple[Told, ...] = ()
