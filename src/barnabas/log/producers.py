"""What each idempotent producer has written to one log, and which transactions are open.

A producer numbers its records per partition.  The log remembers its last five batches, so that

- a batch that comes again is answered with the offset it has, and not appended (KIP-98);
- a batch that leaves a gap in the numbers is refused: something before it was lost;
- a batch of an older epoch is refused: a newer instance of that producer exists.

    header ─▶ Staging.batch / .marker ─▶ bytes are written ─▶ ProducerTable.install

An append is first tried on a ``Staging``, which changes nothing; only when its bytes are in the
log is the staging installed.  Were it the other way round, a failed write would leave the table
ahead of the log, and the retry would be "deduplicated" against bytes that do not exist
(KAFKA-6683).  Entries are immutable for the same reason.

A transaction is open from its first batch here until its marker.  The first offset of the oldest
one bounds what readers of committed data may see; and so does a transaction whose marker is not
replicated yet, because a new leader may not have it.

Hard state: the log itself.  Snapshots (``.snapshot``) only shorten reading it again.  Kafka fixes
the semantics (ProducerStateManager.java, ProducerAppendInfo.java) and the format, which holds the
last batch of each producer.  Kafka reads as many entries as are announced and ignores what
follows, checksum apart; so the whole window follows there (docs/decisions/0010), and a retry is
recognised after a restart, too.
"""

import struct
from enum import Enum, auto
from typing import Final, NamedTuple

from barnabas.model.errors import CorruptLog, ErrorCode, Refused
from barnabas.model.value import value
from barnabas.records.batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, SEQUENCE_MODULUS, BatchHeader
from barnabas.records.checksum import crc32c

WINDOW_BATCHES: Final = 5
"""As many as a producer may have in flight (``max.in.flight.requests.per.connection``)."""

NO_OFFSET: Final = -1

SNAPSHOT_VERSION: Final = 1
SNAPSHOT_FRONT: Final = struct.Struct(">hIi")
CHECKED_FROM: Final = 6
ENTRY: Final = struct.Struct(">qhiqiqiq")
WINDOW_TAG: Final = b"last"
IN_WINDOW: Final = struct.Struct(">qiqiq")


class Origin(Enum):
    """Who appends, which says what there is to check."""

    CLIENT = auto()
    """A producer: sequence numbers and epochs are checked."""

    COORDINATOR = auto()
    """A group or transaction coordinator, or the raft leader: epochs are checked."""

    REPLICATION = auto()
    """The log itself, from a leader or from disk: what stands there has happened."""


class Appended(NamedTuple):
    """One batch of a producer, as far as recognising it again needs."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        """The offset of the batch's first record."""
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        """The sequence number of the batch's first record."""
        return (self.last_sequence - self.offset_delta) % SEQUENCE_MODULUS


class ProducerEntry(NamedTuple):
    """What a log knows of one producer."""

    epoch: int
    coordinator_epoch: int
    last_timestamp: int
    transaction_start: int
    batches: tuple[Appended, ...]

    @property
    def last_sequence(self) -> int:
        """The last sequence number of this epoch, or ``NO_SEQUENCE``."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """The offset of the producer's last record of this epoch, or ``NO_OFFSET``."""
        return self.batches[-1].last_offset if self.batches else NO_OFFSET


UNKNOWN: Final = ProducerEntry(NO_PRODUCER_EPOCH, -1, -1, NO_OFFSET, ())


@value
class Duplicate:
    """The batch is in the log already; this is where."""

    first_offset: int
    last_offset: int
    timestamp: int


@value
class Marker:
    """The decision about a transaction, as its control record says it."""

    commit: bool
    coordinator_epoch: int
    timestamp: int


@value
class Begun:
    """A transaction that an append has opened."""

    producer_id: int
    first_offset: int


@value
class Finished:
    """A transaction that an append has ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    commit: bool


class Staging:
    """An append being tried out: what the table would become."""

    def __init__(self, table: "ProducerTable", origin: Origin) -> None:
        self._table: Final = table
        self._origin: Final = origin
        self.entries: dict[int, ProducerEntry] = {}
        # In the order of the log: one append of a follower may end a transaction and open the next.
        self.transactions: list[Begun | Finished] = []

    def batch(self, header: BatchHeader, base_offset: int) -> Duplicate | None:
        """Stage a batch of data, or return what it duplicates; raise ``Refused`` if neither."""
        producer = header.producer_id
        entry = self.entries.get(producer) or self._table.entries.get(producer, UNKNOWN)
        epoch, last_sequence = header.producer_epoch, header.last_sequence
        if self._origin is Origin.CLIENT and entry.epoch == epoch:
            for past in entry.batches:
                if (
                    past.last_sequence == last_sequence
                    and past.first_sequence == header.base_sequence
                ):
                    return Duplicate(past.first_offset, past.last_offset, past.timestamp)
        if self._origin is not Origin.REPLICATION:
            self._check(header, entry)
        start = entry.transaction_start
        if header.is_transactional:
            if start == NO_OFFSET:
                start = base_offset
                self.transactions.append(Begun(producer, base_offset))
        elif start != NO_OFFSET and self._origin is not Origin.REPLICATION:
            raise Refused(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {producer} writes outside of its transaction, open since {start}",
            )
        delta = header.last_offset_delta
        kept = entry.batches[1 - WINDOW_BATCHES :] if entry.epoch == epoch else ()
        self.entries[producer] = ProducerEntry(
            epoch,
            entry.coordinator_epoch,
            header.max_timestamp,
            start,
            (*kept, Appended(last_sequence, base_offset + delta, delta, header.max_timestamp)),
        )
        return None

    def marker(
        self, header: BatchHeader, marker: Marker, offset: int, with_new_epoch: bool = False
    ) -> None:
        """Stage the end of a producer's transaction; raise ``Refused`` if it may not end it.

        Since transactions of version 2 every marker comes with a new epoch: one that does not is
        late, and would end the transaction after its own (KIP-890, KIP-1228).
        """
        producer, epoch = header.producer_id, header.producer_epoch
        entry = self.entries.get(producer) or self._table.entries.get(producer, UNKNOWN)
        if self._origin is not Origin.REPLICATION:
            self._check_epoch(header, entry)
            if with_new_epoch and epoch == entry.epoch:
                raise Refused(
                    ErrorCode.INVALID_PRODUCER_EPOCH,
                    f"marker for producer {producer} comes with epoch {epoch} once more",
                )
            if entry.coordinator_epoch > marker.coordinator_epoch:
                raise Refused(
                    ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                    f"marker for producer {producer} of coordinator epoch "
                    f"{marker.coordinator_epoch}; {entry.coordinator_epoch} has written already",
                )
        if entry.transaction_start != NO_OFFSET:
            # A marker without data says nothing about any record, and ends nothing.
            ended = Finished(producer, entry.transaction_start, offset, marker.commit)
            self.transactions.append(ended)
        self.entries[producer] = ProducerEntry(
            epoch,
            marker.coordinator_epoch,
            marker.timestamp,
            NO_OFFSET,
            entry.batches if entry.epoch == epoch else (),
        )

    def _check(self, header: BatchHeader, entry: ProducerEntry) -> None:
        self._check_epoch(header, entry)
        if self._origin is not Origin.CLIENT or entry.epoch == NO_PRODUCER_EPOCH:
            # Nothing is known of this producer (any more): all its records may have been deleted,
            # so it may go on with any number.
            return
        first = header.base_sequence
        if header.producer_epoch != entry.epoch:
            expected = 0
        else:
            expected = (entry.last_sequence + 1) % SEQUENCE_MODULUS
        if first != expected:
            raise Refused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} epoch {header.producer_epoch} sends sequence "
                f"{first}; after epoch {entry.epoch} sequence {entry.last_sequence} it has to be "
                f"{expected}",
            )

    def _check_epoch(self, header: BatchHeader, entry: ProducerEntry) -> None:
        if header.producer_epoch < entry.epoch:
            raise Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} epoch {header.producer_epoch} was fenced by "
                f"epoch {entry.epoch}",
            )


class ProducerTable:
    """The producers of one log up to ``end_offset``."""

    def __init__(self, end_offset: int) -> None:
        self.end_offset = end_offset
        self.entries: dict[int, ProducerEntry] = {}
        # Producer and first offset of every open transaction.  Offsets only grow, so the order
        # of insertion is the order of offsets, and the first entry is the oldest.
        self.open: dict[int, int] = {}
        # First offset and marker of transactions whose marker may not be replicated yet.
        self.replicating: list[tuple[int, int]] = []

    def __repr__(self) -> str:
        return f"ProducerTable({self.end_offset}, {self.entries}, open={self.open})"

    def stage(self, origin: Origin) -> Staging:
        """Begin to try an append out."""
        return Staging(self, origin)

    def install(self, staging: Staging, end_offset: int) -> list[tuple[Finished, int]]:
        """Take over what was staged, now that it is in the log.

        Returns the transactions that ended, each with the last stable offset at that moment.
        """
        self.entries.update(staging.entries)
        ended = []
        for transaction in staging.transactions:
            match transaction:
                case Begun(producer, first_offset):
                    self.open[producer] = first_offset
                case Finished(producer, first_offset, last_offset):
                    del self.open[producer]
                    stable = next(iter(self.open.values()), last_offset + 1)
                    self.replicating.append((first_offset, last_offset))
                    ended.append((transaction, stable))
        self.end_offset = end_offset
        return ended

    def replicated(self, high_watermark: int) -> None:
        """Learn that everything below an offset is decided for good."""
        if self.replicating:
            self.replicating = [pair for pair in self.replicating if pair[1] >= high_watermark]

    def first_unstable(self) -> int | None:
        """Return the first offset whose transaction is undecided, or could be again."""
        starts = [first for first, _ in self.replicating]
        if self.open:
            starts.append(next(iter(self.open.values())))
        return min(starts, default=None)

    def expire(self, wall_ms: int, expiration_ms: int) -> None:
        """Forget producers that were idle for too long and have no transaction open."""
        idle = [
            producer
            for producer, entry in self.entries.items()
            if entry.transaction_start == NO_OFFSET
            and wall_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer in idle:
            del self.entries[producer]

    def snapshot(self) -> bytes:
        """Return the content of a snapshot file at ``end_offset``."""
        entries, window = [], []
        for producer, entry in sorted(self.entries.items()):
            last = entry.batches[-1] if entry.batches else Appended(NO_SEQUENCE, NO_OFFSET, 0, -1)
            entries.append(
                ENTRY.pack(
                    producer,
                    entry.epoch,
                    last.last_sequence,
                    last.last_offset,
                    last.offset_delta,
                    entry.last_timestamp,
                    entry.coordinator_epoch,
                    entry.transaction_start,
                )
            )
            if len(entry.batches) > 1 or last.timestamp != entry.last_timestamp:
                window += [IN_WINDOW.pack(producer, *batch) for batch in entry.batches]
        body = b"".join(entries)
        if window:
            body += WINDOW_TAG + b"".join(window)
        counted = struct.pack(">i", len(entries)) + body
        return struct.pack(">hI", SNAPSHOT_VERSION, crc32c(counted)) + counted


def read_snapshot(content: bytes, offset: int, path: str) -> ProducerTable:
    """Return the table that a snapshot file holds; ``CorruptLog`` if it is not whole."""
    if len(content) < SNAPSHOT_FRONT.size:
        raise CorruptLog(f"{path}: {len(content)} bytes")
    version, crc, count = SNAPSHOT_FRONT.unpack_from(content)
    if version != SNAPSHOT_VERSION:
        raise CorruptLog(f"{path}: version {version}, expected {SNAPSHOT_VERSION}")
    if crc32c(memoryview(content)[CHECKED_FROM:]) != crc:
        raise CorruptLog(f"{path}: its checksum does not match")
    end = SNAPSHOT_FRONT.size + count * ENTRY.size
    if count < 0 or end > len(content):
        raise CorruptLog(f"{path}: {count} producers in {len(content)} bytes")
    windows = read_windows(content[end:], path)
    table = ProducerTable(offset)
    for entry in ENTRY.iter_unpack(content[SNAPSHOT_FRONT.size : end]):
        producer, epoch, sequence, last_offset, delta, timestamp, coordinator, start = entry
        batches: tuple[Appended, ...] = ()
        if last_offset >= 0:
            only = Appended(sequence, last_offset, delta, timestamp)
            batches = tuple(windows.get(producer, [only]))
        table.entries[producer] = ProducerEntry(epoch, coordinator, timestamp, start, batches)
    table.open = dict(
        sorted(
            (
                (p, e.transaction_start)
                for p, e in table.entries.items()
                if e.transaction_start >= 0
            ),
            key=lambda pair: pair[1],
        )
    )
    return table


def read_windows(data: bytes, path: str) -> dict[int, list[Appended]]:
    """Return the last batches of producers, if the snapshot is one of ours."""
    if not data.startswith(WINDOW_TAG):
        return {}
    rest = data[len(WINDOW_TAG) :]
    if len(rest) % IN_WINDOW.size:
        raise CorruptLog(f"{path}: {len(rest)} bytes of batches")
    windows: dict[int, list[Appended]] = {}
    for producer, *batch in IN_WINDOW.iter_unpack(rest):
        windows.setdefault(producer, []).append(Appended(*batch))
    return windows
