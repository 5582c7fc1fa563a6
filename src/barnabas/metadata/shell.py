"""The metadata of one node at work: follows the quorum's log, and tells everybody in order.

    quorum ── load, commit, leader_changed ──▶ MetadataShell ─▶ MetadataLoader.step ─▶ effects
                                                                                        │
       SnapshotWriter ◀── publications ── subscribers, in the order they came ◀─────────┘

One task takes events, one after the other, and performs all effects of one before it takes the
next: so what is told is told in order and whole, and a subscriber that takes its time holds up the
log behind it, of which nothing is lost.  Whoever hands over a commit waits until everybody was told
(the quorum has a task for us alone, so nothing else waits).

A subscriber that raises is reported, and the others are told all the same; one whose failure is
fatal stops the node, and so does a committed record that nobody here can read: this node's image
would be another than everybody else's (C-17).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from barnabas.metadata.faults import Unfoldable
from barnabas.metadata.generator import (
    BYTES_MAX,
    INTERVAL_MS,
    Note,
    Published,
    SnapshotGenerator,
    WriteSnapshot,
    Written,
)
from barnabas.metadata.generator import (
    Event as GeneratorEvent,
)
from barnabas.metadata.image import MetadataImage, Provenance
from barnabas.metadata.loader import (
    Became,
    Close,
    Committed,
    Effect,
    Event,
    Failed,
    Faulted,
    HighWatermark,
    Install,
    LeaderChanged,
    MetadataLoader,
    Publish,
    PublisherFailed,
    Remove,
    SnapshotRead,
    SnapshotUnreadable,
    StopAsked,
    TellLeader,
)
from barnabas.metadata.publication import LeaderAndEpoch, Publication, Publisher
from barnabas.metadata.snapshot import SnapshotFold, Unwritable, last_contained_ms
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.clock import Clock
from barnabas.runtime.runtime import Runtime

# A subscriber that takes longer than this at once keeps the others from the news, and is named.
SLOW_MS: Final = 1_000

log: Final = logging.getLogger("barnabas.metadata")


class Subscriber(Protocol):
    """A part of the node that has to know what the cluster is."""

    @property
    def publisher(self) -> Publisher:
        """Its name, and whether the node can go on if it fails."""
        ...

    async def update(self, publication: Publication) -> None:
        """Take the next image; the first is a change from nothing."""

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Learn who leads the quorum."""

    async def close(self) -> None:
        """Clean up: nothing will be told any more."""


class SnapshotName(Protocol):
    """Where a snapshot ends, which is its name."""

    @property
    def end_offset(self) -> int:
        """The offset behind the last record in it."""
        ...

    @property
    def epoch(self) -> int:
        """The epoch of that record."""
        ...


class MetadataShell:
    """What the cluster is, as far as this node knows; a listener of the quorum."""

    def __init__(self, runtime: Runtime, high_watermark: Callable[[], int], name: str) -> None:
        self.loader: Final = MetadataLoader()
        self.name: Final = name
        self._runtime: Final = runtime
        self._high_watermark: Final = high_watermark
        self._subscribers: Final[dict[str, Subscriber]] = {}
        # What is to be done, who comes with it, and who waits until it is.
        self._events: Final[deque[tuple[Event, Sequence[Subscriber], asyncio.Future[None]]]] = (
            deque()
        )
        self._news: Final = asyncio.Event()
        self._tasks: Final = runtime.tasks.child("metadata")
        self._work: Final = self._tasks.spawn(self._worker(), "loader")

    def __str__(self) -> str:
        return f"{self.name} metadata"

    @property
    def image(self) -> MetadataImage:
        """What the cluster is: where the log has led to."""
        return self.loader.image

    # --- who has to know ---------------------------------------------------------------------

    async def install(self, *subscribers: Subscriber) -> None:
        """Tell somebody else, too: all at once, when this node is caught up, and then the news."""
        await self._happen(Install(tuple(each.publisher for each in subscribers)), subscribers)

    async def remove(self, name: str) -> None:
        """Tell somebody nothing any more."""
        await self._happen(Remove(name))

    async def stop(self) -> None:
        """Tell nobody anything any more."""
        stopped = self._happen(StopAsked())
        # A worker that dies takes nothing any more; what it died of is reported elsewhere.
        self._work.add_done_callback(lambda _: release(stopped))
        await stopped
        await self._tasks.close()

    # --- what the quorum tells ---------------------------------------------------------------

    async def load(self, snapshot: SnapshotName, batches: Iterator[OpenedBatch]) -> None:
        """Take a snapshot in place of everything before."""
        known = self._high_watermark()
        try:
            image = await read_snapshot(self._runtime.clock, snapshot, batches)
        except Unfoldable as unfoldable:
            await self._happen(SnapshotUnreadable(unfoldable.fault))
            return
        self._happen(HighWatermark(known))
        await self._happen(SnapshotRead(image))

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Take what comes next."""
        self._happen(HighWatermark(self._high_watermark()))
        await self._happen(Committed(batches))

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Learn who leads."""
        self._happen(LeaderChanged(LeaderAndEpoch(leader_id, epoch)))

    # --- one event after the other -----------------------------------------------------------

    def _happen(self, event: Event, newcomers: Sequence[Subscriber] = ()) -> asyncio.Future[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._events.append((event, newcomers, done))
        self._news.set()
        return done

    async def _worker(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._events:
                event, newcomers, done = self._events.popleft()
                # Not before: one of the same name may have been told something until now.
                self._subscribers.update({each.publisher.name: each for each in newcomers})
                await self._take(event)
                release(done)

    async def _take(self, event: Event) -> None:
        """Perform what one event brings, and what the failures of publishers bring."""
        events = deque([event])
        # Those whose introduction has failed: what else was to be told would mean nothing to them.
        strangers: dict[str, None] = {}
        while events:
            for effect in self.loader.step(events.popleft()):
                if isinstance(effect, Publish | TellLeader) and effect.publisher in strangers:
                    continue
                failed = await self._perform(effect)
                if failed is not None:
                    events.append(failed)
                    if isinstance(failed.at, Publish) and failed.at.introduction:
                        strangers[failed.at.publisher] = None

    async def _perform(self, effect: Effect) -> PublisherFailed | None:
        """Do one thing; return what went wrong with a subscriber, if anything did."""
        match effect:
            case Publish() | TellLeader():
                return await self._told(effect)
            case Close(name):
                await self._subscribers.pop(name).close()
            case Faulted(fault):
                if fault.fatal:
                    raise Unfoldable(fault)
                log.error("[%s] %s", self, fault)
            case Became(Failed()):
                # What the fault is comes next, and ends the node.
                pass
            case Became(state):
                at = self.image.provenance
                log.info(
                    "[%s] became %s offset=%d epoch=%d",
                    self, type(state).__name__, at.offset, at.epoch,
                )  # fmt: skip
        return None

    async def _told(self, effect: Publish | TellLeader) -> PublisherFailed | None:
        """Tell a subscriber, and note if it takes long; return what it raised."""
        name, begun_ms = effect.publisher, self._runtime.clock.now_ms()
        subscriber = self._subscribers[name]
        try:
            match effect:
                case TellLeader(_, leader):
                    subscriber.leader_changed(leader)
                case Publish(_, publication):
                    await subscriber.update(publication)
                    offset = publication.image.offset
                    self._runtime.probes.trace("metadata.told", publisher=name, offset=offset)
        except AssertionError:
            # A bug, which nobody survives.
            raise
        except Exception as error:
            log.error("[%s] publisher=%s failed", self, name, exc_info=error)
            return PublisherFailed(effect, f"{type(error).__name__}: {error}")
        if (took_ms := self._runtime.clock.now_ms() - begun_ms) >= SLOW_MS:
            at = self.image.offset
            log.warning("[%s] publisher=%s took_ms=%d offset=%d", self, name, took_ms, at)
        return None


def release(waiting: asyncio.Future[None]) -> None:
    """Let somebody go on who waits, if there still is somebody."""
    if not waiting.done():
        waiting.set_result(None)


async def read_snapshot(
    clock: Clock, snapshot: SnapshotName, batches: Iterator[OpenedBatch]
) -> MetadataImage:
    """Return the image in a snapshot, and let others work while it is read: it may be large."""
    end = Provenance(snapshot.end_offset - 1, snapshot.epoch, -1, batch_aligned=True)
    append_ms = last_contained_ms(next(batches), end.snapshot_name)
    fold = SnapshotFold(replace(end, append_ms=append_ms))
    for batch in batches:
        fold.take(batch)
        await clock.sleep_ms(0)
    return fold.image()


class SnapshotWriter:
    """Writes the image down when enough has been added to the log, so that the log can be cut."""

    def __init__(
        self,
        runtime: Runtime,
        write: Callable[[MetadataImage], Awaitable[None]],
        name: str,
        bytes_max: int = BYTES_MAX,
        interval_ms: int = INTERVAL_MS,
    ) -> None:
        self.publisher: Final = Publisher("snapshots")
        self.name: Final = name
        self._clock: Final = runtime.clock
        self._write: Final = write
        self._generator: Final = SnapshotGenerator(self._clock.now_ms(), bytes_max, interval_ms)
        self._tasks: Final = runtime.tasks.child("snapshots")

    async def update(self, publication: Publication) -> None:
        """See whether a snapshot is due."""
        self._happen(Published(publication))

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Go on: whoever leads, the log has to be cut (KAFKA-14300)."""

    async def close(self) -> None:
        """Write no more; what is half written is thrown away."""
        await self._tasks.close()

    def _happen(self, event: GeneratorEvent) -> None:
        for effect in self._generator.step(event, self._clock.now_ms()):
            match effect:
                case WriteSnapshot(image, reason):
                    name = image.provenance.snapshot_name
                    log.info("[%s snapshots] writing=%s because %s", self.name, name, reason)
                    self._tasks.spawn(self._written(image), name)
                case Note(text):
                    log.warning("[%s snapshots] %s", self.name, text)

    async def _written(self, image: MetadataImage) -> None:
        try:
            await self._write(image)
        except Unwritable as error:
            self._happen(Written(str(error)))
        else:
            self._happen(Written())
