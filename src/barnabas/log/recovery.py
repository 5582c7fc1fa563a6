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
segment whose name was lost, and what lies behind it goes.  Offsets that compaction has removed are
gaps within a segment, or below the recovery point, and are none of this module's business.

Running it again after a crash in the middle gives the same log: it only removes what it would
remove again, and nothing it does moves the recovery point (KAFKA-10101).

Fixed by Kafka's LogLoader.java: what the suffixes of files mean.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from barnabas.log.checkpoints import Checkpoint, decode_epochs
from barnabas.log.config import LogConfig
from barnabas.log.epochs import NO_EPOCH, EpochCache
from barnabas.log.names import (
    CLEANED,
    DELETED,
    EPOCH_CHECKPOINT,
    LOG,
    PARTITION_METADATA,
    SEGMENT_FILES,
    SWAP,
    TEMPORARY,
    TopicPartition,
    offset_of,
    segment_file,
    segment_part,
)
from barnabas.log.partition_log import Home, PartitionLog, enter_aborted
from barnabas.log.producers import ProducerTable
from barnabas.log.segment import Segment
from barnabas.log.snapshots import Snapshots, replay, stage_batch
from barnabas.model.errors import CorruptLog
from barnabas.model.value import value
from barnabas.records.batch import HEADER_BYTES, BatchHeader, CorruptBatch, header_at, verify
from barnabas.runtime.disk import Disk

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
    await settle_names(disk, directory, config)
    recovery = Recovery(disk, of, directory, config, found, report)
    await recovery.run()
    return PartitionLog(
        disk,
        home,
        of,
        directory,
        config,
        recovery.segments,
        recovery.epochs,
        recovery.producers,
        recovery.start_offset,
        recovery.recovery_point,
        wall_ms,
    )


async def settle_names(disk: Disk, directory: str, config: LogConfig) -> None:
    """Finish or undo what was under way with the files of a log when it stopped.

    Compaction writes ``.cleaned`` files, renames all of them to ``.swap`` once they are durable,
    and only then removes what they replace.  So a ``.cleaned`` file says that nothing was replaced
    yet, also by the ``.swap`` files beside it, and swap files alone say that their contents count.
    """
    parts = [(name, part) for name in disk.names(directory) if (part := segment_part(name))]
    began = min((base for _, (base, kind) in parts if kind.endswith(CLEANED)), default=None)
    swaps = []
    for name, (base, kind) in parts:
        undone = kind.endswith(SWAP) and began is not None and base >= began
        if undone or kind.endswith((CLEANED, DELETED)):
            disk.remove(f"{directory}/{name}")
        elif kind.endswith(SWAP):
            swaps.append((name, base, kind))
    for name in disk.names(directory):
        if name.endswith(TEMPORARY) and name.startswith((EPOCH_CHECKPOINT, PARTITION_METADATA)):
            disk.remove(f"{directory}/{name}")
    covered = [swap_range(disk, directory, base) for _, base, kind in swaps if kind == LOG + SWAP]
    for name, (base, kind) in parts:
        if kind in SEGMENT_FILES and any(low <= base < high for low, high in covered):
            disk.remove(f"{directory}/{name}")
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
        self._snapshots: Final = Snapshots(disk, directory)
        self._buffer = bytearray(CHUNK_BYTES)
        self._bytes_read = self._bytes_total = 0
        self.segments: list[Segment] = []
        self.epochs = EpochCache()
        self.producers = ProducerTable(0)
        self.start_offset = found.start_offset
        self.recovery_point = found.recovery_point

    async def run(self) -> None:
        """Find out what the log is."""
        bases = [offset_of(name, LOG) for name in self._disk.names(self._directory)]
        interval = self._config.index_interval_bytes
        self.segments = [
            Segment.open(self._disk, self._directory, base, interval)
            for base in bases
            if base is not None
        ]
        for segment, following in zip(self.segments, self.segments[1:], strict=False):
            segment.next_offset = following.base_offset
        if self.segments:
            self.start_offset = max(self.start_offset, self.segments[0].base_offset)
        trusted = self._trusted()
        self._load_epochs()
        self._believe(trusted)
        await self._read(trusted)
        await self._bound()

    def _trusted(self) -> int:
        """Return how many segments, from the oldest on, are durable as they are."""
        if self._found.clean:
            return len(self.segments)
        point = self._found.recovery_point
        return sum(segment.base_offset < point >= segment.next_offset for segment in self.segments[:-1])

    def _load_epochs(self) -> None:
        path = f"{self._directory}/{EPOCH_CHECKPOINT}"
        content = Checkpoint(self._disk, self._directory, EPOCH_CHECKPOINT).read()
        try:
            self.epochs = EpochCache(decode_epochs(content, path))
        except CorruptLog:
            # Every batch names its epoch, so the log can tell; it only takes longer.
            self.epochs = EpochCache()
            for segment in self.segments:
                for _, header in whole_headers(segment):
                    if header.leader_epoch > self.epochs.latest:
                        self.epochs.assign(header.leader_epoch, header.base_offset)

    def _believe(self, trusted: int) -> None:
        """Take durable segments as they are; only their indexes may have to be built anew."""
        for segment in self.segments[:trusted]:
            try:
                segment.adopt_indexes()
            except CorruptLog:
                segment.reindex()
            try:
                list(segment.aborted.entries())
            except CorruptLog:
                self._rebuild_aborted(segment)
        if trusted == len(self.segments) and trusted:
            last = self.segments[-1]
            last.revive()
            last.next_offset = last.base_offset
            for _, header in last.headers(last.offsets.position_before(last.size_bytes)):
                last.next_offset = header.next_offset
            for _, header in last.headers():
                last.first_timestamp = header.max_timestamp
                break

    def _rebuild_aborted(self, segment: Segment) -> None:
        table = self._snapshots.load(self.start_offset, segment.base_offset)
        replay(table, self.segments, segment.base_offset)
        segment.aborted.reset()
        for position, header in segment.headers():
            enter_aborted(segment, stage_batch(table, segment, position, header))

    async def _read(self, trusted: int) -> None:
        """Read what was not promised to be durable, and cut the log where it cannot be believed."""
        doubtful = self.segments[trusted:]
        if not doubtful:
            return
        first = doubtful[0].base_offset
        await self._forget_snapshots(first)
        self.epochs.truncate_end(first)
        self.producers = self._snapshots.load(self.start_offset, first)
        replay(self.producers, self.segments[:trusted], first)
        self._bytes_total = sum(segment.size_bytes for segment in doubtful)
        expected = first
        for number, segment in enumerate(doubtful):
            if segment.base_offset != expected:
                await self._remove(trusted + number)
                return
            found = segment.size_bytes
            await self._read_segment(segment, len(doubtful) - number)
            if segment.size_bytes < found:
                segment.file.truncate(segment.size_bytes)
                await segment.file.sync()
                await self._remove(trusted + number + 1)
            if segment is not self.segments[-1]:
                segment.settle()
            expected = segment.next_offset

    async def _read_segment(self, segment: Segment, segments_left: int) -> None:
        """Read a segment up to the first batch that cannot be; that is its size from then on."""
        segment.begin_indexes()
        segment.aborted.reset()
        segment.next_offset = segment.base_offset
        size, position = segment.size_bytes, 0
        while position < size:
            count = segment.file.read_into(position, memoryview(self._buffer)[: size - position])
            view = memoryview(self._buffer)[:count]
            read, needed = self._take(segment, view, position)
            position += read
            self._bytes_read += read
            await self._report(
                Progress(self._of, segments_left, self._bytes_read, self._bytes_total)
            )
            if needed > len(self._buffer) and position + needed <= size:
                self._buffer = bytearray(needed)
            elif needed != 0 or read == 0:
                break
        segment.size_bytes = position

    def _take(self, segment: Segment, view: memoryview, start: int) -> tuple[int, int]:
        """Take the batches of a chunk into indexes, epochs and producers.

        Returns how many bytes were taken, and how large the batch is that comes next: 0 if the
        chunk ends within its header or between batches, its size if the chunk is too small for
        it, and -1 if it cannot be believed.
        """
        raise AssertionError((segment, view, start))
