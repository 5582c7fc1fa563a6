"""The process of every profile with a quorum: what stands on the log is left to the profile.

    format, if the disk is new ─▶ Storage ─▶ Quorum ─▶ listeners, peers

The same parts as in ``node.member``, put together here so that everything that is said to others
passes by the oracles: ``told`` hears each question and each answer at the instant it leaves.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
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
from barnabas.raft.listener import Listener
from barnabas.raft.opening import METADATA_LOG
from barnabas.raft.outline import BOOTSTRAP
from barnabas.raft.shell import Quorum
from barnabas.raft.snapshot_files import snapshot_name
from barnabas.raft.storage import Storage
from barnabas.raft.voters import NO_VOTERS, RECONFIGURABLE, Endpoint, ReplicaKey, VoterSet
from barnabas.records.snapshot import snapshot_batches
from barnabas.runtime.disk import Disk
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.sim.profiles.raft.disks import LOG, METADATA
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest
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


class Attendance(Protocol):
    """Who hears what members say, and changes nothing."""

    def told(self, name: str, said: Request | Response, asked: Request | None) -> None:
        """Learn of a message that leaves; an answer comes with its question."""


class Appender:
    """The quorum's log as its leader's state machine sees it; knows whether it was appended to."""

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


class Member(ABC):
    """One life of the process of a member of the quorum."""

    def __init__(
        self, runtime: Runtime, part: Part, attendance: Attendance, storage: Storage
    ) -> None:
        self.runtime: Final = runtime
        self.part: Final = part
        self.name: Final = runtime.tasks.name
        self.peers: Final = Peers(runtime, f"raft-client-{part.config.key.id}")
        self.quorum: Final = Quorum(runtime, part.config, storage, self._ask)
        self._attendance: Final = attendance
        self._tasks: Final = runtime.tasks.child("clients")

    # --- what a profile's own member says of itself ----------------------------------------------

    @property
    @abstractmethod
    def leads(self) -> int | None:
        """The epoch in which its state machine writes; None while it may not."""

    @property
    @abstractmethod
    def offset(self) -> int:
        """Everything below it is folded here."""

    @property
    def lags(self) -> str:
        """The property that is not kept if the log is here, and is not folded."""
        return "RL-6"

    @property
    @abstractmethod
    def is_calm(self) -> bool:
        """Whether it writes no snapshot."""

    @abstractmethod
    def write(self, key: str, texts: Sequence[str], end: Callable[[str], None]) -> None:
        """Let a client write here; the end is done, refused or unknown."""

    @abstractmethod
    def listeners(self) -> Sequence[Listener]:
        """Return what stands on the log from the beginning."""

    @abstractmethod
    async def work(self) -> None:
        """Do whatever else there is to be done, while the quorum works; never return."""

    # --- its life ----------------------------------------------------------------------------

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
        self.born()
        self.quorum.start(self.listeners())
        self.runtime.probes.trace("table.up")
        try:
            await self.work()
        finally:
            await self.quorum.stop(part.config.request_timeout_ms)
            if server is not None:
                await server.close()
            await self.peers.close()

    @abstractmethod
    def born(self) -> None:
        """Tell the audience that everything was read, and nothing done yet."""

    async def _ask(self, to: Address, request: Request, timeout_ms: int) -> Response:
        self._attendance.told(self.name, request, None)
        return await self.peers.ask(to, request, timeout_ms)

    async def _answered(self, context: Context, request: Request) -> Response:
        response = await self.quorum.answer(request, context.api_version, LISTENER)
        self._attendance.told(self.name, response, request)
        if isinstance(request, FetchSnapshotRequest):
            # A moment worth striking at: whoever fetches it has to begin again elsewhere.
            self.runtime.probes.trace("table.lends")
        return response

    # --- what the world does to it; called on its own loop ------------------------------------

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
        if self.leads is not None:
            self.quorum.resign(self.leads)


async def opened(runtime: Runtime, part: Part) -> Storage:
    """Return what is in a member's directory, which is formatted if it is new."""
    await formatted(runtime.disk, part)
    config = replace(
        METADATA_LOG,
        segment_bytes=part.segment_bytes,
        max_message_bytes=part.segment_bytes,
        index_interval_bytes=512,
    )
    configured = part.voters if part.is_static else NO_VOTERS
    return await Storage.open(runtime.disk, METADATA, configured, runtime.clock, config)


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
