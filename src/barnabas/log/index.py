"""Where in a segment an offset or a timestamp is to be looked for.

    .index      relative offset i32, position i32      the batches ending at ``offset`` begin there
    .timeindex  timestamp i64, relative offset i32     nothing up to ``offset`` is younger

Both are tables of fixed-size entries, sorted in both columns, one entry every
``index.interval.bytes``: a lookup finds the nearest entry below, and the segment is read from
there.  Kafka fixes the bytes (OffsetIndex.java, TimeIndex.java).

An index is derived: everything in it can be read again from the segment.  So the one of the active
segment is two arrays in memory, and touches the disk only when the segment is settled (rolled,
closed); a crash before costs a scan of that segment, which recovery makes anyway.  The ones of
settled segments stay on disk and are searched there: a thousand cold segments cost no memory, and
one that is read from costs the window of entries that was searched last, because whoever reads
asks for what follows next.

    live ──settle──▶ settled ──revive──▶ live        revive: the log was truncated into it
"""

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, Literal, TypeAlias

from barnabas.model.errors import CorruptLog
from barnabas.runtime.disk import Disk, File

# What an array of 32 or 64 bits is called.
Typecode: TypeAlias = Literal["i", "q"]

OFFSET_ENTRY: Final = struct.Struct(">ii")
TIME_ENTRY: Final = struct.Struct(">qi")

# A search on disk halves by the first entries of windows, each of which is worth one read.
WINDOW_ENTRIES: Final = 256

# Entries packed by one struct call when an index is written.
PACK_ENTRIES: Final = 1024


Columns: TypeAlias = tuple[Sequence[int], Sequence[int]]


class SortedTable:
    """Pairs of integers, both columns rising, in memory or in a file."""

    def __init__(
        self, disk: Disk, path: str, entry: struct.Struct, first: Typecode, second: Typecode
    ) -> None:
        self.path = path
        self._disk: Final = disk
        self._entry: Final = entry
        self._firsts: array[int] = array(first)
        self._seconds: array[int] = array(second)
        # None while the table is live; a settled one opens its file when first asked.
        self._settled: int | None = None
        self._file: File | None = None
        # The entries that were searched last, and whether none lie before them, or behind.
        self._window: tuple[Columns, bool, bool] | None = None

    def __len__(self) -> int:
        return len(self._firsts) if self._settled is None else self._settled

    @property
    def is_live(self) -> bool:
        """Whether the table is in memory and can be appended to."""
        return self._settled is None

    @property
    def size_bytes(self) -> int:
        """How many bytes the table takes on disk once settled."""
        return len(self) * self._entry.size

    def append(self, first: int, second: int) -> None:
        """Add an entry behind all others."""
        assert self._settled is None, f"{self.path} is settled"
        self._firsts.append(first)
        self._seconds.append(second)

    def at(self, index: int) -> tuple[int, int]:
        """Return one entry."""
        if self._settled is None:
            return self._firsts[index], self._seconds[index]
        return next(self._read(index, index + 1))

    def last(self) -> tuple[int, int] | None:
        """Return the last entry, if there is one."""
        return self.at(len(self) - 1) if len(self) else None

    def below(self, key: int, column: int = 0) -> tuple[int, int] | None:
        """Return the last entry whose column is at most ``key``."""
        columns = self.near(key, column)
        index = bisect_right(columns[column], key)
        return (columns[0][index - 1], columns[1][index - 1]) if index else None

    def near(self, key: int, column: int = 0) -> Columns:
        """Return both columns of entries among which are the last up to ``key`` and the next."""
        if self._settled is None:
            return self._firsts, self._seconds
        if self._window is not None:
            columns, is_first, is_last = self._window
            keys = columns[column]
            if (is_first or keys[0] <= key) and (is_last or key < keys[-1]):
                return columns
        return self._search(self._settled, key, column)

    def _search(self, count: int, key: int, column: int) -> Columns:
        low, high = 0, max(1, -(-count // WINDOW_ENTRIES))
        while high - low > 1:
            middle = (low + high) // 2
            if self.at(middle * WINDOW_ENTRIES)[column] <= key:
                low = middle
            else:
                high = middle
        first = low * WINDOW_ENTRIES
        # With the first of the next window, or a key behind the last of this one has no next.
        behind = min(first + WINDOW_ENTRIES + 1, count)
        format_of_one = self._entry.format.lstrip(">")
        pairs = struct.unpack(">" + format_of_one * (behind - first), self._bytes(first, behind))
        # Arrays again: as objects the numbers would take nine times the space.
        firsts, seconds = self._firsts.typecode, self._seconds.typecode
        columns = array(firsts, pairs[0::2]), array(seconds, pairs[1::2])
        self._window = columns, low == 0, behind == count
        return columns

    def entries(self) -> Iterator[tuple[int, int]]:
        """Yield every entry, in order."""
        if self._settled is None:
            yield from zip(self._firsts, self._seconds, strict=True)
        else:
            for low in range(0, self._settled, PACK_ENTRIES):
                yield from self._read(low, min(low + PACK_ENTRIES, self._settled))

    def cut(self, keep: int) -> None:
        """Drop all but the first ``keep`` entries."""
        assert self._settled is None, f"{self.path} is settled"
        del self._firsts[keep:], self._seconds[keep:]

    def settle(self) -> None:
        """Write the table to its file, keep it there and forget it here.  Makes nothing durable."""
        if self._settled is not None:
            return
        file = self._disk.open(self.path, "create")
        file.truncate(0)
        at = 0
        pairs = list(chain.from_iterable(zip(self._firsts, self._seconds, strict=True)))
        format_of_one = self._entry.format.lstrip(">")
        for low in range(0, len(pairs), 2 * PACK_ENTRIES):
            some = pairs[low : low + 2 * PACK_ENTRIES]
            at += file.write(at, [struct.pack(">" + format_of_one * (len(some) // 2), *some)])
        self._file = file
        self._settled = len(self._firsts)
        self._window = None
        del self._firsts[:], self._seconds[:]

    def adopt(self) -> None:
        """Use the table that lies in its file; ``CorruptLog`` if it cannot be one."""
        if not self._disk.exists(self.path):
            raise CorruptLog(f"{self.path} is missing")
        file = self._disk.open(self.path, "read")
        size = file.size()
        file.close()
        self._window = None
        self._settled, rest = divmod(size, self._entry.size)
        if rest:
            raise CorruptLog(f"{self.path}: {rest} bytes behind {self._settled} entries")

    def revive(self) -> None:
        """Take the table back into memory, to be appended to."""
        if self._settled is None:
            return
        entries = list(self.entries())
        self.reset()
        for first, second in entries:
            self.append(first, second)

    def reset(self) -> None:
        """Begin anew, in memory."""
        self.close()
        self._settled = None
        del self._firsts[:], self._seconds[:]

    async def sync(self) -> None:
        """Return when a settled table is durable; a live one has nothing on disk to be lost."""
        file = self._file
        if file is not None:
            await file.sync()

    def close(self) -> None:
        """Give the file back, if it was opened."""
        self._window = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        return self._entry.iter_unpack(self._bytes(low, high))

    def _bytes(self, low: int, high: int) -> bytes:
        if self._file is None:
            self._file = self._disk.open(self.path, "read")
        size = self._entry.size
        data = self._file.read(low * size, (high - low) * size)
        if len(data) != (high - low) * size:
            raise CorruptLog(f"{self.path}: entries {low} to {high} are cut short")
        return data


class OffsetIndex(SortedTable):
    """Offsets to positions in one segment."""

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        super().__init__(disk, path, OFFSET_ENTRY, "i", "i")
        self._base: Final = base_offset

    def position_below(self, offset: int) -> int:
        """Return a position at or before the batch that holds ``offset``."""
        entry = self.below(offset - self._base)
        return entry[1] if entry is not None else 0

    def around(self, offset: int) -> tuple[int, int]:
        """Return a position at or before the batch that holds ``offset``, and the next entry's.

        The second is -1 if there is no further entry.
        """
        firsts, positions = self.near(relative := offset - self._base)
        index = bisect_right(firsts, relative)
        following = positions[index] if index < len(positions) else -1
        return positions[index - 1] if index else 0, following

    def position_before(self, position: int) -> int:
        """Return where some batch begins, at or before a position, and near it."""
        entry = self.below(position, column=1)
        return entry[1] if entry is not None else 0

    def truncate(self, offset: int) -> None:
        """Drop entries of offsets at or above this one."""
        self.cut(bisect_right(self._firsts, offset - self._base - 1))


class TimeIndex(SortedTable):
    """Timestamps to offsets in one segment."""

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        super().__init__(disk, path, TIME_ENTRY, "q", "i")
        self._base: Final = base_offset

    def offset_below(self, timestamp: int) -> int:
        """Return an offset up to which nothing in the segment is younger than ``timestamp``."""
        entry = self.below(timestamp)
        return self._base + (entry[1] if entry is not None else 0)

    def note(self, timestamp: int, offset: int) -> None:
        """Add the youngest timestamp so far, unless it is already there."""
        assert self._settled is None, f"{self.path} is settled"
        if timestamp > (self._firsts[-1] if self._firsts else -1):
            self._firsts.append(timestamp)
            self._seconds.append(offset - self._base)

    def truncate(self, offset: int) -> None:
        """Drop entries of offsets at or above this one."""
        self.cut(bisect_right(self._seconds, offset - self._base - 1))

    def youngest(self) -> tuple[int, int] | None:
        """Return the last entry as timestamp and offset."""
        last = self.last()
        return (last[0], self._base + last[1]) if last is not None else None
