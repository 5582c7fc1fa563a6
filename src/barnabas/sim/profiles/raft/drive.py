"""The process of the ``raft`` profile: a member of the quorum, and a table on its log.

Member: storage, quorum, peers ─▶ Keeper: a replicated table, its snapshots, its writers
                               └▶ Latecomer: a listener that comes when everything has begun
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from barnabas.model.errors import Refused
from barnabas.raft.outline import SnapshotId
from barnabas.raft.shell import Quorum
from barnabas.raft.storage import Storage
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.runtime import Runtime
from barnabas.sim.profiles.raft.member import Appender, Attendance, Member, Part, opened
from barnabas.sim.profiles.raft.table import Table, encode, entry, entry_of
from barnabas.statelog.decision import Decision
from barnabas.statelog.shell import StateLog
from barnabas.wire.messages.stored.config_record import ConfigRecord


class Audience(Attendance, Protocol):
    """Who hears everything and changes nothing."""

    def born(self, name: str, controller: "Controller") -> None:
        """Learn of a process that has read its disk and has done nothing yet."""

    def listened(self, name: str, keeper: "Keeper", what: str) -> None:
        """Learn that a listener was told something."""

    def delay_ms(self, name: str) -> int:
        """Return how slow the listener of this process is now."""
        ...

    def is_poisoned(self, name: str, committed: OpenedBatch) -> bool:
        """Tell whether this replica cannot replay a batch this time."""
        ...


class PoisonedError(Exception):
    """A record that the state machine cannot replay."""


class Keeper:
    """The table on the log: folds what is committed, writes while it leads, takes snapshots."""

    def __init__(self, runtime: Runtime, quorum: Quorum, part: Part, audience: Audience) -> None:
        self.quorum: Final = quorum
        self.appender: Final = Appender(quorum)
        self.states: Final[StateLog[Table, ConfigRecord]] = StateLog(self.appender, Table(), encode)
        self.offset = 0
        """Everything below it is folded."""
        self.known: tuple[int | None, int] | None = None
        """The leader and epoch that it was told."""
        self.claims: Final[list[int]] = []
        """The epochs in which it was told that it leads."""
        self.handed: tuple[OpenedBatch, ...] = ()
        self.bytes_since_snapshot = 0
        self.writing_snapshot = False
        self._runtime: Final = runtime
        self._part: Final = part
        self._audience: Final = audience
        self._name: Final = runtime.tasks.name
        self._tasks: Final = runtime.tasks.child("keeper")

    @property
    def leads(self) -> int | None:
        """The epoch in which it writes."""
        return self.states.epoch

    # --- what the quorum tells --------------------------------------------------------------

    async def load(self, snapshot: SnapshotId, batches: Iterator[OpenedBatch]) -> None:
        """Take a snapshot in place of everything before."""
        table = Table()
        for batch in batches:
            table = table.apply([entry_of(each) for each in batch.values])
        await self._dawdle()
        self.states.on_loaded(table)
        self.offset = snapshot.end_offset
        self.bytes_since_snapshot = 0
        self._audience.listened(self._name, self, "load")

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Fold what comes next."""
        await self._dawdle()
        for batch in batches:
            self.handed = (batch,)
            self.replay(batch)
            self.offset = batch.end_offset
            self.bytes_since_snapshot += batch.size_bytes
            self._audience.listened(self._name, self, "commit")
            self.consider_snapshot(batch)
        self._runtime.probes.trace("table.committed", end=self.offset)

    def replay(self, batch: OpenedBatch) -> None:
        """Fold one batch; what cannot be replayed ends the process (C-17)."""
        if self._audience.is_poisoned(self._name, batch):
            raise PoisonedError(f"nobody can replay the records from {batch.base_offset} on")
        self.states.on_committed([entry_of(each) for each in batch.values])

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Begin to decide, or stop."""
        self.known = leader_id, epoch
        self._audience.listened(self._name, self, "leader")
        if self.states.epoch is not None:
            self.resigned()
        if leader_id == self.quorum.config.key.id:
            self.claims.append(epoch)
            self.states.on_claimed(epoch)
            self._runtime.probes.trace("table.claimed", epoch=epoch)

    def resigned(self) -> None:
        """Decide no more."""
        self.states.on_resigned()

    async def _dawdle(self) -> None:
        delay_ms = self._audience.delay_ms(self._name)
        if delay_ms:
            await self._runtime.clock.sleep_ms(delay_ms)

    # --- snapshots ---------------------------------------------------------------------------

    def consider_snapshot(self, batch: OpenedBatch) -> None:
        """Write a snapshot of everything up to a batch if one is due, while all else goes on."""
        if self.writing_snapshot or self.bytes_since_snapshot < self._part.snapshot_bytes:
            return
        self.writing_snapshot, self.bytes_since_snapshot = True, 0
        snapshot = SnapshotId(batch.end_offset, batch.epoch)
        values = [encode(each) for each in self.states.committed.entries()]
        self._tasks.spawn(self._write_snapshot(snapshot, values, batch.append_ms), "snapshot")

    async def _write_snapshot(
        self, snapshot: SnapshotId, values: Sequence[bytes], append_ms: int
    ) -> None:
        await self.quorum.write_snapshot(snapshot, values, append_ms)
        self.writing_snapshot = False
        self._runtime.probes.trace("table.snapshot", end=snapshot.end_offset)
        if self.handed:
            # Enough for the next one may have come meanwhile.
            self.consider_snapshot(self.handed[-1])

    # --- writing -----------------------------------------------------------------------------

    async def write(self, key: str, texts: Sequence[str]) -> str:
        """Write values in one batch; return done, refused or unknown."""
        before = self.appender.appended
        records = tuple(entry(key, text) for text in texts)
        try:
            await self.states.submit(lambda _, __: Decision(records, None))
        except Refused:
            return "unknown" if self.appender.appended > before else "refused"
        return "done"


class Latecomer:
    """A listener that comes when everything has begun, and is told all the same."""

    def __init__(self) -> None:
        self.offset = 0
        self.known: tuple[int | None, int] | None = None

    async def load(self, snapshot: SnapshotId, batches: Iterator[OpenedBatch]) -> None:
        """Take a snapshot."""
        self.offset = snapshot.end_offset

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Take what comes next."""
        self.offset = batches[-1].end_offset

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Learn who leads."""
        self.known = leader_id, epoch


class Controller(Member):
    """One life of the process."""

    def __init__(self, runtime: Runtime, part: Part, audience: Audience, storage: Storage) -> None:
        super().__init__(runtime, part, audience, storage)
        self.keeper: Final = Keeper(runtime, self.quorum, part, audience)
        self.latecomer: Latecomer | None = None
        self._audience: Final = audience

    @property
    def leads(self) -> int | None:
        """The epoch in which the table is written to here."""
        return self.keeper.leads

    @property
    def offset(self) -> int:
        """Everything below it is in the table."""
        return self.keeper.offset

    @property
    def is_calm(self) -> bool:
        """Whether no snapshot is written."""
        return not self.keeper.writing_snapshot

    def listeners(self) -> Sequence[Keeper]:
        """Return the keeper of the table."""
        return [self.keeper]

    def born(self) -> None:
        """Tell the audience."""
        self._audience.born(self.name, self)

    async def work(self) -> None:
        """Let somebody come late."""
        await self.runtime.clock.sleep_ms(self.part.config.fetch_timeout_ms)
        self.latecomer = Latecomer()
        self.quorum.listen(self.latecomer)
        await asyncio.Event().wait()

    def write(self, key: str, texts: Sequence[str], end: Callable[[str], None]) -> None:
        """Let a client write here."""

        async def writes() -> None:
            end(await self.keeper.write(key, texts))

        self._tasks.spawn(writes(), "write")


async def live(runtime: Runtime, part: Part, audience: Audience) -> None:
    """Be a replica, until asked to stop."""
    await Controller(runtime, part, audience, await opened(runtime, part)).serve()
