"""Features of a cluster, their levels, and which release brought which: Kafka 4.3's tables.

    metadata.version    7 = 3.3-IV3 … 30 = 4.3-IV0, 31 = 4.4-IV0 (not stable yet)
    kraft.version       0 voters are configured, 1 they are in the log (KIP-853)
    transaction.version, group.version, eligible.leader.replicas.version, share.version,
    streams.version     0 off; above, what the comment beside it says

A cluster decides on a level of each feature (KIP-584, KIP-1022), and does nothing that a lower one
forbids; so brokers of several releases work together while one after the other is replaced.
``metadata.version`` says which records, and which fields of them, the metadata log may hold.  It
also gives the others their defaults when a cluster is formatted: the highest level that came with
it or before.

Plain tables, from MetadataVersion.java, Feature.java and the classes that it names.
"""

from collections.abc import Mapping
from typing import Final

from barnabas.model.errors import Misconfigured
from barnabas.model.value import value

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"
SHARE_VERSION: Final = "share.version"
STREAMS_VERSION: Final = "streams.version"


@value
class MetadataVersion:
    """One level of ``metadata.version``."""

    level: int
    release: str
    step: int
    """Within the release: it may take several while it is being developed."""
    changes_records: bool
    """Whether the metadata log may hold what the level before forbids."""

    def __str__(self) -> str:
        return f"{self.release}-IV{self.step}"


RECORDS: Final = True
"""Marks the levels that change what records may say."""

METADATA_VERSIONS: Final = (
    MetadataVersion(7, "3.3", 3, RECORDS),  # brokers say that they shut down (KIP-841)
    MetadataVersion(8, "3.4", 0, RECORDS),  # migration from ZooKeeper (KIP-866)
    MetadataVersion(9, "3.5", 0, False),  # tiered storage (KIP-405)
    MetadataVersion(10, "3.5", 1, False),  # fetches carry the replica's epoch (KIP-903)
    MetadataVersion(11, "3.5", 2, RECORDS),  # SCRAM
    MetadataVersion(12, "3.6", 0, False),  # no new leader epoch when the ISR shrinks
    MetadataVersion(13, "3.6", 1, RECORDS),  # transactions of metadata (KIP-868)
    MetadataVersion(14, "3.6", 2, RECORDS),  # delegation tokens
    MetadataVersion(15, "3.7", 0, RECORDS),  # controllers register (KIP-919)
    MetadataVersion(16, "3.7", 1, False),  # reserved
    MetadataVersion(17, "3.7", 2, RECORDS),  # directories of replicas (KIP-858)
    MetadataVersion(18, "3.7", 3, False),  # reserved
    MetadataVersion(19, "3.7", 4, False),  # fetches answer with new leaders (KIP-951)
    MetadataVersion(20, "3.8", 0, False),
    MetadataVersion(21, "3.9", 0, False),  # the last offset in remote storage (KIP-1005)
    MetadataVersion(22, "4.0", 0, False),  # group.version 1
    MetadataVersion(23, "4.0", 1, RECORDS),  # eligible leader replicas (KIP-966)
    MetadataVersion(24, "4.0", 2, False),  # transaction.version 2
    MetadataVersion(25, "4.0", 3, False),  # offsets of remote storage, asynchronously (KIP-1075)
    MetadataVersion(26, "4.1", 0, False),  # eligible.leader.replicas.version 1
    MetadataVersion(27, "4.1", 1, False),  # replicas fetch in version 18 (KIP-1166)
    MetadataVersion(28, "4.2", 0, False),  # share.version 1
    MetadataVersion(29, "4.2", 1, False),  # streams.version 1
    MetadataVersion(30, "4.3", 0, RECORDS),  # cordoned directories
    MetadataVersion(31, "4.4", 0, False),
)

MINIMUM_VERSION: Final = METADATA_VERSIONS[0]
LATEST_PRODUCTION: Final = METADATA_VERSIONS[-2]
LATEST_TESTING: Final = METADATA_VERSIONS[-1]


@value
class Level:
    """One level of a feature."""

    level: int
    since: int
    """The ``metadata.version`` with which it became the default."""
    needs: tuple[tuple[str, int], ...] = ()
    """Other features, and what they have to be at least."""


@value
class Feature:
    """A feature besides ``metadata.version``, with its levels, lowest first."""

    name: str
    levels: tuple[Level, ...]

    @property
    def latest(self) -> int:
        """The highest level; all that there are in 4.3 are stable."""
        return self.levels[-1].level

    def at(self, level: int) -> Level:
        """Return a level; ``Misconfigured`` if there is none of this number."""
        for each in self.levels:
            if each.level == level:
                return each
        raise Misconfigured(f"No feature:{self.name} with feature level {level}")

    def default(self, version: MetadataVersion) -> int:
        """Return the level that a cluster formatted at a ``metadata.version`` begins with."""
        return max(each.level for each in self.levels if each.since <= version.level)


# In the order in which Kafka lists them.
FEATURES: Final = (
    Feature(KRAFT_VERSION, (Level(0, 7), Level(1, 21))),
    # 1: flexible records of transactions, 2: a new producer epoch for each (KIP-890).
    Feature(TRANSACTION_VERSION, (Level(0, 7), Level(1, 24), Level(2, 24))),
    # 1: the consumer rebalance protocol (KIP-848).
    Feature(GROUP_VERSION, (Level(0, 7), Level(1, 22))),
    Feature(
        ELIGIBLE_LEADER_REPLICAS_VERSION,
        (Level(0, 7), Level(1, 26, ((METADATA_VERSION, 23),))),
    ),
    # 1: share groups (KIP-932).
    Feature(SHARE_VERSION, (Level(0, 7), Level(1, 28))),
    # 1: streams groups (KIP-1071).
    Feature(STREAMS_VERSION, (Level(0, 7), Level(1, 29))),
)

FEATURES_BY_NAME: Final = {feature.name: feature for feature in FEATURES}


def supported_levels(unstable: bool) -> dict[str, tuple[int, int]]:
    """Return the lowest and the highest level of each feature that a node can work with."""
    newest = LATEST_TESTING if unstable else LATEST_PRODUCTION
    levels = {METADATA_VERSION: (MINIMUM_VERSION.level, newest.level)}
    return levels | {each.name: (each.levels[0].level, each.latest) for each in FEATURES}


def version_of_level(level: int) -> MetadataVersion:
    """Return a ``metadata.version`` by its level."""
    for version in METADATA_VERSIONS:
        if version.level == level:
            return version
    raise Misconfigured(
        f"No MetadataVersion with feature level {level}. Valid feature levels are from "
        f"{MINIMUM_VERSION.level} to {LATEST_TESTING.level}."
    )


def version_of_release(text: str, unstable: bool = False) -> MetadataVersion:
    """Return a ``metadata.version`` by its name, or the last of the release that is named.

    "3.7-IV2", "3.7" and "3.7.1" are names; what follows the second point does not matter.
    """
    last = LATEST_TESTING if unstable else LATEST_PRODUCTION
    parts = text.rstrip(".").split(".")
    name = text if len(parts) <= 2 else ".".join(parts[:2])
    for version in reversed(METADATA_VERSIONS):
        # A release that is not stable yet is known by its steps alone.
        is_release = name == version.release and version.level <= LATEST_PRODUCTION.level
        if (is_release or name == str(version)) and version.level <= last.level:
            return version
    known = ", ".join(str(each) for each in METADATA_VERSIONS if each.level <= last.level)
    raise Misconfigured(
        f"Unknown metadata.version '{text}'. Supported metadata.version are: {known}"
    )


def check_needs(name: str, level: Level, levels: Mapping[str, int]) -> None:
    """Refuse a level of a feature whose needs the others do not meet."""
    needed = level.needs
    metadata_version = levels.get(METADATA_VERSION)
    if level.level >= 1 and (metadata_version is None or metadata_version < MINIMUM_VERSION.level):
        raise Misconfigured(
            f"{name} could not be set to {level.level} because it depends on "
            f"{METADATA_VERSION}={MINIMUM_VERSION.level} ({MINIMUM_VERSION})"
        )
    for other, least in needed:
        found = levels.get(other)
        if found is None or found < least:
            raise Misconfigured(
                f"{name} could not be set to {level.level} because it depends on {other} level "
                f"{least}"
            )
