"""What may happen in the closed model: of itself, about a message, and together.

    Scope: how many brokers, replicas, values; how often something disturbs
      │
      ├─ own_deeds     starts, asks, proposes, appends, ends
      ├─ reactions     of a broker to a message
      ├─ updates       of a broker by the metadata log
      └─ decisions     of the controller: of itself, about a broker, about a message

Each deed is one action of the port with a name that tells it.  What disturbs has its price, what
repairs is free.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.specs.replication.applying import apply, kind_of, view_of
from barnabas.sim.specs.replication.cluster import (
    NOBODY,
    NONE,
    AlterAnswer,
    AlterRequest,
    Broker,
    Controller,
    Decision,
    Diverging,
    FetchAnswer,
    Fetcher,
    FetchRequest,
    Ids,
    Message,
    Partition,
    Phase,
    Position,
    Record,
    Refusal,
    RegisterAnswer,
    RegisterRequest,
    Registration,
    Role,
    Step,
    Unserved,
)
from barnabas.sim.specs.replication.controlling import (
    Decisions,
    alter,
    fence,
    fenced,
    reassign,
    register,
    tells_of_brokers,
    unfence,
)
from barnabas.sim.specs.replication.fetching import ask, serve, take
from barnabas.sim.specs.replication.guards import Difference, Rules
from barnabas.sim.specs.replication.leading import answered, append, propose, repeat
from barnabas.sim.specs.replication.lifecycle import end, registered, start
from barnabas.sim.specs.rules import Blocked

# What is limited.
STOPS: Final = 0
LOSSES: Final = 1
FENCES: Final = 2
SHRINKS: Final = 3
MOVES: Final = 4
REPEATS: Final = 5
FREE: Final = -1

# What a broker or the controller must do in the end if it can for long: weak fairness of these.
START: Final = "starts"
REGISTER: Final = "registers"
REGISTERED: Final = "is registered"
APPLY: Final = "applies"
PROPOSE: Final = "proposes"
ALTER: Final = "decides"
ANSWERED: Final = "is answered"
ASK: Final = "asks"
SERVE: Final = "serves"
TAKE: Final = "takes"
UNFENCE: Final = "unfences"
EXPIRE: Final = "expires"


@value
class Scope:
    """How small a world is."""

    brokers: int = 3
    replicas: int = 3
    in_sync: int = 3
    values: int = 1
    stops: int = 0
    losses: int = 0
    fences: int = 0
    shrinks: int = 0
    moves: int = 0
    repeats: int = 0
    script: tuple[str, ...] = ()
    """What has happened already."""

    @property
    def limits(self) -> tuple[int, ...]:
        """How often each thing may happen, by its number."""
        return self.stops, self.losses, self.fences, self.shrinks, self.moves, self.repeats

    @property
    def ids(self) -> range:
        """The brokers."""
        return range(1, self.brokers + 1)


@value
class Deed:
    """What a broker may do: its name, what it costs, whether it must in the end, what comes."""

    name: str
    cost: int
    fair: str
    step: Step


@value
class Choice:
    """What the controller may do."""

    name: str
    cost: int
    fair: str
    decision: Decision


Tried: TypeAlias = Iterator[Deed | Blocked]


def of(name: str, cost: int, fair: str, step: Step | Blocked) -> Deed | Blocked:
    """Return a deed, or why not."""
    return step if isinstance(step, Blocked) else Deed(name, cost, fair, step)


# --- The first state -------------------------------------------------------------------------


def first_controller(scope: Scope, rules: Rules) -> Controller:
    """Return the controller of a cluster that has worked for a while: 1 leads."""
    replicas = frozenset(range(1, scope.replicas + 1))
    isr = frozenset(range(1, scope.in_sync + 1))
    outside = replicas - isr
    # Where somebody is out of sync, the partition has changed before.
    partition = Partition(replicas, isr, 1, 1, 2 if outside else 1)
    brokers = tuple(Registration(each in outside, each, each) for each in scope.ids)
    record = Record(partition, brokers if tells_of_brokers(rules) else ())
    return Controller(brokers, (record,), scope.brokers)


def first_broker(broker: int, scope: Scope, controller: Controller) -> Broker:
    """Return a broker of that cluster; who is out of sync has not learned so yet."""
    partition, record = controller.partition, controller.log[0]
    running = Broker(broker, Phase.RUNNING, epoch=broker, incarnation=broker)
    if broker not in partition.replicas:
        return replace(running, applied=1, brokers=record.brokers)
    if broker not in partition.isr:
        everybody = replace(partition, isr=partition.replicas, partition_epoch=1)
        begun = replace(running, view=view_of(broker, everybody))
    else:
        view = view_of(broker, partition)
        begun = replace(running, applied=1, brokers=record.brokers, view=view)
    if broker == partition.leader:
        return replace(begun, role=Role.LEADER, epoch_start=0)
    return replace(begun, role=Role.FOLLOWER, fetchers=(Fetcher(1, Position(0, 0)),))


# --- What a broker may do of itself ----------------------------------------------------------


def own_deeds(broker: Broker, scope: Scope, rules: Rules, lives: int, sent: int) -> Tried:
    """Yield what a broker may do of itself, when so many lives and values have begun."""
    yield of("starts", FREE, START, start(broker, lives + 1, rules))
    for leader in scope.ids:
        if leader != broker.id:
            yield of(f"asks {leader}", FREE, ASK, ask(broker, leader, rules))
    if sent < scope.values:
        yield of(f"appends {sent + 1}", FREE, "", append(broker, sent + 1, rules=rules))
    yield from proposals(broker, scope, rules)
    if scope.repeats:
        yield of("proposes again", REPEATS, "", repeat(broker, rules))
    yield of("ends, its log lost", LOSSES, "", end(broker, 0, rules=rules))
    yield of("ends cleanly", STOPS, "", end(broker, None, True, rules))
    yield of("is killed", STOPS, "", end(broker, None, False, rules))


def proposals(broker: Broker, scope: Scope, rules: Rules) -> Tried:
    """Yield what a leader may propose; without who is late if that may happen."""
    others = broker.view.isr - {broker.id}
    for late in subsets(others) if scope.shrinks else (NONE,):
        step = propose(broker, late, rules)
        if isinstance(step, Step) and isinstance(step.said, AlterRequest):
            shrinks = broker.view.isr - step.said.isr
            cost, fair = (SHRINKS, "") if shrinks else (FREE, PROPOSE)
            yield Deed(f"proposes {told(step.said.isr)}", cost, fair, step)


def subsets(ids: Ids) -> Iterator[Ids]:
    """Yield every subset, the smaller ones first."""
    members = sorted(ids)
    sizes = (combinations(members, size) for size in range(len(members) + 1))
    return (frozenset(each) for each in chain.from_iterable(sizes))


def told(ids: Ids) -> str:
    """Return brokers as they are told of."""
    return "{" + ",".join(str(each) for each in sorted(ids)) + "}"


def updates(broker: Broker, controller: Controller, rules: Rules) -> Tried:
    """Yield how a broker may learn more from the metadata log: up to any offset."""
    for offset in range(broker.applied + 1, len(controller.log) + 1):
        record = controller.log[offset - 1]
        if concerns(broker, record.partition) or broker.applied < broker.registered_at:
            kind = kind_of(broker, record.partition, rules)
            step = apply(broker, record, offset, rules)
            yield of(f"applies {offset}: {kind}", FREE, APPLY, step)


def concerns(broker: Broker, partition: Partition) -> bool:
    """Tell whether a broker would do something about this; it may wait for more if not."""
    if broker.role is Role.LEADER:
        return True
    if broker.id in broker.view.replicas:
        return partition.leader_epoch > broker.view.leader_epoch
    return broker.id in partition.replicas


def is_even(leader: Broker, follower: Broker) -> bool:
    """Tell whether a fetch would bring nothing that either does not know."""
    peer = leader.peer(follower.id)
    return (leader.log.end, leader.hwm) == (follower.log.end, follower.hwm) and (
        peer is not None and (peer.end, peer.epoch) == (follower.log.end, follower.epoch)
    )


# --- What a broker may do about a message ----------------------------------------------------


def reaction(broker: Broker, message: Message, rules: Rules) -> Deed | Blocked:
    """Return what a broker does about a message to it."""
    match message:
        case RegisterAnswer(epoch=epoch):
            return of(
                f"is registered as {epoch}", FREE, REGISTERED, registered(broker, message, rules)
            )
        case AlterAnswer(outcome=outcome):
            heard = told(outcome.isr) if isinstance(outcome, Partition) else outcome.name
            return of(f"hears {heard}", FREE, ANSWERED, answered(broker, message, rules))
        case FetchRequest(follower=follower, offset=offset):
            return of(f"serves {follower} at {offset}", FREE, SERVE, serve(broker, message, rules))
        case FetchAnswer(leader=leader, content=content):
            match content:
                case Diverging(epoch, end_offset):
                    what = f"that epoch {epoch} ends at {end_offset}"
                case Unserved():
                    what = f"that {content}"
                case _:
                    what = f"{len(content)} from {message.offset}, {message.hwm} committed"
            return of(f"takes of {leader} {what}", FREE, TAKE, take(broker, message, rules))
        case RegisterRequest() | AlterRequest():
            raise AssertionError(f"{message} is for the controller")


def receiver(message: Message) -> int:
    """Return the broker that a message is for; 0 if it is for the controller."""
    match message:
        case RegisterAnswer(broker=broker):
            return broker
        case AlterAnswer(request=request):
            return request.leader
        case FetchRequest(leader=leader):
            return leader
        case FetchAnswer(follower=follower):
            return follower
        case RegisterRequest() | AlterRequest():
            return 0


def may_react(broker: Broker, message: Message) -> bool:
    """Tell whether a broker may ever do something about a message, under all the rules."""
    match message:
        case RegisterAnswer(incarnation=incarnation):
            return broker.phase is Phase.STARTING and broker.incarnation == incarnation
        case AlterAnswer(request=request):
            return broker.pending is not None and broker.pending.request == request
        case _:
            return True


# --- What the controller may do --------------------------------------------------------------


def own_choices(controller: Controller, scope: Scope, rules: Rules) -> Iterator[Choice]:
    """Yield what the controller may do of itself, or because an operator asks."""
    for broker in scope.ids:
        if scope.fences:
            yield from choices(f"fences {broker}", FENCES, "", fence(controller, broker, rules))
    if scope.moves:
        for adding in subsets(frozenset(scope.ids) - controller.partition.replicas):
            for removing in subsets(controller.partition.replicas):
                if len(controller.partition.replicas) + len(adding) - len(removing) < rules.min_isr:
                    # Nothing can be committed by so few, and clients only give up waiting.
                    continue
                name = f"moves +{told(adding)} -{told(removing)}"
                decisions = reassign(controller, adding, removing, rules)
                yield from choices(name, MOVES, "", decisions)


def choices(name: str, cost: int, fair: str, decisions: Decisions | Blocked) -> Iterator[Choice]:
    """Yield a choice for every decision."""
    if isinstance(decisions, Blocked):
        return
    for decision in decisions:
        leader = decision.controller.partition.leader
        end_of_name = f", {leader} leads" if leader != NOBODY else ", nobody leads"
        which = end_of_name if len(decisions) > 1 else ""
        yield Choice(f"{name}{which}", cost, fair, decision)


def about(controller: Controller, broker: Broker, rules: Rules) -> Iterator[Choice]:
    """Yield what the controller may do about a broker: about its heartbeat, or its silence."""
    known = controller.registration(broker.id)
    if broker.phase is Phase.RUNNING:
        # As specified a heartbeat is the same as to be alive.
        heard = rules.has(Difference.STARTS_FENCED)
        epoch, applied = (broker.epoch, broker.applied) if heard else (known.epoch, known.offset)
        decisions = unfence(controller, broker.id, epoch, applied, rules)
        yield from choices(f"unfences {broker.id}", FREE, f"{UNFENCE} {broker.id}", decisions)
    elif rules.has(Difference.NOTICED_LATE) and broker.incarnation != known.incarnation:
        decisions = fence(controller, broker.id, rules)
        yield from choices(f"misses {broker.id}", FREE, f"{EXPIRE} {broker.id}", decisions)


def notices(controller: Controller, broker: int, rules: Rules) -> Iterator[Choice]:
    """Yield what becomes of the controller in the moment that a broker ends."""
    if rules.has(Difference.NOTICED_LATE):
        yield Choice("", FREE, "", Decision(controller))
    else:
        yield from choices("", FREE, "", fenced(controller, broker, rules))


def responses(controller: Controller, message: Message, rules: Rules) -> Iterator[Choice]:
    """Yield what the controller may do about a message to it."""
    match message:
        case RegisterRequest(broker=broker):
            decisions = register(controller, message, rules)
            yield from choices(f"registers {broker}", FREE, f"{REGISTER} {broker}", decisions)
        case AlterRequest(leader=leader, isr=isr):
            decisions = alter(controller, message, rules)
            said = decisions[0].said
            refused = isinstance(said, AlterAnswer) and isinstance(said.outcome, Refusal)
            verb = "refuses" if refused else "accepts"
            name = f"{verb} {told(isr)} of {leader}"
            yield from choices(name, FREE, f"{ALTER} {leader}", decisions)
        case _:
            raise AssertionError(f"{message} is for a broker")
