"""The directory of a replica, read by somebody who is no replica.

    <dir>/__cluster_metadata-0/
        00000000000000000120-0000000007.checkpoint      snapshots  ─┐
        00000000000000000000.log                        segments   ─┴─▶ OpenedBatch …

The directory may be ours or Apache Kafka's, of a process that is dead or that works in it at this
very moment.  So nothing is written, nothing is locked, nothing is repaired, and what is there is
judged as recovery would judge it:

- A *torn tail* is no damage: a crash leaves one, and so does a write that is under way.  What is
  behind the last whole batch of the last segment is not there, and is told (``Torn``).
- Anything else that is not as it has to be is *damage*, and ``CorruptLog`` with the way out.

While it is read, a living log grows, is cut or loses its oldest segments.  Files are opened before
anything is read, and what is open can be read to its end even if its name is gone.  A name that
goes between being listed and being opened is ``FileNotFoundError``: look again.

What is committed nobody has written down here.  What a snapshot holds is (R-28); whether the log
behind it is, a majority of disks knows, of which this is one.  Whoever knows better says so
(``below``).

Fixed by KafkaRaftLog.java and Snapshots.java; ``opening`` is how a replica reads the same files.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from typing import Final

from barnabas.log.inspection import next_sound
from barnabas.log.names import LOG, offset_of, segment_file
from barnabas.model.errors import CorruptLog
from barnabas.model.value import value
from barnabas.raft.outline import SnapshotId
from barnabas.raft.snapshot_files import read_batches, snapshot_name, snapshot_of
from barnabas.records.batch import (
    HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    OldFormat,
    header_at,
    verify,
)
from barnabas.records.compression import UnsupportedCodec
from barnabas.records.opened import OpenedBatch, opened, opened_at
from barnabas.runtime.disk import Disk, File

METADATA: Final = "__cluster_metadata-0"

READ_BYTES: Final = 1 << 20
"""How much of a segment is read at once."""

LOG_WAY_OUT: Final = (
    "look into another replica's directory; to mend this one, move it away and let the node fetch "
    "the log anew"
)
SNAPSHOT_WAY_OUT: Final = (
    "move the file away: what is older is reached from an older snapshot, and the node goes on "
    "from one or fetches one"
)


@value
class Torn:
    """The end of a log that is no whole batch, or not yet."""

    path: str
    position: int
    size_bytes: int
    why: str

    def __str__(self) -> str:
        return (
            f"{self.path}: the last {self.size_bytes} bytes, from {self.position} on, are no whole "
            f"batch (a torn or unfinished write) and left out: {self.why}"
        )


@value
class Segment:
    """A file of the log, open."""

    base_offset: int
    file: File
    size_bytes: int
    """How much of it is whole."""


class Onlooker:
    """What can be read in a directory, as it was when this was made."""

    def __init__(self, disk: Disk, directory: str, below: int | None = None) -> None:
        """Look at what there is; with ``below``, pass over what is not committed below it."""
        self.path: Final = found(disk, directory)
        self.reading = self.path
        """The file that is read at the moment, for whoever meets something odd in it."""
        self.torn: Torn | None = None
        """What is no whole batch at the end of the log."""
        self._disk: Final = disk
        names = disk.names(self.path)
        self.snapshots: Final[Sequence[SnapshotId]] = sorted(
            (
                snapshot
                for name in names
                if (snapshot := snapshot_of(name)) is not None
                and (below is None or snapshot.end_offset <= below)
            ),
            key=lambda snapshot: snapshot.rank,
        )
        """Oldest first."""
        bases = sorted(base for name in names if (base := offset_of(name, LOG)) is not None)
        self._segments: Final[list[Segment]] = []
        with ExitStack() as undo:
            undo.callback(self.close)
            for base in bases:
                file = disk.open(f"{self.path}/{segment_file(base, LOG)}", "read")
                self._segments.append(Segment(base, file, file.size()))
            self.end_offset: Final = self._measured(below)
            """Where the log ends, or the newest snapshot if there is no log."""
            undo.pop_all()

    @property
    def start_offset(self) -> int:
        """Where the log begins."""
        return self._segments[0].base_offset if self._segments else self.end_offset

    def close(self) -> None:
        """Give the files back."""
        for segment in self._segments:
            segment.file.close()

    def snapshot(self, snapshot: SnapshotId) -> Iterator[OpenedBatch]:
        """Yield the batches of a snapshot; ``CorruptLog`` if it is not one, whole and sound."""
        path = self.reading = f"{self.path}/{snapshot_name(snapshot)}"
        try:
            for data, _ in read_batches(self._disk, path, snapshot):
                yield from opened(data)
        except (CorruptBatch, UnsupportedCodec, CorruptLog) as error:
            where = "" if isinstance(error, CorruptLog) else f"{path}: "
            raise CorruptLog(f"{where}{error}; {SNAPSHOT_WAY_OUT}") from error

    def log(self, offset: int) -> Iterator[OpenedBatch]:
        """Yield the batches from an offset on, in order, each as its checksum says."""
        assert offset >= self.start_offset, f"{offset} is before {self.start_offset}"
        expected, epoch = None, 0
        for segment, following in zip_longest(self._segments, self._segments[1:]):
            if following is not None and following.base_offset <= offset:
                continue
            path = self.reading = segment.file.path
            if expected not in (None, segment.base_offset):
                raise damaged(path, 0, f"it begins where {expected} comes next")
            expected = segment.base_offset
            for position, header, data, start in batches_of(segment):
                if header.base_offset != expected or header.leader_epoch < epoch:
                    raise damaged(
                        path,
                        position,
                        f"a batch of epoch {header.leader_epoch} at offset {header.base_offset}, "
                        f"where offset {expected} of epoch {epoch} or later comes next",
                    )
                if header.base_offset < offset < header.next_offset:
                    raise damaged(
                        path, position, f"the batch from {header.base_offset} goes past {offset}"
                    )
                expected, epoch = header.next_offset, header.leader_epoch
                if expected > self.end_offset:
                    return
                if header.base_offset >= offset:
                    yield opened_batch(path, position, header, data, start)

    def _measured(self, below: int | None) -> int:
        """Return where the log ends, having taken note of what is torn there."""
        newest = self.snapshots[-1].end_offset if self.snapshots else 0
        if not self._segments:
            return newest
        last = self._segments[-1]
        end, size = last.base_offset, 0
        try:
            for position, header, _, _ in batches_of(last):
                end, size = header.next_offset, position + header.size_bytes
        except CorruptLog as error:
            # The tail is what a crash leaves, if no batch follows what is wrong (S-19).
            now = last.file.size()
            if next_sound(last.file, size + 1, now) < now:
                raise
            self.torn = Torn(last.file.path, size, last.size_bytes - size, str(error.__cause__))
        self._segments[-1] = Segment(last.base_offset, last.file, size)
        return end if below is None else min(end, below)


def batches_of(segment: Segment) -> Iterator[tuple[int, BatchHeader, bytes, int]]:
    """Yield each batch: its position, its header, and bytes with where in them it begins."""
    file, end = segment.file, segment.size_bytes
    position, data, start = 0, b"", 0
    while position < end:
        if len(data) - start < HEADER_BYTES:
            data, start = file.read(position, READ_BYTES), 0
        try:
            if (left := min(len(data) - start, end - position)) < HEADER_BYTES:
                raise CorruptBatch(f"{left} bytes, and the header alone takes {HEADER_BYTES}")
            header = header_at(data[start : start + HEADER_BYTES])
            if header.size_bytes > len(data) - start:
                data, start = file.read(position, max(header.size_bytes, READ_BYTES)), 0
            verify(data, start, header)
        except (CorruptBatch, OldFormat) as error:
            raise damaged(file.path, position, str(error)) from error
        yield position, header, data, start
        start += header.size_bytes
        position += header.size_bytes


def opened_batch(
    path: str, position: int, header: BatchHeader, data: bytes, start: int
) -> OpenedBatch:
    """Open a batch."""
    try:
        return opened_at(data, start, header)
    except (CorruptBatch, UnsupportedCodec) as error:
        raise damaged(path, position, str(error)) from error


def found(disk: Disk, directory: str) -> str:
    """Return where the metadata log lies: in a directory, or in the one of its name below it."""
    below = f"{directory.rstrip('/') or '/'}/{METADATA}"
    if disk.is_directory(below):
        return below
    if not disk.is_directory(directory):
        raise FileNotFoundError(f"{directory}: there is no such directory")
    if any(offset_of(name, LOG) is not None or snapshot_of(name) for name in disk.names(directory)):
        return directory.rstrip("/")
    raise FileNotFoundError(
        f"{directory}: there is no metadata log here and no {METADATA}; name metadata.log.dir, or "
        "else the first of log.dirs, of a node"
    )


def damaged(path: str, position: int, why: str) -> CorruptLog:
    """Return what is wrong with a log, and what to do."""
    return CorruptLog(f"{path} at {position}: {why}; {LOG_WAY_OUT}")
