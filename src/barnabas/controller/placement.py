"""Which brokers hold the replicas of new partitions: stripes over the racks.

    racks        A: 1 4      B: 2 5      C: 3 6

    partition 0  A1 B2 C3    the first replica leads, if nothing happens
    partition 1  B5 C6 A4    begin one rack further, take the next broker of each rack
    partition 2  C3 A1 B2

Racks come before brokers: a partition's replicas lie in as many racks as there are, even if a small
rack is filled by that.  Within a rack brokers that are fenced come last, because they may be away
for long; none of them comes first of all, because the first of a partition is to lead it.  Brokers
that are about to stop, or whose directories are all cordoned, get nothing.

Where to begin is drawn, so that many topics of one partition do not all lie on the first broker;
and after as many partitions as brokers may lead, the racks and the brokers in them are shuffled, so
that the followers of a broker are not always the same and share its load when it goes.  Every draw
comes from one number that is handed in: the same number places the same way.

The rules are those of Kafka's StripedReplicaPlacer.java and KRaftClusterDescriber.  We differ in
whose turn it is within a rack: there leaders and followers are taken from one rotation, so that of
three racks of three brokers only three ever lead until the first shuffle; here each has its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, cycle, islice
from typing import Final, NoReturn, TypeVar

from barnabas.controller.partitions import default_directory
from barnabas.controller.state import ControllerState
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.levels import DIRECTORIES
from barnabas.metadata.topics import MIGRATING
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.model.value import value

T = TypeVar("T")

BITS: Final = (1 << 64) - 1


@value
class UsableBroker:
    """A broker that may be given replicas."""

    id: int
    rack: str | None
    fenced: bool


def usable(state: ControllerState) -> list[UsableBroker]:
    """Return the brokers that may be given replicas."""
    return [
        UsableBroker(broker.id, broker.rack, broker.fenced)
        for broker in state.image.cluster.brokers.values()
        if not broker.in_controlled_shutdown and has_room(broker)
    ]


def has_room(broker: BrokerRegistration) -> bool:
    """Tell whether a broker has a directory that is not cordoned, as far as it has told."""
    cordoned = broker.cordoned_directories
    return not broker.directories or cordoned is None or not set(broker.directories) <= {*cordoned}


def directories(state: ControllerState, replicas: Iterable[int]) -> tuple[Uuid, ...]:
    """Return the directories of new replicas; a broker with several chooses itself."""
    if state.level < DIRECTORIES:
        return tuple(MIGRATING for _ in replicas)
    brokers = state.image.cluster.brokers
    return tuple(default_directory(brokers.get(replica)) for replica in replicas)


def place(
    brokers: Sequence[UsableBroker], partitions: int, replication_factor: int, number: int
) -> list[tuple[int, ...]]:
    """Return the replicas of some new partitions; ``Refused`` if that many cannot be placed."""
    if replication_factor <= 0:
        refuse(f"Invalid replication factor {replication_factor}: it must be positive")
    if all(broker.fenced for broker in brokers):
        refuse("All brokers are currently fenced, or have all their log directories cordoned")
    if replication_factor > len(brokers):
        refuse(
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(brokers)} broker(s) are registered, not stopping and with a log directory that "
            "is not cordoned"
        )
    stripes = Stripes(brokers, Draws(number))
    return [stripes.next(replication_factor) for _ in range(partitions)]


def refuse(why: str) -> NoReturn:
    """Refuse to place."""
    raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, why)


class Draws:
    """Numbers drawn from one number (SplitMix64, whose every seed is as good)."""

    def __init__(self, number: int) -> None:
        self._state = number & BITS

    def below(self, limit: int) -> int:
        """Return a number from 0 to ``limit`` - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & BITS
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & BITS
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & BITS
        return ((mixed ^ (mixed >> 31)) * limit) >> 64

    def shuffle(self, things: list[T]) -> None:
        """Bring a list into another order, any as likely."""
        for last in range(len(things) - 1, 0, -1):
            other = self.below(last + 1)
            things[last], things[other] = things[other], things[last]


class Rack:
    """The brokers of a rack, each of which takes its turn."""

    def __init__(self, brokers: Sequence[UsableBroker], draws: Draws) -> None:
        self._unfenced = sorted(broker.id for broker in brokers if not broker.fenced)
        self._fenced = sorted(broker.id for broker in brokers if broker.fenced)
        self._leading = draws.below(len(self._unfenced) or 1)
        self._following = draws.below(len(self._unfenced) or 1)
        self._waiting = draws.below(len(self._fenced) or 1)

    @property
    def can_lead(self) -> bool:
        """Whether a broker of it is unfenced."""
        return bool(self._unfenced)

    def leader_first(self) -> Iterator[int]:
        """Yield the brokers for a partition that one of them leads."""
        self._leading += 1
        yield from turned(self._unfenced, self._leading)
        yield from self._fenced_last()

    def followers(self) -> Iterator[int]:
        """Yield the brokers for a partition that another rack leads."""
        self._following += 1
        yield from turned(self._unfenced, self._following)
        yield from self._fenced_last()

    def shuffle(self, draws: Draws) -> None:
        """Bring the brokers into another order."""
        draws.shuffle(self._unfenced)
        draws.shuffle(self._fenced)

    def _fenced_last(self) -> Iterator[int]:
        self._waiting += 1
        yield from turned(self._fenced, self._waiting)


class Stripes:
    """The racks, and where the next partition begins."""

    def __init__(self, brokers: Sequence[UsableBroker], draws: Draws) -> None:
        racks: dict[str | None, list[UsableBroker]] = {}
        for broker in sorted(brokers, key=lambda broker: (broker.rack or "", broker.id)):
            racks.setdefault(broker.rack, []).append(broker)
        self._draws = draws
        self._racks = [Rack(inside, draws) for inside in racks.values()]
        self._start = draws.below(len(self._racks))
        self._leaders = sum(not broker.fenced for broker in brokers)
        self._placed = 0

    def next(self, count: int) -> tuple[int, ...]:
        """Return the replicas of the next partition, the first of them unfenced."""
        if self._placed and self._placed % self._leaders == 0:
            self._shuffle()
        racks = self._racks[self._start :] + self._racks[: self._start]
        leading = next(rack for rack in racks if rack.can_lead)
        leaders = leading.leader_first()
        orders = [leaders if rack is leading else rack.followers() for rack in racks]
        replicas = [next(leaders)]
        # The leader's rack has had its replica of the first round.
        rounds = chain((order for order in orders if order is not leaders), cycle(orders))
        while len(replicas) < count:
            replicas += islice(next(rounds), 1)
        self._placed += 1
        self._start = (self._start + 1) % len(self._racks)
        return tuple(replicas)

    def _shuffle(self) -> None:
        self._draws.shuffle(self._racks)
        for rack in self._racks:
            rack.shuffle(self._draws)


def turned(brokers: Sequence[int], turns: int) -> Iterator[int]:
    """Yield brokers, beginning with another one."""
    for index in range(len(brokers)):
        yield brokers[(index + turns) % len(brokers)]
