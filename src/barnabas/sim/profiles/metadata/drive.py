"""The process of the ``metadata`` profile: a member of the quorum that follows what the cluster is.

    Quorum ──▶ Desk ──▶ MetadataShell ──▶ readers, replicas, SnapshotWriter ──▶ Quorum
                │ leads?
                └──▶ Scribe: writes what a controller could, while this node leads

``MetadataShell`` and ``SnapshotWriter`` are the product's, put together as ``node.metadata`` does.
The desk stands between the quorum and the shell only to tell the audience what is handed over, and
now and then hands it over in smaller pieces, as a quorum may.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.levels import TRANSACTIONS
from barnabas.metadata.shell import MetadataShell, SnapshotWriter
from barnabas.metadata.snapshot import values
from barnabas.model.errors import Refused
from barnabas.model.ids import TopicIdPartition
from barnabas.model.value import value
from barnabas.raft.outline import SnapshotId
from barnabas.raft.storage import Storage
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.disk import Buffer
from barnabas.runtime.runtime import Runtime
from barnabas.sim.profiles.metadata.readers import Reader, Replicas, Seen, Witness
from barnabas.sim.profiles.metadata.writing import Draft, Writer, activation, encoded
from barnabas.sim.profiles.raft.member import Attendance, Member, Part, opened
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.structs import Message

# What nobody can read: a record of a type that there is not.
POISON: Final = b"\x01\x7f\x00"

# The subscribers that every node has from its beginning, in this order.
FIRST: Final = "first"
VITAL: Final = "vital"
REPLICAS: Final = "replicas"

# How often the time between two snapshots is looked at does not matter here: bytes decide.
NEVER_MS: Final = 0


@value
class Station:
    """What a node of this profile is, besides a member of the quorum."""

    broker_id: int
    level: int
    """The ``metadata.version`` that an empty cluster is given."""
    one_by_one: bool
    """Whether batches are handed over one at a time."""


@value
class Transaction:
    """What one metadata transaction is to hold, and how it ends."""

    seed: int
    parts: int
    """In how many batches, at least one."""
    gap_ms: int
    aborts: bool


@value
class Alter:
    """A leader's wish to change the ISR of a partition, as it knows it."""

    place: TopicIdPartition
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


class Audience(Attendance, Witness, Protocol):
    """Who hears everything and changes nothing."""

    def born(self, name: str, node: "Node") -> None:
        """Learn of a process that has read its disk and has done nothing yet."""

    def handing(self, node: "Node", end_offset: int) -> None:
        """Learn that something is about to be handed over, up to an offset."""

    def handed(self, node: "Node", by_snapshot: bool, poisoned: bool) -> None:
        """Learn that it was, and that everybody was told."""

    def claimed(self, node: "Node") -> None:
        """Learn that the desk was told who leads."""

    def installed(self, node: "Node", subscribers: Sequence[Seen]) -> None:
        """Learn that somebody has to know from now on."""

    def removed(self, node: "Node", name: str) -> None:
        """Learn that somebody need not know any more."""

    def snapshot(self, node: "Node", image: MetadataImage) -> None:
        """Learn that an image is about to be written down."""

    def inherited(self, node: "Node") -> None:
        """Learn that a new leader has found a transaction begun."""

    def is_poisoned(self, name: str) -> bool:
        """Tell whether this node cannot read a record this time."""
        ...


class Desk:
    """What the quorum tells, on its way to the shell; and who leads, on its way to the scribe."""

    def __init__(self, node: "Node", audience: Audience) -> None:
        self.offset = 0
        """Everything below it was handed over."""
        self.known: tuple[int | None, int] | None = None
        """The leader and epoch that it was told."""
        self._node: Final = node
        self._audience: Final = audience

    @property
    def leads(self) -> int | None:
        """The epoch in which the scribe writes."""
        return self._node.scribe.leads

    async def load(self, snapshot: SnapshotId, batches: Iterator[OpenedBatch]) -> None:
        """Hand over a snapshot."""
        self._audience.handing(self._node, snapshot.end_offset)
        await self._node.metadata.load(snapshot, batches)
        self.offset = snapshot.end_offset
        self._audience.handed(self._node, by_snapshot=True, poisoned=False)
        self._node.runtime.probes.trace("table.loaded", end=self.offset)

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Hand over batches, together or one after the other."""
        one_by_one = self._node.station.one_by_one
        for some in [[each] for each in batches] if one_by_one else [batches]:
            await self._commit(some)
        self._node.runtime.probes.trace("table.committed", end=self.offset)

    async def _commit(self, batches: Sequence[OpenedBatch]) -> None:
        self._audience.handing(self._node, batches[-1].end_offset)
        poisoned = any(each.values for each in batches) and self._audience.is_poisoned(
            self._node.name
        )
        sound = batches
        if poisoned:
            sound = [replace(each, values=poison(each.values)) for each in batches]
        await self._node.metadata.commit(sound)
        self.offset = batches[-1].end_offset
        self._audience.handed(self._node, by_snapshot=False, poisoned=poisoned)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Tell the shell, and let the scribe begin or stop."""
        self.known = leader_id, epoch
        self._audience.claimed(self._node)
        self._node.metadata.leader_changed(leader_id, epoch)
        self._node.scribe.resign()
        if leader_id == self._node.quorum.config.key.id:
            self._node.scribe.claim(epoch)


def poison(records: Sequence[Buffer]) -> Sequence[Buffer]:
    """Return records of which the last cannot be read."""
    return [*records[:-1], POISON] if records else records


class Scribe:
    """Writes what a controller could, while this node leads the quorum."""

    def __init__(self, node: "Node", audience: Audience) -> None:
        self.leads: int | None = None
        """The epoch in which it may write."""
        self.draft: Draft | None = None
        """The cluster as this leader sees it; None until it has written what it begins with."""
        self._node: Final = node
        self._audience: Final = audience

    def resign(self) -> None:
        """Write no more, and forget what was never committed."""
        self.leads = self.draft = None

    def claim(self, epoch: int) -> None:
        """Begin to write: everything before this epoch is folded here."""
        self.leads = epoch
        self._node.spawn(self._begin(epoch), "activation")
        self._node.runtime.probes.trace("table.claimed", epoch=epoch)

    async def _begin(self, epoch: int) -> None:
        if self.leads != epoch:
            return
        shell, level = self._node.metadata, self._node.station.level
        in_transaction = shell.loader.in_transaction
        if in_transaction:
            self._audience.inherited(self._node)
        records = activation(shell.image, in_transaction, level)
        draft = Draft(shell.image)
        if in_transaction:
            draft.before = draft.image
        if await self._appended(epoch, draft, records) != "refused" and self.leads == epoch:
            self._node.runtime.probes.trace("table.active", epoch=epoch)

    async def _appended(self, epoch: int, draft: Draft, records: Sequence[Message]) -> str:
        """Append records as one batch, and wait for their commit; return how it ended."""
        quorum = self._node.quorum
        if self.leads != epoch:
            return "refused"
        # Whoever comes next stands on this.
        level = draft.level
        draft.take(records)
        self.draft = draft
        if not records:
            return "done"
        try:
            end_offset = quorum.append(epoch, encoded(records, level))
        except Refused:
            self.resign()
            return "refused"
        try:
            await quorum.committed(epoch, end_offset)
        except Refused:
            return "unknown"
        return "done"

    @property
    def _next_offset(self) -> int:
        return self._node.quorum.end_offset

    async def write(self, what: str, seed: int, count: int) -> str:
        """Write a few records of some kind, or of any, in one batch."""
        epoch, draft = self.leads, self.draft
        if epoch is None or draft is None or draft.before is not None:
            return "refused"
        records = Writer(seed, draft, self._next_offset).records(what, count)
        return await self._appended(epoch, draft, records) if records else "refused"

    async def put(self, records: Sequence[Message]) -> str:
        """Write what somebody asks for."""
        epoch, draft = self.leads, self.draft
        if epoch is None or draft is None or draft.before is not None:
            return "refused"
        return await self._appended(epoch, draft, records)

    async def transact(self, told: Transaction) -> str:
        """Write a transaction in several batches, with time between them, and end it."""
        epoch, draft = self.leads, self.draft
        if epoch is None or draft is None or draft.before is not None:
            return "refused"
        if draft.level < TRANSACTIONS:
            return await self.write("any", told.seed, told.parts)
        ending = AbortTransactionRecord(reason="why not") if told.aborts else EndTransactionRecord()
        # Something stands before the begin in its batch, and behind the end in its own, at times.
        for part in range(told.parts):
            writer = Writer(told.seed + part, draft, self._next_offset)
            records: list[Message] = []
            if part == 0:
                records += writer.records("any", told.seed % 2)
                records += writer.mark(BeginTransactionRecord(name="by the scribe"))
            records += writer.records("any", 2)
            if part == told.parts - 1:
                records += writer.mark(ending)
                records += writer.records("any", told.seed % 3 // 2)
            ended = await self._appended(epoch, draft, records)
            if ended != "done" or part == told.parts - 1:
                return ended
            await self._node.runtime.clock.sleep_ms(told.gap_ms)
            if self.leads != epoch:
                break
        return "unknown"

    async def alter(self, asked: Alter) -> tuple[int, int] | None:
        """Change an ISR if the one who asks knows the partition; return its epochs then."""
        epoch, draft = self.leads, self.draft
        if epoch is None or draft is None or draft.before is not None:
            return None
        known = draft.image.topics.partition(asked.place.topic_id, asked.place.partition)
        if known is None or (known.leader_epoch, known.partition_epoch) != (
            asked.leader_epoch,
            asked.partition_epoch,
        ):
            return None
        record = PartitionChangeRecord(
            topic_id=asked.place.topic_id, partition_id=asked.place.partition, isr=asked.isr
        )
        if await self._appended(epoch, draft, [record]) != "done":
            return None
        return known.leader_epoch, known.partition_epoch + 1


class Node(Member):
    """One life of the process."""

    def __init__(
        self, runtime: Runtime, part: Part, station: Station, audience: Audience, storage: Storage
    ) -> None:
        super().__init__(runtime, part, audience, storage)
        self.station: Final = station
        self.audience: Final = audience
        self.metadata: Final = MetadataShell(
            runtime, lambda: self.quorum.high_watermark, f"node {part.config.key.id}"
        )
        self.desk: Final = Desk(self, audience)
        self.scribe: Final = Scribe(self, audience)
        self.replicas: Final = Replicas(runtime, audience, REPLICAS, station.broker_id)
        self.readers: Final[dict[str, Reader]] = {}
        """Those that are told, by name."""
        self.writing: SnapshotId | None = None
        """The snapshot that is being written."""

    @property
    def leads(self) -> int | None:
        """The epoch in which records are written here, and what a leader begins with is."""
        return self.scribe.leads if self.scribe.draft is not None else None

    @property
    def offset(self) -> int:
        """Everything below it is in the image."""
        return self.metadata.image.provenance.end_offset

    @property
    def is_calm(self) -> bool:
        """Whether no snapshot is written."""
        return self.writing is None

    @property
    def lags(self) -> str:
        """What is not kept if the log is committed here and the image does not follow."""
        node = self.quorum.node
        if self.desk.offset < node.outline.start_offset:
            return "ML-3"
        known = self.desk.known
        return "ML-2" if known is None or known[1] != node.epoch else "ML-1"

    def listeners(self) -> Sequence[Desk]:
        """Return none: the desk comes when everybody who has to know is there."""
        return []

    def born(self) -> None:
        """Tell the audience."""
        self.audience.born(self.name, self)

    async def serve(self) -> None:
        """Work until asked to stop; the shell ends after the quorum, as in ``node.node``."""
        try:
            await super().serve()
        finally:
            await self.metadata.stop()

    async def work(self) -> None:
        """Follow the log."""
        await self.install(self._reader(FIRST), self._reader(VITAL, fatal=True), self.replicas)
        writer = SnapshotWriter(
            self.runtime, self._write, self.metadata.name, self.part.snapshot_bytes, NEVER_MS
        )
        await self.metadata.install(writer)
        self.quorum.listen(self.desk)
        await asyncio.Event().wait()

    def _reader(self, name: str, fatal: bool = False) -> Reader:
        return Reader(self.runtime, self.audience, name, fatal, self._gone)

    def _gone(self, name: str) -> None:
        reader = self.readers.get(name)
        if reader is not None and reader.is_closed:
            del self.readers[name]

    async def install(self, *subscribers: Seen) -> None:
        """Let somebody know."""
        self.audience.installed(self, subscribers)
        for each in subscribers:
            if isinstance(each, Reader):
                self.readers[each.publisher.name] = each
        await self.metadata.install(*subscribers)

    async def _write(self, image: MetadataImage) -> None:
        at = image.provenance
        self.audience.snapshot(self, image)
        self.writing = SnapshotId(at.end_offset, at.epoch)
        await self.quorum.write_snapshot(self.writing, values(image), at.append_ms)
        self.writing = None
        self.runtime.probes.trace("table.snapshot", end=at.end_offset)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Let something go on besides."""
        self._tasks.spawn(work, name)

    # --- what the world does to it; called on its own loop ------------------------------------

    def write(self, key: str, texts: Sequence[str], end: Callable[[str], None]) -> None:
        """Let a client set configs of all brokers here, in one batch."""
        records = [
            ConfigRecord(resource_type=4, resource_name="", name=f"{key} {at}", value=text)
            for at, text in enumerate(texts)
        ]

        async def writes() -> None:
            end(await self.scribe.put(records))

        self.spawn(writes(), "write")

    def decide(self, what: str, seed: int, count: int) -> None:
        """Let the controller of this moment decide on something."""

        async def writes() -> None:
            await self.scribe.write(what, seed, count)

        self.spawn(writes(), "decide")

    def transact(self, told: Transaction) -> None:
        """Let the controller of this moment begin a transaction."""

        async def writes() -> None:
            await self.scribe.transact(told)

        self.spawn(writes(), "transact")

    def alter(self, asked: Alter, end: Callable[[tuple[int, int]], None]) -> None:
        """Let a broker ask for another ISR."""

        async def writes() -> None:
            epochs = await self.scribe.alter(asked)
            if epochs is not None:
                end(epochs)

        self.spawn(writes(), "alter")

    def come(self, name: str, fatal: bool) -> None:
        """Let somebody come late, unless they are there."""
        if name not in self.readers:
            self.spawn(self.install(self._reader(name, fatal)), f"install {name}")

    def leave(self, name: str) -> None:
        """Let somebody go, if they are there."""
        reader = self.readers.get(name)
        if reader is not None and reader.is_told:
            del self.readers[name]
            self.audience.removed(self, name)
            self.spawn(self.metadata.remove(name), f"remove {name}")

    def swap(self, name: str) -> None:
        """Let somebody go, and another of the same name come at once."""
        self.leave(name)
        self.come(name, fatal=False)


async def live(runtime: Runtime, part: Part, station: Station, audience: Audience) -> None:
    """Be a node, until asked to stop."""
    await Node(runtime, part, station, audience, await opened(runtime, part)).serve()
