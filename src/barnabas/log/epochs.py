"""Which leader wrote which offsets: the leader epochs of one log and where each begins.

    epoch   0      3      4          an entry says: from ``start`` on, until the next
    start   0     17     25          entry's start, the log was written by this epoch's leader

Followers and leaders compare these to find where two logs part (KIP-101, KIP-279), and consumers
to notice that what they read was truncated (KIP-320).  Both columns strictly increase.

Hard state: the entries are in ``leader-epoch-checkpoint``, and those at or above the recovery
point can be read again from the batches, whose headers carry the epoch.  What only the file knows
is an epoch whose leader wrote nothing; a leader therefore has it written before it appends.

Fixed by Kafka's LeaderEpochFileCache.java; ``end_of`` answers OffsetsForLeaderEpoch.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final

from barnabas.model.value import value

NO_EPOCH: Final = -1


@value
class EpochEnd:
    """The largest epoch not above the one asked for, and the offset after its last record."""

    epoch: int
    end_offset: int


class EpochCache:
    """The epochs of one log, in memory."""

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for epoch, start in entries:
            self.assign(epoch, start)

    def __repr__(self) -> str:
        return f"EpochCache({self.entries()})"

    @property
    def latest(self) -> int:
        """The newest epoch, or ``NO_EPOCH``."""
        return self._epochs[-1] if self._epochs else NO_EPOCH

    def entries(self) -> list[tuple[int, int]]:
        """Return every epoch with its start offset, oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start: int) -> bool:
        """Note that an epoch begins at an offset; tell whether that was news.

        An entry that the new one contradicts (a later epoch, or a start at or after this one) is
        about records that no longer exist, and goes.
        """
        assert start >= 0, f"epoch {epoch} cannot start at {start}"
        if epoch < 0 or epoch == self.latest:
            return False
        while self._epochs and (self._epochs[-1] >= epoch or self._starts[-1] >= start):
            del self._epochs[-1], self._starts[-1]
        self._epochs.append(epoch)
        self._starts.append(start)
        return True

    def truncate_end(self, end_offset: int) -> bool:
        """Forget epochs that begin at or after the end of the log; tell whether there were any.

        An epoch that begins exactly at the end has no record: were it kept when a truncation
        happens to end there, a later leader's answer about it would be wrong (KAFKA-10706).
        """
        keep = bisect_left(self._starts, end_offset)
        changed = keep < len(self._starts)
        del self._epochs[keep:], self._starts[keep:]
        return changed

    def truncate_start(self, start_offset: int) -> bool:
        """Forget what lies before the start of the log; the epoch in force there begins there."""
        before = bisect_right(self._starts, start_offset) - 1
        if before < 0 or (before == 0 and self._starts[0] == start_offset):
            return False
        del self._epochs[:before], self._starts[:before]
        self._starts[0] = start_offset
        return True

    def clear(self) -> None:
        """Forget everything."""
        self._epochs.clear()
        self._starts.clear()

    def end_of(self, epoch: int, log_end: int) -> EpochEnd | None:
        """Return where an epoch ends in this log, or None if this log cannot know."""
        if epoch < 0 or not self._epochs:
            return None
        if epoch == self._epochs[-1]:
            return EpochEnd(epoch, log_end)
        after = bisect_right(self._epochs, epoch)
        if after == len(self._epochs):
            return None
        if after == 0:
            # Older than all we hold: everything of it was deleted, so nothing of it is above our
            # first epoch's start.
            return EpochEnd(epoch, self._starts[0])
        return EpochEnd(self._epochs[after - 1], self._starts[after])

    def epoch_of(self, offset: int) -> int:
        """Return the epoch that wrote an offset, or ``NO_EPOCH`` if that is before all entries."""
        at = bisect_right(self._starts, offset) - 1
        return self._epochs[at] if at >= 0 else NO_EPOCH
