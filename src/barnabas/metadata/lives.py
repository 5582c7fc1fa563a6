"""The lives of brokers: from a registration to the next, what was said of each.

    registered ──▶ unfenced ──▶ stopping ──▶ drained ──▶ (silence)
     (fenced)    ▲    │                                      │
                 └─ fenced                    unregistered, replaced by another life

A registration begins a life, whose epoch is the offset of its record.  It is fenced until the
broker has caught up, and again when its heartbeats stay away; a broker that is about to stop says
so (KIP-841), gives up what it leads, and is then fenced: drained.  A life ends when another one of
the same broker replaces it, or when the broker is unregistered.  Nobody says that a process has
ended: a life that is fenced and not replaced may be one that will come back.

A broker that registers again without having died keeps its epoch: that is the same life.

Fixed by Kafka's ClusterControlManager.java and BrokerHeartbeatManager.java.
"""

from collections.abc import Iterator
from typing import Final, cast

from barnabas.metadata.acts import OF_BROKERS, Acts, Said, in_snapshot, kind_of
from barnabas.metadata.batches import unfoldable
from barnabas.metadata.cluster import (
    EMPTY,
    FENCING,
    STOPPING,
    BrokerRegistration,
    ClusterDelta,
    ClusterImage,
    ClusterRecord,
)
from barnabas.metadata.faults import BadRecord
from barnabas.metadata.history import BEGINNING, Source, begun
from barnabas.metadata.image import Provenance
from barnabas.model.ids import uuid_text
from barnabas.model.value import value
from barnabas.records.checksum import Buffer
from barnabas.records.opened import OpenedBatch
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord


@value
class Event:
    """Something that was said of a broker."""

    what: str
    """The name of it."""
    words: str
    offset: int
    epoch: int
    append_ms: int


@value
class Life:
    """One life of a broker."""

    registration: BrokerRegistration
    """The last that was said of it."""
    events: tuple[Event, ...]
    """In order; the first is how it was found, or registered."""
    standing: str
    """``active``, ``fenced``, ``stopping``, ``drained``, ``replaced`` or ``unregistered``."""


def lives(source: Source) -> list[Life]:
    """Return the lives of all brokers, by id and in order, as far back as the history reaches."""
    base, past = source.bases[0], Past()
    if base != BEGINNING:
        past.begin(*begun(source, base))
    for act in Acts(source.log(base.end_offset), is_of_broker):
        for said in act.said:
            past.take(said)
    return past.all()


def is_of_broker(kind: int, _: Buffer) -> bool:
    """Tell whether a record is about a broker."""
    return kind in OF_BROKERS


class Past:
    """The brokers, as far as they were followed."""

    def __init__(self) -> None:
        self._image: ClusterImage = EMPTY
        self._events: Final[dict[int, list[Event]]] = {}
        self._ended: Final[list[Life]] = []

    def begin(self, place: Provenance, batches: Iterator[OpenedBatch]) -> None:
        """Take a snapshot."""
        where, at = in_snapshot(place), (place.offset, place.epoch, place.append_ms)
        for batch in batches:
            for offset, data in enumerate(batch.values, batch.base_offset):
                if kind_of(data, offset, where) in OF_BROKERS:
                    self._replay(Said(offset, place.epoch, place.append_ms, data, where))
        for broker in self._image.brokers.values():
            words = f"in the snapshot: {standing(broker)}"
            self._events[broker.id] = [Event("found", words, *at)]

    def take(self, said: Said) -> None:
        """Take what was said of a broker."""
        before = self._image
        record = self._replay(said)
        match record:
            case RegisterBrokerRecord(broker_id=broker):
                self._registered(said, before.brokers.get(broker), self._image.brokers[broker])
            case UnregisterBrokerRecord(broker_id=broker):
                known = before.brokers.get(broker)
                if known is not None:
                    self._end(said, known, "unregistered", "unregistered")
            case FenceBrokerRecord(id=broker) | BrokerRegistrationChangeRecord(broker_id=broker):
                for what, words in changed(record, before.brokers[broker]):
                    self._note(said, broker, what, words)
            case UnfenceBrokerRecord(id=broker):
                self._note(said, broker, "unfenced", "unfenced")
            case _:
                raise AssertionError(f"{record} is about no broker")

    def all(self) -> list[Life]:
        """Return all lives."""
        living = [
            Life(broker, tuple(self._events[broker.id]), standing(broker))
            for broker in self._image.brokers.values()
        ]
        return sorted(
            [*self._ended, *living], key=lambda life: (life.registration.id, life.events[0].offset)
        )

    def _registered(
        self, said: Said, before: BrokerRegistration | None, now: BrokerRegistration
    ) -> None:
        """Begin a life, or go on with the one there is."""
        how = f"as incarnation {uuid_text(now.incarnation_id)}, {standing(now)}"
        if before is not None and before.epoch == now.epoch:
            self._note(said, now.id, "registeredAgain", f"registered again, {how}")
            return
        if before is not None:
            self._end(said, before, "replaced", f"replaced by the life of epoch {now.epoch}")
        self._note(said, now.id, "registered", f"registered {how}")

    def _note(self, said: Said, broker: int, what: str, words: str) -> None:
        event = Event(what, words, said.offset, said.epoch, said.append_ms)
        self._events.setdefault(broker, []).append(event)

    def _end(self, said: Said, broker: BrokerRegistration, what: str, words: str) -> None:
        self._note(said, broker.id, what, words)
        self._ended.append(Life(broker, tuple(self._events.pop(broker.id)), what))

    def _replay(self, said: Said) -> ClusterRecord:
        record = cast(ClusterRecord, said.record())
        delta = ClusterDelta(self._image)
        try:
            delta.replay(record)
        except BadRecord as error:
            raise unfoldable(f"{said.where} {said.offset}", said.data, error) from error
        self._image = delta.apply()
        return record


def changed(
    record: FenceBrokerRecord | BrokerRegistrationChangeRecord, before: BrokerRegistration
) -> Iterator[tuple[str, str]]:
    """Yield what a record says of a registration that it did not say before."""
    if isinstance(record, FenceBrokerRecord) or FENCING[record.fenced]:
        if before.fenced:
            yield "fenced", "fenced again"
        elif before.in_controlled_shutdown:
            yield "drained", "fenced, drained"
        else:
            yield "fenced", "fenced"
    if isinstance(record, FenceBrokerRecord):
        return
    if FENCING[record.fenced] is False:
        yield "unfenced", "unfenced"
    if STOPPING[record.in_controlled_shutdown]:
        yield "stopping", "began its controlled shutdown"
    if record.log_dirs and set(record.log_dirs) != set(before.directories):
        words = f"{len(record.log_dirs)} log directories online, {len(before.directories)} before"
        yield "directories", words
    cordoned = record.cordoned_log_dirs
    if cordoned is not None and tuple(cordoned) != before.cordoned_directories:
        yield "cordoned", f"{len(cordoned)} log directories cordoned"


def standing(broker: BrokerRegistration) -> str:
    """Return what a broker that is registered is."""
    if broker.fenced:
        return "drained" if broker.in_controlled_shutdown else "fenced"
    return "stopping" if broker.in_controlled_shutdown else "active"
