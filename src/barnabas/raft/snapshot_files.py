"""Snapshots of the quorum's log as files: named, written, published, found sound or not.

    00000000000000000120-0000000007.checkpoint            below offset 120, the last of epoch 7
    00000000000000000120-0000000007-3.checkpoint.part     being written or received

    write to .part ─▶ sync ─▶ rename ─▶ sync the directory

A ``.part`` is nothing to anybody and is removed when the log is opened; a ``.checkpoint`` is whole
(R-28).  Kafka renames to ``.checkpoint.deleted`` before it removes; we remove.

What is in one is told in ``records.snapshot``.  Nobody believes a snapshot by its name: whoever
takes it from another replica, or makes a state of it, has every batch checked on the way.

Kafka's Snapshots.java and FileRawSnapshotWriter.java fix the names.
"""

import re
from collections.abc import Iterator
from typing import Final

from barnabas.model.errors import CorruptLog
from barnabas.model.value import value
from barnabas.raft.control_records import (
    ControlRecord,
    LeaderChanged,
    SnapshotBegins,
    SnapshotEnds,
    VersionSet,
    VotersSet,
    control_records,
)
from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import STATIC, VoterSet
from barnabas.records.batch import (
    HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    OldFormat,
    header_at,
    verify,
)
from barnabas.records.compression import UnsupportedCodec
from barnabas.runtime.disk import Buffer, Disk, File

CHECKPOINT: Final = ".checkpoint"
PART: Final = ".checkpoint.part"
DELETED: Final = ".checkpoint.deleted"

NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def snapshot_name(snapshot: SnapshotId) -> str:
    """Return what the file of a snapshot is called."""
    return f"{snapshot.end_offset:020d}-{snapshot.epoch:010d}{CHECKPOINT}"


def snapshot_of(name: str) -> SnapshotId | None:
    """Return the snapshot that a file holds, or None if it holds none or not all of one."""
    match = NAME.fullmatch(name)
    return None if match is None else SnapshotId(int(match[1]), int(match[2]))


def is_leftover(name: str) -> bool:
    """Tell whether a file is a snapshot that was never finished, or was to be gone."""
    return name.endswith((PART, DELETED))


class SnapshotPart:
    """A snapshot that is being written."""

    def __init__(self, disk: Disk, directory: str, snapshot: SnapshotId, number: int) -> None:
        """Begin; ``number`` tells it from others that are written at the same time."""
        self.snapshot: Final = snapshot
        self.size_bytes = 0
        name = snapshot_name(snapshot)
        self._disk: Final = disk
        self._directory: Final = directory
        self._final: Final[str] = f"{directory}/{name}"
        self.path: Final = f"{directory}/{name.removesuffix(CHECKPOINT)}-{number}{PART}"
        self._file: Final[File] = disk.open(self.path, "exclusive")

    def append(self, data: Buffer) -> None:
        """Write what comes next."""
        self.size_bytes += self._file.write(self.size_bytes, [data])

    async def settle(self) -> None:
        """Return when the bytes are durable."""
        await self._file.sync()

    def rename(self) -> None:
        """Call it a snapshot; durable when the directory is synced."""
        self._file.close()
        self._disk.rename(self.path, self._final)

    def discard(self) -> None:
        """Throw it away."""
        self._file.close()
        self._disk.remove(self.path)


@value
class SnapshotSays:
    """What a snapshot says of itself and of who votes."""

    last_contained_ms: int
    version: int
    voters: VoterSet | None


def read_batches(
    disk: Disk, path: str, snapshot: SnapshotId
) -> Iterator[tuple[bytes, tuple[ControlRecord, ...]]]:
    """Yield every batch of a snapshot and what it says if it is a control batch.

    ``CorruptLog`` where it is not as it has to be: each batch sound, of the snapshot's epoch, at
    the offset where the one before ended; a header in front, a footer at the end, and nothing
    behind it.
    """
    expected, last = 0, None
    for position, header, data in sound_batches(disk, path):
        where = f"{path} at {position}"
        if header.base_offset != expected or header.leader_epoch != snapshot.epoch:
            raise CorruptLog(
                f"{where}: a batch of epoch {header.leader_epoch} at {header.base_offset}, "
                f"where snapshot {snapshot} goes on at {expected}"
            )
        expected = header.next_offset
        said = control_records_in(data, header, where) if header.is_control else ()
        if isinstance(last, SnapshotEnds):
            raise CorruptLog(f"{where}: a batch behind the footer")
        for offset, each in enumerate(said, header.base_offset):
            in_place = isinstance(each, SnapshotBegins) == (offset == 0)
            if not in_place or isinstance(each, LeaderChanged) or isinstance(last, SnapshotEnds):
                raise CorruptLog(f"{where}: {each} has no place at {offset}")
            last = each
        if last is None:
            raise CorruptLog(f"{where}: records before the header")
        yield data, said
    if not isinstance(last, SnapshotEnds):
        raise CorruptLog(f"{path}: it ends without a footer: it was cut short")


def sound_batches(disk: Disk, path: str) -> Iterator[tuple[int, BatchHeader, bytes]]:
    """Yield position, header and bytes of every batch of a file, each as its checksum says."""
    file = disk.open(path, "read")
    try:
        size, position = file.size(), 0
        while position < size:
            try:
                header = header_at(file.read(position, HEADER_BYTES))
                data = file.read(position, min(header.size_bytes, size - position))
                verify(data, 0, header)
            except (CorruptBatch, OldFormat) as error:
                raise CorruptLog(f"{path} at {position}: {error}") from error
            if header.record_count != header.last_offset_delta + 1 or header.record_count < 1:
                raise CorruptLog(
                    f"{path} at {position}: {header.record_count} records take "
                    f"{header.last_offset_delta + 1} offsets"
                )
            yield position, header, data
            position += len(data)
    finally:
        file.close()


def control_records_in(data: bytes, header: BatchHeader, where: str) -> tuple[ControlRecord, ...]:
    """Return what a control batch says."""
    try:
        return tuple(said for _, said in control_records(data, 0, header))
    except (CorruptBatch, UnsupportedCodec) as error:
        raise CorruptLog(f"{where}: {error}") from error


def examine(disk: Disk, path: str, snapshot: SnapshotId) -> SnapshotSays:
    """Read a snapshot from end to end; ``CorruptLog`` if it is not one, whole and sound."""
    last_contained_ms, version, voters = 0, STATIC, None
    for _, said in read_batches(disk, path, snapshot):
        for each in said:
            match each:
                case SnapshotBegins(time_ms):
                    last_contained_ms = time_ms
                case VersionSet(level):
                    version = level
                case VotersSet(found):
                    voters = found
                case LeaderChanged() | SnapshotEnds():
                    pass
    if voters is not None and version == STATIC:
        raise CorruptLog(f"{path}: voters in a snapshot of kraft.version {STATIC}")
    return SnapshotSays(last_contained_ms, version, voters)


def last_contained_ms(disk: Disk, path: str, snapshot: SnapshotId) -> int:
    """Return when the youngest record in a snapshot was appended; its header says so."""
    for _, said in read_batches(disk, path, snapshot):
        for each in said:
            if isinstance(each, SnapshotBegins):
                return each.last_contained_ms
    raise CorruptLog(f"{path}: no header")


class SnapshotFiles:
    """The snapshots of one log."""

    def __init__(self, disk: Disk, directory: str) -> None:
        """Find those that are whole; what was never finished, or was to be gone, goes."""
        self._disk: Final = disk
        self._directory: Final = directory
        self._parts = 0
        self.known: Final[list[SnapshotId]] = []
        """Oldest first."""
        for name in disk.names(directory):
            if is_leftover(name):
                disk.remove(f"{directory}/{name}")
            elif (snapshot := snapshot_of(name)) is not None:
                self.known.append(snapshot)
        self.known.sort(key=lambda snapshot: snapshot.rank)

    @property
    def latest(self) -> SnapshotId | None:
        """The newest one."""
        return self.known[-1] if self.known else None

    def path(self, snapshot: SnapshotId) -> str:
        """Return where a snapshot lies."""
        return f"{self._directory}/{snapshot_name(snapshot)}"

    def begin(self, snapshot: SnapshotId) -> SnapshotPart:
        """Begin to write a snapshot."""
        self._parts += 1
        return SnapshotPart(self._disk, self._directory, snapshot, self._parts)

    def is_news(self, snapshot: SnapshotId) -> bool:
        """Tell whether a snapshot is newer than all that are here."""
        latest = self.latest
        return latest is None or (
            latest.rank < snapshot.rank and latest.end_offset < snapshot.end_offset
        )

    async def publish(self, part: SnapshotPart) -> bool:
        """Return when a snapshot durably is one; False if a newer one came meanwhile."""
        await part.settle()
        if not self.is_news(part.snapshot):
            part.discard()
            return False
        part.rename()
        await self._disk.sync_directory(self._directory)
        if not self.is_news(part.snapshot):
            self._disk.remove(self.path(part.snapshot))
            return False
        self.known.append(part.snapshot)
        return True

    async def remove_below(self, offset: int) -> None:
        """Return when the snapshots that end before an offset are durably gone."""
        gone = [snapshot for snapshot in self.known if snapshot.end_offset < offset]
        assert len(gone) < len(self.known) or offset == 0, (
            f"nothing tells of what is below {offset}"
        )
        for snapshot in gone:
            self._disk.remove(self.path(snapshot))
            self.known.remove(snapshot)
        await self._disk.sync_directory(self._directory)
