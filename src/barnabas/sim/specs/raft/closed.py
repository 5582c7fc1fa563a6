"""The closed model: a few replicas, everything they ever said, and what may happen next.

    (replicas, said, spent) ── a replica moves of itself, hears something, restarts ──▶ ...

*Said* only grows: a message that may come twice, late or never is one that stays and need not be
heard.  It holds the facts of ``properties`` too.  What disturbs is limited by a ``Scope``, what
repairs is not.

Reductions, none of which takes away a behaviour that matters here:

- News of an epoch travels as a vote request or as ``Leads``, which anybody may hear, so answers
  that refuse need not be sent.
- A replica that is down is one that does not move.
- A follower that may fetch has asked; a leader that may commit has.  Sooner is never safer.
- Where no disk is lost or late (``disks``), what is appended is flushed.
- What nobody can ever react to is forgotten, unless a guard is lifted: then somebody may.

A state is a tuple of numbers.  Replicas and facts are kept once, in tables, and what a replica does
of itself or about a message is worked out once: it depends on nobody else.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.specs.exploration import Move
from barnabas.sim.specs.raft.deeds import (
    FREE,
    RESTARTS,
    VALUES,
    WIPES,
    Scope,
    Try,
    may_hear,
    may_react,
    news,
    own_deeds,
    reactions,
    settled,
)
from barnabas.sim.specs.raft.guards import ALL
from barnabas.sim.specs.raft.log import Key
from barnabas.sim.specs.raft.node import Node, Role, VoteAnswer
from barnabas.sim.specs.raft.properties import (
    DURABILITY,
    LEADER_KEPT,
    LOG_MATCHING,
    Fact,
    Voted,
    contradiction,
    is_durable,
    of_logs,
    of_node,
    of_step,
)
from barnabas.sim.specs.raft.replication import began
from barnabas.sim.specs.rules import Blocked, Rules

# Replicas, what was said, how often what is limited has happened; the first two as numbers.
World: TypeAlias = tuple[tuple[int, ...], int, tuple[int, ...]]


@value
class Deed:
    """What one replica may do, worked out: its name, what it costs, what comes of it."""

    name: str
    cost: int
    after: int
    said: int
    broken: str
    commits: bool


class Closed:
    """The model of one scope under some rules."""

    def __init__(
        self,
        scope: Scope,
        rules: Rules = ALL,
        ignored: frozenset[str] = frozenset(),
        then: tuple[str, ...] = (),
    ) -> None:
        self.ignored: Final = ignored
        """Properties that are not asked for, to see what falls behind them."""
        self.script: Final = (*scope.script, *then)
        self.scope: Final = scope
        self.rules: Final = rules
        self.blocks: Final[dict[StrEnum, int]] = {}
        self._nodes: Final[list[Node]] = []
        self._node_numbers: Final[dict[Node, int]] = {}
        self._facts: Final[list[Fact]] = []
        self._fact_numbers: Final[dict[Fact, int]] = {}
        self._against: Final[list[dict[str, int]]] = []
        # Which facts each replica may hear, by its place.
        self._heard: Final[list[int]] = [0] * (scope.voters + scope.observers)
        # What nobody hears; and what each replica may still react to, of the facts up to a number.
        self._unheard = 0
        self._alive: Final[dict[int, tuple[int, int]]] = {}
        self._own: Final[dict[tuple[int, int], list[Deed]]] = {}
        self._reactions: Final[dict[tuple[int, int], list[Deed]]] = {}
        self._matched: Final[dict[tuple[int, int], bool]] = {}

    # --- the model -------------------------------------------------------------------------------

    def initial(self) -> World:
        """Return the world after the script."""
        scope = self.scope
        ids = range(1, scope.voters + scope.observers + 1)
        voters = frozenset(Key(node_id, "a") for node_id in ids if node_id <= scope.voters)
        nodes = tuple(self._node(began(Key(node_id, "a"), voters)) for node_id in ids)
        world: World = nodes, 0, (0,) * len(scope.limits)
        for name in self.script:
            world = self._play(world, name)
        return world

    def _play(self, world: World, name: str) -> World:
        names = []
        for move in self.moves(world):
            if move.name == name:
                assert not move.broken, f"the script breaks {move.broken} at {name!r}"
                return move.state
            names.append(move.name)
        raise AssertionError(f"{name!r} cannot happen; what can: {', '.join(names)}")

    def moves(self, state: World) -> Iterator[Move[World]]:
        """Return everything that may happen next."""
        nodes, said, spent = state
        for place, number in enumerate(nodes):
            for deed in self._deeds(place, number, spent[VALUES]):
                if deed.cost == FREE or spent[deed.cost] < self.scope.limits[deed.cost]:
                    yield self._done(state, place, deed)
            heard = said & self._heard[place]
            while heard:
                lowest = heard & -heard
                heard ^= lowest
                fact = lowest.bit_length() - 1
                for deed in self._reaction(number, fact):
                    yield self._done(state, place, deed)

    def _done(self, state: World, place: int, deed: Deed) -> Move[World]:
        nodes, said, spent = state
        after = (*nodes[:place], deed.after, *nodes[place + 1 :])
        if deed.cost != FREE:
            spent = (*spent[: deed.cost], spent[deed.cost] + 1, *spent[deed.cost + 1 :])
        broken = deed.broken or self._contradicted(said, deed.said)
        broken = broken or self._mismatch(after, place) or self._lost(deed, after, place)
        said |= deed.said
        if not self.rules.lifted:
            alive = self._unheard
            for number in after:
                alive |= self._alive_for(number)
            said &= alive
        return Move(f"{place + 1} {deed.name}", (after, said, spent), broken)

    def _contradicted(self, said: int, more: int) -> str:
        new = more & ~said
        everything = said | more
        while new:
            lowest = new & -new
            new ^= lowest
            for broken, facts in self._against[lowest.bit_length() - 1].items():
                if everything & facts:
                    return broken
        return ""

    def _mismatch(self, nodes: tuple[int, ...], place: int) -> str:
        for other in nodes:
            pair = nodes[place], other
            match = self._matched.get(pair)
            if match is None:
                logs = self._nodes[pair[0]].log, self._nodes[pair[1]].log
                match = self._matched[pair] = not of_logs(*logs)
            if not match and LOG_MATCHING not in self.ignored:
                return LOG_MATCHING
        return ""

    def _lost(self, deed: Deed, nodes: tuple[int, ...], place: int) -> str:
        if not deed.commits or DURABILITY in self.ignored:
            return ""
        everybody = [self._nodes[number] for number in nodes]
        return "" if is_durable(self._nodes[nodes[place]], everybody) else DURABILITY

    # --- tables ----------------------------------------------------------------------------------

    def _node(self, node: Node) -> int:
        number = self._node_numbers.setdefault(node, len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(node)
        return number

    def _fact(self, fact: Fact) -> int:
        """Return a fact as a bit."""
        number = self._fact_numbers.setdefault(fact, len(self._facts))
        if number == len(self._facts):
            against: dict[str, int] = {}
            for other, known in enumerate(self._facts):
                broken = contradiction(fact, known)
                if broken and broken not in self.ignored:
                    against[broken] = against.get(broken, 0) | 1 << other
                    theirs = self._against[other]
                    theirs[broken] = theirs.get(broken, 0) | 1 << number
            self._facts.append(fact)
            self._against.append(against)
            hearers = [place for place in range(len(self._heard)) if may_hear(place + 1, fact)]
            for place in hearers:
                self._heard[place] |= 1 << number
            if not hearers:
                self._unheard |= 1 << number
        return 1 << number

    def _alive_for(self, number: int) -> int:
        """Return the facts that a replica may react to, now or later, as it is."""
        known, alive = self._alive.get(number, (0, 0))
        if known < len(self._facts):
            node = self._nodes[number]
            for fact in range(known, len(self._facts)):
                if may_hear(node.key.id, self._facts[fact]) and may_react(node, self._facts[fact]):
                    alive |= 1 << fact
            self._alive[number] = len(self._facts), alive
        return alive

    def _deeds(self, place: int, number: int, values: int) -> list[Deed]:
        key = number, values
        deeds = self._own.get(key)
        if deeds is None:
            node = self._nodes[number]
            found = own_deeds(node, self.scope, self.rules, values + 1)
            deeds = self._own[key] = self._noted(node, found)
        return deeds

    def _reaction(self, number: int, fact: int) -> list[Deed]:
        key = number, fact
        deeds = self._reactions.get(key)
        if deeds is None:
            node = self._nodes[number]
            found = reactions(node, self._facts[fact], self.scope, self.rules)
            deeds = self._reactions[key] = self._noted(node, found)
        return deeds

    def _noted(self, node: Node, found: Iterable[Try]) -> list[Deed]:
        """Keep what is not blocked and changes something."""
        deeds = []
        for name, cost, step, facts in found:
            if isinstance(step, Blocked):
                self.blocks[step.guard] = self.blocks.get(step.guard, 0) + 1
                continue
            after, more = settled(step.node, self.scope, self.rules)
            wrong = [*of_node(step.node), *of_node(after), *of_step(step.node, after)]
            if cost not in (RESTARTS, WIPES):
                wrong += of_step(node, step.node)
            if after.key.id in self.scope.quiet and after.epoch > self.scope.stable:
                wrong.append(LEADER_KEPT)
            broken = next((name for name in wrong if name not in self.ignored), "")
            said = 0
            for fact in (*facts, *news(node, step.node, cost), *more):
                said |= self._fact(fact)
            if step.said is not None:
                said |= self._fact(step.said)
            if isinstance(step.said, VoteAnswer) and not step.said.request.pre_vote:
                request = step.said.request
                said |= self._fact(Voted(request.epoch, node.key, request.candidate))
            if broken or said or after != node:
                leads = step.node.role is Role.LEADER
                commits = leads and after.hwm > node.hwm
                deeds.append(Deed(name, cost, self._node(after), said, broken, commits))
        return deeds
