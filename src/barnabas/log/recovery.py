"""Opening a log after whatever happened to it.

    names        what compaction had begun is finished or undone, leftovers go
    segments     below the recovery point believed, above it read batch by batch
    the end      the first batch that cannot be: it and all behind it are cut off, durably
    derived      indexes, aborted transactions, epochs and producers follow from what was read

After a clean stop everything is below the recovery point and nothing is read but the tail of the
last segment.  Otherwise what lies above was never promised to be durable, and any block of it may
be missing, old, or zeros.  A batch is believed if its checksum is right *and* it continues the log:
offsets rise, leader epochs do not fall, its offsets fit its segment.  The checksum alone is not
enough, because space may hold a whole batch of an earlier turn:

1. batches A, B, C of epoch 3 are written; the power fails and takes B;
2. recovery cuts behind A; the new leader, epoch 4, writes D, as long as B was;
3. the power fails again: D survived, the cut did not. C's bytes are there, where D ends.

(The cut is synced before anything is written behind it, so this takes a disk that lies as well.)

Segments continue each other without a gap, because a segment begins where the log ended; a gap is a
segment whose name was lost, or batches at the end of one, and what lies behind it goes.  Without a
gap, what is no batch at the end of a segment is space, and only that goes.  Within the segments of
a compacted log offsets may be missing, elsewhere not.  Our compaction keeps the last batch of a
segment, Kafka's does not: below the offset up to where a log is known to be compacted, which was
durable before it took the place of something, a gap between segments is none.

What has been read is written again at once, then flushed, and only that moves the recovery point
(KAFKA-10101).  It has to be: if this machine did not lose power but only this process died, after a
sync that failed, then what was read came from memory.  The device may hold an older tail and nobody
would ever write the newer one, since the kernel calls it clean.  A log that went on from there and
then lost power would go back to bytes that it has seen cut off.

Running it again after a crash in the middle gives the same log: until the flush it only removes
what it would remove again, and writes what is there.

Fixed by Kafka's LogLoader.java: what the suffixes of files mean.
"""

import struct
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from barnabas.log.checkpoints import Checkpoint, decode_epochs
from barnabas.log.config import INT_MAX, LogConfig
from barnabas.log.epochs import NO_EPOCH, EpochCache
from barnabas.log.names import (
    CLEANED,
    DELETED,
    EPOCH_CHECKPOINT,
    LOG,
    PARTITION_METADATA,
    SEGMENT_FILES,
    SNAPSHOT,
    SWAP,
    TEMPORARY,
    TopicPartition,
    offset_of,
    segment_file,
    segment_part,
)
from barnabas.log.partition_log import Home, PartitionLog, enter_aborted
from barnabas.log.producers import ProducerTable
from barnabas.log.segment import Segment, front_at
from barnabas.log.snapshots import Snapshots, replay, stage_batch
from barnabas.model.errors import CorruptLog
from barnabas.model.value import value
from barnabas.records import legacy
from barnabas.records.batch import (
    CHECKED_FROM,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    NO_PRODUCER_ID,
    BatchHeader,
    CorruptBatch,
    header_at,
    verify,
)
from barnabas.records.checksum import crc32c
from barnabas.runtime.disk import Disk

# Of a header: base offset, length, epoch, magic, checksum, last offset delta, the youngest
# timestamp, producer id.
NEEDED: Final = struct.Struct(">qiibI2xi8xqq")

# Read at once; larger batches are read whole.
CHUNK_BYTES: Final = 1 << 20


@value
class Progress:
    """How far the recovery of one log has come."""

    of: TopicPartition
    segments_left: int
    bytes_read: int
    bytes_total: int


Report = Callable[[Progress], Awaitable[None]]
"""Told after every chunk; may let others run meanwhile."""


@value
class Found:
    """What the checkpoints of the log directory say about a log, and how the last stop went."""

    clean: bool
    recovery_point: int
    start_offset: int
    # Up to where the log was compacted: what lies below was durable when it took its place.
    cleaned_to: int = 0


async def silence(progress: Progress) -> None:
    """Tell nobody."""


async def open_log(
    disk: Disk,
    home: Home,
    of: TopicPartition,
    directory: str,
    config: LogConfig,
    found: Found,
    wall_ms: int,
    report: Report = silence,
) -> PartitionLog:
    """Open the log in a directory, which may be empty; raises ``OSError`` where the disk does."""
    await settle_names(disk, directory)
    recovery = Recovery(disk, of, directory, config, found, report)
    await recovery.run()
    log = PartitionLog(
        disk,
        home,
        of,
        directory,
        config,
        recovery.segments,
        recovery.epochs,
        recovery.epochs.entries() == recovery.durable_epochs,
        recovery.producers,
        recovery.snapshots,
        recovery.start_offset,
        recovery.recovery_point,
        wall_ms,
    )
    if not found.clean:
        await log.flush()
    return log


async def settle_names(disk: Disk, directory: str) -> None:
    """Finish or undo what was under way with the files of a log when it stopped.

    Compaction writes ``.cleaned`` files, renames all of them to ``.swap`` once they are durable,
    and only then removes what they replace.  So a ``.cleaned`` file says that nothing was replaced
    yet, also by the ``.swap`` files beside it, and swap files alone say that their contents count.
    """
    names = disk.names(directory)
    parts = [(name, part) for name in names if (part := segment_part(name))]
    began = min((base for _, (base, kind) in parts if kind.endswith(CLEANED)), default=None)
    swaps, gone = [], []
    for name, (base, kind) in parts:
        undone = kind.endswith(SWAP) and began is not None and base >= began
        if undone or kind.endswith((CLEANED, DELETED)):
            gone.append(name)
        elif kind.endswith(SWAP):
            swaps.append((name, base, kind))
    temporary = (EPOCH_CHECKPOINT, PARTITION_METADATA)
    gone += [
        name
        for name in names
        if name.endswith(TEMPORARY) and (name.startswith(temporary) or SNAPSHOT in name)
    ]
    covered = [swap_range(disk, directory, base) for _, base, kind in swaps if kind == LOG + SWAP]
    for name, (base, kind) in parts:
        if kind in SEGMENT_FILES and any(low <= base < high for low, high in covered):
            gone.append(name)
    for name in gone:
        disk.remove(f"{directory}/{name}")
    if swaps:
        # Durable before the renames: were a new index to appear beside an old log, it would lie.
        await disk.sync_directory(directory)
    for name, _, _ in swaps:
        disk.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP)}")
    logs = {offset_of(name, LOG) for name in disk.names(directory)}
    for name, (base, kind) in parts:
        if kind in SEGMENT_FILES and kind != LOG and base not in logs:
            path = f"{directory}/{name}"
            if disk.exists(path):
                disk.remove(path)
                gone.append(name)
    if gone or swaps:
        await disk.sync_directory(directory)


def swap_range(disk: Disk, directory: str, base: int) -> tuple[int, int]:
    """Return the offsets that a finished but unpublished segment covers."""
    file = disk.open(f"{directory}/{segment_file(base, LOG)}{SWAP}", "read")
    segment = Segment(disk, directory, base, file, 0, SWAP)
    segment.size_bytes = file.size()
    end = base + 1
    for _, header in segment.headers():
        end = header.next_offset
    segment.close()
    return base, end


class Recovery:
    """One log being opened."""

    def __init__(
        self,
        disk: Disk,
        of: TopicPartition,
        directory: str,
        config: LogConfig,
        found: Found,
        report: Report,
    ) -> None:
        self._disk: Final = disk
        self._of: Final = of
        self._directory: Final = directory
        self._config: Final = config
        self._found: Final = found
        self._report: Final = report
        self.snapshots: Final = Snapshots(disk, directory)
        self._buffer = bytearray(CHUNK_BYTES)
        self._bytes_read = self._bytes_total = 0
        self.segments: list[Segment] = []
        self.epochs = EpochCache()
        self.durable_epochs: list[tuple[int, int]] = []
        self.producers = ProducerTable(0)
        self.start_offset = found.start_offset
        self.recovery_point = found.recovery_point

    async def run(self) -> None:
        """Find out what the log is, and make its files say so."""
        bases = [offset_of(name, LOG) for name in self._disk.names(self._directory)]
        interval = self._config.index_interval_bytes
        self.segments = [
            Segment.open(self._disk, self._directory, base, interval)
            for base in bases
            if base is not None
        ]
        while len(self.segments) > 1 and self.segments[1].base_offset <= self.start_offset:
            # Deleted, but for the names: recording the start came first.  Of those that came back
            # some may be missing, so nothing may be concluded from them.
            segment = self.segments.pop(0)
            for path in segment.names():
                self._disk.remove(path)
            segment.close()
        for segment, following in zip(self.segments, self.segments[1:], strict=False):
            segment.next_offset = following.base_offset
        if self.segments:
            self.start_offset = max(self.start_offset, self.segments[0].base_offset)
        self._load_epochs()
        trusted = self._trusted()
        for segment in self.segments[:trusted]:
            self._believe(segment)
        if trusted and trusted == len(self.segments) and not self._resume(self.segments[-1]):
            trusted -= 1
        if trusted < len(self.segments):
            boundary = self.segments[trusted]
            if boundary.next_offset == self.recovery_point and boundary is not self.segments[-1]:
                # The first flush begins with the segment that holds the recovery point.
                self.recovery_point -= 1
            await self._doubt(trusted)
        await self._bound(read=trusted < len(self.segments))

    def _trusted(self) -> int:
        """Return how many segments, from the oldest on, are durable as they are."""
        if self._found.clean:
            return len(self.segments)
        # The last one is never complete: it may have been written to after the last flush.  Nor is
        # one that ends just where durability does: it may have been settled after that flush, and
        # the space it gave back comes again, as zeros, if the power fails before the next.
        point = self._found.recovery_point
        return sum(segment.next_offset < point for segment in self.segments[:-1])

    def _load_epochs(self) -> None:
        path = f"{self._directory}/{EPOCH_CHECKPOINT}"
        content = Checkpoint(self._disk, self._directory, EPOCH_CHECKPOINT).read()
        try:
            self.durable_epochs = decode_epochs(content, path)
            self.epochs = EpochCache(self.durable_epochs)
        except CorruptLog:
            # Every batch names its epoch, so the log can tell; it only takes longer.
            self.epochs = EpochCache()
            for segment in self.segments:
                for header in whole_headers(segment):
                    if header.leader_epoch > self.epochs.latest:
                        self.epochs.assign(header.leader_epoch, header.base_offset)

    def _begin_of(self, epoch: int, first_offset: int) -> int:
        """Return where an epoch begins whose first batch is at an offset.

        Compaction may have removed batches before; what the checkpoint says of offsets that were
        compacted was durable by then.
        """
        recorded = dict(self.durable_epochs).get(epoch, first_offset)
        return recorded if recorded < min(first_offset, self._found.cleaned_to) else first_offset

    def _believe(self, segment: Segment) -> None:
        """Take a durable segment as it is; only what is derived may have to be made anew."""
        try:
            segment.adopt_indexes()
        except CorruptLog:
            segment.reindex()
        try:
            list(segment.aborted.entries())
        except CorruptLog:
            table = self.snapshots.load(self.segments[0].base_offset, segment.base_offset)
            replay(table, self.segments, segment.base_offset)
            segment.aborted.reset()
            for position, header in segment.headers():
                try:
                    ended = stage_batch(table, segment, position, header)
                except CorruptBatch as error:
                    raise CorruptLog(f"{segment.file.path} at {position}: {error}") from error
                enter_aborted(segment, ended)

    def _resume(self, last: Segment) -> bool:
        """Make the last segment ready for appends; tell whether it is what a clean stop leaves.

        The last batches say which offset comes next, so they are not believed unread.
        """
        last.revive()
        last.next_offset = last.base_offset
        try:
            for at, header in last.headers(last.offsets.position_before(last.size_bytes)):
                checked = verify if header.magic == MAGIC else legacy.verify
                checked(last.slice(at, header.size_bytes).read(), 0, header)
                last.next_offset = header.next_offset
            for _, header in last.headers():
                last.first_timestamp = header.max_timestamp
                break
        except (CorruptLog, CorruptBatch):
            return False
        return True

    async def _doubt(self, trusted: int) -> None:
        """Read what was not promised to be durable, and cut the log where it cannot be believed."""
        doubtful = self.segments[trusted:]
        first = doubtful[0].base_offset
        # Nobody has made later snapshots durable, nor what they tell of.
        self.snapshots.remove(offset for offset in self.snapshots.offsets() if offset > first)
        self.epochs.truncate_end(first)
        self.producers = self.snapshots.load(self.segments[0].base_offset, first)
        if self.producers.end_offset == first and self.producers.entries:
            # Written when its segment began, which may have been after the last flush.
            await self.snapshots.write_again(self.producers)
        replay(self.producers, self.segments[:trusted], first)
        self._bytes_total = sum(segment.size_bytes for segment in doubtful)
        expected = first
        for number, segment in enumerate(doubtful):
            if segment.base_offset != expected:
                if not expected < segment.base_offset <= self._found.cleaned_to:
                    await self._remove(trusted + number)
                    break
                # Kafka's compaction takes the last batch of a segment, too, and the gap is none.
                self.producers.end_offset = segment.base_offset
            if number:
                # In the place of those that were removed: one has to be where the log may begin
                # one day, or what its producers wrote before would be forgotten.
                self.snapshots.take(self.producers)
            await self._read(segment, len(doubtful) - number)
            expected = segment.next_offset
            if segment.file.size() > segment.size_bytes:
                segment.file.truncate(segment.size_bytes)
                await segment.file.sync()
                if not self._goes_on_behind(trusted + number):
                    await self._remove(trusted + number + 1)
                    break
        for segment in self.segments[trusted:-1]:
            segment.settle()

    def _goes_on_behind(self, number: int) -> bool:
        """Tell whether the next segment begins where one ends whose last bytes are no batch.

        Nothing is missing then: the bytes were space, not a batch that was torn.  Our own flush
        leaves one of them, if the power fails between the two lengths that it gives a file.
        """
        ends_at = self.segments[number].next_offset
        return any(each.base_offset == ends_at for each in self.segments[number + 1 : number + 2])

    async def _read(self, segment: Segment, segments_left: int) -> None:
        """Read a segment up to the first batch that cannot be, which ends it from then on."""
        segment.begin_indexes()
        segment.aborted.reset()
        segment.next_offset = segment.base_offset
        size, position, wanted = segment.size_bytes, 0, HEADER_BYTES
        while wanted and position + wanted <= size:
            if wanted > len(self._buffer):
                self._buffer = bytearray(wanted)
            window = memoryview(self._buffer)[: size - position]
            count = segment.file.read_into(position, window)
            taken, wanted = self._take(segment, window[:count], position)
            if taken and segment.next_offset > self.recovery_point:
                begin = max(position, segment.position_of(self.recovery_point))
                segment.rewrite(begin, window[begin - position : taken])
            position += taken
            self._bytes_read += taken
            await self._report(
                Progress(self._of, segments_left, self._bytes_read, self._bytes_total)
            )
        segment.size_bytes = position
        if segment.next_offset > self.recovery_point:
            segment.rewrite_size()

    def _take(self, segment: Segment, view: memoryview, start: int) -> tuple[int, int]:
        """Take the batches of a window into indexes, epochs and producers.

        Returns how many bytes were taken, and how many the next batch needs in the window; 0 if
        there is none that can be believed.  The header is taken apart here rather than by
        ``header_at``, because recovery does this for every batch and little else.
        """
        unpack, note, crc_of = NEEDED.unpack_from, segment.note, crc32c
        count, last_fitting = len(view), segment.base_offset + INT_MAX
        at, latest, expected = 0, self.epochs.latest, segment.next_offset
        may_have_gaps = self._config.compact
        while count - at >= HEADER_BYTES:
            base, length, epoch, magic, crc, delta, timestamp, producer = unpack(view, at)
            end = at + LOG_OVERHEAD_BYTES + length
            if magic != MAGIC or length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
                old = old_message(view, at)
                if old is None or at + old.size_bytes > count:
                    return at, old.size_bytes if old is not None else 0
                base, delta, timestamp = old.base_offset, old.last_offset_delta, old.max_timestamp
                epoch, producer = NO_EPOCH, NO_PRODUCER_ID
            elif end > count:
                return at, end - at
            elif crc_of(view[at + CHECKED_FROM : end]) != crc:
                return at, 0
            last = base + delta
            follows = base == expected or (base > expected and may_have_gaps)
            if not follows or delta < 0 or last > last_fitting or NO_EPOCH < epoch < latest:
                return at, 0
            if producer > NO_PRODUCER_ID:
                try:
                    ended = stage_batch(self.producers, segment, start + at, header_at(view, at))
                except CorruptBatch:
                    return at, 0
                enter_aborted(segment, ended)
            if epoch > latest:
                self.epochs.assign(epoch, self._begin_of(epoch, base))
                latest = epoch
            note(start + at, end - at, last, timestamp, last)
            segment.next_offset = expected = last + 1
            at = end
        self.producers.end_offset = expected
        return at, HEADER_BYTES

    async def _remove(self, first: int) -> None:
        """Remove segments from the end, each durably before the next: no gap is ever left."""
        while len(self.segments) > first:
            segment = self.segments.pop()
            for path in segment.names():
                self._disk.remove(path)
            segment.close()
            await self._disk.sync_directory(self._directory)

    async def _bound(self, read: bool) -> None:
        """Bring start, end and recovery point together."""
        if self.segments and self.segments[-1].next_offset < self.start_offset:
            # The log was to begin anew, and stopped before the old segments were gone.
            await self._remove(0)
        if not self.segments:
            interval = self._config.index_interval_bytes
            segment = Segment.create(self._disk, self._directory, self.start_offset, interval)
            self.segments.append(segment)
            self.epochs.clear()
            self.snapshots.remove(self.snapshots.offsets())
            self.producers, read = ProducerTable(self.start_offset), True
        end = self.segments[-1].next_offset
        self.epochs.truncate_end(end)
        self.epochs.truncate_start(self.start_offset)
        kept = {segment.base_offset for segment in self.segments} | {end}
        self.snapshots.remove(at for at in self.snapshots.offsets() if at not in kept)
        if not read:
            self.producers = self.snapshots.load(self.segments[0].base_offset, end)
            replay(self.producers, self.segments, end)
        self.producers.end_offset = end
        # Nothing that was read here has become durable by being read.
        self.recovery_point = end if self._found.clean else min(self.recovery_point, end)
        await self._disk.sync_directory(self._directory)


def old_message(view: memoryview, at: int) -> BatchHeader | None:
    """Return the header of a message of magic 0 or 1, or None if there is none to be believed.

    One that the window cuts short has no more than its size.
    """
    try:
        front = front_at(view, at)
        if at + front.size_bytes > len(view):
            return front
        header = legacy.header_at(view, at)
        legacy.verify(view, at, header)
    except CorruptBatch:
        return None
    return header


def whole_headers(segment: Segment) -> Iterator[BatchHeader]:
    """Yield the headers of a segment that may end in the middle of a batch."""
    try:
        for _, header in segment.headers():
            yield header
    except CorruptLog:
        return
