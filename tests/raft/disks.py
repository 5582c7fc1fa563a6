"""A disk as one replica of the quorum sees it, with records for bytes and nothing left out.

    entries   0 1 2 3 4 5 6 7 8
              └── durable ─┘└─┘ in the page cache: a power cut may take it, or some of it

Records are told apart by their *chain*: a number for the record and everything before it, so that
two logs agree up to an offset exactly if their chains there are equal.
"""

from dataclasses import dataclass, field

from barnabas.model.value import value
from barnabas.raft.effects import AppendLeaderChange
from barnabas.raft.outline import Outline, SnapshotId
from barnabas.raft.states import Election
from barnabas.raft.voters import NO_VOTERS, History, VoterSet

NOTHING = 0
"""The chain of what is before the first record."""


@value
class Entry:
    """One record: its epoch, what it says, and the chain up to it."""

    epoch: int
    said: object
    chain: int


@value
class Image:
    """What a snapshot holds: the voters and the version at its end, and all that was before."""

    voters: VoterSet | None
    version: int
    chain: int


class Chains:
    """Numbers for records and everything before them."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int, object], int] = {}

    def entry(self, before: int, epoch: int, said: object) -> Entry:
        """Return a record that follows others."""
        number = self._numbers.setdefault((before, epoch, said), len(self._numbers) + 1)
        return Entry(epoch, said, number)


@dataclass
class Flushing:
    """A flush on its way: how far what it makes durable still stands."""

    cuts: int
    told: int
    end: int


@dataclass
class Disk:
    """What one directory holds."""

    chains: Chains
    configured: VoterSet = NO_VOTERS
    version: int = 0
    formatted: tuple[SnapshotId, ...] = ()
    election: Election | None = None
    start: int = 0
    base: int = NOTHING
    entries: list[Entry] = field(default_factory=list)
    durable: int = 0
    snapshots: dict[SnapshotId, Image] = field(default_factory=dict)
    flushing: list[Flushing] = field(default_factory=list)
    _walked: tuple[object, list[tuple[int, int]], VoterSet] | None = None

    # --- reading ---------------------------------------------------------------------------------

    @property
    def end(self) -> int:
        """Where the log ends."""
        return self.start + len(self.entries)

    def at(self, offset: int) -> Entry:
        """Return the record at an offset."""
        return self.entries[offset - self.start]

    def chain(self, end_offset: int) -> int | None:
        """Return the chain of everything below an offset, if it is known here."""
        if end_offset == self.start:
            return self.base
        if self.start < end_offset <= self.end:
            return self.at(end_offset - 1).chain
        return None

    def holds(self, end_offset: int, chain: int, *, durably: bool) -> bool:
        """Tell whether everything below an offset is here, as a log or as a snapshot."""
        if durably and end_offset > self.durable:
            return False
        if end_offset < self.start:
            return bool(self.snapshots)
        return self.chain(end_offset) == chain

    def last(self, end_offset: int | None = None) -> SnapshotId:
        """Return the end of the log, or of its beginning, as what votes compare."""
        end = self.end if end_offset is None else end_offset
        if end > self.start:
            return SnapshotId(end, self.at(end - 1).epoch)
        return SnapshotId(end, max((each.epoch for each in self.snapshots), default=0))

    def epochs(self) -> list[tuple[int, int]]:
        """Return every epoch in the log and its first offset."""
        return self._walk()[1]

    def voters(self) -> VoterSet:
        """Return the last voters that the log names, or who was before it."""
        return self._walk()[2]

    def _walk(self) -> tuple[object, list[tuple[int, int]], VoterSet]:
        """Walk the log from one end to the other, unless it is the one that was walked last."""
        image = self.image()
        log = self.start, self.end, self.chain(self.end), image, self.configured
        if self._walked is None or self._walked[0] != log:
            epochs: dict[int, int] = {}
            before = None if image is None else image.voters
            voters = self.configured if before is None else before
            for offset, entry in enumerate(self.entries, self.start):
                epochs.setdefault(entry.epoch, offset)
                if isinstance(entry.said, VoterSet):
                    voters = entry.said
            self._walked = log, list(epochs.items()), voters
        return self._walked

    def image(self) -> Image | None:
        """Return the newest snapshot's content."""
        if not self.snapshots:
            return None
        return self.snapshots[max(self.snapshots, key=lambda each: each.end_offset)]

    # --- writing ---------------------------------------------------------------------------------

    def append(self, base: int, epoch: int, said: object) -> None:
        """Append one record, into the page cache."""
        assert base == self.end, f"appended at {base}, the log ends at {self.end}"
        chain = self.chain(self.end)
        assert chain is not None, "a log without an end"
        self.entries.append(self.chains.entry(chain, epoch, said))

    def append_leader_change(self, effect: AppendLeaderChange, leader_id: int) -> None:
        """Append the first batch of an epoch."""
        leader = ("leader", leader_id, effect.epoch)
        self.append(effect.base_offset, effect.epoch, leader)
        if effect.voter_set is not None:
            self.append(effect.base_offset + 1, effect.epoch, ("version", effect.version))
            self.append(effect.base_offset + 2, effect.epoch, effect.voter_set)

    def truncate(self, end_offset: int) -> None:
        """Cut the log, durably."""
        del self.entries[end_offset - self.start :]
        self.durable = min(self.durable, end_offset)
        for flushing in self.flushing:
            flushing.end = min(flushing.end, end_offset)

    def flush_begins(self, cuts: int) -> Flushing:
        """Begin to make durable what is here."""
        flushing = Flushing(cuts, self.end, self.end)
        self.flushing.append(flushing)
        return flushing

    def flush_ends(self, flushing: Flushing) -> None:
        """Have made durable what still stands of it."""
        self.flushing.remove(flushing)
        self.durable = max(self.durable, flushing.end)

    def snapshot(self, end_offset: int) -> SnapshotId:
        """Sum up everything below an offset."""
        chain = self.chain(end_offset)
        assert chain is not None, f"nothing to sum up below {end_offset}"
        snapshot = SnapshotId(end_offset, self.at(end_offset - 1).epoch)
        then = self.history(end_offset)
        voters = then.current if then.version else None
        self.snapshots[snapshot] = Image(voters, then.version, chain)
        return snapshot

    def install(self, snapshot: SnapshotId, image: Image) -> None:
        """Let a snapshot take the place of the log."""
        self.entries.clear()
        self.start = self.durable = snapshot.end_offset
        self.base = image.chain
        self.snapshots = {snapshot: image}
        self.formatted = ()
        for flushing in self.flushing:
            flushing.end = 0

    def clean(self, first: SnapshotId) -> None:
        """Begin the log where a snapshot ends."""
        base = self.chain(first.end_offset)
        assert base is not None, f"{first} is no part of the log"
        del self.entries[: first.end_offset - self.start]
        self.start, self.base = first.end_offset, base
        self.durable = max(self.durable, self.start)
        self.snapshots = {
            each: image for each, image in self.snapshots.items() if each.rank >= first.rank
        }
        self.formatted = ()

    # --- dying and coming back -------------------------------------------------------------------

    def lose_power(self, end_offset: int) -> None:
        """Lose what was in the page cache only, above an offset."""
        assert end_offset >= self.durable, "a power cut takes nothing that was synced"
        self.flushing.clear()
        del self.entries[max(0, end_offset - self.start) :]
        image = self.image()
        newest = max(self.snapshots, key=lambda each: each.end_offset, default=None)
        if image is not None and newest is not None and newest.end_offset > self.end:
            # What a snapshot sums up need not be in the log any more.
            self.install(newest, image)

    def be_killed(self) -> None:
        """Lose nothing: the page cache outlives a process."""
        self.flushing.clear()

    def outline(self) -> Outline:
        """Return what the machine is told about the log when it begins."""
        known = (*self.formatted, *self.snapshots)
        return Outline(self.start, self.end, self.epochs(), known)

    def history(self, end_offset: int | None = None) -> History:
        """Return what the machine is told about the voters."""
        history = History(self.configured, self.version)
        newest = max(self.snapshots, key=lambda each: each.end_offset, default=None)
        begin = self.start
        if newest is not None and (end_offset is None or newest.end_offset <= end_offset):
            image = self.snapshots[newest]
            history.restart(newest.end_offset, image.voters, image.version)
            begin = newest.end_offset
        for offset in range(begin, self.end if end_offset is None else end_offset):
            said = self.at(offset).said
            if isinstance(said, VoterSet):
                history.add_voters(offset, said)
            elif isinstance(said, tuple) and said[0] == "version":
                history.add_version(offset, said[1])
        return history
