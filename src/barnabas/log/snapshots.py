"""Producer tables between memory and disk: ``.snapshot`` files, and reading the log again.

    00…0400.snapshot   the table as it was when the log ended at 400
        + batches from 400 to the end, headers only (and markers)   = the table now

A snapshot is taken whenever a segment is rolled and when the log is closed, so that after a crash
no more than the unflushed segments have to be read.  It may be believed only if the log below its
offset is what it was when it was taken.  Therefore

- a truncation removes the snapshots above it, durably, before anything new is appended;
- recovery ignores and removes snapshots above the recovery point: nobody has made them durable
  (KAFKA-9892), and what they tell of may not have survived;
- a flush syncs the snapshots before it moves the recovery point past them.
"""

from collections.abc import Iterable
from typing import Final

from barnabas.log.checkpoints import Checkpoint
from barnabas.log.names import SNAPSHOT, offset_of, segment_file
from barnabas.log.producers import Finished, Marker, Origin, ProducerTable, read_snapshot
from barnabas.log.segment import Segment
from barnabas.model.errors import CorruptLog
from barnabas.records.batch import BatchHeader, CorruptBatch, verify
from barnabas.records.control import end_marker
from barnabas.records.record import records
from barnabas.runtime.disk import Buffer, Disk, File


class Snapshots:
    """The snapshot files of one log."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk: Final = disk
        self._directory: Final = directory
        # Open until they are durable: who opens a file anew is not told that its bytes were lost.
        self._unsynced: dict[int, File] = {}

    def path(self, offset: int) -> str:
        """Return the path of the snapshot at an offset."""
        return f"{self._directory}/{segment_file(offset, SNAPSHOT)}"

    def offsets(self) -> list[int]:
        """Return where there are snapshots, oldest first."""
        found = (offset_of(name, SNAPSHOT) for name in self._disk.names(self._directory))
        return [offset for offset in found if offset is not None]

    def take(self, table: ProducerTable) -> None:
        """Write a snapshot of the table, unless there is one at its offset; not yet durable."""
        path = self.path(table.end_offset)
        if self._disk.exists(path):
            return
        file = self._disk.open(path, "exclusive")
        self._unsynced[table.end_offset] = file
        file.write(0, [table.snapshot()])

    async def write_again(self, table: ProducerTable) -> None:
        """Return when the snapshot that a table was read from is durable, its name included.

        A process that starts anew reads from memory what a failed sync has kept from the device.
        It is replaced as a whole: of producers before the start of the log nothing else may know.
        """
        name = segment_file(table.end_offset, SNAPSHOT)
        await Checkpoint(self._disk, self._directory, name).replace(table.snapshot())

    @property
    def has_unsynced(self) -> bool:
        """Whether any was written that is not known to be durable."""
        return bool(self._unsynced)

    async def sync(self) -> None:
        """Return when the snapshots written so far are durable, their names excepted."""
        for offset, file in list(self._unsynced.items()):
            # While one was waited for, others may have been removed, or synced by somebody else.
            if self._unsynced.get(offset) is file:
                await file.sync()
            if self._unsynced.get(offset) is file:
                del self._unsynced[offset]
                file.close()

    def remove(self, offsets: Iterable[int]) -> None:
        """Remove snapshots; durable once the directory is synced."""
        for offset in offsets:
            self._disk.remove(self.path(offset))
            if (file := self._unsynced.pop(offset, None)) is not None:
                file.close()

    def close(self) -> None:
        """Give the files back that were not made durable."""
        while self._unsynced:
            self._unsynced.popitem()[1].close()

    def load(self, first: int, end_offset: int) -> ProducerTable:
        """Return the newest table from where the first segment begins up to an offset.

        Below its start offset a log may hold records that are deleted but still there; what they
        tell of producers is as true as before.  Snapshots that are not whole are removed.
        """
        for offset in reversed(self.offsets()):
            if first <= offset <= end_offset:
                path = self.path(offset)
                file = self._disk.open(path, "read")
                content = file.read(0, file.size())
                file.close()
                try:
                    return read_snapshot(content, offset, path)
                except CorruptLog:
                    # Derived: the log below it says the same, and takes longer to say it.
                    self.remove([offset])
        return ProducerTable(first)


def marker_in(data: Buffer, position: int, header: BatchHeader) -> Marker | None:
    """Return the decision in a control batch.

    None if it holds another kind of control record, or none since compaction removed it.
    """
    for record in records(data, position, header):
        end = end_marker(record)
        if end is not None:
            return Marker(end.committed, end.coordinator_epoch, record.timestamp)
    return None


def stage_batch(
    table: ProducerTable, segment: Segment, position: int, header: BatchHeader
) -> list[tuple[Finished, int]]:
    """Bring a table forward over one batch of a segment; return the transactions it ended.

    Headers are believed as they are; a marker decides a transaction, and has to match its checksum:
    ``CorruptBatch`` if it does not.
    """
    staging = table.stage(Origin.REPLICATION)
    if header.has_producer_id:
        if not header.is_control:
            staging.batch(header, header.base_offset)
        else:
            batch = segment.slice(position, header.size_bytes).read()
            verify(batch, 0, header)
            marker = marker_in(batch, 0, header)
            if marker is not None:
                staging.marker(header, marker, header.base_offset)
    return table.install(staging, header.next_offset)


def replay(table: ProducerTable, segments: Iterable[Segment], end_offset: int) -> None:
    """Bring a table forward over the batches below an offset; ``CorruptLog`` if one is damaged."""
    for segment in segments:
        if segment.next_offset <= table.end_offset or segment.base_offset >= end_offset:
            continue
        found = segment.find(table.end_offset)
        if found is None:
            continue
        for position, header in segment.headers(found[0]):
            if header.base_offset >= end_offset:
                break
            if header.next_offset > table.end_offset:
                try:
                    stage_batch(table, segment, position, header)
                except CorruptBatch as error:
                    raise CorruptLog(f"{segment.file.path} at {position}: {error}") from error
    table.end_offset = max(table.end_offset, end_offset)
