"""The log of a partition as replication sees it: which leader epoch each offset is of.

    0                                  end
    │ epoch 1, 40 plain │ epoch 3, value 7 │

Records of one epoch and one value are one ``Run``, so that a log of a million records is as small
as its history.  Comparisons are written as the specification has them; the product's epoch cache
does the same another way.  Retention and compaction are not there: the log begins at 0.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from barnabas.model.value import value

# What a record is, where values are not told apart.
PLAIN: Final = 0


@value
class Run:
    """Records of one epoch and one value, up to an offset."""

    end: int
    epoch: int
    value: int


Records: TypeAlias = tuple[Run, ...]


@value
class Log:
    """The records of one replica."""

    runs: Records = ()

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self.runs[-1].end if self.runs else 0

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; 0 if there is none."""
        return self.runs[-1].epoch if self.runs else 0

    def pieces(self, first: int = 0, end: int | None = None) -> Iterator[tuple[int, Run]]:
        """Yield the runs between two offsets, cut to fit, each with the offset it begins at."""
        at = 0
        end = self.end if end is None else end
        for run in self.runs:
            begin, stop = max(at, first), min(run.end, end)
            if begin < stop:
                yield begin, replace(run, end=stop)
            at = run.end

    def records(self, first: int, end: int) -> Records:
        """Return what is between two offsets."""
        return tuple(run for _, run in self.pieces(first, end))

    def values(self, first: int, end: int) -> frozenset[int]:
        """Return the values between two offsets."""
        return frozenset(run.value for _, run in self.pieces(first, end))

    def end_of_epoch(self, epoch: int, current: int | None = None) -> tuple[int, int]:
        """Return the largest epoch up to this one, and where the next larger one begins.

        For a leader its current epoch counts as one that begins at the end of the log, even if
        nothing was appended in it.  Where nothing is as old, the epoch itself is returned.
        """
        if not self.runs or epoch in (self.last_epoch, current):
            return epoch, self.end
        found, at = epoch, 0
        for run in self.runs:
            if run.epoch > epoch:
                return found, at
            found, at = run.epoch, run.end
        assert current is not None, f"epoch {epoch} is asked for, {self.last_epoch} is the last"
        return found, self.end

    def agrees_with(self, other: "Log", end: int) -> bool:
        """Tell whether two logs hold the same below an offset, as far as both go."""
        stop = min(self.end, other.end, end)
        return self.records(0, stop) == other.records(0, stop)

    def append(self, epoch: int, value: int, count: int = 1) -> "Log":
        """Return the log with more records behind it."""
        run = Run(self.end + count, epoch, value)
        runs = self.runs
        if runs and value == PLAIN and (runs[-1].epoch, runs[-1].value) == (epoch, value):
            runs = runs[:-1]
        return Log((*runs, run))

    def extend(self, first: int, records: Records) -> "Log":
        """Return the log with records of another one behind it, the first of them at an offset."""
        log, at = self, first
        for run in records:
            log = log.append(run.epoch, run.value, run.end - at)
            at = run.end
        return log

    def cut(self, end: int) -> "Log":
        """Return the log without what is at an offset and behind it."""
        return Log(self.records(0, end))
