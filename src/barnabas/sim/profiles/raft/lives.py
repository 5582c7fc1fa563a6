"""A replica as oracles see it: what it is, what it does next, what its disk has promised.

Home   one directory of one host, for as long as it is not lost: votes, what was flushed
Life   one process on it: the machine, its log, what it has asked
Step   one event of one life: what the machine was, what it did, what it is
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from barnabas.model.ids import ZERO_UUID
from barnabas.model.value import value
from barnabas.raft.effects import Ask, Became, Effect
from barnabas.raft.events import Event, Started
from barnabas.raft.messages import Question
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import SnapshotId
from barnabas.raft.shell import Quorum
from barnabas.raft.states import State
from barnabas.raft.voters import ReplicaKey, VoterSet
from barnabas.sim.disk import SimDisk
from barnabas.sim.profiles.raft.disks import Batch, LogView


def is_seat(seat: ReplicaKey, key: ReplicaKey) -> bool:
    """Tell whether a voter's seat is this replica's: by its directory, where that is known.

    Written down once more, for the product's own comparison is one of the things to be judged.
    """
    return seat.id == key.id and seat.directory_id in (ZERO_UUID, key.directory_id)


def has_seat(voters: VoterSet, key: ReplicaKey) -> bool:
    """Tell whether a replica is one of these voters."""
    return any(is_seat(voter.key, key) for voter in voters.voters)


class Facts(NamedTuple):
    """A machine between two events."""

    state: State
    start: int
    end: int
    last_epoch: int
    high_watermark: int
    flushed: int
    snapshot: SnapshotId | None
    voters: VoterSet
    voters_offset: int
    leading: int | None
    """The high watermark of its leadership; None if it has none, or does not lead."""

    @property
    def epoch(self) -> int:
        """The epoch it is in."""
        return self.state.epoch


def facts_of(node: RaftNode) -> Facts:
    """Return what a machine is now."""
    outline, voters, leading = node.outline, node.voters, node.leading
    return Facts(
        node.state,
        outline.start_offset,
        outline.end_offset,
        outline.last_epoch,
        node.high_watermark,
        node.flushed_offset,
        outline.latest_snapshot,
        voters.current,
        voters.current_offset,
        None if leading is None else leading.high_watermark,
    )


@dataclass(slots=True, eq=False)
class Home:
    """What a host's directory has promised, whichever process spoke for it."""

    host: str
    key: ReplicaKey
    disk: SimDisk
    durable: list[tuple[int, int]] = field(default_factory=list)
    """End offset and epoch of every batch that was seen durable, in order."""
    durable_start: int = 0
    durable_epoch: int = 0
    """The largest epoch that was seen durable in its ``quorum-state``."""
    votes: dict[int, ReplicaKey] = field(default_factory=dict)
    """Whom it has given a binding vote, by epoch."""

    @property
    def durable_end(self) -> int:
        """Below it everything was seen durable, in the log or in a snapshot."""
        return self.durable[-1][0] if self.durable else self.durable_start

    def holds(self, end: int, epoch: int) -> bool:
        """Tell whether the record before an offset is durable here, and is of that epoch."""
        if end <= self.durable_start:
            return True
        for reached, of in reversed(self.durable):
            if reached < end:
                return False
            if reached == end:
                return of == epoch
        return False

    def cut(self, end: int) -> None:
        """Learn that the log was cut."""
        while self.durable and self.durable[-1][0] > end:
            self.durable.pop()

    def begin_at(self, start: int) -> None:
        """Learn that a snapshot stands for what is below an offset."""
        self.durable_start = start
        self.durable[:] = [pair for pair in self.durable if pair[0] > start]


@value
class Asked:
    """A question that a machine has put, and in which of its stints."""

    question: Question
    stint: int


@dataclass(slots=True, eq=False)
class Life:
    """One process of a replica."""

    name: str
    home: Home
    quorum: Quorum
    facts: Facts
    log: LogView
    asked: dict[int, Asked] = field(default_factory=dict)
    stint: int = 0
    """How often its role or epoch has changed: what was asked in one stint is not for the next."""
    unread_from: int | None = 0
    """From here on the log may be other than it was read; None if it is as it was read."""
    restarted: bool = False
    """Whether a snapshot has taken the log's place since it was read."""
    verified: int = 0
    """Up to here what it counts as committed was compared."""

    @property
    def node(self) -> RaftNode:
        """The machine."""
        return self.quorum.node

    @property
    def key(self) -> ReplicaKey:
        """Who it is."""
        return self.quorum.config.key

    @property
    def is_settled(self) -> bool:
        """Whether the disk has done what the machine has decided.

        One that had an error never will, and the process ends of it, though not at once: what
        runs before may still decide something.
        """
        return not self.quorum.is_moving and self.quorum.storage.health.error is None

    def __str__(self) -> str:
        return self.name


class Step(NamedTuple):
    """One event and what became of it."""

    life: Life
    at_ms: int
    """By the replica's own clock."""
    event: Event
    effects: Sequence[Effect]
    before: Facts
    after: Facts
    answered: Asked | None
    """What the event answers, if it answers something."""
    stint: int
    """That in which it came."""
    changes: Sequence[tuple[State, State]]
    """What followed what."""

    def asks(self) -> list[Ask]:
        """What it asked others."""
        return [effect for effect in self.effects if isinstance(effect, Ask)]


def changes_in(before: State, event: Event, effects: Sequence[Effect]) -> list[tuple[State, State]]:
    """Return what a machine was and became.  What it is when it starts is told again: no change."""
    became = [effect.state for effect in effects if isinstance(effect, Became)]
    if not became:
        return []
    return list(pairwise(became if isinstance(event, Started) else [before, *became]))


class Oracle:
    """Somebody who says what must never be; each hook raises ``Violation`` if it is.

    Hooks are called between events, or in the middle of one with values that are complete; they
    read and never change.
    """

    def opened(self, life: Life) -> None:
        """Look at a replica that has read its disk and has done nothing yet."""

    def step(self, step: Step) -> None:
        """Look at a step; the disk has not done it yet."""

    def changed(self, step: Step) -> None:
        """Look at a step in which role, epoch, vote or leader changed; after ``step``."""

    def read(self, life: Life, new: Sequence[Batch]) -> None:
        """Look at a log that has moved, and at what is new in it."""

    def flushed(self, life: Life, new: Sequence[tuple[int, int]]) -> None:
        """Look at a replica that says more of its log is durable; end and epoch of each batch."""

    def finish(self, lives: Sequence[Life]) -> None:
        """Look at everybody once more at the end."""


NEVER: Final = -(2**62)
