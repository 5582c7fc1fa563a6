"""What the controller decides: who is alive, who leads, who is in sync, where replicas are.

    registered ── session over ──▶ fenced ── caught up, heartbeat ──▶ unfenced
                                     └── leaves the ISR, leads no longer; stays in the ELR
    ISR {1,2,3} ── too small ──▶ ISR {1}, ELR {2,3} ── empty ──▶ ISR {}, ELR {1,2,3}, nobody leads

In the specification: ReceiveBrokerRegRequest (``register``), FenceBroker (``fence``), UnfenceBroker
(``unfence``), ReceiveAlterPartitionRequest (``alter``), PerformPartitionReassignment
(``reassign``).  Whom to elect is the controller's choice there, so every action returns all the
decisions that it may take.
"""

from dataclasses import replace
from typing import TypeAlias

from barnabas.sim.specs.replication.cluster import (
    NO_EPOCH,
    NOBODY,
    NONE,
    AlterAnswer,
    AlterRequest,
    Controller,
    Decision,
    Elected,
    Ids,
    Partition,
    Record,
    Refusal,
    RegisterAnswer,
    RegisterRequest,
    Registration,
    Registrations,
    Told,
)
from barnabas.sim.specs.replication.guards import SPECIFIED, Difference, Guard, Rules
from barnabas.sim.specs.rules import Blocked

Decisions: TypeAlias = tuple[Decision, ...]

# --- The log ---------------------------------------------------------------------------------


def tells_of_brokers(rules: Rules) -> bool:
    """Tell whether brokers learn from the log who is registered and fenced."""
    return rules.has(Difference.STARTS_FENCED) or rules.has(Difference.BACKS_OFF)


def decided(
    controller: Controller, partition: Partition, rules: Rules, brokers: Registrations | None = None
) -> Controller:
    """Return the controller after one record, if anything that the log tells of has changed."""
    brokers = controller.brokers if brokers is None else brokers
    record = Record(partition, brokers if tells_of_brokers(rules) else ())
    log = controller.log if record == controller.log[-1] else (*controller.log, record)
    return replace(controller, brokers=brokers, log=log)


def with_one(controller: Controller, broker: int, known: Registration) -> Registrations:
    """Return all registrations, one of them another."""
    return (*controller.brokers[: broker - 1], known, *controller.brokers[broker:])


# --- Electing --------------------------------------------------------------------------------


def changed(
    old: Partition, isr: Ids, elr: Ids, leader: int, rules: Rules, begins: bool = False
) -> Partition:
    """Return the partition after a change of its ISR, ELR or leader; ``begins``: a new epoch."""
    rises = begins or (leader != old.leader and rules.demand(Guard.EPOCH_RISES))
    return replace(
        old,
        isr=isr,
        elr=elr,
        last_known=last_known(old, old.replicas, isr, elr, leader, rules),
        leader=leader,
        leader_epoch=old.leader_epoch + rises,
        partition_epoch=old.partition_epoch + 1,
    )


def last_known(old: Partition, replicas: Ids, isr: Ids, elr: Ids, leader: int, rules: Rules) -> Ids:
    """Return who is to be remembered for when nobody is left who may lead."""
    if rules.has(Difference.LAST_KNOWN_LEADER):
        if leader != NOBODY:
            return NONE
        return old.last_known or frozenset({old.leader}) - {NOBODY}
    if len(isr) >= rules.min_isr:
        return NONE
    return old.last_known | (replicas & (old.elr - elr))


def eligible_after(old: Partition, isr: Ids, replicas: Ids, rules: Rules) -> Ids:
    """Return the ELR that belongs to an ISR: whoever left it while it was too small."""
    if len(isr) >= rules.min_isr:
        return NONE
    left = (old.isr & replicas) - isr if rules.demand(Guard.KEEPS_CANDIDATES) else NONE
    return ((old.elr & replicas) | left) - isr


def elections(
    old: Partition, isr: Ids, elr: Ids, unfenced: Ids, rules: Rules
) -> tuple[tuple[Partition, tuple[Told, ...]], ...]:
    """Return what may become of the partition when an ISR or who is alive has changed."""
    heirs = elr & unfenced
    lost = not isr and not elr and rules.has(Difference.LAST_KNOWN_LEADER)
    recalled = old.last_known & unfenced if lost else NONE
    if not rules.demand(Guard.ELECTS_CANDIDATE):
        heirs |= old.replicas & unfenced
    waits = old.leader == NOBODY and not isr and not heirs and not recalled
    if waits or old.leader in isr:
        if (isr, elr) == (old.isr, old.elr):
            return ((old, ()),)
        return ((changed(old, isr, elr, old.leader, rules), ()),)
    if isr:
        return tuple((changed(old, isr, elr, each, rules), ()) for each in sorted(isr))
    if heirs:
        return tuple(
            (changed(old, isr | {each}, elr - {each}, each, rules), ()) for each in sorted(heirs)
        )
    if recalled and old.leader == NOBODY:
        return tuple(
            (changed(old, frozenset({each}), NONE, each, rules), (Elected(each),))
            for each in sorted(recalled)
        )
    return ((changed(old, isr, elr, NOBODY, rules), ()),)


# --- Brokers ---------------------------------------------------------------------------------


def register(
    controller: Controller,
    request: RegisterRequest,
    rules: Rules = SPECIFIED,
    epoch: int | None = None,
) -> Decisions | Blocked:
    """Register a broker that has started, in the next epoch if none is told."""
    known = controller.registration(request.broker)
    is_same = known.incarnation == request.incarnation
    begins_fenced = rules.has(Difference.STARTS_FENCED)
    if begins_fenced and is_same:
        # Its answer was lost: the same life has the same epoch (KAFKA-16952).
        again = RegisterAnswer(request.broker, request.incarnation, known.epoch, known.offset)
        return (Decision(controller, again),)
    epoch = controller.last_epoch + 1 if epoch is None else epoch
    blocked = rules.blocked(
        (Guard.SESSION_OVER, known.fenced or is_same),
        (Guard.NEW_EPOCH, epoch > controller.last_epoch),
    )
    if blocked is not None:
        return blocked
    old = controller.partition
    isr, elr, unfenced = old.isr, old.elr, controller.unfenced - {request.broker}
    if not begins_fenced:
        unfenced |= {request.broker}
    is_clean = request.epoch == known.epoch if begins_fenced else request.epoch != NO_EPOCH
    if not is_clean and rules.demand(Guard.EXCLUDES_UNCLEAN):
        found = elections(old, isr - {request.broker}, elr - {request.broker}, unfenced, rules)
    elif old.leader == NOBODY and not begins_fenced:
        found = elections(old, isr, elr, unfenced, rules)
    else:
        found = ((old, ()),)
    offset = len(controller.log) + 1 if begins_fenced else 0
    registration = Registration(begins_fenced, epoch, request.incarnation, offset)
    brokers = with_one(controller, request.broker, registration)
    decisions = []
    for partition, told in found:
        after = decided(controller, partition, rules, brokers)
        # As specified, it is told how long the log was before.
        length = offset if begins_fenced else len(controller.log)
        said = RegisterAnswer(request.broker, request.incarnation, epoch, length)
        decisions.append(Decision(replace(after, last_epoch=epoch), said, told))
    return tuple(decisions)


def fence(controller: Controller, broker: int, rules: Rules = SPECIFIED) -> Decisions | Blocked:
    """Take a broker for dead: it leaves the ISR, and leads no longer."""
    known = controller.registration(broker)
    blocked = rules.blocked((Guard.IS_UNFENCED, not known.fenced))
    return fenced(controller, broker, rules) if blocked is None else blocked


def fenced(controller: Controller, broker: int, rules: Rules) -> Decisions:
    """Return what may be decided when a broker is dead, fenced already or not."""
    old = controller.partition
    isr = old.isr - {broker} if rules.demand(Guard.LEAVES_ISR) else old.isr
    elr = eligible_after(old, isr, old.replicas, rules)
    brokers = with_one(controller, broker, replace(controller.registration(broker), fenced=True))
    found = elections(old, isr, elr, controller.unfenced - {broker}, rules)
    return tuple(
        Decision(decided(controller, partition, rules, brokers), None, told)
        for partition, told in found
    )


def unfence(
    controller: Controller, broker: int, epoch: int, applied: int, rules: Rules = SPECIFIED
) -> Decisions | Blocked:
    """Take a broker for alive, after a heartbeat of this epoch that has applied so much."""
    known = controller.registration(broker)
    blocked = rules.blocked(
        (Guard.THIS_LIFE, epoch == known.epoch),
        (Guard.SEES_ITSELF, applied >= known.offset),
        (Guard.IS_FENCED, known.fenced),
    )
    if blocked is not None:
        return blocked
    old = controller.partition
    found: tuple[tuple[Partition, tuple[Told, ...]], ...] = ((old, ()),)
    if old.leader == NOBODY:
        found = elections(old, old.isr, old.elr, controller.unfenced | {broker}, rules)
    brokers = with_one(controller, broker, replace(known, fenced=False))
    return tuple(
        Decision(decided(controller, partition, rules, brokers), None, told)
        for partition, told in found
    )


# --- The partition ---------------------------------------------------------------------------


def refusal(
    controller: Controller, request: AlterRequest, rules: Rules = SPECIFIED
) -> tuple[Refusal, Blocked] | None:
    """Return why a proposal is not accepted, if it is not (P-12)."""
    partition = controller.partition
    known = controller.registration(request.leader)
    blocked = rules.blocked(
        (Guard.FROM_LEADER, request.leader == partition.leader),
        (Guard.LEADERS_LIFE, request.broker_epoch == known.epoch),
        (Guard.PARTITION_EPOCH, request.partition_epoch == partition.partition_epoch),
    )
    if blocked is not None:
        return Refusal.FENCED, blocked
    for broker, epoch in request.epochs:
        member = controller.registration(broker)
        blocked = rules.blocked(
            (Guard.MEMBERS_UNFENCED, not member.fenced),
            (Guard.MEMBERS_LIVES, epoch in (NO_EPOCH, member.epoch)),
        )
        if blocked is not None:
            return Refusal.INELIGIBLE, blocked
    return None


def alter(controller: Controller, request: AlterRequest, rules: Rules = SPECIFIED) -> Decisions:
    """Answer a leader's proposal; what is accepted may complete a reassignment."""
    refused = refusal(controller, request, rules)
    if refused is not None:
        return (Decision(controller, AlterAnswer(request, refused[0])),)
    found = reassigned(controller.partition, request.isr, rules)
    decisions = []
    for partition in found:
        after = decided(controller, partition, rules)
        decisions.append(Decision(after, AlterAnswer(request, partition)))
    return tuple(decisions)


def reassign(
    controller: Controller, adding: Ids, removing: Ids, rules: Rules = SPECIFIED
) -> Decisions | Blocked:
    """Begin to move replicas, as an operator asks; complete it if that is all (KIP-455)."""
    old = controller.partition
    freely = rules.has(Difference.REASSIGNS_FREELY)
    size = len(old.replicas) + len(adding) - len(removing)
    fits = not adding & old.replicas and removing <= old.replicas
    blocked = rules.blocked(
        (Guard.NONE_UNDERWAY, not old.is_reassigned),
        (Guard.POSSIBLE_TARGET, bool(adding or removing) and fits),
        (Guard.POSSIBLE_TARGET, size >= (1 if freely else rules.min_isr)),
        (Guard.HAS_IN_SYNC, freely or bool(old.isr)),
    )
    if blocked is not None:
        return blocked
    begun = replace(old, replicas=old.replicas | adding, adding=adding, removing=removing)
    return tuple(
        Decision(decided(controller, partition, rules))
        for partition in reassigned(begun, old.isr, rules)
    )


def reassigned(old: Partition, isr: Ids, rules: Rules) -> tuple[Partition, ...]:
    """Return what may become of the partition with another ISR, a reassignment done if it is."""
    final = isr - old.removing
    target = len(old.replicas - old.removing)
    # Fewer than must be in sync never are, so all of them have to do.
    freely = rules.has(Difference.REASSIGNS_FREELY)
    enough = min(rules.min_isr, target) if freely else rules.min_isr
    is_ready = old.adding <= final and len(final) >= enough
    if not old.is_reassigned or (rules.demand(Guard.TARGET_IN_SYNC) and not is_ready):
        elr = eligible_after(old, isr, old.replicas, rules)
        return tuple(changed(old, isr, elr, each, rules) for each in heads(old.leader, isr))
    replicas = old.replicas - old.removing
    moved = replace(old, replicas=replicas, adding=NONE, removing=NONE)
    elr = eligible_after(old, final, replicas, rules)
    begins = bool(old.removing) or not rules.has(Difference.EPOCH_STAYS)
    return tuple(
        changed(moved, final, elr, each, rules, begins=begins) for each in heads(old.leader, final)
    )


def heads(leader: int, isr: Ids) -> tuple[int, ...]:
    """Return who may lead: whoever does, or else anybody who is in sync."""
    if leader in isr or not isr:
        return (leader,)
    return tuple(sorted(isr))
