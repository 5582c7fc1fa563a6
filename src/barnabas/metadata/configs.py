"""Dynamic configs: what was set for a topic, a broker, a group, by name.

Only what was set is here; defaults belong to whoever asks.  The name ``""`` stands for all brokers.
Deleting a topic deletes its configs: no record says so, the topic's own removal does.

A name that this build does not know stays in the image, so that a snapshot written here does not
take it from nodes that do.  (Kafka 4.3 passes over names it does not know.)

Fixed by Kafka's ConfigurationsDelta.java.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from barnabas.metadata.levels import Form
from barnabas.metadata.table import Table, by_text, changed, difference
from barnabas.model.value import value
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.structs import Message


class ResourceType(IntEnum):
    """What can be configured; numbers that are not here are kept all the same."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """Something that can be configured."""

    type: int
    name: str


def place(resource: ConfigResource) -> int:
    """Place a resource by its name."""
    return by_text(resource.name)


NONE_SET: Final[Mapping[str, str]] = {}


@value
class ConfigsImage:
    """What was set, by resource and by name; no resource is without a config."""

    resources: Mapping[ConfigResource, Mapping[str, str]]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is set."""
        return not self.resources

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Return what is set for a resource."""
        return self.resources.get(ConfigResource(resource_type, name), NONE_SET)

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the configs as records."""
        for (resource_type, name), values in self.resources.items():
            for key, text in sorted(values.items()):
                yield form.versioned(
                    ConfigRecord(
                        resource_type=resource_type, resource_name=name, name=key, value=text
                    )
                )


EMPTY: Final = ConfigsImage(Table(place))


class ConfigsDelta:
    """All configs of each resource of which any is another; None where none is left."""

    def __init__(self, image: ConfigsImage) -> None:
        self.image = image
        self.resources: dict[ConfigResource, Mapping[str, str] | None] = {}

    @staticmethod
    def between(image: ConfigsImage, later: ConfigsImage) -> "ConfigsDelta":
        """Return what leads from one image to another."""
        delta = ConfigsDelta(image)
        delta.resources = difference(image.resources, later.resources)
        return delta

    def replay(self, record: ConfigRecord) -> None:
        """Set a config, or take it back."""
        resource = ConfigResource(record.resource_type, record.resource_name)
        if resource in self.resources:
            before = self.resources[resource] or NONE_SET
        else:
            before = self.image.resources.get(resource, NONE_SET)
        self.resources[resource] = changed(before, {record.name: record.value}) or None

    def remove_topic(self, name: str) -> None:
        """Forget the configs of a topic that is deleted."""
        topic = ConfigResource(ResourceType.TOPIC, name)
        if self.resources.get(topic) or topic in self.image.resources:
            self.resources[topic] = None

    def apply(self) -> ConfigsImage:
        """Return the configs afterwards."""
        return ConfigsImage(changed(self.image.resources, self.resources))
