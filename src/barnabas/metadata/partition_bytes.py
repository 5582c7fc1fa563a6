"""Plain partition records, read from their bytes at once: nearly all of a large log.

    frame | key 3 | version | partition id | topic id |
        replicas | ISR | nothing removed | nothing added |     ── the same in many partitions
        leader | leader epoch | partition epoch |
        directories | no tags                                  ── the same in many partitions

A node that starts reads a record for every partition there is, and again when it loads a snapshot.
Decoding each into a message, and the message into what an image keeps, takes three times as long as
this: one ``unpack``, and two looks at what was found in other partitions before.  What is found is
shared, so partitions with the same replicas hold the same tuples.

It is a short cut and no second truth: whatever is unusual about a record, be it a tag, a
reassignment, an old version or damage, is left to the long way, ``wire.metadata_records`` and
``topics``, with which the tests compare this record by record.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final, TypeAlias, TypeVar

from barnabas.metadata.topics import MIGRATING, USUAL, Ids, Stored
from barnabas.model.ids import Uuid
from barnabas.records.checksum import Buffer
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.metadata_records import FRAME_VERSION

KEY: Final = PartitionRecord.API_KEY
VERSIONS: Final = (1, 2)
"""Version 0 has no directories."""
HEAD_BYTES: Final = 3
COUNT_AT: Final = HEAD_BYTES + 4 + 16
"""Where the number of replicas stands, as one byte: one more than there are, as all lengths."""
ID_BYTES: Final = 4
DIRECTORY_BYTES: Final = 16
NOTHING: Final = b"\x01"
"""An array of nothing."""
COUNT_MAX: Final = 128
"""Longer arrays have lengths of more than one byte."""

KEPT: Final = 65_536
"""Of how many different lists of replicas and of directories the meaning is kept: more than a
cluster has, unless it is huge and places its replicas without any system."""

K = TypeVar("K")
V = TypeVar("V")

Located: TypeAlias = tuple[Uuid, int, Stored]
Unpack: TypeAlias = Callable[[Buffer, int], tuple[Any, ...]]


class Remembered(dict[K, V]):
    """What a function returns, by its argument: ``lru_cache``, at a third of its price.

    What is not there is worked out.  When too much is there, everything is forgotten.
    """

    def __init__(self, work: Callable[[K], V]) -> None:
        super().__init__()
        self._work: Final = work

    def __missing__(self, key: K) -> V:
        if len(self) >= KEPT:
            self.clear()
        found = self[key] = self._work(key)
        return found


def plain_partition(data: Buffer) -> Located | None:
    """Return the topic's id, the partition's number and what is kept of it; None if not plain."""
    size_bytes = len(data)
    if size_bytes <= COUNT_AT or data[1] != KEY or data[2] not in VERSIONS:
        return None
    replicas = data[COUNT_AT]
    in_sync_at = COUNT_AT - ID_BYTES + 1 + ID_BYTES * replicas
    if size_bytes <= in_sync_at or data[0] != FRAME_VERSION:
        return None
    unpack = UNPACKERS[size_bytes, replicas, data[in_sync_at]]
    if unpack is None:
        return None
    index, topic_id, placed, leader, leader_epoch, partition_epoch, rest = unpack(data, HEAD_BYTES)
    ids, directories = REPLICAS[placed], DIRECTORIES[rest]
    if ids is None or directories is None:
        return None
    partition = (ids[0], directories, ids[1], leader, leader_epoch, partition_epoch, USUAL)
    return topic_id, index, partition


def unpacker(lengths: tuple[int, int, int]) -> Unpack | None:
    """Return what takes a record apart, by its size and the lengths in it; None if they differ."""
    size_bytes, replicas, in_sync = lengths
    if not (0 < replicas < COUNT_MAX and 0 < in_sync < COUNT_MAX):
        return None
    placed_bytes = 1 + ID_BYTES * (replicas - 1) + 1 + ID_BYTES * (in_sync - 1) + 2 * len(NOTHING)
    rest_bytes = 1 + DIRECTORY_BYTES * (replicas - 1) + 1
    fields = Struct(f">i16s{placed_bytes}siii{rest_bytes}s")
    return fields.unpack_from if HEAD_BYTES + fields.size == size_bytes else None


def replicas_in(data: bytes) -> tuple[Ids, Ids] | None:
    """Return the replicas and those in sync, if nothing is removed or added."""
    if data[-2:] != NOTHING + NOTHING:
        return None
    count = data[0] - 1
    ids = Struct(f">{count}i").unpack_from(data, 1)
    in_sync_at = 1 + ID_BYTES * count
    in_sync = Struct(f">{data[in_sync_at] - 1}i").unpack_from(data, in_sync_at + 1)
    return ids, ids if in_sync == ids else in_sync


def directories_in(data: bytes) -> tuple[Uuid, ...] | None:
    """Return the directories, one for each replica, if there are no tags behind them."""
    count = (len(data) - 2) // DIRECTORY_BYTES
    if data[0] != count + 1 or data[-1] != 0:
        return None
    places = (data[1 + DIRECTORY_BYTES * each :][:DIRECTORY_BYTES] for each in range(count))
    return tuple(MIGRATING if place == MIGRATING else Uuid(place) for place in places)


UNPACKERS: Final = Remembered(unpacker)
REPLICAS: Final = Remembered(replicas_in)
DIRECTORIES: Final = Remembered(directories_in)
