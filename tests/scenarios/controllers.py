"""A controller for stories: the real one on a real quorum, and who watches what it decides.

Told to ``swallow`` answers, it does what it is asked and never says so.
"""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial

from barnabas.controller.activation import activate
from barnabas.controller.config import ControllerConfig
from barnabas.controller.handlers import handlers
from barnabas.controller.shell import Controller
from barnabas.model.features import LATEST_PRODUCTION, METADATA_VERSION
from barnabas.net.peers import Peers
from barnabas.net.server import Context, Handler, serve
from barnabas.node.config import NodeConfig
from barnabas.node.member import QUORUM_APIS, Member, answered
from barnabas.node.meta_properties import identify
from barnabas.node.metadata import follow
from barnabas.raft.outline import SnapshotId
from barnabas.raft.shell import Quorum
from barnabas.raft.storage import Storage
from barnabas.records.opened import OpenedBatch
from barnabas.runtime.runtime import Runtime
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Request, Response

BOOTSTRAP = (FeatureLevelRecord(name=METADATA_VERSION, feature_level=LATEST_PRODUCTION.level),)

Wishes = dict[str, int]
"""What a story wants of the controllers: so many answers to registrations to be ``swallowed``."""


class Watcher:
    """A listener of the quorum that tells what is decided about brokers."""

    def __init__(self, runtime: Runtime) -> None:
        self.probes = runtime.probes

    async def load(self, snapshot: SnapshotId, batches: Iterator[OpenedBatch]) -> None:
        """Pass over what was decided long ago."""

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Tell what is decided."""
        for batch in batches:
            for number, value in enumerate(batch.values):
                record, _ = decode_record(value)
                offset = batch.base_offset + number
                if isinstance(record, RegisterBrokerRecord):
                    self.probes.trace(
                        "registered",
                        offset=offset,
                        epoch=record.broker_epoch,
                        incarnation=record.incarnation_id,
                    )
                elif isinstance(record, BrokerRegistrationChangeRecord) and record.fenced:
                    self.probes.trace("fencing", offset=offset, fenced=record.fenced)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Pass over who leads."""


async def swallowing(
    runtime: Runtime, wishes: Wishes, handler: Handler, context: Context, request: Request
) -> Response | None:
    """Answer a registration, unless a story wants the answer lost."""
    assert isinstance(request, BrokerRegistrationRequest)
    runtime.probes.trace("asked", previous=request.previous_broker_epoch)
    response = await handler(context, request)
    if wishes.get("swallowed"):
        wishes["swallowed"] -= 1
        await asyncio.get_running_loop().create_future()
    return response


async def controller_node(runtime: Runtime, node: NodeConfig, wishes: Wishes) -> None:
    """Be a controller, until cancelled."""
    identity = await identify(
        runtime.disk, runtime.entropy, node.name, node.node_id, "/data", ("/data",)
    )
    raft = node.raft(identity.cluster_id, identity.directory_ids["/data"])
    storage = await Storage.open(
        runtime.disk, "/data", node.configured_voters, runtime.clock, node.metadata_log
    )
    peers = Peers(runtime, "raft")
    quorum = Quorum(runtime, raft, storage, peers.ask)
    config = ControllerConfig(node.node_id, identity.cluster_id, idle_interval_ms=0)
    controller = Controller(
        runtime, quorum, config, lambda state, open_: activate(state, config, BOOTSTRAP, open_)
    )
    own = handlers(controller, dict.fromkeys(QUORUM_APIS, partial(answered, quorum)))
    registers = own[ApiKey.BROKER_REGISTRATION]
    own[ApiKey.BROKER_REGISTRATION] = partial(swallowing, runtime, wishes, registers)
    (place,) = node.own_controller_listeners
    served = ServedApis("controller", (*own, ApiKey.API_VERSIONS))
    server = await serve(runtime, place.bound, served, own, name=place.name)
    quorum.start([controller, Watcher(runtime)])
    metadata = await follow(runtime, quorum, node)
    member = Member(quorum, peers, [server])
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await controller.stop()
        await member.close(1_000)
        await metadata.stop()
