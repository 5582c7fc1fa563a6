"""What a broker is told about itself; most of it goes into its registration."""

from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.metadata.cluster import Endpoint, ordered
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.image import MetadataImage
from barnabas.model.ids import Uuid
from barnabas.model.value import value

CORDONED: Final = "cordoned.log.dirs"
ALL_DIRECTORIES: Final = "*"

DEFAULTS: Final = ""
"""The name under which the cluster keeps the configs of all brokers."""

UNKNOWN_EPOCH: Final = -1
"""What a broker tells of its last life if that did not end cleanly, or never was (KIP-966)."""


@value
class BrokerConfig:
    """Who a broker is, what it has, and how long it waits; defaults are Kafka's."""

    id: int
    cluster_id: str
    listeners: tuple[Endpoint, ...]
    """Where clients are told to go; the one that brokers use among themselves comes first."""
    supported_features: Mapping[str, tuple[int, int]]
    """By name, the lowest and the highest level it can work with."""
    directories: Mapping[str, Uuid]
    """The log directories that are online, by their paths."""
    rack: str | None = None
    cordoned: tuple[str, ...] = ()
    """``cordoned.log.dirs``: those that are to be given nothing new, unless the cluster says."""
    previous_epoch: int = UNKNOWN_EPOCH
    """Of the last life, if every directory says that it ended cleanly."""

    heartbeat_interval_ms: int = 2_000
    registration_timeout_ms: int = 60_000
    directory_failure_timeout_ms: int = 30_000
    shutdown_timeout_ms: int = 5 * 60_000
    controlled_shutdown: bool = True

    def __str__(self) -> str:
        return f"broker {self.id}"

    @property
    def directory_ids(self) -> tuple[Uuid, ...]:
        """The log directories, in Kafka's order."""
        return ordered(self.directories.values())

    def cordoned_in(self, image: MetadataImage) -> tuple[Uuid, ...]:
        """Return the cordoned directories: as set for this broker, for all, or in its file."""
        for name in (str(self.id), DEFAULTS):
            told = image.configs.of(ResourceType.BROKER, name).get(CORDONED)
            if told is not None:
                return self._named(part.strip() for part in told.split(","))
        return self._named(self.cordoned)

    def _named(self, paths: Iterable[str]) -> tuple[Uuid, ...]:
        """Return the ids of directories; a path that is none of ours names nothing."""
        names = set(paths)
        if ALL_DIRECTORIES in names:
            return self.directory_ids
        return ordered(id_ for path, id_ in self.directories.items() if path in names)
