"""Hears every step of every replica, keeps what oracles compare it with, and asks them.

    raft.step ──▶ Step (before, event, effects, after) ──▶ oracles         in the middle of a handle
    the event is over ──▶ logs read on, flushes looked at ──▶ oracles      the disk has caught up

A replica's machine is ahead of its disk while the disk is awaited, so logs are read when it has
done what was decided; a process that dies before is read when its successor has opened its disk.
"""

from collections.abc import Callable, Sequence
from typing import Final

from barnabas.raft.effects import (
    AppendFetched,
    AppendLeaderChange,
    AppendRecords,
    AppendVoters,
    Ask,
    Became,
    CleanLog,
    InstallSnapshot,
    Truncate,
)
from barnabas.raft.events import Answered, Flushed, SnapshotInstalled, Unanswered
from barnabas.raft.shell import Quorum
from barnabas.raft.states import Follower, Leader, State
from barnabas.raft.voters import ReplicaKey
from barnabas.sim.probes import Moment
from barnabas.sim.profiles.raft.disks import LogView
from barnabas.sim.profiles.raft.durability import newly_durable
from barnabas.sim.profiles.raft.lives import (
    Asked,
    Home,
    Life,
    Oracle,
    Step,
    changes_in,
    facts_of,
)
from barnabas.sim.world import Violation, World


class Watch:
    """The one who listens: a ``Checker``."""

    kinds = frozenset({"raft.step"})

    def __init__(self, world: World, homes: list[Home], oracles: Sequence[Oracle]) -> None:
        self.lives: Final[dict[str, Life]] = {}
        self.homes: Final = homes
        self._world: Final = world
        self._oracles: Final = oracles
        self._opened: Final = self._hooks(Oracle.opened)
        self._changed: Final = self._hooks(Oracle.changed)
        self._stepped: Final = self._hooks(Oracle.step)
        self._read: Final = self._hooks(Oracle.read)
        self._flushed: Final = self._hooks(Oracle.flushed)
        self._moved: Final[dict[Life, None]] = {}

    def _hooks(self, hook: Callable[..., None]) -> list[Callable[..., None]]:
        """Return the oracles' own versions of a hook: most have few of them."""
        name = hook.__name__
        return [
            getattr(oracle, name)
            for oracle in self._oracles
            if getattr(type(oracle), name) is not hook
        ]

    # --- lives -------------------------------------------------------------------------------

    def born(self, name: str, host: str, quorum: Quorum) -> Life:
        """Learn of a replica that has read its disk."""
        home = self._home_of(host, quorum.config.key)
        life = Life(name, home, quorum, facts_of(quorum.node), LogView(home.disk))
        self.lives[name] = life
        outline = quorum.node.outline
        life.log.restart(outline.start_offset)
        home.begin_at(outline.start_offset)
        self._ask(self._opened, life)
        self._moved[life] = None
        self._catch_up(life)
        return life

    def _home_of(self, host: str, key: ReplicaKey) -> Home:
        for home in self.homes:
            if home.key == key:
                return home
        home = Home(host, key, self._world.hosts[host].disk)
        self.homes.append(home)
        return home

    # --- steps -------------------------------------------------------------------------------

    def hear(self, moment: Moment) -> None:
        """Take a step that a process has just made."""
        life = self.lives.get(f"{moment.host}.{moment.life}")
        if life is None:
            return
        at_ms, event, effects = life.quorum.story[-1]
        before, after = life.facts, facts_of(life.node)
        answered = None
        if isinstance(event, Answered | Unanswered):
            answered = life.asked.pop(event.request, None)
        changes = changes_in(before.state, event, effects)
        step = Step(life, at_ms, event, effects, before, after, answered, life.stint, changes)
        life.facts = after
        for old, new in changes:
            life.stint += (type(old), old.epoch) != (type(new), new.epoch)
        self._moved[life] = None
        if isinstance(event, Flushed) and life.unread_from is None:
            # What the step rests on; the log was read when it was written.
            self._look_at_flush(life)
        self._note_effects(step)
        self._ask(self._stepped, step)
        if changes:
            self._ask(self._changed, step)

    def _note_effects(self, step: Step) -> None:
        life = step.life
        for effect in step.effects:
            match effect:
                case Became(state):
                    self._world.note(f"{life} is {told(state)}")
                case Ask(request, _, question):
                    life.asked[request] = Asked(question, life.stint)
                case AppendRecords(base, _) | AppendLeaderChange(base_offset=base):
                    unread(life, base)
                case AppendVoters(base_offset=base, voter_set=voters):
                    self._world.note(f"{life} makes {voters.ids} vote, at {base}")
                    unread(life, base)
                case AppendFetched():
                    unread(life, step.before.end)
                case Truncate(end_offset):
                    self._world.note(f"{life} cuts its log at {end_offset}")
                    unread(life, end_offset)
                    life.home.cut(end_offset)
                case CleanLog() | InstallSnapshot():
                    unread(life, step.before.end)
                case _:
                    pass
        if isinstance(step.event, SnapshotInstalled):
            life.restarted = True
            unread(life, step.event.snapshot.end_offset)

    # --- between events ----------------------------------------------------------------------

    def check(self) -> None:
        """Read on where something has moved."""
        moved = list(self._moved)
        self._moved.clear()
        for life in moved:
            if not self.is_alive(life):
                continue
            if life.is_settled:
                self._catch_up(life)
            else:
                self._moved[life] = None

    def _catch_up(self, life: Life) -> None:
        outline, log = life.node.outline, life.log
        if life.unread_from is not None:
            if life.restarted:
                log.restart(outline.start_offset)
                life.home.durable.clear()
                life.restarted = False
                life.verified = max(life.verified, outline.start_offset)
            elif outline.start_offset > log.start:
                log.begin_at(outline.start_offset)
            if outline.start_offset > life.home.durable_start:
                life.home.begin_at(outline.start_offset)
            log.cut(life.unread_from)
            life.unread_from = None
            first = outline.snapshots[0] if outline.snapshots else None
            known = first is not None and first.end_offset == outline.start_offset
            start_epoch = first.epoch if first is not None and known else None
            if outline.start_offset == 0:
                start_epoch = 0
            life.verified = max(life.verified, outline.start_offset)
            new = log.read_on(outline.end_offset, start_epoch)
            self._ask(self._read, life, new)
        self._look_at_flush(life)

    def _look_at_flush(self, life: Life) -> None:
        if life.node.flushed_offset <= life.home.durable_end:
            return
        try:
            durable = newly_durable(life)
        except Violation as violation:
            self._world.found(violation)
            return
        life.home.durable.extend(durable)
        self._ask(self._flushed, life, durable)

    def finish(self) -> None:
        """Look at everybody once more."""
        self.check()
        living = [life for life in self.lives.values() if self.is_alive(life)]
        for oracle in self._oracles:
            oracle.finish(living)

    def is_alive(self, life: Life) -> bool:
        """Tell whether a life goes on."""
        process = self._world.hosts[life.home.host].process
        return process is not None and process.name == life.name

    def _ask(self, hooks: Sequence[Callable[..., None]], *facts: object) -> None:
        try:
            for hook in hooks:
                hook(*facts)
        except Violation as violation:
            self._world.found(violation)


def told(state: State) -> str:
    """Return a state in a few words."""
    kind, epoch = type(state).__name__, state.epoch
    match state:
        case Follower(leader_id=leader):
            return f"{kind} of {leader} in epoch {epoch}"
        case Leader(start_offset=start):
            return f"{kind} of epoch {epoch}, from {start}"
        case _:
            return f"{kind} in epoch {epoch}"


def unread(life: Life, offset: int) -> None:
    """Note that a log may be another from an offset on."""
    known = life.unread_from
    life.unread_from = offset if known is None else min(known, offset)
