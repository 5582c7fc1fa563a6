"""What the files and directories of a log are called: Kafka's names, to the letter.

    <log dir>/orders-3/                           one partition
        00000000000000000000.log                  batches from offset 0 on
        00000000000000000000.index                relative offset, position
        00000000000000000000.timeindex            timestamp, relative offset
        00000000000000000000.txnindex             aborted transactions; made with the first one
        00000000000000004711.snapshot             producers as they were at offset 4711
        leader-epoch-checkpoint  partition.metadata
    <log dir>/orders-3.<uuid>-delete/             a partition on its way out
    <log dir>/orders-3.<uuid>-future/             a copy that moves between directories
    <log dir>/orders-3.<uuid>-stray/              one that no controller knows any more

Suffixes that say a file is not (or no longer) part of the log: ``.deleted`` (going away),
``.cleaned`` (compaction is still writing it), ``.swap`` (compaction has finished it and it
replaces the segments it covers), ``.tmp`` (a checkpoint that was never published).

Fixed by Kafka's LocalLog.java and LogFileUtils.java.
"""

import re
from enum import Enum
from typing import Final

from barnabas.model.value import value

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
TEMPORARY: Final = ".tmp"

EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"

SEGMENT_FILES: Final = (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX)

# A topic name has at most 249 characters so that "-" and a partition still fit a file name of
# 255; with 33 of an id and 7 of a suffix it has to be cut.
FILE_NAME_MAX: Final = 255


class Standing(Enum):
    """What a partition's directory says about it, by its suffix."""

    SERVING = ""
    DELETE = "-delete"
    FUTURE = "-future"
    STRAY = "-stray"


@value
class TopicPartition:
    """One partition of one topic, by name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@value
class PartitionDirectory:
    """What the name of a partition's directory says."""

    of: TopicPartition
    standing: Standing


def segment_file(base_offset: int, suffix: str) -> str:
    """Return the name of a file that begins at an offset."""
    return f"{base_offset:020d}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """Return the offset in the name of a file with this suffix, or None if it is no such file."""
    match = _SEGMENT_FILE.fullmatch(name)
    return int(match[1]) if match is not None and match[2] == suffix else None


_SEGMENT_FILE: Final = re.compile(r"(\d{20})(\..+)")


def segment_part(name: str) -> tuple[int, str] | None:
    """Split a name into its offset and everything after it, or None if it carries no offset."""
    match = _SEGMENT_FILE.fullmatch(name)
    return (int(match[1]), match[2]) if match is not None else None


def directory_name(
    of: TopicPartition, standing: Standing = Standing.SERVING, unique: str = ""
) -> str:
    """Return the name of a partition's directory; ``unique`` is a UUID's hex for all but SERVING.

    A topic name that leaves no room for id and suffix is cut, as Kafka does.
    """
    if standing is Standing.SERVING:
        return str(of)
    assert re.fullmatch(r"[0-9a-f]{32}", unique), f"{unique!r} is not the hex of a UUID"
    tail = f"-{of.partition}.{unique}{standing.value}"
    return of.topic[: FILE_NAME_MAX - len(tail)] + tail


def parse_directory(name: str) -> PartitionDirectory | None:
    """Read the name of a directory; None if it is no partition's."""
    for standing in (Standing.DELETE, Standing.FUTURE, Standing.STRAY):
        if name.endswith(standing.value):
            match = _MARKED.fullmatch(name.removesuffix(standing.value))
            if match is not None:
                return PartitionDirectory(TopicPartition(match[1], int(match[2])), standing)
    match = _SERVING.fullmatch(name)
    if match is None:
        return None
    return PartitionDirectory(TopicPartition(match[1], int(match[2])), Standing.SERVING)


_SERVING: Final = re.compile(r"(\S+)-(\d+)")
_MARKED: Final = re.compile(r"(\S+)-(\d+)\.(\S+)")
