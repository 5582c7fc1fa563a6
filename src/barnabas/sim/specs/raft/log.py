"""A log as consensus sees it: which epoch each offset is of, and where the voters change.

    start                                                        end
      │ epoch 2, 40 plain │ epoch 3, leader change │ epoch 3, voters │
      └ below it only a snapshot knows

Records of one epoch and one content are one ``Run``, so that a log of a million records is as small
as its elections.  Comparisons are written as the specification has them, record by record in
spirit; the product's ``Outline`` does the same another way.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from barnabas.model.value import value


@value
class Key:
    """A replica: a node and its disk.  An empty directory stands for whichever disk it has."""

    id: int
    directory: str = ""

    def __str__(self) -> str:
        return f"{self.id}{self.directory[:4]}"

    def names(self, other: "Key") -> bool:
        """Tell whether the other is meant by this."""
        return self.id == other.id and self.directory in ("", other.directory)


Voters: TypeAlias = frozenset[Key]

# What a record is: a value of the state machine (0 where values are not told apart), the beginning
# of an epoch, or the voters from here on.
Content: TypeAlias = int | Voters
PLAIN: Final = 0
LEADER_CHANGE: Final = -1


@value
class Run:
    """Records of one epoch and one content, up to an offset."""

    end: int
    epoch: int
    content: Content


@value
class Log:
    """A log; what is below ``start`` has been summed up."""

    start: int = 0
    start_epoch: int = 0
    """Of the last record that was summed up; 0 if there is none."""
    start_voters: Voters = frozenset()
    runs: tuple[Run, ...] = ()

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self.runs[-1].end if self.runs else self.start

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; 0 if there never was one."""
        return self.runs[-1].epoch if self.runs else self.start_epoch

    @property
    def rank(self) -> tuple[int, int]:
        """What decides which of two logs is more complete: the epoch first."""
        return self.last_epoch, self.end

    @property
    def voters(self) -> Voters:
        """The voters in force: the last ones in the log, committed or not."""
        for run in reversed(self.runs):
            if isinstance(run.content, frozenset):
                return run.content
        return self.start_voters

    @property
    def voters_offset(self) -> int:
        """Where the record of the voters in force is; below ``start`` if it was summed up."""
        for run in reversed(self.runs):
            if isinstance(run.content, frozenset):
                return run.end - 1
        return self.start - 1

    @property
    def epochs(self) -> tuple[tuple[int, int], ...]:
        """Every epoch in the log, and the offset of its first record in it."""
        found: dict[int, int] = {}
        for first, run in self.pieces():
            found.setdefault(run.epoch, first)
        return tuple(found.items())

    def pieces(self, first: int = 0, end: int | None = None) -> Iterator[tuple[int, Run]]:
        """Yield the runs between two offsets, cut to fit, each with the offset it begins at."""
        at = self.start
        end = self.end if end is None else end
        for run in self.runs:
            begin, stop = max(at, first), min(run.end, end)
            if begin < stop:
                yield begin, replace(run, end=stop)
            at = run.end

    def epoch_below(self, offset: int) -> int:
        """Return the epoch of the last record below an offset of this log; 0 if there is none."""
        epoch = self.start_epoch
        for _, run in self.pieces(end=offset):
            epoch = run.epoch
        return epoch

    # --- how two logs compare --------------------------------------------------------------------

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to this one, and where it ends; this one if there is none."""
        found = (self.start_epoch if self.start else epoch), self.start
        for _, run in self.pieces():
            if run.epoch <= epoch:
                found = run.epoch, run.end
        return found

    def is_continuation_of(self, offset: int, epoch: int) -> bool:
        """Tell whether a replica has a beginning of this log: below an offset, the last so old."""
        last, end = self.end_of_epoch(epoch)
        return offset == 0 or (last == epoch and offset <= end)

    def is_behind(self, offset: int, epoch: int) -> bool:
        """Tell whether this log has summed up what a replica would need to compare."""
        return (
            offset < self.start
            or epoch < self.start_epoch
            or (offset == self.start and epoch != self.start_epoch and offset > 0)
        )

    def shared_with(self, epoch: int, end: int) -> int:
        """Return up to where another log may be alike in which an epoch ends at an offset.

        A log that has the epoch, too, is alike no further, whatever it holds of older ones: the
        other may have nothing as old, and say where it begins.
        """
        last, own_end = self.end_of_epoch(epoch)
        return min(own_end, end) if last == epoch else own_end

    def agrees_with(self, other: "Log", end: int | None = None) -> bool:
        """Tell whether two logs hold the same wherever both hold something below an offset."""
        stop = min(self.end, other.end) if end is None else min(self.end, other.end, end)
        first = max(self.start, other.start)
        return first >= stop or (
            list(self.pieces(first, stop)) == list(other.pieces(first, stop))
            and self.epoch_below(first) == other.epoch_below(first)
        )

    # --- moving ----------------------------------------------------------------------------------

    def append(self, epoch: int, content: Content, count: int = 1) -> "Log":
        """Return the log with more records behind it."""
        run = Run(self.end + count, epoch, content)
        runs = self.runs
        if runs and content == PLAIN and (runs[-1].epoch, runs[-1].content) == (epoch, content):
            runs = runs[:-1]
        return replace(self, runs=(*runs, run))

    def extend(self, pieces: tuple[Run, ...]) -> "Log":
        """Return the log with the pieces of another one behind it."""
        log = self
        for run in pieces:
            log = log.append(run.epoch, run.content, run.end - log.end)
        return log

    def cut(self, end: int) -> "Log":
        """Return the log without what is at an offset and behind it."""
        return replace(self, runs=tuple(run for _, run in self.pieces(end=end)))

    def begin_at(self, start: int) -> "Log":
        """Return the log without what is below an offset."""
        below = self.cut(start)
        runs = tuple(run for _, run in self.pieces(first=start))
        return Log(start, below.last_epoch, below.voters, runs)
