"""A controller that decides who is a broker and nothing else, on a real quorum.

It stands in for ``controller`` where brokers are what is looked at.  Registrations, fences and
permissions to go are records of the metadata log or answers, by Kafka's rules; sessions are kept in
memory; a broker "leads" for as long as a story says so.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.levels import record_version
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.features import LATEST_PRODUCTION, METADATA_VERSION
from barnabas.net.peers import Peers
from barnabas.net.server import Context, serve
from barnabas.node.config import NodeConfig
from barnabas.node.member import QUORUM_APIS, Member, answered
from barnabas.node.meta_properties import identify
from barnabas.node.metadata import follow
from barnabas.raft.shell import Quorum
from barnabas.raft.storage import Storage
from barnabas.runtime.runtime import Runtime
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.no_op_record import NoOpRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message, Request, Response

LEVEL = LATEST_PRODUCTION.level
SESSION_MS = 9_000
LOOK_MS = 500

Wishes = dict[str, int]
"""What a story wants: ``leading``, whether brokers lead; ``swallowed``, answers to lose."""


class Deciding:
    """The mind of one controller."""

    def __init__(self, runtime: Runtime, quorum: Quorum, wishes: Wishes) -> None:
        self.runtime = runtime
        self.quorum = quorum
        self.wishes = wishes
        self.image: Callable[[], Mapping[int, BrokerRegistration]] = dict
        self.heard_ms: dict[int, int] = {}
        self.record_offsets: dict[int, int] = {}
        self.led_epoch = -1

    async def decide(self, record: Message) -> int:
        """Write a record and return its offset once it is committed and known here."""
        quorum = self.quorum
        epoch = quorum.node.epoch
        version = record_version(type(record), LEVEL)
        end_offset = quorum.append(epoch, [encode_record(record, version)])
        await quorum.committed(epoch, end_offset)
        self.runtime.probes.trace("decided", record=type(record).__name__)
        # The image follows in a moment; everything is asked of it.
        await self.runtime.clock.sleep_ms(5)
        return end_offset - 1

    async def answer(self, _: Context, request: Request) -> Response:
        """Answer a broker, or say that somebody else has to."""
        try:
            if isinstance(request, BrokerRegistrationRequest):
                response: Response = await self.register(request)
            else:
                assert isinstance(request, BrokerHeartbeatRequest)
                response = await self.heartbeat(request)
        except Refused:
            if isinstance(request, BrokerRegistrationRequest):
                return BrokerRegistrationResponse(error_code=ErrorCode.NOT_CONTROLLER)
            return BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
        if self.wishes.get("swallowed"):
            self.wishes["swallowed"] -= 1
            await asyncio.get_running_loop().create_future()
        return response

    async def register(self, asked: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
        """Register a broker on one of the three grounds."""
        known = self.image().get(asked.broker_id)
        same = known is not None and known.incarnation_id == asked.incarnation_id
        if self.quorum.node.promised_offset is None:
            raise Refused(ErrorCode.NOT_CONTROLLER)
        if known is not None and not same and not known.fenced:
            return BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        epoch = known.epoch if known is not None and same else self.quorum.end_offset
        record = RegisterBrokerRecord(
            broker_id=asked.broker_id,
            broker_epoch=epoch,
            incarnation_id=asked.incarnation_id,
            fenced=known.fenced if known is not None and same else True,
            log_dirs=asked.log_dirs,
        )
        self.heard_ms[asked.broker_id] = self.runtime.clock.now_ms()
        self.record_offsets[asked.broker_id] = await self.decide(record)
        self.runtime.probes.trace(
            "registered",
            broker=asked.broker_id,
            epoch=epoch,
            incarnation=asked.incarnation_id,
            previous=asked.previous_broker_epoch,
        )
        return BrokerRegistrationResponse(broker_epoch=epoch)

    async def heartbeat(self, beat: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        """Take a heartbeat."""
        if self.quorum.node.promised_offset is None:
            raise Refused(ErrorCode.NOT_CONTROLLER)
        known = self.image().get(beat.broker_id)
        if known is None or known.epoch != beat.broker_epoch:
            return BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        self.heard_ms[beat.broker_id] = self.runtime.clock.now_ms()
        arrived = self.record_offsets.get(beat.broker_id, known.epoch)
        caught_up = beat.current_metadata_offset >= arrived
        let_go = beat.want_shut_down and (known.fenced or not self.wishes.get("leading"))
        fenced = known.fenced
        if let_go and not fenced:
            await self.decide(FenceBrokerRecord(id=known.id, epoch=known.epoch))
            fenced = True
        elif fenced and not (beat.want_fence or let_go) and caught_up:
            await self.decide(UnfenceBrokerRecord(id=known.id, epoch=known.epoch))
            fenced = False
        return BrokerHeartbeatResponse(
            is_caught_up=caught_up, is_fenced=fenced, should_shut_down=let_go
        )

    async def look_after_sessions(self) -> None:
        """Begin a reign with what a cluster begins with; fence who is not heard of."""
        while True:
            await self.runtime.clock.sleep_ms(LOOK_MS)
            node, now_ms = self.quorum.node, self.runtime.clock.now_ms()
            if node.promised_offset is None:
                continue
            try:
                if self.led_epoch != node.epoch:
                    self.led_epoch = node.epoch
                    self.heard_ms = dict.fromkeys(self.image(), now_ms)
                    level = FeatureLevelRecord(name=METADATA_VERSION, feature_level=LEVEL)
                    await self.decide(level)
                for _ in range(self.wishes.pop("noise", 0)):
                    await self.decide(NoOpRecord())
                for broker in sorted(self.image().values(), key=lambda each: each.id):
                    late = now_ms - self.heard_ms.get(broker.id, now_ms) > SESSION_MS
                    if not broker.fenced and (late or self.wishes.get("fence all")):
                        await self.decide(FenceBrokerRecord(id=broker.id, epoch=broker.epoch))
                self.wishes.pop("fence all", None)
            except Refused:
                # Somebody else leads by now.
                continue


async def deciding_node(runtime: Runtime, config: NodeConfig, wishes: Wishes) -> None:
    """Be a controller of the quorum that decides."""
    identity = await identify(
        runtime.disk, runtime.entropy, config.name, config.node_id, "/data", ("/data",)
    )
    raft = config.raft(identity.cluster_id, identity.directory_ids["/data"])
    storage = await Storage.open(
        runtime.disk, "/data", config.configured_voters, runtime.clock, config.metadata_log
    )
    peers = Peers(runtime, "raft")
    quorum = Quorum(runtime, raft, storage, peers.ask)
    mind = Deciding(runtime, quorum, wishes)
    own = (ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT)
    (place,) = config.own_controller_listeners
    server = await serve(
        runtime,
        place.bound,
        ServedApis("controller", (*QUORUM_APIS, *own, ApiKey.API_VERSIONS)),
        {
            **dict.fromkeys(QUORUM_APIS, partial(answered, quorum)),
            **dict.fromkeys(own, mind.answer),
        },
        name=place.name,
    )
    quorum.start()
    metadata = await follow(runtime, quorum, config)
    mind.image = lambda: metadata.image.cluster.brokers
    member = Member(quorum, peers, [server])
    try:
        await mind.look_after_sessions()
    finally:
        await member.close(1_000)
        await metadata.stop()
