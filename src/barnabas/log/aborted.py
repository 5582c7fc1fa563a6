"""Which transactions in a segment were aborted: the ``.txnindex``.

A consumer that reads committed data is told, with every fetch, which producers' records to skip
from where on (KIP-98).  A transaction is entered in the segment that holds its abort marker, once
the marker is written, together with the last stable offset of that moment:

    version i16 | producer id i64 | first offset i64 | last offset i64 | last stable offset i64

``last stable offset`` ends searches: a transaction that reaches into a fetch must have its marker
somewhere behind it, and nothing below an entry's stable offset can be undecided after that entry.
Kafka fixes the bytes (TransactionIndex.java, AbortedTxn.java).

Aborts are rare, so entries are written as they come, and the file exists once there is one.  It is
derived: recovery writes it anew from the markers.
"""

import struct
from collections.abc import Iterator
from typing import Final

from barnabas.model.errors import CorruptLog
from barnabas.model.value import value
from barnabas.runtime.disk import Disk, File

ENTRY: Final = struct.Struct(">hqqqq")
VERSION: Final = 0


@value
class AbortedTransaction:
    """One aborted transaction: the producer's records in its range are to be skipped."""

    producer_id: int
    first_offset: int
    last_offset: int
    stable_offset: int


class AbortedIndex:
    """The aborted transactions whose markers lie in one segment."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.path = path
        self._disk: Final = disk
        self._file: File | None = None
        self._size = 0
        # Counted changes, and up to which of them the file is known to be durable.
        self._changed = self._synced = 0
        if disk.exists(path):
            self._file = disk.open(path, "write")
            self._size = self._file.size()

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self._file is not None

    def append(self, aborted: AbortedTransaction) -> None:
        """Add a transaction; its marker is behind those of all others."""
        if self._file is None:
            self._file = self._disk.open(self.path, "create")
        entry = ENTRY.pack(
            VERSION,
            aborted.producer_id,
            aborted.first_offset,
            aborted.last_offset,
            aborted.stable_offset,
        )
        self._changed += 1
        self._size += self._file.write(self._size, [entry])

    def entries(self) -> Iterator[AbortedTransaction]:
        """Yield every transaction, in the order of their markers."""
        if self._file is None:
            return
        data = self._file.read(0, self._size)
        if len(data) % ENTRY.size:
            raise CorruptLog(f"{self.path}: {len(data)} bytes are no whole number of entries")
        before = -1
        for version, producer_id, first, last, stable in ENTRY.iter_unpack(data):
            if version != VERSION or not first <= last or last <= before:
                raise CorruptLog(
                    f"{self.path}: version {version}, transaction of {producer_id} "
                    f"from {first} to {last} behind one that ends at {before}"
                )
            before = last
            yield AbortedTransaction(producer_id, first, last, stable)

    def collect(self, start: int, end: int) -> tuple[list[AbortedTransaction], bool]:
        """Return those that touch ``start`` to before ``end``, and whether that is all.

        It is all when an entry says that everything below ``end`` was decided when it was made.
        """
        found = []
        for aborted in self.entries():
            if aborted.last_offset >= start and aborted.first_offset < end:
                found.append(aborted)
            if aborted.stable_offset >= end:
                return found, True
        return found, False

    def truncate(self, offset: int) -> None:
        """Drop transactions whose markers are at or above this offset."""
        if self._file is None:
            return
        keep = sum(aborted.last_offset < offset for aborted in self.entries())
        self._size = keep * ENTRY.size
        self._changed += 1
        self._file.truncate(self._size)

    def reset(self) -> None:
        """Drop everything."""
        if self._file is not None:
            self._changed += 1
            self._file.truncate(0)
            self._size = 0

    async def sync(self) -> None:
        """Return when the file is durable, if anything in it has changed."""
        changed = self._changed
        if self._file is not None and changed > self._synced:
            await self._file.sync()
            self._synced = max(self._synced, changed)

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()
