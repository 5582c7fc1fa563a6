"""What lies on a replica's disk, read past its process: no time passes and nothing fails.

    /metadata/__cluster_metadata-0/   *.log   quorum-state   *.checkpoint
        cached    what the process reads, and what it reads again if it is killed
        durable   what it reads again after a power loss

The files are parsed here once more, apart from the product's own code for them: an oracle that
asked the product what is on the disk would believe what it has to doubt.
"""

import json
from base64 import urlsafe_b64decode
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import ReplicaKey
from barnabas.records.batch import HEADER, HEADER_BYTES, MAGIC, BatchHeader
from barnabas.sim.disk import SimDisk
from barnabas.sim.disk_content import FileNode
from barnabas.sim.disk_names import DirectoryNode, Node
from barnabas.sim.world import Violation

METADATA: Final = "/metadata"
LOG: Final = f"{METADATA}/__cluster_metadata-0"
QUORUM_STATE: Final = "quorum-state"

SEGMENT: Final = ".log"
CHECKPOINT: Final = ".checkpoint"


class Batch(NamedTuple):
    """One batch of a log: where its offsets are, whose it is, and where its bytes are."""

    base: int
    end: int
    epoch: int
    crc: int
    is_control: bool
    before: int | None
    """The epoch of the record before its first; None where no record and no snapshot tells."""
    segment: int
    position: int
    size_bytes: int


class Vote(NamedTuple):
    """What ``quorum-state`` says."""

    epoch: int
    leader_id: int | None
    voted: ReplicaKey | None


NO_VOTE: Final = Vote(0, None, None)


def files_at(disk: SimDisk, path: str, durable: bool) -> Mapping[str, Node]:
    """Return the names in a directory; none if it is not there."""
    node: Node = disk.names.root
    for name in path.strip("/").split("/"):
        if isinstance(node, FileNode):
            return {}
        below = (node.durable if durable else node.cached).get(name)
        if below is None:
            return {}
        node = below
    if isinstance(node, DirectoryNode):
        return node.durable if durable else node.cached
    return {}


def content_of(node: Node, durable: bool) -> bytes:
    """Return the whole of a file."""
    assert isinstance(node, FileNode), "a directory where a file was expected"
    content = node.durable if durable else node.cached
    return content.read(0, content.size)


def vote_on(disk: SimDisk, durable: bool) -> Vote:
    """Return what a replica would remember of its last epoch."""
    node = files_at(disk, LOG, durable).get(QUORUM_STATE)
    if node is None:
        return NO_VOTE
    content = content_of(node, durable)
    told = json.loads(content.partition(b"\n")[0] or b"{}")
    leader_id, voted_id = told.get("leaderId", -1), told.get("votedId", -1)
    directory = told.get("votedDirectoryId")
    directory_id = Uuid(urlsafe_b64decode(f"{directory}==")) if directory else ZERO_UUID
    return Vote(
        told.get("leaderEpoch", 0),
        None if leader_id < 0 else leader_id,
        None if voted_id < 0 else ReplicaKey(voted_id, directory_id),
    )


def snapshots_on(disk: SimDisk, durable: bool) -> dict[SnapshotId, Node]:
    """Return the snapshots that have their name, oldest first."""
    found: dict[SnapshotId, Node] = {}
    for name, node in sorted(files_at(disk, LOG, durable).items()):
        stem = name.removesuffix(CHECKPOINT)
        if stem != name and len(stem) == 31:
            found[SnapshotId(int(stem[:20]), int(stem[21:]))] = node
    return found


class LogView:
    """A log as its files have it, kept up with the replica that moves it."""

    def __init__(self, disk: SimDisk) -> None:
        self.batches: Final[list[Batch]] = []
        self.start = 0
        self._ends: Final[list[int]] = []
        self._disk: Final = disk

    @property
    def end(self) -> int:
        """Where the log ends."""
        return self._ends[-1] if self._ends else self.start

    @property
    def last_epoch(self) -> int | None:
        """The epoch of the last record; None if there is none here."""
        return self.batches[-1].epoch if self.batches else None

    def batch_ending(self, end: int) -> Batch | None:
        """Return the batch that ends at an offset."""
        at = bisect_left(self._ends, end)
        return self.batches[at] if at < len(self._ends) and self._ends[at] == end else None

    def batch_with(self, offset: int) -> Batch | None:
        """Return the batch that holds an offset."""
        at = bisect_right(self._ends, offset)
        if at < len(self.batches) and self.batches[at].base <= offset:
            return self.batches[at]
        return None

    def between(self, low: int, high: int) -> list[Batch]:
        """Return the batches that end above one offset and not above another."""
        return self.batches[bisect_right(self._ends, low) : bisect_right(self._ends, high)]

    def epochs(self) -> list[tuple[int, int]]:
        """Return every epoch and where it begins, read from the batches."""
        found: list[tuple[int, int]] = []
        for batch in self.batches:
            if not found or found[-1][0] != batch.epoch:
                found.append((batch.epoch, max(batch.base, self.start)))
        return found

    def restart(self, start: int) -> None:
        """Forget everything: the log begins anew."""
        self.batches.clear()
        self._ends.clear()
        self.start = start

    def begin_at(self, start: int) -> None:
        """Forget what the log has let go of."""
        gone = bisect_right(self._ends, start)
        del self.batches[:gone], self._ends[:gone]
        self.start = start

    def cut(self, end: int) -> None:
        """Forget what may be another's now."""
        keep = bisect_right(self._ends, end)
        del self.batches[keep:], self._ends[keep:]

    def read_on(self, end: int, start_epoch: int | None) -> list[Batch]:
        """Read what is new up to an offset; ``start_epoch`` is that of the record before all."""
        new: list[Batch] = []
        last = self.batches[-1] if self.batches else None
        before = last.epoch if last is not None else start_epoch
        for header, segment, position in self._headers(end):
            if header.next_offset <= self.start:
                before = header.leader_epoch
                continue
            batch = Batch(
                header.base_offset,
                header.next_offset,
                header.leader_epoch,
                header.crc,
                header.is_control,
                before,
                segment,
                position,
                header.size_bytes,
            )
            before = batch.epoch
            new.append(batch)
            self.batches.append(batch)
            self._ends.append(batch.end)
        return new

    def bytes_of(self, batch: Batch, durable: bool = False) -> bytes:
        """Return a batch as it lies in its file; what is there now, if it lies there no more."""
        node = files_at(self._disk, LOG, durable).get(f"{batch.segment:020d}{SEGMENT}")
        if not isinstance(node, FileNode):
            return b""
        content = node.durable if durable else node.cached
        return content.read(batch.position, batch.size_bytes)

    def _headers(self, end: int) -> Iterator[tuple[BatchHeader, int, int]]:
        """Yield the headers behind the last batch, with segment and position."""
        files = files_at(self._disk, LOG, durable=False)
        segments = sorted(int(name[:20]) for name in files if name.endswith(SEGMENT))
        expected = self.end
        if expected >= end:
            return
        last = self.batches[-1] if self.batches else None
        if last is not None and last.segment in segments:
            segment, position = last.segment, last.position + last.size_bytes
        else:
            at = bisect_right(segments, expected) - 1
            segment, position = (segments[max(at, 0)] if segments else 0), 0
        while expected < end:
            node = files.get(f"{segment:020d}{SEGMENT}")
            content = node.cached if isinstance(node, FileNode) else None
            head = b"" if content is None else content.read(position, HEADER_BYTES)
            header = BatchHeader(*HEADER.unpack(head)) if len(head) == HEADER_BYTES else None
            if header is not None and header.magic == MAGIC and header.base_offset <= expected:
                if header.base_offset == expected or last is None:
                    yield header, segment, position
                position += header.size_bytes
                expected = max(expected, header.next_offset)
                continue
            if expected not in segments or expected == segment:
                story = f"the log is said to end at {end}, its files hold nothing at {expected}"
                raise Violation("R-15", story, "outline and files")
            segment, position = expected, 0
