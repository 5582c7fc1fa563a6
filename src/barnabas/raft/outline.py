"""What consensus has to know of its log: bounds, epochs and snapshots, and none of the bytes.

    snapshots   (3,1)      (7,2)
    log                    start=7 ─ epoch 2 ─┬─ epoch 4 ───────▶ end
                                              10

The node decides on this outline and moves it as it decides; its shell does the same to the real
log, in the same order, and checks that the two agree.  That keeps every decision a function.

Fixed by Kafka's RaftLog.java and KafkaRaftLog.java.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from barnabas.model.value import value


@value
class SnapshotId:
    """A snapshot, or a point in a log: everything below an offset, the last of it of an epoch."""

    end_offset: int
    epoch: int

    def __str__(self) -> str:
        return f"({self.end_offset}, {self.epoch})"

    @property
    def rank(self) -> tuple[int, int]:
        """What decides who knows more: the epoch first (R-18)."""
        return self.epoch, self.end_offset


# Made when a directory is formatted.  The first leader puts its content into the log, so that it
# is never served to anybody (KIP-853).
BOOTSTRAP: Final = SnapshotId(0, 0)


@value
class Agrees:
    """What the replica has is a beginning of this log."""


@value
class Diverges:
    """The replica has to cut its log: in this one the epoch it names ends earlier."""

    epoch: int
    end_offset: int


@value
class NeedsSnapshot:
    """What the replica would need next is no longer in this log."""

    snapshot: SnapshotId


Comparison: TypeAlias = Agrees | Diverges | NeedsSnapshot


class Outline:
    """The bounds, epochs and snapshots of a log."""

    def __init__(
        self,
        start_offset: int = 0,
        end_offset: int = 0,
        epochs: Iterable[tuple[int, int]] = (),
        snapshots: Iterable[SnapshotId] = (),
    ) -> None:
        self.start_offset = start_offset
        self.end_offset = end_offset
        self._epochs: Final = [epoch for epoch, _ in epochs]
        self._starts: Final = [start for _, start in epochs]
        self._snapshots: Final = sorted(snapshots, key=lambda snapshot: snapshot.rank)
        assert start_offset <= end_offset, f"a log from {start_offset} to {end_offset}"
        for snapshot in self._snapshots:
            assert self.sums_up(snapshot), f"{snapshot} beside a log {start_offset} to {end_offset}"
        covered = not start_offset or self._snapshots
        assert covered, f"a log from {start_offset} on, and no snapshot of what was before"

    @property
    def epochs(self) -> Sequence[tuple[int, int]]:
        """Every epoch in the log and the offset of its first record."""
        return list(zip(self._epochs, self._starts, strict=True))

    @property
    def snapshots(self) -> Sequence[SnapshotId]:
        """The snapshots, oldest first."""
        return self._snapshots

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        """The newest snapshot."""
        return self._snapshots[-1] if self._snapshots else None

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, which a snapshot may hold; 0 if there is none."""
        if self._epochs:
            return self._epochs[-1]
        return self._snapshots[-1].epoch if self._snapshots else 0

    @property
    def last(self) -> SnapshotId:
        """The end of the log as a point to compare."""
        return SnapshotId(self.end_offset, self.last_epoch)

    def sums_up(self, snapshot: SnapshotId) -> bool:
        """Tell whether a snapshot sums up a beginning of this log.

        One that does not was fetched to take the log's place; rank cannot tell, for records that
        were never committed may be of a higher epoch than a snapshot that is.
        """
        if snapshot.end_offset == self.start_offset:
            # Of what was before only the snapshot itself knows.
            return True
        return self.epoch_of(snapshot.end_offset - 1) == snapshot.epoch

    def epoch_of(self, offset: int) -> int | None:
        """Return the epoch of a record; None if it is not in the log."""
        if not self.start_offset <= offset < self.end_offset:
            return None
        return self._epochs[bisect_right(self._starts, offset) - 1]

    def end_of_epoch(self, epoch: int) -> SnapshotId:
        """Return the largest epoch up to this one, and where the next larger one begins."""
        if not self._epochs or epoch >= self._epochs[-1]:
            return self.last
        after = bisect_right(self._epochs, epoch)
        if after:
            return SnapshotId(self._starts[after], self._epochs[after - 1])
        if self._snapshots and self._snapshots[0].end_offset == self._starts[0]:
            return self._snapshots[0]
        # Older than everything here: none of it is above the first record.
        return SnapshotId(self._starts[0], epoch)

    def compare(self, offset: int, epoch: int) -> Comparison:
        """Say how a replica stands to this log that has records below an offset.

        ``epoch`` is that of its last one.
        """
        latest = self.latest_snapshot
        if latest is not None and latest != BOOTSTRAP:
            first = self._snapshots[0]
            behind = offset < self.start_offset or epoch < first.epoch
            beside = offset == self.start_offset and epoch != first.epoch
            # Who has nothing reads a snapshot sooner than the records that it sums up.
            if offset == 0 or behind or beside:
                return NeedsSnapshot(latest)
        if offset == 0:
            return Agrees()
        end = self.end_of_epoch(epoch)
        if end.epoch != epoch or end.end_offset < offset:
            return Diverges(end.epoch, end.end_offset)
        return Agrees()

    def cut_for(self, diverges: Diverges) -> int:
        """Return where to cut this log, which is the replica's, after such an answer."""
        end = self.end_of_epoch(diverges.epoch)
        if end.epoch == diverges.epoch:
            return min(end.end_offset, diverges.end_offset)
        return end.end_offset

    # --- moving ----------------------------------------------------------------------------------

    def append(self, end_offset: int, epoch: int) -> None:
        """Learn that records of one epoch were appended up to an offset."""
        assert end_offset > self.end_offset, f"{self.end_offset} already, not {end_offset}"
        assert epoch >= self.last_epoch, f"epoch {epoch} after {self.last_epoch}"
        if self._starts and self._starts[-1] == self.end_offset:
            # An epoch without records, as Kafka's epoch cache may hold one at the very end.
            del self._epochs[-1], self._starts[-1]
        if not self._epochs or epoch > self._epochs[-1]:
            self._epochs.append(epoch)
            self._starts.append(self.end_offset)
        self.end_offset = end_offset

    def truncate(self, end_offset: int) -> None:
        """Learn that the log was cut."""
        latest = self.latest_snapshot
        first = self.start_offset if latest is None else latest.end_offset
        assert first <= end_offset <= self.end_offset, f"cut at {end_offset}, not from {first} on"
        keep = bisect_left(self._starts, end_offset)
        del self._epochs[keep:], self._starts[keep:]
        self.end_offset = end_offset

    def restart(self, snapshot: SnapshotId) -> None:
        """Learn that a snapshot has taken the place of the log."""
        self.start_offset = self.end_offset = snapshot.end_offset
        del self._epochs[:], self._starts[:]
        self._snapshots[:] = [snapshot]

    def add_snapshot(self, snapshot: SnapshotId) -> None:
        """Learn that there is a snapshot; one that a fetched one has overtaken is of no use."""
        if snapshot.end_offset < self.start_offset or snapshot in self._snapshots:
            return
        assert self.sums_up(snapshot), f"snapshot {snapshot} of a log with epochs {self.epochs}"
        insort(self._snapshots, snapshot, key=lambda each: each.rank)

    def clean(self, first: SnapshotId) -> None:
        """Learn that the log begins where a snapshot ends, and older ones are gone (R-29)."""
        assert first in self._snapshots, f"no snapshot {first}"
        start = first.end_offset
        assert self.start_offset <= start <= self.end_offset, f"begins at {start}"
        del self._snapshots[: self._snapshots.index(first)]
        self.start_offset = start
        # An epoch that ends at the start is the snapshot's to tell.
        before = bisect_right(self._starts, start) - 1 if start < self.end_offset else None
        del self._epochs[:before], self._starts[:before]
        if self._starts:
            self._starts[0] = max(self._starts[0], start)
