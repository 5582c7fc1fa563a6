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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.specs.exploration import Move
from barnabas.sim.specs.raft.elections import (
    ask_vote,
    count,
    detach,
    follow,
    give_up,
    grant,
    lead,
    lose_pre_vote,
    resign,
    restart,
    stand,
    win_pre_vote,
)
from barnabas.sim.specs.raft.guards import ALL, Blocked, Guard, Rules
from barnabas.sim.specs.raft.log import Key
from barnabas.sim.specs.raft.node import (
    Asked,
    Diverging,
    FetchAnswer,
    FetchRequest,
    Leads,
    Node,
    Records,
    Role,
    Snapshot,
    Step,
    VoteAnswer,
    VoteRequest,
)
from barnabas.sim.specs.raft.properties import (
    DURABILITY,
    LOG_MATCHING,
    Fact,
    Issued,
    Led,
    Shown,
    Voted,
    contradiction,
    is_durable,
    of_logs,
    of_node,
    of_step,
)
from barnabas.sim.specs.raft.replication import (
    accept,
    append,
    ask_fetch,
    began,
    change_voters,
    clean,
    commit,
    cut,
    flush,
    hear_leader,
    install,
    send_diverging,
    send_records,
    send_snapshot,
    take,
    take_snapshot,
)

# What is limited: elections that nobody needed are, by the epochs.
VALUES: Final = 0
RESTARTS: Final = 1
WIPES: Final = 2
CHANGES: Final = 3
RESIGNATIONS: Final = 4
SNAPSHOTS: Final = 5
DISCOVERIES: Final = 6
FREE: Final = -1


@value
class Scope:
    """How small a world is."""

    voters: int = 2
    observers: int = 0
    epochs: int = 2
    values: int = 1
    restarts: int = 0
    wipes: int = 0
    changes: int = 0
    resignations: int = 0
    snapshots: int = 0
    discoveries: int = 0
    disks: bool = False
    singly: bool = False
    """Whether a leader sends one record at a time."""
    pre_votes: bool = False
    script: tuple[str, ...] = ()
    """What has happened already."""

    @property
    def limits(self) -> tuple[int, ...]:
        """How often each thing may happen, by its number."""
        return (
            self.values,
            self.restarts,
            self.wipes,
            self.changes,
            self.resignations,
            self.snapshots,
            self.discoveries,
        )


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

    def __init__(self, scope: Scope, rules: Rules = ALL) -> None:
        self.scope: Final = scope
        self.rules: Final = rules
        self.blocks: Final[dict[Guard, int]] = {}
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
        for name in scope.script:
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
            if not match:
                return LOG_MATCHING
        return ""

    def _lost(self, deed: Deed, nodes: tuple[int, ...], place: int) -> str:
        if not deed.commits:
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
                if broken:
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

    def _noted(self, node: Node, found: Iterable["Try"]) -> list[Deed]:
        """Keep what is not blocked and changes something."""
        deeds = []
        for name, cost, step, facts in found:
            if isinstance(step, Blocked):
                self.blocks[step.guard] = self.blocks.get(step.guard, 0) + 1
                continue
            broken = of_node(step.node)
            if cost not in (RESTARTS, WIPES):
                broken = broken or of_step(node, step.node)
            after, more = settled(step.node, self.scope, self.rules)
            broken = broken or of_node(after) or of_step(step.node, after)
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


# --- What a replica may do -------------------------------------------------------------------

# A name, what it costs, what comes of it, what is said besides.
Try: TypeAlias = tuple[str, int, Step | Blocked, tuple[Fact, ...]]


def settled(node: Node, scope: Scope, rules: Rules) -> tuple[Node, list[Fact]]:
    """Return a replica that has done what nothing is gained by doing later, and what it said."""
    if not scope.disks:
        node = flush(node, node.log.end).node
    if node.role is Role.FOLLOWER:
        asked = ask_fetch(node, rules=rules)
        if isinstance(asked, Step) and asked.said is not None:
            return asked.node, [asked.said]
    if node.role is Role.LEADER:
        for end in range(node.log.end, node.hwm, -1):
            committed = commit(node, end, rules)
            if isinstance(committed, Step):
                shown: list[Fact] = [Shown(node.epoch, node.log.cut(end))]
                node = committed.node
                if not node.is_voter and node.log.voters_offset < node.hwm:
                    # Its removal is committed, and it leads no longer.
                    left = resign(node)
                    assert isinstance(left, Step), f"{node} cannot leave"
                    return left.node, shown
                return node, shown
    return node, []


def may_react(node: Node, fact: Fact) -> bool:
    """Tell whether a replica may ever react to a fact, under all the rules."""
    match fact:
        case VoteRequest(candidate=candidate, epoch=epoch):
            free = node.role in (Role.UNATTACHED, Role.PROSPECTIVE)
            free = fact.pre_vote or (free and node.voted in (None, candidate))
            return epoch > node.epoch or (epoch == node.epoch and free)
        case VoteAnswer(request=request):
            return Asked(0, request) in node.asked
        case FetchRequest(epoch=epoch):
            leads = node.role in (Role.LEADER, Role.CANDIDATE)
            return epoch > node.epoch or (epoch == node.epoch and leads)
        case FetchAnswer(request=request):
            return Asked(0, request) in node.asked
        case Leads(epoch, leader):
            knows = node.role is Role.FOLLOWER or leader == node.key.id
            return epoch > node.epoch or (epoch == node.epoch and not knows)
        case _:
            return False


def news(before: Node, after: Node, cost: int) -> Iterator[Fact]:
    """Yield the facts that follow from what a replica has become."""
    if after.role is Role.CANDIDATE and cost != RESTARTS:
        yield Voted(after.epoch, after.key, after.key)
    if after.role is Role.LEADER and before.role is not Role.LEADER:
        yield Leads(after.epoch, after.key.id)
        yield Led(after.epoch, after.key, after.log)
    if after.role is Role.LEADER:
        for first, run in after.log.pieces(first=before.log.end):
            for offset in range(first, run.end):
                yield Issued(after.epoch, offset, run.content)
    if after.hwm > before.hwm and cost not in (RESTARTS, WIPES):
        yield Shown(after.epoch, after.log.cut(after.hwm))


def may_hear(node_id: int, fact: Fact) -> bool:
    """Tell whether a fact is a message that a replica of this id may get."""
    match fact:
        case VoteRequest(voter=voter):
            return voter.id == node_id
        case VoteAnswer(request=request):
            return request.candidate.id == node_id
        case FetchRequest(replica=replica):
            return replica.id != node_id
        case FetchAnswer(request=request):
            return request.replica.id == node_id
        case Leads(leader=leader):
            return leader != node_id
        case _:
            return False


def then(step: Step | Blocked, action: Callable[[Node], Step | Blocked]) -> Step | Blocked:
    """Do one thing after another, as one."""
    return step if isinstance(step, Blocked) else action(step.node)


def own_deeds(node: Node, scope: Scope, rules: Rules, next_value: int) -> Iterator[Try]:
    """Yield what a replica may do of itself."""
    yield from elections(node, scope, rules)
    if scope.disks:
        yield "flushes", FREE, flush(node, node.log.end), ()
    if node.role is Role.UNATTACHED and scope.discoveries:
        yield "looks for the leader", DISCOVERIES, ask_fetch(node, rules=rules), ()
    if node.role is Role.LEADER:
        yield from leaders_deeds(node, scope, rules, next_value)
    for kept in range(node.on_disk, node.log.end + 1) if scope.restarts else ():
        for role in Role:
            name = f"restarts as {role}, having {kept}"
            yield with_questions(name, restart(node, kept, role, rules=rules), rules, RESTARTS)
    if scope.wipes:
        fresh = began(Key(node.key.id, node.key.directory + "b"), node.log.start_voters)
        yield "loses its disk", WIPES, Step(fresh), ()
    if scope.snapshots and node.role is not Role.LEADER or node.role is Role.LEADER:
        yield from snapshots(node, scope, rules)


def elections(node: Node, scope: Scope, rules: Rules) -> Iterator[Try]:
    """Yield how a replica may come to lead, and stop."""
    if scope.pre_votes:
        yield with_questions("stands", stand(node, rules), rules)
    if node.epoch < scope.epochs:
        if scope.pre_votes:
            yield with_questions("wins the pre-vote", win_pre_vote(node, rules), rules)
        else:
            runs = then(stand(node, rules), lambda stood: win_pre_vote(stood, rules, False))
            yield with_questions("runs", runs, rules)
        yield "gives up", FREE, give_up(node, rules), ()
    if node.role is Role.PROSPECTIVE:
        for follows in (False, True):
            yield f"loses, follows {follows}", FREE, lose_pre_vote(node, follows, rules), ()
    yield "leads", FREE, lead(node, (), rules), ()


def with_questions(name: str, step: Step | Blocked, rules: Rules, cost: int = FREE) -> Try:
    """Return a deed after which everybody is asked for a vote by whoever wants any."""
    if isinstance(step, Blocked) or step.node.role not in (Role.PROSPECTIVE, Role.CANDIDATE):
        return name, cost, step, ()
    node = step.node
    asked: list[Fact] = []
    for voter in sorted(node.others, key=str):
        question = ask_vote(node, voter, rules=rules)
        assert isinstance(question, Step), f"{node} cannot ask {voter}"
        assert question.said is not None, "a question is said"
        node = question.node
        asked.append(question.said)
    return name, cost, Step(node), tuple(asked)


def leaders_deeds(node: Node, scope: Scope, rules: Rules, next_value: int) -> Iterator[Try]:
    """Yield what a leader may do of itself."""
    yield f"appends {next_value}", VALUES, append(node, next_value, 1, rules), ()
    if scope.resignations:
        yield "resigns", RESIGNATIONS, resign(node, rules), ()
    if scope.changes:
        everybody = (Key(each, "a") for each in range(1, scope.voters + scope.observers + 1))
        for key in everybody:
            voters = node.voters ^ {key}
            if voters:
                verb = "adds" if key in voters else "removes"
                yield f"{verb} {key.id}", CHANGES, change_voters(node, voters, rules), ()
        if len(node.voters) > 2:
            alone = change_voters(node, frozenset({node.key}), rules)
            yield "removes all others", CHANGES, alone, ()


def snapshots(node: Node, scope: Scope, rules: Rules) -> Iterator[Try]:
    """Yield the snapshots that a replica may take; the log begins there at once."""
    if not scope.snapshots:
        return
    for end in range(node.log.start + 1, node.log.end + 1):
        taken = take_snapshot(node, end, node.log.epoch_below(end), rules)
        cleaned = then(taken, lambda has, at=end: clean(has, at, rules))  # type: ignore[misc]
        yield f"sums up {end}", SNAPSHOTS, cleaned, ()


# --- What a replica may do about what it hears -----------------------------------------------


def reactions(node: Node, fact: Fact, scope: Scope, rules: Rules) -> Iterator[Try]:
    """Yield what a replica may do about something that was said."""
    match fact:
        case VoteRequest(candidate=candidate, epoch=epoch):
            begun: Step | Blocked = Step(node)
            if epoch > node.epoch:
                begun = detach(node, epoch, rules=rules)
            voted = then(begun, lambda heard: grant(heard, fact, rules))
            what = "would vote" if fact.pre_vote else "votes"
            yield f"{what} for {candidate.id} in {epoch}", FREE, voted, ()
            if isinstance(voted, Blocked):
                yield f"hears that {candidate.id} runs for {epoch}", FREE, begun, ()
        case VoteAnswer(request=request):
            step = count(node, Asked(0, request), fact, rules)
            yield f"counts the vote of {request.voter.id}", FREE, step, ()
        case Leads(epoch, leader):
            if node.role is not Role.FOLLOWER or epoch != node.epoch or leader != node.leader:
                name = f"follows {leader} in {epoch}"
                yield name, FREE, follow(node, leader, epoch, rules), ()
        case FetchRequest(replica=replica):
            if node.role is not Role.LEADER:
                return
            accepted = accept(node, fact, rules)
            end = min(node.log.end, fact.offset + 1) if scope.singly else None
            sent = then(accepted, lambda has: send_records(has, fact, end, rules))
            name = f"accepts the fetch of {replica.id} at {fact.offset}"
            yield name, FREE, sent, ()
            if node.latest is not None:
                name = f"offers {replica.id} a snapshot"
                yield name, FREE, send_snapshot(node, fact, rules), ()
            name = f"tells {replica.id} to cut"
            yield name, FREE, send_diverging(node, fact, rules), ()
        case FetchAnswer(request=request):
            heard = hear_leader(node, Asked(0, request), fact, rules)
            yield from taken(node, heard, fact, rules)
        case _:
            return


def taken(node: Node, heard: Step | Blocked, answer: FetchAnswer, rules: Rules) -> Iterator[Try]:
    """Yield what a replica may do with the answer to a fetch."""
    match answer.content:
        case Records(runs):
            end = runs[-1].end if runs else answer.request.offset
            fits = Guard.SAME_POSITION, not runs or node.log.end < end
            blocked = rules.blocked(fits)
            step = blocked or then(heard, lambda has: take(has, answer, rules))
            yield f"takes up to {end}, {answer.hwm} committed", FREE, step, ()
        case Diverging(epoch, end):
            step = then(heard, lambda has: cut(has, answer, rules))
            yield f"cuts epoch {epoch} at {end}", FREE, step, ()
        case Snapshot(end=end) as snapshot:
            step = then(heard, lambda has: install(has, snapshot, rules))
            yield f"installs the snapshot at {end}", FREE, step, ()
