"""Keeping the newest record of each key: what Kafka's cleaner does, one log at a time.

        cleaned before        dirty             not yet
    ├──────────────────────┼───────────────┼────────────────────▶
    start            first dirty      first uncleanable        end

1. The keys of the dirty part are read into a map: key ─▶ its last offset.
2. All segments from the start to there are copied, without the records whose key has a later
   offset in the map; small ones are put together.
3. Each copy, once durable, takes the place of its sources by renaming (``.cleaned``, ``.swap``).

Nothing is touched that could still change its meaning: not the active segment, nothing that is not
replicated or belongs to an open transaction, nothing younger than ``min.compaction.lag.ms``.

Offsets never change; a batch keeps its bounds though records in its middle go.  What else stays:

- *A tombstone* (a key without a value) hides older values from readers who saw them, so it stays
  for ``delete.retention.ms`` after it was first cleaned; that moment is written into its batch
  (the delete horizon, KIP-534).
- *A marker* stays while records of its transaction do, and then as long as a tombstone.  Records
  of aborted transactions go at once.
- *The last batch of a live producer* stays, if need be without its records, because it holds the
  producer's last sequence number (KAFKA-5490).
- *The last batch of every copy*, so that a segment always ends where the next one begins: a gap
  between segments is then a name that was lost, and recovery can tell (Kafka keeps the last batch
  of the round only).

The map holds short keys as they are and long ones by a 128-bit hash; it is bounded by a number of
keys, and a dirty part with more is cleaned in several rounds.  A batch is copied only if its
checksum is right: a new batch made of rotten bytes would be beyond suspicion (S-18).

Fixed by Kafka's LogCleaner.scala and MemoryRecords.filterTo.
"""

import heapq
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Final

from barnabas.log.aborted import AbortedTransaction
from barnabas.log.config import INT_MAX
from barnabas.log.names import CLEANED
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producers import ProducerEntry
from barnabas.log.segment import Segment
from barnabas.log.snapshots import marker_in
from barnabas.model.errors import CorruptLog
from barnabas.model.value import value
from barnabas.records.batch import (
    DELETE_HORIZON,
    MAGIC,
    BatchHeader,
    CorruptBatch,
    header_at,
    verify,
)
from barnabas.records.builder import built, emptied
from barnabas.records.record import body_of, keys_in, parsed

# About 150 bytes a key: what Kafka's default of 128 MiB for log.cleaner.dedupe.buffer.size holds.
KEYS_MAX: Final = 900_000

# Keys up to this length are their own hash.
HASH_BYTES: Final = 16

Breathe = Callable[[], Awaitable[None]]
"""Awaited after every so many bytes, so that others may run."""

BREATHE_BYTES: Final = 1 << 20


@value
class Compacted:
    """What a round did."""

    end_offset: int
    bytes_before: int
    bytes_after: int


async def no_rest() -> None:
    """Go on at once."""


def first_uncleanable(log: PartitionLog, wall_ms: int) -> int:
    """Return the first offset that compaction must not touch yet."""
    bound = min(log.stable_offset, log.segments[-1].base_offset)
    lag = log.config.min_compaction_lag_ms
    if lag > 0:
        for segment in log.segments[:-1]:
            if segment.youngest[0] > wall_ms - lag:
                return min(bound, segment.base_offset)
    return bound


def is_due(log: PartitionLog, first_dirty: int, wall_ms: int) -> bool:
    """Tell whether enough of a log is dirty, or anything has been so for too long."""
    if not log.config.compact:
        return False
    bound = first_uncleanable(log, wall_ms)
    clean = dirty = 0
    overdue = False
    for segment in log.segments[:-1]:
        if segment.next_offset > bound:
            break
        if segment.next_offset <= first_dirty:
            clean += segment.size_bytes
        else:
            dirty += segment.size_bytes
            overdue = overdue or is_overdue(segment, log.config.max_compaction_lag_ms, wall_ms)
    if not dirty:
        return False
    return overdue or 100 * dirty >= log.config.min_cleanable_dirty_percent * (clean + dirty)


def is_overdue(segment: Segment, max_lag_ms: int, wall_ms: int) -> bool:
    """Tell whether a segment's first batch has waited longer than is allowed."""
    for _, header in segment.headers():
        return header.max_timestamp >= 0 and wall_ms - header.max_timestamp > max_lag_ms
    return False


async def compact(
    log: PartitionLog,
    first_dirty: int,
    wall_ms: int,
    keys_max: int = KEYS_MAX,
    breathe: Breathe = no_rest,
) -> Compacted | None:
    """Clean a log once; return how far, or None if there is nothing to clean.

    Raises ``CorruptLog`` if it finds a batch that it must not copy; the log stays as it is.
    """
    # What is copied has to be durable, or recovery would look for a log that is no more.
    await log.flush()
    first_dirty = max(first_dirty, log.start_offset)
    bound = first_uncleanable(log, wall_ms)
    if bound <= first_dirty:
        return None
    round_ = Round(log, wall_ms, bound, breathe)
    end = await round_.map_keys(first_dirty, keys_max)
    if end <= first_dirty:
        return None
    before = after = 0
    sources = [segment for segment in log.segments[:-1] if segment.base_offset < end]
    for group in groups(sources, log.config.segment_bytes, bound):
        cleaned = await round_.copy(group)
        before += sum(segment.size_bytes for segment in group)
        after += cleaned.size_bytes
        if not await log.swap(group, cleaned, wall_ms):
            return None
    return Compacted(end, before, after)


def groups(
    segments: Sequence[Segment], segment_bytes: int, bound: int
) -> Iterator[Sequence[Segment]]:
    """Yield runs of segments that fit one, by size and by the offsets an index can hold."""
    group: list[Segment] = []
    size = 0
    for segment in segments:
        fits = size + segment.size_bytes <= segment_bytes and (
            not group or min(segment.next_offset, bound) - 1 - group[0].base_offset <= INT_MAX
        )
        if group and not fits:
            yield group
            group, size = [], 0
        group.append(segment)
        size += segment.size_bytes
    if group:
        yield group


def digest(key: bytes) -> bytes:
    """Return what stands for a key in the map; a length apart, so that hashes match no key."""
    if len(key) < HASH_BYTES:
        return key
    return blake2b(key, digest_size=HASH_BYTES).digest()


class Round:
    """One cleaning of one log."""

    def __init__(self, log: PartitionLog, wall_ms: int, bound: int, breathe: Breathe) -> None:
        self._log: Final = log
        self._wall_ms: Final = wall_ms
        self._bound: Final = bound
        self._breathe: Final = breathe
        self._latest: dict[bytes, int] = {}
        self._mapped_end = 0
        self._copy_end = 0
        self._fate = Fate()
        self._unrested_bytes = 0

    async def map_keys(self, first_dirty: int, keys_max: int) -> int:
        """Note the last offset of every key in the dirty part; return where the map ends."""
        fate = Fate(self._log.aborted_between(first_dirty, self._bound))
        self._mapped_end, latest = first_dirty, self._latest
        for segment in self._log.segments[:-1]:
            if segment.next_offset <= first_dirty or segment.base_offset >= self._bound:
                continue
            if segment.next_offset > self._bound:
                break
            async for data, header in self._batches(segment):
                if header.last_offset < first_dirty:
                    continue
                if header.is_control:
                    fate.marker(data, header)
                elif not fate.is_aborted(header):
                    for offset, key, _, _ in keys_in(bytes(body_of(data, 0, header)), header):
                        if key is not None and offset >= first_dirty:
                            short = digest(key)
                            if len(latest) >= keys_max and short not in latest:
                                return self._mapped_end
                            latest[short] = offset
                self._mapped_end = header.next_offset
            self._mapped_end = segment.next_offset
        return self._mapped_end

    async def copy(self, group: Sequence[Segment]) -> Segment:
        """Write what is kept of some segments into one that is not part of the log yet."""
        first = group[0]
        target = Segment.create(
            self._log.disk,
            first.directory,
            first.base_offset,
            self._log.config.index_interval_bytes,
            suffix=CLEANED,
        )
        try:
            self._copy_end = min(group[-1].next_offset, self._bound)
            for segment in group:
                end = min(segment.next_offset, self._bound)
                self._fate.learn(self._log.aborted_between(segment.base_offset, end))
                async for data, header in self._batches(segment):
                    kept = self._kept(data, header, target)
                    if kept is not None:
                        last, youngest = header.last_offset, header_at(kept).max_timestamp
                        target.append([kept], len(kept), last, youngest, last)
        except CorruptLog:
            target.close()
            for path in target.names():
                self._log.disk.remove(path)
            raise
        target.next_offset = group[-1].next_offset
        return target

    async def _batches(self, segment: Segment) -> AsyncIterator[tuple[bytes, BatchHeader]]:
        for position, header in segment.headers():
            data = segment.slice(position, header.size_bytes).read()
            if header.magic != MAGIC:
                raise CorruptLog(f"{segment.file.path} at {position}: too old to be compacted")
            try:
                verify(data, 0, header)
            except CorruptBatch as error:
                raise CorruptLog(f"{segment.file.path} at {position}: {error}") from error
            yield data, header
            self._unrested_bytes += len(data)
            if self._unrested_bytes > BREATHE_BYTES:
                self._unrested_bytes = 0
                await self._breathe()

    def _kept(self, data: bytes, header: BatchHeader, target: Segment) -> bytes | None:
        """Return a batch as it is to be kept, or None if it goes."""
        horizon = header.delete_horizon_ms
        if header.is_control:
            ended = self._fate.marker(data, header)
            spent = ended is None or not ended.has_records
            if ended is not None and ended.aborted is not None and not spent:
                target.aborted.append(ended.aborted)
            gone = spent and horizon is not None and horizon <= self._wall_ms
            kept = [] if gone or not header.record_count else [bytes(body_of(data, 0, header))]
            count, dated = header.record_count, spent
        else:
            gone = self._fate.is_aborted(header)
            kept, dated = ([], False) if gone else self._survivors(data, header)
            count = len(kept)
        if not kept:
            return emptied(header) if self._keeps_place(header) else None
        if count == header.record_count and (horizon is not None or not dated):
            return data
        # Read with the header that they were written for.
        entries = parsed(b"".join(kept), header._replace(record_count=count))
        if dated and horizon is None:
            horizon = self._wall_ms + self._log.config.delete_retention_ms
            header = header._replace(
                attributes=header.attributes | DELETE_HORIZON, base_timestamp=horizon
            )
        return built(header, entries)

    def _survivors(self, data: bytes, header: BatchHeader) -> tuple[list[bytes], bool]:
        """Return the records that are kept, as they are, and whether a tombstone is among them."""
        body = bytes(body_of(data, 0, header))
        latest, mapped_end = self._latest, self._mapped_end
        horizon = header.delete_horizon_ms
        keeps_tombstones = horizon is None or self._wall_ms < horizon
        kept: list[bytes] = []
        begin, dated = 0, False
        for offset, key, is_tombstone, end in keys_in(body, header):
            if offset >= mapped_end:
                stays = True
            elif key is None:
                # Written before the topic was compacted; no later record can ever replace it.
                stays = False
            else:
                newest = offset >= latest.get(digest(key), 0)
                stays = newest and (keeps_tombstones or not is_tombstone)
            if stays:
                kept.append(body[begin:end])
                dated = dated or is_tombstone
            begin = end
        return kept, dated

    def _keeps_place(self, header: BatchHeader) -> bool:
        """Tell whether a batch has to stay though nothing is left in it."""
        if header.next_offset == self._copy_end:
            return True
        producer: ProducerEntry | None = None
        if header.has_producer_id:
            producer = self._log.producers.entries.get(header.producer_id)
        if producer is None:
            return False
        if producer.batches:
            return header.last_offset == producer.last_offset
        return header.is_control and header.producer_epoch == producer.epoch


@value
class Ended:
    """A transaction whose marker was read."""

    has_records: bool
    aborted: AbortedTransaction | None


class Fate:
    """What becomes of the transactions whose batches are read, in the order of the log."""

    def __init__(self, aborted: Sequence[AbortedTransaction] = ()) -> None:
        self._to_come: list[tuple[int, int, AbortedTransaction]] = []
        self._aborted: dict[int, AbortedTransaction] = {}
        # Producers of which records of the transaction under way were seen.
        self._seen: dict[int, None] = {}
        self.learn(aborted)

    def learn(self, aborted: Sequence[AbortedTransaction]) -> None:
        """Learn which transactions were aborted; to hear of one again is harmless."""
        for one in aborted:
            heapq.heappush(self._to_come, (one.first_offset, one.producer_id, one))

    def is_aborted(self, header: BatchHeader) -> bool:
        """Tell whether a batch of data belongs to an aborted transaction."""
        self._advance(header.last_offset)
        if not header.is_transactional:
            return False
        self._seen[header.producer_id] = None
        return header.producer_id in self._aborted

    def marker(self, data: bytes, header: BatchHeader) -> Ended | None:
        """Read a control batch; return the transaction it ends, None if it ends nothing."""
        self._advance(header.last_offset)
        if not header.record_count:
            return None
        marker = marker_in(data, 0, header)
        if marker is None:
            # Another kind of control record: not ours to remove.
            return Ended(True, None)
        has_records = header.producer_id in self._seen
        self._seen.pop(header.producer_id, None)
        if marker.commit:
            return Ended(has_records, None)
        # What an earlier round has taken out of the index has no records left, only, perhaps,
        # the emptied batch that keeps its producer's sequence number.
        aborted = self._aborted.pop(header.producer_id, None)
        return Ended(has_records and aborted is not None, aborted)

    def _advance(self, offset: int) -> None:
        while self._to_come and self._to_come[0][0] <= offset:
            _, producer_id, aborted = heapq.heappop(self._to_come)
            self._aborted.setdefault(producer_id, aborted)
