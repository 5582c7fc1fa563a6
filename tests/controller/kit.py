"""Clusters to decide about, in a line or two."""

from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.controller.config import ControllerConfig
from barnabas.controller.state import BLANK, ControllerState
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.ids import Uuid
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.structs import Message

TOPIC: Final = Uuid(b"t" * 16)
CONFIG: Final = ControllerConfig(1000)


def directory(broker: int, which: int = 0) -> Uuid:
    """Return a log directory of a broker."""
    return Uuid(bytes([0xD0 + which]) * 8 + broker.to_bytes(8))


def features(level: int = 30, elr: bool = True) -> list[Message]:
    """Return the levels of a cluster."""
    records: list[Message] = [FeatureLevelRecord(name="metadata.version", feature_level=level)]
    if elr and level >= 23:
        name = "eligible.leader.replicas.version"
        records.append(FeatureLevelRecord(name=name, feature_level=1))
    return records


def broker(
    broker_id: int,
    *,
    fenced: bool = False,
    stopping: bool = False,
    directories: int = 1,
    level: int = 30,
) -> RegisterBrokerRecord:
    """Return a broker's registration; its epoch is a hundred times its id."""
    return RegisterBrokerRecord(
        broker_id=broker_id,
        broker_epoch=100 * broker_id,
        incarnation_id=incarnation(broker_id),
        end_points=[
            RegisterBrokerRecord.BrokerEndpoint(
                name="PLAINTEXT", host=f"b{broker_id}", port=9092, security_protocol=0
            )
        ],
        features=[
            RegisterBrokerRecord.BrokerFeature(
                name="metadata.version", min_supported_version=7, max_supported_version=31
            )
        ],
        fenced=fenced,
        in_controlled_shutdown=stopping,
        log_dirs=(
            [directory(broker_id, which) for which in range(directories)] if level >= 17 else []
        ),
    )


def incarnation(broker_id: int, life: int = 0) -> Uuid:
    """Return the incarnation id of a life of a broker."""
    return Uuid(b"life" + life.to_bytes(4) + broker_id.to_bytes(8))


def partition(
    number: int,
    replicas: Sequence[int],
    *,
    isr: Sequence[int] | None = None,
    leader: int | None = None,
    elr: Sequence[int] = (),
    last: Sequence[int] = (),
    adding: Sequence[int] = (),
    removing: Sequence[int] = (),
    recovering: bool = False,
    directories: Sequence[Uuid] | None = None,
    level: int = 30,
    topic_id: Uuid = TOPIC,
) -> PartitionRecord:
    """Return a partition's record; the first of the ISR leads unless somebody else is named."""
    isr = replicas if isr is None else isr
    if directories is None:
        directories = [directory(each) for each in replicas]
    return PartitionRecord(
        topic_id=topic_id,
        partition_id=number,
        replicas=replicas,
        isr=isr,
        leader=(isr[0] if isr else -1) if leader is None else leader,
        leader_epoch=5,
        partition_epoch=9,
        eligible_leader_replicas=elr or None,
        last_known_elr=last or None,
        adding_replicas=adding,
        removing_replicas=removing,
        leader_recovery_state=int(recovering),
        directories=directories if level >= 17 else (),
    )


def setting(name: str, text: str, topic: str = "orders") -> ConfigRecord:
    """Return a config of a topic."""
    return ConfigRecord(resource_type=2, resource_name=topic, name=name, value=text)


def cluster(
    *records: Message,
    level: int = 30,
    elr: bool = True,
    min_in_sync: int = 2,
    configs: Mapping[str, str] | None = None,
) -> ControllerState:
    """Return a cluster that has one topic, orders, and what else is told."""
    topic = TopicRecord(name="orders", topic_id=TOPIC)
    settings = {"min.insync.replicas": str(min_in_sync)} | dict(configs or {})
    return BLANK.apply(
        [
            *features(level, elr),
            topic,
            *(setting(name, text) for name, text in settings.items()),
            *records,
        ]
    )


def registered(state: ControllerState, number: int = 0) -> PartitionRegistration:
    """Return a partition of orders."""
    found = state.image.topics.partition(TOPIC, number)
    assert found is not None
    return found
