"""What many runs together must have come upon, and how many different situations they were in.

The first list is the raft row of the oracle book's coverage list: a campaign in which one of these
never came about has proved nothing of it.  The second is a measure of how far plans reach: a
*situation* is what all replicas are at one moment, without their names and their numbers: roles,
who is how many epochs behind, whose log is how long compared with the others'.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple
from zlib import crc32

from barnabas.raft.effects import (
    AppendRecords,
    AppendVoters,
    HighWatermark,
    InstallSnapshot,
    OpenSnapshot,
    Reply,
    Truncate,
)
from barnabas.raft.events import Alarm, Asked, TimerFired
from barnabas.raft.messages import Vote, VoteAnswer
from barnabas.raft.outline import BOOTSTRAP
from barnabas.raft.states import Follower, Leader, Prospective, Resigned, Unattached
from barnabas.sim.profiles.raft.elections import votes_here
from barnabas.sim.profiles.raft.lives import Life, Oracle, Step
from barnabas.sim.world import World

PRE_VOTE_LOST: Final = "pre-vote lost"
LOG_CHECK: Final = "vote refused by log check"
NO_APPEND: Final = "three consecutive epochs without append"
DIVERGED: Final = "diverging truncation on a voter"
CHECK_QUORUM: Final = "leader resigns by check-quorum"
READDED: Final = "leader removed and re-added"
INTERRUPTED: Final = "FetchSnapshot interrupted"
PROMOTED: Final = "observer promoted"
CUT_AWAY: Final = "config record truncated away"
TAIL: Final = "snapshot and tail recovered"
ALONE: Final = "single voter commits"

MUST_SEE: Final[Sequence[str]] = (
    PRE_VOTE_LOST,
    LOG_CHECK,
    NO_APPEND,
    DIVERGED,
    CHECK_QUORUM,
    READDED,
    INTERRUPTED,
    PROMOTED,
    CUT_AWAY,
    TAIL,
    ALONE,
)

# Differences larger than this count as this.
FAR: Final = 3


class Sightings(Oracle):
    """Marks what came about; objects to nothing."""

    def __init__(self, world: World) -> None:
        self._world: Final = world
        # The epochs that began, and how many records a state machine has put into each.
        self._appends: Final[dict[int, int]] = {}
        # Leaders that have removed themselves, by id.
        self._departed: Final[dict[int, None]] = {}
        self._receiving: Final[dict[Life, None]] = {}

    def opened(self, life: Life) -> None:
        for former in [each for each in self._receiving if each.home is life.home]:
            del self._receiving[former]
            self._world.mark(INTERRUPTED)
        facts = life.facts
        latest = facts.snapshot
        if latest not in (None, BOOTSTRAP) and facts.end > facts.start:
            self._world.mark(TAIL)

    def step(self, step: Step) -> None:
        for effect in step.effects:
            match effect:
                case Reply(_, VoteAnswer(granted=False)):
                    self._note_refusal(step)
                case AppendRecords(_, epoch):
                    self._appends[epoch] = self._appends.get(epoch, 0) + 1
                case AppendVoters():
                    self._note_voters(step, effect)
                case Truncate(end_offset):
                    self._note_cut(step, end_offset)
                case OpenSnapshot():
                    self._receiving[step.life] = None
                case InstallSnapshot():
                    self._receiving.pop(step.life, None)
                case HighWatermark() if len(step.after.voters) == 1:
                    if isinstance(step.after.state, Leader):
                        self._world.mark(ALONE)
                case _:
                    pass

    def changed(self, step: Step) -> None:
        if step.life in self._receiving:
            del self._receiving[step.life]
            self._world.mark(INTERRUPTED)
        for before, after in step.changes:
            match before, after:
                case Prospective(epoch), (Unattached() | Follower()) if after.epoch == epoch:
                    self._world.mark(PRE_VOTE_LOST)
                case Leader(), Resigned() if step.event == TimerFired(Alarm.CHECK_QUORUM):
                    self._world.mark(CHECK_QUORUM)
                case _, Leader(epoch):
                    self._note_epoch(epoch)
                case _:
                    pass

    def _note_refusal(self, step: Step) -> None:
        match step.event:
            case Asked(_, Vote(last=last)) if last.rank < (step.before.last_epoch, step.before.end):
                self._world.mark(LOG_CHECK)
            case _:
                pass

    def _note_voters(self, step: Step, effect: AppendVoters) -> None:
        before = set(step.before.voters.ids)
        after = set(effect.voter_set.ids)
        own = step.life.key.id
        if own in before - after:
            self._departed[own] = None
        if after - before:
            self._world.mark(PROMOTED)
        if any(node_id in self._departed for node_id in after - before):
            self._world.mark(READDED)

    def _note_cut(self, step: Step, end_offset: int) -> None:
        if votes_here(step.life, step.before.voters):
            self._world.mark(DIVERGED)
        if step.before.voters_offset >= end_offset:
            self._world.mark(CUT_AWAY)

    def _note_epoch(self, epoch: int) -> None:
        last = [each for each in sorted(self._appends) if each < epoch][-FAR:]
        if len(last) == FAR and not any(self._appends[each] for each in last):
            self._world.mark(NO_APPEND)
        self._appends.setdefault(epoch, 0)


class Part(NamedTuple):
    """What one replica contributes to a situation."""

    role: str
    votes: bool
    epoch: int
    rank: tuple[int, int]
    committed: int
    start: int


class Situations(Oracle):
    """Counts the situations that a run was in, among the world's steps."""

    def __init__(self, world: World) -> None:
        self._world: Final = world
        self._parts: Final[dict[int, Part]] = {}

    def step(self, step: Step) -> None:
        facts = step.after
        part = Part(
            type(facts.state).__name__,
            votes_here(step.life, facts.voters),
            facts.epoch,
            (facts.last_epoch, facts.end),
            facts.high_watermark,
            facts.start,
        )
        if self._parts.get(step.life.key.id) != part:
            self._parts[step.life.key.id] = part
            self._world.steps[f"raft {situation(list(self._parts.values())):08x}"] = None


def situation(parts: Sequence[Part]) -> int:
    """Return a digest of what replicas are, which names and numbers do not change."""
    newest = max(part.epoch for part in parts)
    ranks = sorted({part.rank for part in parts}, reverse=True)
    committed = sorted({part.committed for part in parts}, reverse=True)
    starts = sorted({part.start for part in parts}, reverse=True)
    relative = sorted(
        (
            part.role,
            part.votes,
            min(newest - part.epoch, FAR),
            min(ranks.index(part.rank), FAR),
            min(committed.index(part.committed), FAR),
            min(starts.index(part.start), FAR),
        )
        for part in parts
    )
    return crc32(repr(relative).encode())
