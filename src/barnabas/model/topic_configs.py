"""The configs of topics: what may be set, and what is in force where nothing is.

    topic's own ─▶ the broker's, by one of its own names ─▶ the default
                   segment.ms: log.roll.ms, else log.roll.hours in milliseconds

Most configs of a topic fall back to one of the broker, which for historical reasons has another
name, and sometimes several of them in other units.  Those without one are the same everywhere.

Fixed by Kafka's LogConfig.java and ServerTopicConfigSynonyms.java.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from barnabas.model.broker_configs import REMOTE_STORAGE
from barnabas.model.configs import (
    Between,
    Config,
    GzipLevel,
    Kind,
    OneOf,
    Parsed,
    Words,
    invalid,
    table,
)
from barnabas.model.errors import ErrorCode, Refused

BOOLEAN, STRING, INT, LONG = Kind.BOOLEAN, Kind.STRING, Kind.INT, Kind.LONG
DOUBLE, LIST = Kind.DOUBLE, Kind.LIST
AT_LEAST_0, AT_LEAST_1 = Between(0), Between(1)

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION: Final = "unclean.leader.election.enable"
MIN_COMPACTION_LAG: Final = "min.compaction.lag.ms"
MAX_COMPACTION_LAG: Final = "max.compaction.lag.ms"
REMOTE_ENABLE: Final = "remote.storage.enable"
REMOTE_COPY_DISABLE: Final = "remote.log.copy.disable"
REMOTE_DELETE_ON_DISABLE: Final = "remote.log.delete.on.disable"

THROTTLED: Final = re.compile(r"(?:[0-9]+:[0-9]+)?")
AS_OTHERWISE: Final = -2
"""What stands for the retention that holds without remote storage."""


class ThrottledReplicas:
    """Pairs of a partition and a broker, or all of them."""

    def check(self, name: str, found: Parsed) -> None:
        """Refuse anything else."""
        assert isinstance(found, tuple), f"{name} is {found!r}, no list"
        if not all(map(THROTTLED.fullmatch, found)) and "".join(found) != "*":
            raise invalid(
                name, found, f"{name} must be the literal '*' or a list of replicas in the "
                f"following format: {self}",
            )  # fmt: skip

    def __str__(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


# fmt: off
TOPIC_CONFIGS: Final = table((
    Config("cleanup.policy", LIST, "delete", Words(("compact", "delete")),
           "What becomes of old segments: they are deleted, compacted, or both; kept for "
           "good if empty."),
    Config("compression.gzip.level", INT, "-1", GzipLevel(),
           "How hard gzip tries if the broker compresses; -1 is its own default."),
    Config("compression.lz4.level", INT, "9", Between(1, 17),
           "How hard LZ4 tries if the broker compresses."),
    Config("compression.type", STRING, "producer",
           OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
           'How batches are compressed in the log; "producer" keeps what came.'),
    Config("compression.zstd.level", INT, "3", Between(-131_072, 22),
           "How hard Zstandard tries if the broker compresses."),
    Config("delete.retention.ms", LONG, "86400000", AT_LEAST_0,
           "How long a compacted log keeps that a key was deleted."),
    Config("file.delete.delay.ms", LONG, "60000", AT_LEAST_0,
           "How long the files of a deleted segment outlive it."),
    Config("flush.messages", LONG, "9223372036854775807", AT_LEAST_1,
           "After how many records the log is flushed."),
    Config("flush.ms", LONG, "9223372036854775807", AT_LEAST_0,
           "After how long a record is flushed."),
    Config("follower.replication.throttled.replicas", LIST, "", ThrottledReplicas(),
           "Replicas whose fetching is limited: partition:broker, or * for all."),
    Config("index.interval.bytes", INT, "4096", AT_LEAST_0,
           "After how many bytes an index gets an entry."),
    Config("internal.segment.bytes", INT, None, None,
           "Size of a segment, for tests.", internal=True),
    Config("leader.replication.throttled.replicas", LIST, "", ThrottledReplicas(),
           "Replicas for whom the leader's sending is limited: partition:broker, or * for all."),
    Config("local.retention.bytes", LONG, "-2", Between(-2),
           "How much of a log in remote storage stays at the broker; -2 is retention.bytes."),
    Config("local.retention.ms", LONG, "-2", Between(-2),
           "How long what is in remote storage stays at the broker; -2 is retention.ms."),
    Config("max.compaction.lag.ms", LONG, "9223372036854775807", AT_LEAST_1,
           "How long a record may lie before it must be compacted."),
    Config("max.message.bytes", INT, "1048588", AT_LEAST_0, "How large a record batch may be."),
    Config("message.timestamp.after.max.ms", LONG, "3600000", AT_LEAST_0,
           "How far in the future a record's timestamp may lie."),
    Config("message.timestamp.before.max.ms", LONG, "9223372036854775807", AT_LEAST_0,
           "How far in the past a record's timestamp may lie."),
    Config("message.timestamp.type", STRING, "CreateTime", OneOf(("CreateTime", "LogAppendTime")),
           "Whether a record's timestamp is the producer's or the broker's."),
    Config("min.cleanable.dirty.ratio", DOUBLE, "0.5", Between(0, 1),
           "How much of the log has to be uncleaned before it is cleaned."),
    Config("min.compaction.lag.ms", LONG, "0", AT_LEAST_0,
           "How long a record lies at least before it is compacted."),
    Config("min.insync.replicas", INT, "1", AT_LEAST_1,
           "How many replicas have to have a record before it counts as written with acks=all."),
    Config("preallocate", BOOLEAN, "false", None,
           "Whether a new segment takes its whole size at once."),
    Config("remote.log.copy.disable", BOOLEAN, "false", None,
           "Whether nothing more is copied to remote storage; what is there stays readable."),
    Config("remote.log.delete.on.disable", BOOLEAN, "false", None,
           "Whether switching remote storage off deletes what is there."),
    Config("remote.storage.enable", BOOLEAN, "false", None,
           "Whether the log is copied to remote storage."),
    Config("retention.bytes", LONG, "-1", None,
           "How large a partition may grow before old segments are deleted; -1 is without limit."),
    Config("retention.ms", LONG, "604800000", Between(-1),
           "How long segments are kept; -1 is without limit."),
    Config("segment.bytes", INT, "1073741824", Between(1_048_576), "How large a segment may be."),
    Config("segment.index.bytes", INT, "10485760", Between(4), "How large an index may be."),
    Config("segment.jitter.ms", LONG, "0", AT_LEAST_0,
           "How much earlier a segment may be closed, by chance."),
    Config("segment.ms", LONG, "604800000", AT_LEAST_1,
           "After how long a segment is closed, even if it is not full."),
    Config("unclean.leader.election.enable", BOOLEAN, "false", None,
           "Whether a replica that is not in sync may lead if there is no other, at the "
           "cost of records."),
))
# fmt: on


class Synonym(NamedTuple):
    """A config of the broker that a topic's falls back to."""

    name: str
    factor: int = 1
    """How many of the topic's units make one of the broker's."""

    def converted(self, text: str) -> str:
        """Return the broker's value as the topic's."""
        if self.factor == 1:
            return text
        # Kafka takes what is no number for none at all; a node with such a file does not start.
        number = int(text) if re.fullmatch(r"[+-]?[0-9]+", text.strip()) else 0
        return str(number * self.factor if number >= 0 else -1)


HOUR_MS, MINUTE_MS = 3_600_000, 60_000

SAME: Final = (
    "compression.type", "compression.gzip.level", "compression.lz4.level",
    "compression.zstd.level", MIN_INSYNC_REPLICAS, UNCLEAN_LEADER_ELECTION,
)  # fmt: skip
UNDER_LOG: Final = (
    "cleanup.policy", "index.interval.bytes", "local.retention.bytes", "local.retention.ms",
    "message.timestamp.after.max.ms", "message.timestamp.before.max.ms", "message.timestamp.type",
    "preallocate", "retention.bytes", "segment.bytes",
)  # fmt: skip
UNDER_CLEANER: Final = ("delete.retention.ms", MIN_COMPACTION_LAG, MAX_COMPACTION_LAG)

SYNONYMS: Final[Mapping[str, tuple[Synonym, ...]]] = {
    **{name: (Synonym(name),) for name in SAME},
    **{name: (Synonym(f"log.{name}"),) for name in UNDER_LOG},
    **{name: (Synonym(f"log.cleaner.{name}"),) for name in UNDER_CLEANER},
    "file.delete.delay.ms": (Synonym("log.segment.delete.delay.ms"),),
    "flush.messages": (Synonym("log.flush.interval.messages"),),
    "flush.ms": (Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    "max.message.bytes": (Synonym("message.max.bytes"),),
    "min.cleanable.dirty.ratio": (Synonym("log.cleaner.min.cleanable.ratio"),),
    "retention.ms": (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", MINUTE_MS),
        Synonym("log.retention.hours", HOUR_MS),
    ),
    "segment.index.bytes": (Synonym("log.index.size.max.bytes"),),
    "segment.jitter.ms": (
        Synonym("log.roll.jitter.ms"),
        Synonym("log.roll.jitter.hours", HOUR_MS),
    ),
    "segment.ms": (Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR_MS)),
}
"""The broker's names of a topic's configs; of several that are set the first counts."""


def inherited(name: str, brokers: Mapping[str, str]) -> str | None:
    """Return what a broker has for a topic's config; None if it has nothing."""
    for synonym in SYNONYMS.get(name, ()):
        if synonym.name in brokers:
            return synonym.converted(brokers[synonym.name])
    return None


def check_topic(
    wanted: Mapping[str, str], before: Mapping[str, str], static: Mapping[str, str]
) -> None:
    """Refuse configs of a topic that are unknown, not allowed, or contradict each other.

    ``wanted`` is all that will be set, ``before`` what is by now, and ``static`` the node's file.
    """
    values = {name: known(name).parsed(text) for name, text in wanted.items()}

    def of(name: str) -> Parsed:
        if name in values:
            return values[name]
        config = TOPIC_CONFIGS[name]
        text = inherited(name, static)
        return config.parsed(config.default if text is None else text)

    def number(name: str) -> int:
        found = of(name)
        assert isinstance(found, int), f"{name} is {found!r}, no whole number"
        return found

    least, most = number(MIN_COMPACTION_LAG), number(MAX_COMPACTION_LAG)
    if least > most:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"conflict topic config setting {MIN_COMPACTION_LAG} ({least}) > "
            f"{MAX_COMPACTION_LAG} ({most})",
        )
    if of(REMOTE_ENABLE):
        check_remote(of, number, static)
    elif before.get(REMOTE_ENABLE, "").lower() == "true" and not of(REMOTE_DELETE_ON_DISABLE):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "Remote storage of a topic cannot be switched off as long as its remote data is kept: "
            f"to keep and only read it set {REMOTE_ENABLE}=true,{REMOTE_COPY_DISABLE}=true, to "
            f"delete it {REMOTE_ENABLE}=false,{REMOTE_DELETE_ON_DISABLE}=true",
        )


def known(name: str) -> Config:
    """Return a config of topics."""
    config = TOPIC_CONFIGS.get(name)
    if config is None:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    return config


def check_remote(
    of: Callable[[str], Parsed], number: Callable[[str], int], static: Mapping[str, str]
) -> None:
    """Refuse what contradicts remote storage of a topic (KIP-405, KIP-950)."""
    if not REMOTE_STORAGE.flag(static):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        )
    if of("cleanup.policy") not in ((), ("delete",)):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "Remote log storage only supports topics with cleanup.policy=delete or "
            "cleanup.policy being an empty list.",
        )
    for total in ("retention.bytes", "retention.ms"):
        local, kept, here = f"local.{total}", number(total), number(f"local.{total}")
        if kept > -1 and here == -1:
            raise invalid(local, here, f"Value must not be -1 as {total} value is set as {kept}.")
        if kept > -1 and here > kept:
            why = f"Value must not be more than {total} property value: {kept}"
            raise invalid(local, here, why)
    for total in ("retention.bytes", "retention.ms"):
        local, kept, here = f"local.{total}", number(total), number(f"local.{total}")
        if of(REMOTE_COPY_DISABLE) and here not in (AS_OTHERWISE, kept):
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"With {REMOTE_COPY_DISABLE}=true {local} must be {total} or {AS_OTHERWISE}, "
                "because nothing more is copied to remote storage",
            )
