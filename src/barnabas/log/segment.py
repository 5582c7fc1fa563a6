"""A run of batches in one file, with the indexes that find them.

    .log        batch | batch | batch | …            appended to, cut, never changed in place
    .index .timeindex                                where to begin looking
    .txnindex                                        transactions aborted in here

A segment knows bytes, offsets and timestamps; it knows nothing of leaders, producers or other
segments.  Who drives it is ``partition_log``: one segment, the last, is live and takes appends;
those before it are settled.

The file may be longer than ``size_bytes``: space that was reserved ahead reads as zeros, and no
batch begins with zeros.

What an index says is checked against the batch found there, because an index is derived and may
be damaged; a segment then makes its indexes anew.  What the log itself says is not checked here
beyond its headers: the checksum is the business of those who bring batches in (append, recovery)
and of those who use them (clients, followers).

Fixed by Kafka's LogSegment.java: when an index entry is due, and which offset it names.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from barnabas.log.aborted import AbortedIndex
from barnabas.log.config import INT_MAX
from barnabas.log.index import OffsetIndex, TimeIndex
from barnabas.log.names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX, segment_file
from barnabas.model.errors import CorruptLog
from barnabas.records import legacy
from barnabas.records.batch import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_AT,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    OldFormat,
    header_at,
)
from barnabas.records.builder import BLANK
from barnabas.runtime.disk import Buffer, Disk, File

# Headers are read through a window of the file: small batches share one read, and a large one
# costs a read that a page cache answers anyway.
WINDOW_BYTES: Final = 4096

# Reserved ahead, if at all: zeros that are there already make a sync cheaper, and writing many of
# them at once would keep everybody waiting.
RESERVE_BYTES: Final = 4 << 20

# As much of a header as tells where a batch ends: base offset, length, magic, last offset delta.
BOUNDS: Final = struct.Struct(">qi4xb6xi")


class Slice(NamedTuple):
    """Bytes of a log as they lie in a file, fit for ``Connection.send_file``.

    A named tuple because one is made for every partition of every fetch.
    """

    file: File
    position: int
    size_bytes: int

    def read(self) -> bytes:
        """Return the bytes."""
        return self.file.read(self.position, self.size_bytes) if self.size_bytes else b""


class Segment:
    """One file of batches and its indexes."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        file: File,
        index_interval_bytes: int,
        suffix: str = "",
    ) -> None:
        self._disk: Final = disk
        self.directory: Final = directory
        self.base_offset: Final = base_offset
        self.suffix: Final = suffix
        self.file: Final = file
        self.size_bytes = 0
        # The first offset behind the segment, or where the next segment begins.
        self.next_offset = base_offset
        self.offsets: Final = OffsetIndex(disk, self.path(INDEX), base_offset)
        self.times: Final = TimeIndex(disk, self.path(TIME_INDEX), base_offset)
        self.aborted: Final = AbortedIndex(disk, self.path(TRANSACTION_INDEX))
        # The timestamp of the first batches, by which the age of an active segment is told.
        self.first_timestamp: int | None = None
        self._index_interval_bytes: Final = index_interval_bytes
        self._youngest: tuple[int, int] | None = (NO_TIMESTAMP, base_offset)
        self._unindexed_bytes = 0
        # The offset that was asked for last as a reader's bound, and its position.
        self._bound = (-1, 0)
        # Up to where space may be reserved ahead of appends, and up to where it is.
        self.reserve_to = self._reserved = 0
        # Whether the indexes were made here from the batches, and not read from a file.
        self._indexed_here = True
        self._closed = False

    def __repr__(self) -> str:
        return f"Segment({self.base_offset}…{self.next_offset}, {self.size_bytes} bytes)"

    @classmethod
    def create(
        cls,
        disk: Disk,
        directory: str,
        base_offset: int,
        index_interval_bytes: int,
        reserve_bytes: int = 0,
        suffix: str = "",
    ) -> "Segment":
        """Make an empty segment; its name is durable once the directory is synced."""
        path = f"{directory}/{segment_file(base_offset, LOG)}{suffix}"
        file = disk.open(path, "exclusive")
        segment = cls(disk, directory, base_offset, file, index_interval_bytes, suffix)
        segment.reserve_to = reserve_bytes
        return segment

    @classmethod
    def open(
        cls, disk: Disk, directory: str, base_offset: int, index_interval_bytes: int
    ) -> "Segment":
        """Open a segment that is there; its indexes are adopted or built anew after that."""
        file = disk.open(f"{directory}/{segment_file(base_offset, LOG)}", "write")
        segment = cls(disk, directory, base_offset, file, index_interval_bytes)
        segment.size_bytes = file.size()
        return segment

    def path(self, kind: str) -> str:
        """Return the path of one of the segment's files."""
        return f"{self.directory}/{segment_file(self.base_offset, kind)}{self.suffix}"

    # --- appending -------------------------------------------------------------------------------

    def append(
        self,
        parts: Sequence[Buffer],
        size_bytes: int,
        last_offset: int,
        timestamp: int,
        timestamp_offset: int,
    ) -> None:
        """Write batches behind all others, with one call.

        ``timestamp`` is the youngest in them, ``timestamp_offset`` the last offset of its batch.
        """
        position = self.size_bytes
        if self._reserved < position + size_bytes <= self.reserve_to:
            self._reserved = min(self.reserve_to, position + size_bytes + RESERVE_BYTES)
            self.file.allocate(self._reserved)
        self.file.write(position, parts)
        # The offsets are taken from here on, whatever becomes of an index: were an error to come
        # between, the next append would use them again (KAFKA-7866).
        self.size_bytes = position + size_bytes
        self.next_offset = last_offset + 1
        self.note(position, size_bytes, last_offset, timestamp, timestamp_offset)

    def note(
        self, position: int, size_bytes: int, last_offset: int, timestamp: int, of_offset: int
    ) -> None:
        """Enter what lies at a position into the indexes; it may be several batches."""
        if position == 0:
            self.first_timestamp = timestamp
        youngest = self._youngest or self.youngest
        if timestamp > youngest[0]:
            youngest = self._youngest = (timestamp, of_offset)
        if self._unindexed_bytes > self._index_interval_bytes:
            self.offsets.append(last_offset - self.base_offset, position)
            self.times.note(*youngest)
            self._unindexed_bytes = size_bytes
        else:
            self._unindexed_bytes += size_bytes

    def holds_offset(self, offset: int) -> bool:
        """Tell whether an offset can be written relative to the base, as indexes do."""
        return 0 <= offset - self.base_offset <= INT_MAX

    @property
    def youngest(self) -> tuple[int, int]:
        """The youngest timestamp, and the last offset of the first batch that has it."""
        if self._youngest is None:
            self._youngest = self.times.youngest() or (NO_TIMESTAMP, self.base_offset)
        return self._youngest

    # --- reading ---------------------------------------------------------------------------------

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Yield position and header of every batch from a position on.

        Raises ``CorruptLog`` where no whole batch begins.
        """
        if position < 0:
            raise CorruptLog(f"{self.offsets.path} leads to {position}")
        window, start = b"", position
        while position < self.size_bytes:
            if position + HEADER_BYTES > start + len(window):
                window, start = self.file.read(position, WINDOW_BYTES), position
            try:
                header = front_at(window, position - start)
                if header.magic != MAGIC and position + header.size_bytes <= self.size_bytes:
                    header = legacy.header_at(self.file.read(position, header.size_bytes))
            except CorruptBatch as error:
                raise CorruptLog(f"{self.file.path} at {position}: {error}") from error
            if position + header.size_bytes > self.size_bytes:
                raise CorruptLog(
                    f"{self.file.path} at {position}: a batch of {header.size_bytes} bytes, of "
                    f"which {self.size_bytes - position} are there"
                )
            yield position, header
            position += header.size_bytes

    def find(self, offset: int) -> tuple[int, BatchHeader] | None:
        """Return where the first batch is that ends at or after an offset, with its header."""
        found = self.locate(offset)
        return next(self.headers(found[0])) if found is not None else None

    def locate(self, offset: int) -> tuple[int, int] | None:
        """Return where the first batch is that ends at or after an offset, and its size.

        This is the hot path of every fetch, so nothing is read but where batches begin and end.
        What is not as it should be is left to ``_found``, which can tell what it is.
        """
        low, high = self.offsets.around(offset)
        if 0 <= low < high - WINDOW_BYTES:
            # Likely the batch at ``low`` takes all the space, and whoever goes on reading asks
            # for the offset behind it.
            front = self.file.read(high, BOUNDS.size)
            if len(front) == BOUNDS.size:
                base, length, magic, delta = BOUNDS.unpack(front)
                end = high + LOG_OVERHEAD_BYTES + length
                if magic == MAGIC and base <= offset <= base + delta and end <= self.size_bytes:
                    return high, end - high
        return self._walk(low, offset) or self._found(offset)

    def _walk(self, start: int, offset: int) -> tuple[int, int] | None:
        """Go from batch to batch up to one that ends at or after an offset."""
        unpack, size_bytes, position = BOUNDS.unpack_from, self.size_bytes, start
        while 0 <= position < size_bytes:
            window, at = self.file.read(position, WINDOW_BYTES), 0
            while at + BOUNDS.size <= len(window):
                base, length, magic, delta = unpack(window, at)
                if magic != MAGIC or length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
                    return None
                size, last = LOG_OVERHEAD_BYTES + length, base + delta
                if last >= offset:
                    # What an entry leads to ends at or before the offset that is asked for.
                    misled = last > offset and position + at == start > 0
                    cut_short = position + at + size > size_bytes
                    return None if misled or cut_short else (position + at, size)
                at += size
            if not at:
                return None
            position += at
        return None

    def _found(self, offset: int) -> tuple[int, int] | None:
        try:
            return self._search(self.offsets.position_below(offset), offset)
        except CorruptLog:
            if self._knows_its_indexes:
                raise
        # What the index says cannot be: it was damaged, or the log was.  Building it anew reads
        # the log from its beginning, and tells.
        self.reindex()
        return self._search(self.offsets.position_below(offset), offset)

    @property
    def _knows_its_indexes(self) -> bool:
        """Whether the indexes were made here and lie in memory only, where nothing damages them."""
        return self._indexed_here and self.offsets.is_live

    def _search(self, position: int, offset: int) -> tuple[int, int] | None:
        if position and not 0 < position < self.size_bytes:
            raise CorruptLog(f"{self.offsets.path} leads {offset} to {position}, not into the log")
        for at, header in self.headers(position):
            if at == position > 0 and header.last_offset > offset:
                # An entry names the last offset of what begins there, and it is at most ours.
                raise CorruptLog(f"{self.offsets.path}: entry for {offset} leads to {header}")
            if header.last_offset >= offset:
                return at, header.size_bytes
        return None

    def position_of(self, offset: int) -> int:
        """Return where the batches begin that end at or after an offset.

        All readers of a partition are bound by the same offset, which moves once for many reads:
        so the last answer is kept.
        """
        if offset >= self.next_offset:
            return self.size_bytes
        known, position = self._bound
        if known != offset:
            found = self.locate(offset)
            position = found[0] if found is not None else self.size_bytes
            self._bound = (offset, position)
        return position

    def slice(self, position: int, size_bytes: int) -> Slice:
        """Return bytes of the segment."""
        return Slice(self.file, position, size_bytes)

    def offset_behind(self, position: int) -> int:
        """Return the offset behind the last batch that ends at or before a position."""
        try:
            return self._behind(self.offsets.position_before(position), position)
        except CorruptLog:
            if self._knows_its_indexes:
                raise
        self.reindex()
        return self._behind(self.offsets.position_before(position), position)

    def _behind(self, start: int, position: int) -> int:
        behind = self.base_offset
        for at, header in self.headers(start):
            if at + header.size_bytes > position:
                return max(behind, header.base_offset)
            behind = header.next_offset
        return behind

    # --- indexes ---------------------------------------------------------------------------------

    def adopt_indexes(self) -> None:
        """Use the indexes that lie on the disk; ``CorruptLog`` if they cannot be any."""
        self._indexed_here = False
        self.offsets.adopt()
        self.times.adopt()
        self._youngest = None

    def begin_indexes(self) -> None:
        """Forget the indexes, to have them built by ``note``."""
        self.offsets.reset()
        self.times.reset()
        self._youngest = (NO_TIMESTAMP, self.base_offset)
        self._unindexed_bytes = 0
        self.first_timestamp = None
        self._indexed_here = True

    def reindex(self) -> None:
        """Build the indexes anew from the batches; they are live afterwards if they were before."""
        is_live = self.offsets.is_live
        self.begin_indexes()
        for position, header in self.headers():
            last, timestamp = header.last_offset, header.max_timestamp
            self.note(position, header.size_bytes, last, timestamp, last)
        if not is_live:
            self.settle()

    # --- the turns of its life -------------------------------------------------------------------

    def settle(self) -> None:
        """Become a segment that is only read: write the indexes, give reserved space back."""
        if self.file.size() > self.size_bytes:
            self.file.truncate(self.size_bytes)
        if self.times.is_live and self.size_bytes:
            # A settled time index always ends with the youngest timestamp of all.
            self.times.note(*self.youngest)
        self.offsets.settle()
        self.times.settle()

    def revive(self) -> None:
        """Become a segment that can be appended to."""
        try:
            self.offsets.revive()
            self.times.revive()
        except CorruptLog:
            self.reindex()
            self.offsets.revive()
            self.times.revive()

    def truncate(self, offset: int) -> None:
        """Remove every batch that reaches to an offset or behind it.  Makes nothing durable."""
        self.revive()
        self._bound = (-1, 0)
        found = self.find(offset)
        self.offsets.truncate(offset)
        self.times.truncate(offset)
        self.aborted.truncate(offset)
        if found is None:
            self.next_offset = min(self.next_offset, offset)
            return
        position, header = found
        self.file.truncate(position)
        self.size_bytes = self._reserved = position
        self.next_offset = min(header.base_offset, offset)
        self._unindexed_bytes = 0
        if position == 0:
            self.first_timestamp = None
        self._youngest = self.times.youngest() or (NO_TIMESTAMP, self.base_offset)
        found = self.find(self._youngest[1])
        for _, kept in self.headers(found[0]) if found is not None else ():
            if kept.max_timestamp > self._youngest[0]:
                self._youngest = (kept.max_timestamp, kept.last_offset)

    def rewrite(self, position: int, data: Buffer) -> None:
        """Write again what was read at a position, so that the next sync has it to write."""
        self.file.write(position, [data])

    def rewrite_size(self) -> None:
        """Let the next sync have the size of the file to write, too.

        If the power fails now, one byte too many may stay: it is no batch, and none is missing.
        """
        size = self.file.size()
        self.file.truncate(size + 1)
        self.file.truncate(size)

    async def sync(self) -> None:
        """Return when everything in the segment is durable, the names of its files excepted.

        A segment that was closed meanwhile is no longer part of the log, and not synced.
        """
        if self._closed:
            return
        await self.file.sync()
        if not self.offsets.is_live and not self._closed:
            await self.offsets.sync()
            await self.times.sync()
        if self.aborted.exists and not self._closed:
            await self.aborted.sync()

    def close(self) -> None:
        """Give the files back."""
        self._closed = True
        self.file.close()
        self.offsets.close()
        self.times.close()
        self.aborted.close()

    def names(self) -> list[str]:
        """Return the paths of the segment's files that exist, the log last.

        Removed in this order, what is left of a segment is never an index without its log.
        """
        kinds = (TRANSACTION_INDEX, TIME_INDEX, INDEX, LOG)
        return [path for kind in kinds if self._disk.exists(path := self.path(kind))]


def front_at(data: Buffer, position: int) -> BatchHeader:
    """Return the header of what begins at a position; of an old message only format and size.

    Old segments end their life in this cluster as they are: they are read, and never written.
    """
    try:
        return header_at(data, position)
    except OldFormat:
        length = int.from_bytes(data[position + 8 : position + LOG_OVERHEAD_BYTES])
        return BLANK._replace(length=length, magic=data[position + MAGIC_AT])
