"""The processes of the ``control`` profile: whole nodes, put together as ``node.node`` does.

    controller: quorum ─▶ Heard, a Controller ─▶ ledger          what it is asked, decides, answers
                      └─▶ Clerk ───────────────▶ ledger          what is committed
    broker:     quorum ─▶ metadata ─▶ Replicas, Broker ─▶ whoever leads

Everything is the product's but ``Replicas``, who stands where the partitions' data will be.  The
audience hears each request of a controller with the state that it is decided on, each append, and
every batch that counts as committed; it changes nothing.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from functools import partial
from typing import Final, Protocol, TypeVar

from barnabas.broker.shell import Broker
from barnabas.controller.activation import activate
from barnabas.controller.handlers import handlers
from barnabas.controller.shell import Controller
from barnabas.controller.state import ControllerState
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.shell import MetadataShell, SnapshotName, read_snapshot
from barnabas.model.errors import Refused
from barnabas.net.peers import Peers
from barnabas.net.server import Context, Handler, serve
from barnabas.node.bootstrap import read_bootstrap
from barnabas.node.broker import open_broker
from barnabas.node.config import NodeConfig, node_config
from barnabas.node.controller import controller_config, presence
from barnabas.node.directories import claim
from barnabas.node.format import Wish, format_storage
from barnabas.node.member import QUORUM_APIS, Member, answered, open_member
from barnabas.node.meta_properties import Identity, identify
from barnabas.node.metadata import follow
from barnabas.node.node import HANDOVER_MS
from barnabas.raft.shell import Quorum
from barnabas.raft.storage import Storage
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.clock import Clock
from barnabas.runtime.runtime import Runtime
from barnabas.sim.profiles.control.replicas import Board, Replicas
from barnabas.statelog.decision import Decision
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Message, Request, Response

ReplyT = TypeVar("ReplyT")

# What is being answered, for whoever decides because of it: each request has a context of its own.
ASKING: Final[ContextVar[tuple[Request, int] | None]] = ContextVar("asking", default=None)


class Audience(Protocol):
    """Who hears everything and changes nothing."""

    @property
    def board(self) -> Board:
        """Where followers tell leaders that they keep up."""
        ...

    def controls(self, name: str, controller: "Heard") -> None:
        """Learn of a controller that has read its disk and has done nothing yet."""

    def serves(self, name: str, broker: Broker, replicas: Replicas) -> None:
        """Learn of a broker that begins."""

    def closing(self, name: str) -> None:
        """Learn that a process is about to say that it ends cleanly."""

    def follows(self, name: str, metadata: MetadataShell) -> None:
        """Learn of a node's metadata."""

    def arrived(self, controller: "Heard", request: Request) -> None:
        """Learn of a request before anything is done with it."""

    def decided(
        self,
        controller: "Heard",
        request: Request,
        version: int,
        state: ControllerState,
        decision: Decision[Message, object],
    ) -> None:
        """Learn what a controller decides because it is asked."""

    def appended(
        self, controller: "Heard", epoch: int, offset: int, records: Sequence[Message]
    ) -> None:
        """Learn what a controller is about to append, of which its state says nothing yet."""

    def replied(self, controller: "Heard", end_offset: int) -> None:
        """Learn that a controller replies to what made the log end here."""

    def turned(self, controller: "Heard") -> None:
        """Learn that a controller was told who leads."""

    def committed(self, name: str, batch: OpenedBatch) -> None:
        """Learn of a batch that counts as committed on a node."""

    def restored(self, name: str, image: MetadataImage) -> None:
        """Learn of a snapshot that a node has loaded."""


class Ear:
    """The quorum's log as a controller sees it, and who hears of every append."""

    def __init__(self, quorum: Quorum, audience: Audience) -> None:
        self.controller: Heard | None = None
        self._quorum: Final = quorum
        self._audience: Final = audience

    @property
    def end_offset(self) -> int:
        """Where the log ends."""
        return self._quorum.end_offset

    def append(self, epoch: int, values: Sequence[bytes]) -> int:
        """Append one batch."""
        assert self.controller is not None, "appended to before there was a controller"
        offset = self._quorum.end_offset
        records = [decode_record(each)[0] for each in values]
        self._audience.appended(self.controller, epoch, offset, records)
        return self._quorum.append(epoch, values)

    async def committed(self, epoch: int, end_offset: int) -> None:
        """Return when all below an offset is committed."""
        await self._quorum.committed(epoch, end_offset)


class Heard(Controller):
    """The product's controller, and who hears what it decides."""

    def __init__(
        self,
        runtime: Runtime,
        quorum: Quorum,
        node: NodeConfig,
        cluster_id: str,
        audience: Audience,
    ) -> None:
        told = controller_config(node, cluster_id)
        bootstrap = read_bootstrap(runtime.disk, node.metadata_log_dir).records
        ear = Ear(quorum, audience)
        super().__init__(
            runtime,
            ear,
            told,
            lambda state, open_: activate(state, told, bootstrap, open_),
            lambda: quorum.node.voters.version,
            lambda: quorum.node.voters.current.ids,
        )
        ear.controller = self
        self.quorum: Final = quorum
        self.name: Final = runtime.tasks.name
        self._audience: Final = audience

    async def submit(
        self, decide: Callable[[ControllerState, int], Decision[Message, ReplyT | Refused]]
    ) -> ReplyT:
        """Decide, and let it be heard: because of what, on which state, and when it is told."""
        asking = ASKING.get()
        end_offset = 0

        def heard(state: ControllerState, offset: int) -> Decision[Message, ReplyT | Refused]:
            nonlocal end_offset
            decision = decide(state, offset)
            end_offset = offset + len(decision.records)
            if asking is not None:
                self._audience.decided(self, *asking, state, decision)
            return decision

        reply = await super().submit(heard)
        self._audience.replied(self, end_offset)
        return reply

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Begin to decide, or stop."""
        super().leader_changed(leader_id, epoch)
        self._audience.turned(self)


class Clerk:
    """A listener of the quorum that tells what is committed."""

    def __init__(self, name: str, clock: Clock, audience: Audience) -> None:
        self._name: Final = name
        self._clock: Final = clock
        self._audience: Final = audience

    async def load(self, snapshot: SnapshotName, batches: Iterator[OpenedBatch]) -> None:
        """Tell of a snapshot."""
        self._audience.restored(self._name, await read_snapshot(self._clock, snapshot, batches))

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Tell of each batch."""
        for batch in batches:
            self._audience.committed(self._name, batch)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Pass over who leads."""


async def live(runtime: Runtime, lines: Mapping[str, str], wish: Wish, audience: Audience) -> None:
    """Be a node until cancelled; format its directories first, if they are new."""
    config = node_config(lines)
    await format_storage(runtime.disk, runtime.clock, runtime.entropy, config, wish, _silent)
    identity = await identify(
        runtime.disk,
        runtime.entropy,
        config.name,
        config.node_id,
        config.metadata_log_dir,
        config.log_dirs,
    )
    async with AsyncExitStack() as ending:
        if config.is_controller:
            await control(runtime, config, identity, audience, ending)
        else:
            await serve_broker(runtime, config, identity, audience, ending)


async def control(
    runtime: Runtime,
    config: NodeConfig,
    identity: Identity,
    audience: Audience,
    ending: AsyncExitStack,
) -> None:
    """Be a controller."""
    cluster_id, name = identity.cluster_id, runtime.tasks.name
    raft = config.raft(cluster_id, identity.directory_ids[config.metadata_log_dir])
    storage = await Storage.open(
        runtime.disk,
        config.metadata_log_dir,
        config.configured_voters,
        runtime.clock,
        config.metadata_log,
    )
    peers = Peers(runtime, f"raft-client-{config.node_id}")
    quorum = Quorum(runtime, raft, storage, peers.ask)
    controller = Heard(runtime, quorum, config, cluster_id, audience)
    audience.controls(name, controller)
    answers = handlers(controller, dict.fromkeys(QUORUM_APIS, partial(answered, quorum)))
    heard: dict[ApiKey, Handler] = {
        key: partial(overheard, controller, audience, handler) for key, handler in answers.items()
    }
    served = ServedApis("controller", (*heard, ApiKey.API_VERSIONS))
    servers = [
        await serve(runtime, listener.bound, served, heard, name=listener.name)
        for listener in config.own_controller_listeners
    ]
    quorum.start([controller, Clerk(name, runtime.clock, audience)])
    member = Member(quorum, peers, servers, controller)
    metadata = await follow(runtime, quorum, config)
    audience.follows(name, metadata)
    ending.push_async_callback(metadata.stop)
    ending.push_async_callback(member.close, HANDOVER_MS)
    await metadata.install(presence(runtime, config, raft.endpoints, quorum, peers))
    await asyncio.get_running_loop().create_future()


async def overheard(
    controller: Heard, audience: Audience, handler: Handler, context: Context, request: Request
) -> Response | None:
    """Answer a request, and let it be known what is decided because of it."""
    audience.arrived(controller, request)
    # For the rest of this task, which asks for the next request when this is answered.
    ASKING.set((request, context.api_version))
    return await handler(context, request)


async def serve_broker(
    runtime: Runtime,
    config: NodeConfig,
    identity: Identity,
    audience: Audience,
    ending: AsyncExitStack,
) -> None:
    """Be a broker whose partitions hold no data."""
    name = runtime.tasks.name
    directories = await claim(runtime.disk, config, identity.directory_ids)
    ending.push_async_callback(directories.close)
    ending.callback(audience.closing, name)
    member = await open_member(
        runtime,
        config.raft(identity.cluster_id, identity.directory_ids[config.metadata_log_dir]),
        config.metadata_log_dir,
        [],
        config.configured_voters,
        log=config.metadata_log,
        claims=config.metadata_log_dir not in directories.opened,
    )
    member.quorum.listen(Clerk(name, runtime.clock, audience))
    metadata = await follow(runtime, member.quorum, config)
    audience.follows(name, metadata)
    ending.push_async_callback(metadata.stop)
    ending.push_async_callback(member.close, HANDOVER_MS)
    replicas = Replicas(
        runtime,
        config.node_id,
        tuple(directories.ids.values()),
        audience.board,
        member.quorum,
        config.broker_settings.heartbeat_interval_ms,
    )
    # Before the broker, who tells the controllers how far everybody here has read.
    await metadata.install(replicas)
    ending.push_async_callback(replicas.stop)
    role = await open_broker(
        runtime, config, identity.cluster_id, directories, member.quorum, metadata
    )
    ending.push_async_callback(role.close)
    replicas.begin(role.broker)
    audience.serves(name, role.broker, replicas)
    await role.work()


def _silent(_: str) -> None:
    """Say nothing of what is formatted."""
