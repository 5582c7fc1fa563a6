"""The loader: follows the log, keeps the image, and says who is to be told what, in which order.

    HighWatermark ─┐
    Committed ─────┤         ┌─ Publish ─▶ first publisher, second …
    SnapshotRead ──┼─▶ step ─┼─ TellLeader
    LeaderChanged ─┤         ├─ Close
    Install, … ────┘         └─ Faulted, Became

It is driven by the shell that listens to the quorum: raft hands over what is committed, the shell
makes an event of it, and performs the effects in order before the next event.  A publisher that
takes its time delays the shell and loses nothing; one that raises is reported back
(``PublisherFailed``) and the others are told all the same.

Promises:

- *Only what is committed*: nothing at or above the high watermark is ever taken (M-03).
- *Nothing half*: publishers get whole images, and what leads there from the image before (M-04).
- *In order*: by offset without gaps, and among publishers as they were installed; a newcomer begins
  with everything at once, as a change from nothing (M-05).
- *Caught up first*: nobody is told anything before the log was followed to where it was committed
  when the node came, and something was in it; from then on the gate is open for good (M-08).
- *All or nothing*: a record that cannot be understood stops the loader for good.  Its image stays
  what it was, and the node has to stop: what it would do from here on, others would not.

Time plays no part here.  Fixed by Kafka's MetadataLoader.java.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from barnabas.metadata.delta import Delta
from barnabas.metadata.faults import Fault, Unfoldable
from barnabas.metadata.fold import BatchFold
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.publication import (
    NO_LEADER_YET,
    LeaderAndEpoch,
    LogManifest,
    Publication,
    Publisher,
    SnapshotManifest,
)
from barnabas.model.value import value
from barnabas.records.opened import OpenedBatch

# --- What can happen --------------------------------------------------------------------------


@value
class HighWatermark:
    """The quorum has committed everything below an offset.  Comes before what it lets through."""

    offset: int


@value
class Committed:
    """Batches that are committed, in order, behind those of the last time."""

    batches: Sequence[OpenedBatch]


@value
class SnapshotRead:
    """A snapshot takes the place of all that was, because the log does not reach back to us."""

    image: MetadataImage
    """What is in it, folded from nothing."""


@value
class SnapshotUnreadable:
    """A snapshot that should take the place of all that was cannot be understood."""

    fault: Fault


@value
class LeaderChanged:
    """The quorum has another leader, or lost the one it had."""

    leader: LeaderAndEpoch


@value
class Install:
    """Somebody has to know from now on."""

    publishers: tuple[Publisher, ...]


@value
class Remove:
    """Somebody need not know any more."""

    name: str


@value
class PublisherFailed:
    """A publisher raised an exception at what it was told."""

    at: "Publish | TellLeader"
    why: str


@value
class StopAsked:
    """The node stops."""


Event: TypeAlias = (
    HighWatermark
    | Committed
    | SnapshotRead
    | SnapshotUnreadable
    | LeaderChanged
    | Install
    | Remove
    | PublisherFailed
    | StopAsked
)

# --- What is to be done about it ----------------------------------------------------------------


@value
class Publish:
    """Tell a publisher."""

    publisher: str
    publication: Publication
    introduction: bool = False
    """Whether it is the first that this publisher is told: the whole image."""


@value
class TellLeader:
    """Tell a publisher who leads the quorum."""

    publisher: str
    leader: LeaderAndEpoch


@value
class Close:
    """Let a publisher clean up: it will not be told anything again."""

    publisher: str


@value
class Faulted:
    """Something went wrong; if it is fatal, the node has to stop."""

    fault: Fault


@value
class Became:
    """The loader is something else now."""

    state: "State"


Effect: TypeAlias = Publish | TellLeader | Close | Faulted | Became

# --- What a loader is ---------------------------------------------------------------------------


@value
class CatchingUp:
    """Reads what was committed before, and tells nobody."""


@value
class Following:
    """Tells everybody what is committed."""


@value
class Failed:
    """Met something that it cannot understand, and knows nothing of what came after."""

    fault: Fault


@value
class Stopped:
    """Was asked to stop."""


State: TypeAlias = CatchingUp | Following | Failed | Stopped

NEXT: Final[Mapping[type[State], frozenset[type[State]]]] = {
    CatchingUp: frozenset({Following, Failed, Stopped}),
    Following: frozenset({Failed, Stopped}),
    Failed: frozenset({Stopped}),
    Stopped: frozenset(),
}


class MetadataLoader:
    """Follows the metadata log."""

    def __init__(self) -> None:
        self.state: State = CatchingUp()
        self.image = EMPTY
        """Where the log has led to, published or not."""
        self.leader = NO_LEADER_YET
        self.high_watermark: int | None = None
        self._fold = BatchFold(EMPTY)
        # Of the log that was folded since a snapshot was read, or from its beginning.
        self._log_bytes = 0
        # In the order they came in; whether each has had its introduction.
        self._publishers: dict[str, Publisher] = {}
        self._introduced: dict[str, bool] = {}

    @property
    def in_transaction(self) -> bool:
        """Whether a metadata transaction has begun and not ended."""
        return self._fold.in_transaction

    @property
    def publishers(self) -> tuple[str, ...]:
        """The publishers, in the order they are told."""
        return tuple(self._publishers)

    def step(self, event: Event) -> list[Effect]:
        """Take one event; return what to do about it, in order."""
        if isinstance(self.state, Stopped):
            return []
        try:
            return list(self._effects(event))
        except Unfoldable as unfoldable:
            return list(self._fail(unfoldable.fault))

    def _effects(self, event: Event) -> Iterator[Effect]:
        match event, self.state:
            case StopAsked(), _:
                yield self._become(Stopped())
                yield from (Close(name) for name in self._publishers)
            case Remove(name), _:
                assert name in self._publishers, f"publisher {name} is removed and not installed"
                del self._publishers[name], self._introduced[name]
                yield Close(name)
            case Install(publishers), _:
                for publisher in publishers:
                    assert publisher.name not in self._publishers, (
                        f"two publishers {publisher.name}"
                    )
                    self._publishers[publisher.name] = publisher
                    self._introduced[publisher.name] = False
                yield from self._introduce()
            case PublisherFailed(at, why), _:
                yield from self._publisher_failed(at, why)
            case _, Failed():
                # Whatever the quorum tells: this node cannot follow any more.
                return
            case HighWatermark(offset), _:
                known = self.high_watermark or 0
                assert offset >= known, f"the high watermark fell from {known} to {offset}"
                self.high_watermark = offset
                yield from self._introduce()
            case LeaderChanged(leader), _:
                self.leader = leader
                for name in self._told():
                    yield TellLeader(name, leader)
            case Committed(batches), _:
                yield from self._committed(batches)
            case SnapshotRead(image), _:
                yield from self._snapshot_read(image)
            case SnapshotUnreadable(fault), _:
                yield from self._fail(fault)

    def _committed(self, batches: Sequence[OpenedBatch]) -> Iterator[Effect]:
        # All of it is folded before anything is told: a fault in the last record leaves no half.
        publications: list[Publication] = []
        for batch in batches:
            self._is_committed(batch.end_offset - 1)
            publications += self._fold.load(batch, self.leader)
        publications += self._fold.flush(self.leader)
        for publication in publications:
            yield from self._publish(publication)

    def _snapshot_read(self, loaded: MetadataImage) -> Iterator[Effect]:
        provenance = loaded.provenance
        end = provenance.end_offset
        assert end > self._fold.next_offset, f"a snapshot of {end} after {self.image.provenance}"
        assert provenance.batch_aligned, f"a snapshot ends inside of a batch: {provenance}"
        self._is_committed(provenance.offset)
        delta = Delta.between(self.image, loaded)
        # Applied to the old image rather than taken as loaded: the two share what is the same.
        image = delta.apply(provenance)
        self._fold = BatchFold(image)
        yield from self._publish(Publication(delta, image, SnapshotManifest(provenance)))

    def _publish(self, publication: Publication) -> Iterator[Effect]:
        """Take the next image, tell those who know the last one, and then the newcomers."""
        assert publication.delta.image is self.image, "a delta that begins somewhere else"
        self.image = publication.image
        match publication.manifest:
            case LogManifest(size_bytes=size_bytes):
                self._log_bytes += size_bytes
            case SnapshotManifest():
                self._log_bytes = 0
        for name in self._told():
            yield Publish(name, publication)
        yield from self._introduce()

    def _introduce(self) -> Iterator[Effect]:
        """Tell the newcomers everything, if the gate is open or opens now."""
        if isinstance(self.state, CatchingUp) and self._is_caught_up():
            yield self._become(Following())
        newcomers = [name for name, introduced in self._introduced.items() if not introduced]
        if not newcomers or not isinstance(self.state, Following):
            return
        whole = Delta.between(EMPTY, self.image)
        manifest = SnapshotManifest(self.image.provenance, self._log_bytes)
        publication = Publication(whole, self.image, manifest)
        for name in newcomers:
            self._introduced[name] = True
            yield Publish(name, publication, introduction=True)
            yield TellLeader(name, self.leader)

    def _publisher_failed(self, at: Publish | TellLeader, why: str) -> Iterator[Effect]:
        publisher = self._publishers.get(at.publisher)
        if publisher is None:
            return
        where = f"offset {self.image.offset}"
        if isinstance(at, Publish):
            where = f"offset {at.publication.image.offset}"
        fault = Fault(where, f"publisher {publisher.name}", why, fatal=publisher.fatal)
        if publisher.fatal:
            yield from self._fail(fault)
            return
        yield Faulted(fault)
        if isinstance(at, Publish) and at.introduction:
            # Without the whole image, the changes that follow would mean nothing to it.
            del self._publishers[publisher.name], self._introduced[publisher.name]
            yield Close(publisher.name)

    def _fail(self, fault: Fault) -> Iterator[Effect]:
        if not isinstance(self.state, Failed):
            yield self._become(Failed(fault))
            yield Faulted(fault)

    def _told(self) -> list[str]:
        """Return those who had their introduction."""
        return [name for name, introduced in self._introduced.items() if introduced]

    def _is_caught_up(self) -> bool:
        known = self.high_watermark
        # A log that nobody has led yet holds no record of a controller, and no cluster.
        return known is not None and self.image.offset >= known - 1 and not self.image.is_empty

    def _is_committed(self, offset: int) -> None:
        known = self.high_watermark
        assert known is not None, f"offset {offset} was handed over, and no high watermark is known"
        assert offset < known, f"offset {offset} is not committed: the high watermark is {known}"

    def _become(self, state: State) -> Became:
        assert type(state) in NEXT[type(self.state)], f"{self.state} cannot become {state}"
        self.state = state
        return Became(state)
