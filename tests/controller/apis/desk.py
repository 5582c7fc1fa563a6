"""A controller at its desk: it leads, whatever it decides is committed at once, and it is asked."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from barnabas.controller.apis.broker_heartbeat import broker_heartbeat
from barnabas.controller.apis.broker_registration import broker_registration
from barnabas.controller.apis.create_topics import create_topics
from barnabas.controller.config import ControllerConfig
from barnabas.controller.shell import Asked, Controller
from barnabas.controller.state import ControllerState
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.caller import ANYBODY
from barnabas.model.ids import Uuid
from barnabas.runtime.runtime import Runtime
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.structs import Message, Response
from tests.sim.worlds import run_in_world

ResponseT = TypeVar("ResponseT", bound=Response)

CLUSTER = "cluster"
LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=29)


class Instant:
    """A log that commits whatever is appended."""

    def __init__(self) -> None:
        self.end_offset = 1

    def append(self, _: int, values: Sequence[bytes]) -> int:
        """Append, and be done."""
        self.end_offset += len(values)
        return self.end_offset

    async def committed(self, epoch: int, end_offset: int) -> None:
        """Be done already."""


def begin(_: ControllerState, __: bool) -> Decision[Message, None]:
    """Begin a cluster."""
    return Decision((LEVEL,), None)


class Desk:
    """Where a controller is asked."""

    def __init__(self, runtime: Runtime, static: Mapping[str, str]) -> None:
        config = ControllerConfig(1, CLUSTER, idle_interval_ms=0, static=static)
        self.controller = Controller(runtime, Instant(), config, begin)
        self.sleep_ms = runtime.clock.sleep_ms
        self.controller.leader_changed(1, 7)
        self.epochs: dict[int, int] = {}

    @property
    def state(self) -> ControllerState:
        """What the controller knows."""
        return self.controller.states.pending

    async def ask(
        self,
        handler: Callable[[Controller, Asked, Any], Coroutine[Any, Any, ResponseT]],
        request: object,
        version: int = 0,
    ) -> ResponseT:
        """Ask the controller something."""
        return await handler(self.controller, Asked(version, ANYBODY, "CONTROLLER"), request)

    async def join(self, *brokers: int) -> None:
        """Let brokers register, and be unfenced."""
        for broker in brokers:
            registered = await self.ask(broker_registration, registration(broker), 4)
            self.epochs[broker] = registered.broker_epoch
            await self.ask(broker_heartbeat, self.heartbeat(broker), 1)

    def heartbeat(self, broker: int, **more: bool) -> BrokerHeartbeatRequest:
        """Return a heartbeat of a broker that has read everything."""
        return BrokerHeartbeatRequest(
            broker_id=broker,
            broker_epoch=self.epochs[broker],
            current_metadata_offset=1_000_000,
            want_fence=more.get("want_fence", False),
            want_shut_down=more.get("want_shut_down", False),
        )

    async def create(self, name: str, partitions: int, replicas: int) -> Uuid:
        """Create a topic, and return its id."""
        topic = CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=replicas
        )
        told = await self.ask(create_topics, CreateTopicsRequest(topics=[topic]), 7)
        assert told.topics[0].error_code == 0, told.topics[0].error_message
        return told.topics[0].topic_id

    def partition(self, name: str, index: int = 0) -> PartitionRegistration:
        """Return a partition."""
        topic = self.state.image.topics.named(name)
        assert topic is not None
        partition = topic.partition(index)
        assert partition is not None
        return partition


def directory(broker: int) -> Uuid:
    """Return the one directory of a broker."""
    return Uuid(bytes([7] * 15 + [broker]))


def registration(broker: int, life: int = 1) -> BrokerRegistrationRequest:
    """Return how a life of a broker registers."""
    return BrokerRegistrationRequest(
        broker_id=broker,
        cluster_id=CLUSTER,
        incarnation_id=Uuid(bytes([life] * 15 + [broker])),
        listeners=[
            BrokerRegistrationRequest.Listener(
                name="PLAINTEXT", host="here", port=9092, security_protocol=0
            )
        ],
        features=[
            BrokerRegistrationRequest.Feature(
                name="metadata.version", min_supported_version=7, max_supported_version=30
            )
        ],
        log_dirs=[directory(broker)],
    )


def at_desk(
    story: Callable[[Desk], Coroutine[Any, Any, None]], static: Mapping[str, str] | None = None
) -> None:
    """Run a story at a desk."""

    async def main(runtime: Runtime) -> None:
        desk = Desk(runtime, static or {})
        await story(desk)
        await desk.controller.stop()

    run_in_world(main)
