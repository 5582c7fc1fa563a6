"""Telling the controllers which log directory each replica lies in (KIP-858).

    Assigned ─▶ ready ──timer──▶ in flight ──answered──▶ done
                  ▲                  │
                  └──── refused, lost┘

The controllers decide where a replica should be, the broker where it is; this tells them, in
batches and at leisure, for a moved replica serves all the same.  What is newer replaces what is
older and has not been sent.  What is in flight is never sent twice at once, and comes back to
``ready`` unless something newer is there.

Driven by ``broker/shell.py`` like the lifecycle.  It must never tell of a replica that is no longer
this broker's: the image says whose it is when it is sent.

Kafka's AssignmentsManager.java and AssignmentsManagerDeadlineFunction.java fix batches and times.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from barnabas.metadata.image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.value import value

# AssignReplicasToDirsRequest.MAX_ASSIGNMENTS_PER_REQUEST
BATCH_MAX: Final = 2_250

# Long enough for a batch to gather; where a controller cannot be reached, twice as long each time.
GATHER_MS: Final = 100
BACKOFF_MAX_MS: Final = 10_000

# From then on an operator is told that a replica is refused.
NOISY_MS: Final = 2 * 60_000


class Replica(NamedTuple):
    """A partition of which this broker has a replica."""

    topic_id: Uuid
    partition: int

    def __str__(self) -> str:
        return f"{uuid_text(self.topic_id)}-{self.partition}"


@value
class Assignment:
    """Where a replica lies, and since when."""

    directory: Uuid
    since_ms: int


# --- What can happen -------------------------------------------------------------------------


@value
class Assigned:
    """A replica lies in a directory from now on."""

    replica: Replica
    directory: Uuid


@value
class TimerFired:
    """It is as late as ``SetTimer`` asked for, and this is the cluster by now."""

    image: MetadataImage


@value
class Answered:
    """The controller has looked at each; what is missing it has forgotten."""

    errors: Mapping[Replica, ErrorCode]


@value
class Failed:
    """The request as a whole was refused, or lost."""

    why: str


Event: TypeAlias = Assigned | TimerFired | Answered | Failed


# --- What is to be done about it -------------------------------------------------------------


@value
class Tell:
    """Tell the controller where replicas lie."""

    epoch: int
    directories: Mapping[Uuid, tuple[Replica, ...]]


@value
class SetTimer:
    """Let the timer fire at a time, and at no other."""

    at_ms: int


@value
class Known:
    """The controllers know where a replica lies."""

    replica: Replica
    directory: Uuid


@value
class Note:
    """Tell the operator."""

    text: str


Effect: TypeAlias = Tell | SetTimer | Known | Note


# --- The machine -----------------------------------------------------------------------------


class Assignments:
    """What the controllers have to be told.  Read what is public; only ``step`` writes it."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id: Final = broker_id
        self.ready: Final[dict[Replica, Assignment]] = {}
        self.in_flight: dict[Replica, Assignment] = {}
        self.failures = 0
        """How often in a row a request has failed as a whole."""
        self._timer_ms: int | None = None

    @property
    def pending(self) -> int:
        """How many replicas the controllers do not know of yet."""
        return len(self.ready) + len(self.in_flight)

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Take one event; return what to do about it, in order."""
        return list(self._take(event, now_ms))

    def _take(self, event: Event, now_ms: int) -> Iterator[Effect]:
        match event:
            case Assigned(replica, directory):
                self.ready[replica] = Assignment(directory, now_ms)
                yield from self._set_timer(now_ms)
            case TimerFired(image):
                self._timer_ms = None
                yield from self._send(image, now_ms)
            case Answered(errors):
                self.failures = 0
                yield from self._answered(errors, now_ms)
                yield from self._set_timer(now_ms)
            case Failed(why):
                self.failures += 1
                if self.failures == 1:
                    yield Note(f"{len(self.in_flight)} assignments of replicas not told: {why}")
                self._take_back(self.in_flight)
                self.in_flight = {}
                # Whatever was to be told sooner has to wait, too.
                self._timer_ms = None
                yield from self._set_timer(now_ms)

    def _send(self, image: MetadataImage, now_ms: int) -> Iterator[Effect]:
        if self.in_flight or not self.ready:
            return
        registration = image.cluster.brokers.get(self.broker_id)
        if registration is None:
            # There is no epoch to tell it under; there will be.
            yield from self._set_timer(now_ms)
            return
        while self.ready and len(self.in_flight) < BATCH_MAX:
            replica = next(iter(self.ready))
            assignment = self.ready.pop(replica)
            if is_ours(replica, self.broker_id, image):
                self.in_flight[replica] = assignment
        if self.in_flight:
            directories: dict[Uuid, list[Replica]] = {}
            for replica, assignment in self.in_flight.items():
                directories.setdefault(assignment.directory, []).append(replica)
            yield Tell(registration.epoch, {id_: tuple(lie) for id_, lie in directories.items()})

    def _answered(self, errors: Mapping[Replica, ErrorCode], now_ms: int) -> Iterator[Effect]:
        told, self.in_flight = self.in_flight, {}
        refused = {}
        for replica, assignment in told.items():
            error = errors.get(replica)
            if error is ErrorCode.NONE:
                yield Known(replica, assignment.directory)
                continue
            refused[replica] = assignment
            if now_ms - assignment.since_ms > NOISY_MS:
                why = "not in the answer" if error is None else error.name
                lies = uuid_text(assignment.directory)
                yield Note(f"replica {replica} lies in {lies}, and is refused there: {why}")
        self._take_back(refused)

    def _take_back(self, assignments: Mapping[Replica, Assignment]) -> None:
        for replica, assignment in assignments.items():
            # Where it lies by now counts, not where it lay when this was sent.
            self.ready.setdefault(replica, assignment)

    def _set_timer(self, now_ms: int) -> Iterator[Effect]:
        if not self.ready:
            return
        at_ms = now_ms + self._delay_ms()
        if self._timer_ms is None or at_ms < self._timer_ms:
            self._timer_ms = at_ms
            yield SetTimer(at_ms)

    def _delay_ms(self) -> int:
        if self.failures:
            return min(GATHER_MS << min(self.failures, 16), BACKOFF_MAX_MS)
        if len(self.ready) > BATCH_MAX and not self.in_flight:
            return 0
        return GATHER_MS


def is_ours(replica: Replica, broker_id: int, image: MetadataImage) -> bool:
    """Tell whether a partition is still there and has a replica on a broker."""
    partition = image.topics.partition(replica.topic_id, replica.partition)
    return partition is not None and broker_id in partition.replicas
