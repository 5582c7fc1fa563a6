"""Clusters for the tests of topics, configs and the rest: brokers in racks, topics on them."""

from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.controller.state import BLANK, ControllerState
from barnabas.metadata.features import FeaturesImage
from barnabas.metadata.topics import MIGRATING
from barnabas.model.features import METADATA_VERSION
from barnabas.model.ids import Uuid
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.structs import Message

LEVEL: Final = 30
NO_FEATURES: Final = FeaturesImage(None, {})


def uuid(number: int) -> Uuid:
    """Return an id that is no reserved one."""
    return Uuid((number + 1_000).to_bytes(16))


def broker(
    broker_id: int,
    rack: str | None = None,
    fenced: bool = False,
    stopping: bool = False,
    directories: Sequence[Uuid] | None = None,
    cordoned: Sequence[Uuid] | None = None,
    features: Mapping[str, tuple[int, int]] | None = None,
) -> RegisterBrokerRecord:
    """Return a registration."""
    told = {METADATA_VERSION: (7, 30)} if features is None else features
    return RegisterBrokerRecord(
        broker_id=broker_id,
        broker_epoch=100 + broker_id,
        incarnation_id=uuid(broker_id),
        features=[
            RegisterBrokerRecord.BrokerFeature(
                name=name, min_supported_version=least, max_supported_version=most
            )
            for name, (least, most) in told.items()
        ],
        rack=rack,
        fenced=fenced,
        in_controlled_shutdown=stopping,
        log_dirs=(uuid(200 + broker_id),) if directories is None else directories,
        cordoned_log_dirs=cordoned,
    )


def topic(name: str, number: int, *replicas: tuple[int, ...]) -> list[Message]:
    """Return a topic with its partitions; all replicas are in sync, the first leads."""
    return [
        TopicRecord(name=name, topic_id=uuid(number)),
        *(
            PartitionRecord(
                topic_id=uuid(number),
                partition_id=index,
                replicas=brokers,
                isr=brokers,
                leader=brokers[0],
                directories=(MIGRATING,) * len(brokers),
            )
            for index, brokers in enumerate(replicas)
        ),
    ]


def level(number: int, feature: str = METADATA_VERSION) -> FeatureLevelRecord:
    """Return the level of a feature."""
    return FeatureLevelRecord(name=feature, feature_level=number)


def setting(resource_type: int, resource: str, name: str, text: str | None) -> ConfigRecord:
    """Return a record that sets a config, or takes it back."""
    return ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=text)


def cluster(*records: Message, at: int = LEVEL) -> ControllerState:
    """Return the state after some records."""
    return BLANK.apply([level(at), *records])


def three(*records: Message, at: int = LEVEL) -> ControllerState:
    """Return a cluster of three brokers in three racks."""
    return cluster(*(broker(n, rack) for n, rack in enumerate("abc", 1)), *records, at=at)
