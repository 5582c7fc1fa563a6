"""What deciders are given: what the cluster is by the newest records, committed or not yet.

A state is never written to.  The leader's runs ahead of what is committed by what it has decided
itself, and is dropped whole when it stops leading.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.controller import index
from barnabas.controller.config import ControllerConfig
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.delta import Delta
from barnabas.metadata.fold import TRANSACTION
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.levels import record_version
from barnabas.model.features import MINIMUM_VERSION
from barnabas.model.value import value
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message

ALL_BROKERS: Final = ""


@value
class ControllerState:
    """The cluster as deciders see it."""

    image: MetadataImage
    index: index.PartitionIndex
    """What can be asked of all its partitions at once."""

    @staticmethod
    def of(image: MetadataImage) -> "ControllerState":
        """Return the state of an image that was not followed from the beginning."""
        return ControllerState(image, index.index_of(image))

    @property
    def level(self) -> int:
        """The metadata.version in force; the least there is before any is known."""
        return self.image.features.metadata_version or MINIMUM_VERSION.level

    def apply(self, records: Sequence[Message]) -> "ControllerState":
        """Return the state after some records; where it ends in the log is not looked at."""
        delta = Delta(self.image)
        for record in records:
            # Whoever decides sees a transaction of its own at once, and drops it whole.
            if type(record) not in TRANSACTION:
                delta.replay(record)
        return self.after(delta, delta.apply(self.image.provenance))

    def after(self, delta: Delta, image: MetadataImage) -> "ControllerState":
        """Return the state of an image to which a delta leads from this one."""
        assert delta.image is self.image, "a change of something else"
        topics = delta.topics
        return ControllerState(image, self.index.after(topics) if topics else self.index)

    def encode(self, record: Message) -> bytes:
        """Return a record as it is written at the level in force."""
        return encode_record(record, record_version(type(record), self.level))


BLANK: Final = ControllerState(EMPTY, index.EMPTY)


def topic_config(
    state: ControllerState, config: ControllerConfig, topic: str, name: str, default: str
) -> str:
    """Return what is in force for a topic: its own, the controller's as a broker, all brokers',
    the properties file's, or the default, in this order.
    """
    configs = state.image.configs
    places: tuple[Mapping[str, str], ...] = (
        configs.of(ResourceType.TOPIC, topic),
        configs.of(ResourceType.BROKER, str(config.node_id)),
        configs.of(ResourceType.BROKER, ALL_BROKERS),
        config.static,
    )
    return next((place[name] for place in places if name in place), default)
