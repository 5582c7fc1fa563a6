"""A controller that answers brokers over the wire, as a test wants it to; and its metadata.

What it decides, ``world.Controller`` decides; a test may make it silent, or no leader.  What it has
decided is told to a broker by ``Script.tell``, as its metadata would be.
"""

import asyncio
from dataclasses import replace

from barnabas.broker.lifecycle import Denied, Event, GivenEpoch, Heartbeat, HeartbeatTaken, Register
from barnabas.broker.shell import Broker
from barnabas.metadata import cluster, features, topics
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY, MetadataImage, Provenance
from barnabas.metadata.publication import Publication, SnapshotManifest
from barnabas.model.errors import ErrorCode
from barnabas.net.server import Context, Server, serve
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.structs import Request, Response
from tests.broker.world import Controller

APIS = (ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT, ApiKey.ASSIGN_REPLICAS_TO_DIRS)


class Script:
    """What a controller does, and what it was asked."""

    def __init__(self) -> None:
        self.controller = Controller()
        self.controller.level = 30
        self.controller.is_led = False
        self.controller.write(None)
        self.topics = topics.EMPTY
        self.asked: list[Request] = []
        self.is_silent = False
        self.error = ErrorCode.NONE
        """What everything is refused with."""

    async def answer(self, _: Context, request: Request) -> Response:
        """Answer a broker."""
        self.asked.append(request)
        if self.is_silent:
            await asyncio.get_running_loop().create_future()
        match request:
            case BrokerRegistrationRequest():
                asked: Register | Heartbeat = Register(
                    request.incarnation_id,
                    request.previous_broker_epoch,
                    tuple(request.log_dirs),
                )
                event = self._decided(asked)
                epoch = event.epoch if isinstance(event, GivenEpoch) else -1
                return BrokerRegistrationResponse(error_code=code(event), broker_epoch=epoch)
            case BrokerHeartbeatRequest():
                event = self._decided(
                    Heartbeat(
                        request.broker_epoch,
                        request.current_metadata_offset,
                        request.want_fence,
                        request.want_shut_down,
                    )
                )
                taken = event if isinstance(event, HeartbeatTaken) else None
                return BrokerHeartbeatResponse(
                    error_code=code(event),
                    is_caught_up=taken is not None and taken.caught_up,
                    is_fenced=taken is None or taken.fenced,
                    should_shut_down=taken is not None and taken.should_shut_down,
                )
            case AssignReplicasToDirsRequest():
                return assigned(request, self.error)
            case _:
                raise AssertionError(f"{request} came to a controller")

    async def serve(self, runtime: Runtime, host: str, port: int = 9093) -> Server:
        """Listen as a controller."""
        handlers = dict.fromkeys(APIS, self.answer)
        served = ServedApis("controller", (*APIS, ApiKey.API_VERSIONS))
        return await serve(runtime, Address(host, port), served, handlers, name="CONTROLLER")

    @property
    def image(self) -> MetadataImage:
        """What the cluster is."""
        controller = self.controller
        registration = controller.registration
        brokers = {} if registration is None else {registration.id: registration}
        return replace(
            EMPTY,
            provenance=Provenance(controller.end_offset, 1, 0, batch_aligned=True),
            features=features.FeaturesImage(controller.level, {}),
            cluster=cluster.ClusterImage(brokers, {}),
            topics=self.topics,
        )

    async def tell(self, broker: Broker) -> None:
        """Let a broker have all the metadata there is."""
        image = self.image
        delta = Delta.between(EMPTY, image)
        await broker.update(Publication(delta, image, SnapshotManifest(image.provenance)))

    async def keep_telling(self, runtime: Runtime, broker: Broker) -> None:
        """Let a broker have the metadata, always."""
        offset = -1
        while True:
            if self.controller.end_offset > offset:
                offset = self.controller.end_offset
                await self.tell(broker)
            await runtime.clock.sleep_ms(5)

    def _decided(self, asked: Register | Heartbeat) -> Event:
        return Denied(self.error) if self.error else self.controller.answer(asked)


def code(event: Event) -> ErrorCode:
    """Return the error of an answer."""
    return event.error if isinstance(event, Denied) else ErrorCode.NONE


def assigned(request: AssignReplicasToDirsRequest, error: ErrorCode) -> Response:
    """Return that everything is known now, or an error for all."""
    response = AssignReplicasToDirsResponse
    return response(
        error_code=error,
        directories=[
            response.DirectoryData(
                id=directory.id,
                topics=[
                    response.TopicData(
                        topic_id=topic.topic_id,
                        partitions=[
                            response.PartitionData(partition_index=each.partition_index)
                            for each in topic.partitions
                        ],
                    )
                    for topic in directory.topics
                ],
            )
            for directory in request.directories
        ],
    )
