"""The process of the ``raft`` profile: a controller or an observer reduced to its quorum.

    format, if the disk is new ─▶ Storage ─▶ Quorum ─▶ listener, peers
                                               │
                                             Keeper: a replicated table, its snapshots, its writers

The same parts as in ``node.member``, put together here so that everything that is said to others
passes by the oracles: ``told`` hears each question and each answer at the instant it leaves.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from barnabas.model.errors import Refused
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.net.peers import Peers
from barnabas.net.server import Context, serve
from barnabas.node.features import of_quorum
from barnabas.node.member import QUORUM_APIS
from barnabas.raft.config import RaftConfig
from barnabas.raft.control_records import (
    kraft_version,
    snapshot_footer,
    snapshot_header,
    voters_record,
)
from barnabas.raft.events import Alarm, TimerFired
from barnabas.raft.opening import METADATA_LOG
from barnabas.raft.outline import BOOTSTRAP, SnapshotId
from barnabas.raft.shell import Quorum
from barnabas.raft.snapshot_files import snapshot_name
from barnabas.raft.storage import Storage
from barnabas.raft.voters import NO_VOTERS, RECONFIGURABLE, Endpoint, ReplicaKey, VoterSet
from barnabas.records.opened import OpenedBatch
from barnabas.records.snapshot import snapshot_batches
from barnabas.runtime.disk import Disk
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.sim.profiles.raft.disks import LOG, METADATA
from barnabas.sim.profiles.raft.table import Table, encode, entry, entry_of
from barnabas.statelog.decision import Decision
from barnabas.statelog.shell import StateLog
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.structs import Request, Response

CLUSTER: Final = "c2ltdWxhdGVkLXF1b3J1bQ"
LISTENER: Final = "CONTROLLER"

# Written last when a directory is formatted: what has no identity is formatted anew.
IDENTITY: Final = f"{METADATA}/identity"

# The timers that wait for others; hurrying one is a timeout without a cause.
HURRIED: Final = (Alarm.ELECTION, Alarm.FETCH)


@value
class Part:
    """What a host plays: who it is on its present disk, and how its quorum is set up."""

    config: RaftConfig
    voters: VoterSet
    """The voters that it is formatted with, or configured with where they are static."""
    is_static: bool
    segment_bytes: int
    snapshot_bytes: int

    @property
    def port(self) -> int | None:
        """Where it listens; an observer does not."""
        return self.config.endpoints[0].port if self.config.endpoints else None


class Audience(Protocol):
    """Who hears everything and changes nothing."""

    def born(self, name: str, controller: "Controller") -> None:
        """Learn of a process that has read its disk and has done nothing yet."""

    def told(self, name: str, said: Request | Response, asked: Request | None) -> None:
        """Learn of a message that leaves; an answer comes with its question."""

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


class Appender:
    """The quorum's log as the table's leader sees it; knows whether anything was appended."""

    def __init__(self, quorum: Quorum) -> None:
        self._quorum: Final = quorum
        self.appended = 0

    @property
    def end_offset(self) -> int:
        """Where the log ends."""
        return self._quorum.end_offset

    def append(self, epoch: int, values: Sequence[bytes]) -> int:
        """Append one batch."""
        end_offset = self._quorum.append(epoch, values)
        self.appended += 1
        return end_offset

    async def committed(self, epoch: int, end_offset: int) -> None:
        """Return when all below an offset is committed."""
        await self._quorum.committed(epoch, end_offset)


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


class Controller:
    """One life of the process."""

    def __init__(self, runtime: Runtime, part: Part, audience: Audience, storage: Storage) -> None:
        self.runtime: Final = runtime
        self.part: Final = part
        self.name: Final = runtime.tasks.name
        self.peers: Final = Peers(runtime, f"raft-client-{part.config.key.id}")
        self.quorum: Final = Quorum(runtime, part.config, storage, self._ask)
        self.keeper: Final = Keeper(runtime, self.quorum, part, audience)
        self.latecomer: Latecomer | None = None
        self._audience: Final = audience
        self._tasks: Final = runtime.tasks.child("clients")

    async def serve(self) -> None:
        """Work until asked to stop."""
        part = self.part
        server = None
        if part.port is not None:
            server = await serve(
                self.runtime,
                Address("", part.port),
                ServedApis("controller", (*QUORUM_APIS, ApiKey.API_VERSIONS)),
                dict.fromkeys(QUORUM_APIS, self._answered),
                name=LISTENER,
                features=partial(of_quorum, self.quorum),
            )
        self._audience.born(self.name, self)
        self.quorum.start([self.keeper])
        self.runtime.probes.trace("table.up")
        try:
            await self.runtime.clock.sleep_ms(part.config.fetch_timeout_ms)
            self.latecomer = Latecomer()
            self.quorum.listen(self.latecomer)
            await asyncio.Event().wait()
        finally:
            await self.quorum.stop(part.config.request_timeout_ms)
            if server is not None:
                await server.close()
            await self.peers.close()

    async def _ask(self, to: Address, request: Request, timeout_ms: int) -> Response:
        self._audience.told(self.name, request, None)
        return await self.peers.ask(to, request, timeout_ms)

    async def _answered(self, context: Context, request: Request) -> Response:
        response = await self.quorum.answer(request, context.api_version, LISTENER)
        self._audience.told(self.name, response, request)
        if isinstance(request, FetchSnapshotRequest):
            # A moment worth striking at: whoever fetches it has to begin again elsewhere.
            self.runtime.probes.trace("table.lends")
        return response

    # --- what the world does to it; called on its own loop ------------------------------------

    def write(self, key: str, texts: Sequence[str], end: Callable[[str], None]) -> None:
        """Let a client write here."""

        async def writes() -> None:
            end(await self.keeper.write(key, texts))

        self._tasks.spawn(writes(), "write")

    def administer(self, request: Request, version: int, end: Callable[[Response], None]) -> None:
        """Let an operator's tool ask."""

        async def asks() -> None:
            try:
                end(await self.quorum.answer(request, version, LISTENER))
            except Refused:
                # It stops, and says so to whoever waits.
                return

        self._tasks.spawn(asks(), "administer")

    def mistake(
        self, request: Request, version: int, end: Callable[[Response, bool], None]
    ) -> None:
        """Let somebody ask who takes this for another cluster; tell whether anything happened."""

        async def asks() -> None:
            before = self.quorum.story[-1]
            response = await self.quorum.answer(request, version, LISTENER)
            end(response, self.quorum.story[-1] is not before)

        self._tasks.spawn(asks(), "mistake")

    def hurry(self) -> None:
        """Let a wait for others end now, without a cause."""
        for alarm in HURRIED:
            timer = self.quorum._timers.pop(alarm, None)
            if timer is not None:
                timer.cancel()
                self.quorum._happen(TimerFired(alarm))
                return

    def resign(self) -> None:
        """Let the state machine that leads say that it cannot go on."""
        if self.keeper.states.epoch is not None:
            self.quorum.resign(self.keeper.states.epoch)


async def live(runtime: Runtime, part: Part, audience: Audience) -> None:
    """Be a replica, until asked to stop."""
    await formatted(runtime.disk, part)
    config = replace(
        METADATA_LOG,
        segment_bytes=part.segment_bytes,
        max_message_bytes=part.segment_bytes,
        index_interval_bytes=512,
    )
    configured = part.voters if part.is_static else NO_VOTERS
    storage = await Storage.open(runtime.disk, METADATA, configured, runtime.clock, config)
    await Controller(runtime, part, audience, storage).serve()


async def formatted(disk: Disk, part: Part) -> None:
    """Format the directory, unless it is this replica's already."""
    identity = part.config.key.directory_id.hex().encode()
    if disk.exists(IDENTITY):
        file = disk.open(IDENTITY, "read")
        found = file.read(0, file.size())
        file.close()
        if len(found) == len(identity):
            assert found == identity, f"{IDENTITY}: formatted for {found!r}, found by {identity!r}"
            return
        # The power failed in the middle of formatting, and nothing else has happened here.
    disk.make_directory(LOG)
    for path in ("/", METADATA):
        await disk.sync_directory(path)
    if len(part.voters) and not part.is_static:
        path = f"{LOG}/{snapshot_name(BOOTSTRAP)}"
        content = b"".join(
            snapshot_batches(
                0,
                0,
                snapshot_header(0),
                (),
                snapshot_footer(),
                kraft_version(RECONFIGURABLE),
                voters_record(part.voters),
            )
        )
        await written(disk, path, content)
        await disk.sync_directory(LOG)
    await written(disk, IDENTITY, identity)
    await disk.sync_directory(METADATA)


async def written(disk: Disk, path: str, content: bytes) -> None:
    """Write a file, durably."""
    file = disk.open(path, "create")
    file.truncate(0)
    file.write(0, [content])
    await file.sync()
    file.close()


def directory_of(host: str, disk_number: int) -> Uuid:
    """Return the directory id of the so many-th disk of a host."""
    return Uuid(bytes(7) + b"D" + f"{host:>6}{disk_number:02}".encode())


def id_of(host: str) -> int:
    """Return the node id of a host: controllers count from 1, observers from 101."""
    return int(host[1:]) + (100 if host.startswith("o") else 0)


def key_of(host: str, disk_number: int) -> ReplicaKey:
    """Return who a host is with its present disk."""
    return ReplicaKey(id_of(host), directory_of(host, disk_number))


def endpoint_of(host: str, port: int) -> Endpoint:
    """Return where a controller is reached."""
    return Endpoint(LISTENER, host, port)
