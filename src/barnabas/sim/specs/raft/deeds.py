"""What one replica may do in the closed model: of itself, and about something that was said.

    Scope: how many replicas, how many epochs, how often something disturbs
      │
      ├─ own_deeds   runs, leads, appends, flushes, restarts, loses its disk, changes the voters …
      └─ reactions   votes, counts, follows, accepts a fetch, takes records, cuts, installs

Each deed is one action of the port, or a few that the product never does apart, with a name that
tells it.  ``settled`` adds what nothing is gained by doing later.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.specs.raft.elections import (
    ask_vote,
    count,
    detach,
    follow,
    give_up,
    grant,
    lead,
    lose_pre_vote,
    miss_leader,
    resign,
    restart,
    stand,
    win_pre_vote,
)
from barnabas.sim.specs.raft.guards import Guard
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
from barnabas.sim.specs.raft.properties import Fact, Issued, Led, Shown, Voted
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
from barnabas.sim.specs.rules import Blocked, Rules

# What is limited: elections that nobody needed are, by the epochs.
VALUES: Final = 0
RESTARTS: Final = 1
WIPES: Final = 2
CHANGES: Final = 3
RESIGNATIONS: Final = 4
SNAPSHOTS: Final = 5
DISCOVERIES: Final = 6
STANDS: Final = 7
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
    quiet: frozenset[int] = frozenset()
    """Replicas that stand only so often (``stands``), and must not get above epoch ``stable``."""
    stands: int = 0
    stable: int = 0
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
            self.stands,
        )


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
    for name, _, step, said in elections(node, scope, rules):
        yield name, STANDS if node.key.id in scope.quiet else FREE, step, said
    if scope.disks:
        yield "flushes", FREE, flush(node, node.log.end), ()
    if node.role is Role.UNATTACHED and scope.discoveries:
        yield "looks for the leader", DISCOVERIES, ask_fetch(node, rules=rules), ()
    if node.role is Role.LEADER or not rules.demand(Guard.LEADS):
        yield from leaders_deeds(node, scope, rules, next_value)
    least = node.on_disk if rules.demand(Guard.KEEPS_FLUSHED) else node.log.start
    for kept in range(least, node.log.end + 1) if scope.restarts else ():
        for role in Role:
            name = f"restarts as {role}, having {kept}"
            yield with_questions(name, restart(node, kept, role, rules=rules), rules, RESTARTS)
    if scope.wipes:
        fresh = began(Key(node.key.id, node.key.directory + "b"), node.log.start_voters)
        yield "loses its disk", WIPES, Step(fresh), ()
    yield from snapshots(node, scope, rules)


def elections(node: Node, scope: Scope, rules: Rules) -> Iterator[Try]:
    """Yield how a replica may come to lead, and stop."""
    if scope.pre_votes:
        yield with_questions("stands", stand(node, rules), rules)
        yield "misses its leader", FREE, miss_leader(node, rules), ()
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
        cleaned = then(taken, partial(clean, end=end, rules=rules))
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
