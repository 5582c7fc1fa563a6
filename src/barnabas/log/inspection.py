"""What the files of a log hold, said one finding at a time, whatever state they are in.

    inspect(disk, path) ─▶ FileBegins, BatchFound, RecordFound, …, Damaged, …     one file
                           the same for every file of a directory, and those below it

The log itself stops at what it cannot believe, because it has to be right.  This is for people who
want to know what is there: nothing is changed, nothing needs the directory to be whole or locked,
and damage is a finding like any other.  After damage a log file is searched for the next batch with
a right checksum, so what lies behind it is still shown.

Everything that Kafka or Barnabas leaves in a log directory is known by its name: segments, their
indexes, what deletion and compaction have renamed (``.deleted``, ``.cleaned``, ``.swap``),
snapshots of producers and of the quorum, checkpoints.

The indexes of an active segment that Kafka had open when it was killed are longer than what they
hold, and end in zeros; so may a log with preallocation.  That is no damage and is said as what it
is.

Driven by ``barnabas dump-log``; names of findings are Kafka's words (DumpLogSegments.java).
"""

import json
from collections.abc import Iterator
from enum import Enum
from typing import Final, TypeAlias

from barnabas.log import aborted, index
from barnabas.log.aborted import AbortedTransaction
from barnabas.log.checkpoints import (
    CLEAN_MARK,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    START_OFFSETS,
    decode_clean_mark,
    decode_epochs,
    decode_offsets,
    decode_topic_id,
)
from barnabas.log.names import (
    CLEANED,
    DELETED,
    EPOCH_CHECKPOINT,
    INDEX,
    LOG,
    PARTITION_METADATA,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TRANSACTION_INDEX,
    TopicPartition,
    segment_part,
)
from barnabas.log.producers import ProducerEntry, read_snapshot
from barnabas.model.errors import CorruptLog
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.records import legacy
from barnabas.records.batch import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    CorruptBatch,
    OldFormat,
    header_at,
    verify,
)
from barnabas.records.compression import UnsupportedCodec
from barnabas.records.record import Record, records
from barnabas.runtime.disk import Disk, File

# A batch behind damage is searched for in pieces of this size.
SEARCH_BYTES: Final = 1 << 20

QUORUM_SNAPSHOT: Final = ".checkpoint"
QUORUM_STATE: Final = "quorum-state"
NODE_PROPERTIES: Final = "meta.properties"
OFFSET_CHECKPOINTS: Final = frozenset(
    {CLEANER_OFFSETS, HIGH_WATERMARKS, RECOVERY_POINTS, START_OFFSETS}
)


class Kind(Enum):
    """What a file is for."""

    LOG = "log segment"
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "index of aborted transactions"
    PRODUCER_SNAPSHOT = "snapshot of producers"
    QUORUM_SNAPSHOT = "snapshot of the quorum's state"
    EPOCHS = "leader epochs"
    OFFSETS = "offsets of partitions"
    TOPIC_ID = "topic id"
    CLEAN_MARK = "mark of a clean shutdown"
    QUORUM_STATE = "state of the quorum's election"
    PROPERTIES = "properties of the node"
    UNKNOWN = "no file of a log"


@value
class Wish:
    """How closely to look."""

    records: bool = False
    """Open batches and show what is inside."""

    against_log: bool = False
    """Look every entry of an index up in the log beside it."""

    log_bytes_max: int = 1 << 62
    """How much of each log segment to read."""


@value
class FileBegins:
    """What follows is about this file."""

    path: str
    kind: Kind
    size_bytes: int


@value
class BatchFound:
    """A batch, or in old segments a message that may wrap others."""

    position: int
    header: BatchHeader
    is_valid: bool


@value
class RecordFound:
    """A record of the batch before."""

    header: BatchHeader
    record: Record


@value
class Reserved:
    """Nothing but zeros from here on: room that was reserved and not used."""

    position: int
    size_bytes: int


@value
class OffsetEntry:
    """The batch that ends with this offset begins at this position."""

    offset: int
    position: int


@value
class TimeEntry:
    """Nothing up to this offset is younger."""

    timestamp: int
    offset: int


@value
class ProducerFound:
    """What a snapshot knows of a producer."""

    producer_id: int
    entry: ProducerEntry


@value
class EpochBegins:
    """A leader epoch and its first offset."""

    epoch: int
    start_offset: int


@value
class PartitionOffset:
    """What a checkpoint says of a partition."""

    of: TopicPartition
    offset: int


@value
class TopicIdFound:
    """The id of the topic this partition belongs to."""

    topic_id: Uuid


@value
class StoppedCleanly:
    """The last stop was clean; of which life of the broker, if the mark says so."""

    broker_epoch: int | None


@value
class Setting:
    """A name and what it is set to."""

    name: str
    text: str


@value
class Damaged:
    """What cannot be as it is: where in the file, if that can be said, and why."""

    path: str
    position: int | None
    why: str


Finding: TypeAlias = (
    FileBegins
    | BatchFound
    | RecordFound
    | Reserved
    | OffsetEntry
    | TimeEntry
    | AbortedTransaction
    | ProducerFound
    | EpochBegins
    | PartitionOffset
    | TopicIdFound
    | StoppedCleanly
    | Setting
    | Damaged
)


def inspect(disk: Disk, path: str, wish: Wish) -> Iterator[Finding]:
    """Yield what a file holds, or all the files of a directory and of those below it."""
    try:
        if not disk.is_directory(path):
            yield from inspect_file(disk, path, wish)
            return
        names = disk.names(path)
    except OSError as error:
        yield Damaged(path, None, str(error))
        return
    # Checkpoints and marks first, they are about the partitions that follow.
    inside = [f"{path.rstrip('/')}/{name}" for name in names]
    for below in sorted(inside, key=lambda one: (disk.is_directory(one), one)):
        yield from inspect(disk, below, wish)


def kind_of(name: str) -> Kind:
    """Tell what a file is from its name."""
    for suffix in (DELETED, CLEANED, SWAP):
        name = name.removesuffix(suffix)
    part = segment_part(name)
    if part is not None and part[1] in KINDS:
        return KINDS[part[1]]
    if name in OFFSET_CHECKPOINTS:
        return Kind.OFFSETS
    if name.endswith(QUORUM_SNAPSHOT):
        return Kind.QUORUM_SNAPSHOT
    return NAMED.get(name, Kind.UNKNOWN)


KINDS: Final = {
    LOG: Kind.LOG,
    INDEX: Kind.OFFSET_INDEX,
    TIME_INDEX: Kind.TIME_INDEX,
    TRANSACTION_INDEX: Kind.TRANSACTION_INDEX,
    SNAPSHOT: Kind.PRODUCER_SNAPSHOT,
}
NAMED: Final = {
    EPOCH_CHECKPOINT: Kind.EPOCHS,
    PARTITION_METADATA: Kind.TOPIC_ID,
    CLEAN_MARK: Kind.CLEAN_MARK,
    QUORUM_STATE: Kind.QUORUM_STATE,
    NODE_PROPERTIES: Kind.PROPERTIES,
}


def inspect_file(disk: Disk, path: str, wish: Wish) -> Iterator[Finding]:
    """Yield what one file holds."""
    kind = kind_of(path.rpartition("/")[2])
    file = disk.open(path, "read")
    try:
        size = file.size()
        yield FileBegins(path, kind, size)
        match kind:
            case Kind.LOG | Kind.QUORUM_SNAPSHOT:
                yield from LogFile(file, min(size, wish.log_bytes_max), wish.records).findings()
            case Kind.OFFSET_INDEX | Kind.TIME_INDEX:
                yield from IndexFile(disk, file, kind, wish.against_log).findings()
            case Kind.UNKNOWN:
                return
            case _:
                yield from small_file(kind, path, file.read(0, size))
    except OSError as error:
        yield Damaged(path, None, str(error))
    finally:
        file.close()


# --- Logs -----------------------------------------------------------------------------------


class LogFile:
    """Batches one behind the other, some of them damaged perhaps."""

    def __init__(self, file: File, size_bytes: int, with_records: bool) -> None:
        self._file: Final = file
        self._size: Final = size_bytes
        self._with_records: Final = with_records
        self._next_offset = 0

    def findings(self) -> Iterator[Finding]:
        """Yield every batch, and what lies between them."""
        position = 0
        while position < self._size:
            try:
                header, data = self._batch(position)
            except CorruptBatch as error:
                if self._is_zero_from(position):
                    yield Reserved(position, self._size - position)
                    return
                yield Damaged(self._file.path, position, str(error))
                position = next_sound(self._file, position + 1, self._size)
                continue
            damage = checksum_complaint(header, data)
            yield BatchFound(position, header, damage is None)
            if damage is not None:
                yield Damaged(self._file.path, position, damage)
            elif header.base_offset < self._next_offset or header.last_offset_delta < 0:
                yield Damaged(
                    self._file.path,
                    position,
                    f"offsets {header.base_offset} to {header.last_offset} where the next "
                    f"is {self._next_offset}",
                )
            if self._with_records and damage is None:
                yield from self._inside(position, header, data)
            self._next_offset = max(self._next_offset, header.next_offset)
            # A length may be what is damaged; what it leads to is then no batch, and the search
            # begins behind the header that lied.
            follows = position + header.size_bytes
            if damage and follows < self._size and not self._is_plausible(follows):
                follows = next_sound(self._file, position + 1, self._size)
            position = follows

    def _batch(self, position: int) -> tuple[BatchHeader, bytes]:
        """Return header and bytes of what begins at a position; ``CorruptBatch`` if nothing."""
        front = self._file.read(position, min(HEADER_BYTES, self._size - position))
        try:
            size = header_at(front).size_bytes
        except OldFormat:
            size = LOG_OVERHEAD_BYTES + int.from_bytes(front[8:LOG_OVERHEAD_BYTES], signed=True)
        if size > self._size - position:
            raise CorruptBatch(
                f"a batch of {size} bytes, of which {self._size - position} are there"
            )
        data = self._file.read(position, size)
        if data[MAGIC_AT] < MAGIC:
            return legacy.header_at(data), data
        return header_at(data), data

    def _inside(self, position: int, header: BatchHeader, data: bytes) -> Iterator[Finding]:
        try:
            for record in (records if header.magic == MAGIC else legacy.records)(data, 0, header):
                yield RecordFound(header, record)
        except (CorruptBatch, UnsupportedCodec) as error:
            yield Damaged(self._file.path, position, str(error))

    def _is_plausible(self, position: int) -> bool:
        try:
            self._batch(position)
        except CorruptBatch:
            return False
        return True

    def _is_zero_from(self, position: int) -> bool:
        while position < self._size:
            piece = self._file.read(position, min(SEARCH_BYTES, self._size - position))
            if any(piece):
                return False
            position += len(piece)
        return True


def next_sound(file: File, position: int, end: int) -> int:
    """Return where the next batch of magic 2 with a right checksum begins, or the end."""
    while position < end:
        piece = file.read(position + MAGIC_AT, SEARCH_BYTES)
        found = piece.find(MAGIC)
        while found >= 0:
            if is_sound(file, position + found, end):
                return position + found
            found = piece.find(MAGIC, found + 1)
        position += SEARCH_BYTES
    return end


def is_sound(file: File, position: int, end: int) -> bool:
    """Tell whether a whole batch with a right checksum begins at a position."""
    front = file.read(position, HEADER_BYTES)
    try:
        header = header_at(front)
        # Cheap things first: most bytes that look like the magic are something else.
        if header.base_offset < 0 or header.size_bytes > end - position:
            return False
        verify(file.read(position, header.size_bytes), 0, header)
    except (CorruptBatch, OldFormat):
        return False
    return True


def checksum_complaint(header: BatchHeader, data: bytes) -> str | None:
    """Say what is wrong with the checksum of a batch, if anything is."""
    try:
        (verify if header.magic == MAGIC else legacy.verify)(data, 0, header)
    except CorruptBatch as error:
        return str(error)
    return None


# --- Indexes --------------------------------------------------------------------------------


class IndexFile:
    """The entries of an offset or time index."""

    def __init__(self, disk: Disk, file: File, kind: Kind, against_log: bool) -> None:
        self._disk: Final = disk
        self._file: Final = file
        self._entry: Final = index.OFFSET_ENTRY if kind is Kind.OFFSET_INDEX else index.TIME_ENTRY
        self._is_time: Final = kind is Kind.TIME_INDEX
        self._against_log: Final = against_log
        part = segment_part(file.path.rpartition("/")[2])
        assert part is not None, f"{file.path} was recognised by its offset"
        self._base: Final = part[0]

    def findings(self) -> Iterator[Finding]:
        """Yield the entries, and which of them cannot be."""
        path, size = self._file.path, self._file.size()
        data = self._file.read(0, size)
        whole = size - size % self._entry.size
        if whole < size:
            yield Damaged(
                path, whole, f"{size - whole} bytes behind {whole // self._entry.size} entries"
            )
        batches = self._batches() if self._against_log else None
        before: tuple[int, int] | None = None
        for at in range(0, whole, self._entry.size):
            entry: tuple[int, int] = self._entry.unpack_from(data, at)
            if at > 0 and not any(data[at:]):
                yield Reserved(at, size - at)
                return
            if at == 0 and not any(data):
                yield Reserved(0, size)
                return
            found = self._found(entry)
            yield found
            if before is not None and not (entry[0] > before[0] and entry[1] > before[1]):
                yield Damaged(path, at, "an entry that is not above the one before it")
            before = entry
            if batches is not None and (why := self._contradiction(found, batches)):
                yield Damaged(path, at, why)

    def _found(self, entry: tuple[int, int]) -> OffsetEntry | TimeEntry:
        if self._is_time:
            return TimeEntry(entry[0], self._base + entry[1])
        return OffsetEntry(self._base + entry[0], entry[1])

    def _batches(self) -> "dict[int, tuple[int, BatchHeader]]":
        """Return the batches of the log beside, by their last offset."""
        stem, _, suffix = self._file.path.rpartition(TIME_INDEX if self._is_time else INDEX)
        path = f"{stem}{LOG}{suffix}"
        if not self._disk.exists(path):
            return {}
        file = self._disk.open(path, "read")
        try:
            return {
                found.header.last_offset: (found.position, found.header)
                for found in LogFile(file, file.size(), False).findings()
                if isinstance(found, BatchFound)
            }
        finally:
            file.close()

    def _contradiction(
        self, found: OffsetEntry | TimeEntry, batches: "dict[int, tuple[int, BatchHeader]]"
    ) -> str | None:
        """Say how the log contradicts an entry."""
        if found.offset not in batches:
            return f"no batch of the log ends with offset {found.offset}"
        position, header = batches[found.offset]
        match found:
            case OffsetEntry() if found.position != position:
                return f"the batch that ends with {found.offset} begins at {position}"
            case TimeEntry() if found.timestamp != header.max_timestamp:
                return f"the batch that ends with {found.offset} is of {header.max_timestamp}"
            case _:
                return None


# --- Small files ----------------------------------------------------------------------------


def small_file(kind: Kind, path: str, content: bytes) -> Iterator[Finding]:
    """Yield what a file holds that is read as a whole."""
    try:
        match kind:
            case Kind.TRANSACTION_INDEX:
                yield from aborted_transactions(path, content)
            case Kind.PRODUCER_SNAPSHOT:
                for producer_id, entry in read_snapshot(content, 0, path).entries.items():
                    yield ProducerFound(producer_id, entry)
            case Kind.EPOCHS:
                for epoch, start in decode_epochs(content, path):
                    yield EpochBegins(epoch, start)
            case Kind.OFFSETS:
                for of, offset in decode_offsets(content, path).items():
                    yield PartitionOffset(of, offset)
            case Kind.TOPIC_ID:
                yield TopicIdFound(decode_topic_id(content, path))
            case Kind.CLEAN_MARK:
                yield StoppedCleanly(decode_clean_mark(content))
            case Kind.QUORUM_STATE:
                for name, setting in quorum_state(content, path).items():
                    yield Setting(name, json.dumps(setting))
            case Kind.PROPERTIES:
                yield from properties(content)
            case _:
                raise AssertionError(f"{kind} is no small file")
    except CorruptLog as error:
        yield Damaged(path, None, str(error))


def aborted_transactions(path: str, content: bytes) -> Iterator[Finding]:
    """Yield the entries of a transaction index that is sound so far."""
    whole = len(content) - len(content) % aborted.ENTRY.size
    before = -1
    for at in range(0, whole, aborted.ENTRY.size):
        version, producer_id, first, last, stable = aborted.ENTRY.unpack_from(content, at)
        if version != aborted.VERSION:
            yield Damaged(path, at, f"an entry of version {version}, expected {aborted.VERSION}")
            return
        yield AbortedTransaction(producer_id, first, last, stable)
        if not first <= last or last <= before:
            yield Damaged(path, at, f"offsets {first} to {last} behind a transaction to {before}")
        before = last
    if whole < len(content):
        yield Damaged(path, whole, f"{len(content) - whole} bytes behind the last whole entry")


def quorum_state(content: bytes, path: str) -> dict[str, object]:
    """Read the file in which a voter keeps its vote: JSON (KIP-595)."""
    try:
        state = json.loads(content)
    except ValueError as error:
        raise CorruptLog(f"{path}: {error}") from error
    if not isinstance(state, dict):
        raise CorruptLog(f"{path}: {content[:80]!r} is no object")
    return state


def properties(content: bytes) -> Iterator[Finding]:
    """Yield the lines of a properties file that are no comments."""
    for line in content.decode("utf-8", "replace").splitlines():
        name, equals, text = line.partition("=")
        if equals and not name.startswith(("#", "!")):
            yield Setting(name.strip(), text.strip())
