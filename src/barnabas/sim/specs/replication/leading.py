"""A leader: what it appends, who is in sync with it, and what is committed.

    ISR {1,2} ── 3 has caught up ── propose {1,2,3} ──▶ controller
      │              maximal ISR {1,2,3}                   │
      └──────────── answered, or learned from the log ◀────┘

What is below the high watermark is on every replica of the *maximal* ISR: those that are in sync
and those that will be as soon as the proposal is accepted, which the leader may not know yet.

In the specification: SendAlterPartitionRequest (``propose``), ReceiveAlterPartitionResponse
(``answered``), WriteRecordToLeader (``append``).  ``repeat`` is an addition: there a request is
received once.
"""

from dataclasses import replace

from barnabas.sim.specs.replication.cluster import (
    NO_EPOCH,
    NONE,
    AlterAnswer,
    AlterRequest,
    Broker,
    Ids,
    Partition,
    Peer,
    Pending,
    Phase,
    Raised,
    Refusal,
    Role,
    Sent,
    Step,
    Told,
    View,
)
from barnabas.sim.specs.replication.guards import SPECIFIED, Difference, Guard, Rules
from barnabas.sim.specs.replication.log import Log
from barnabas.sim.specs.rules import Blocked

# --- The high watermark ----------------------------------------------------------------------


def committed(
    broker: Broker, view: View, log: Log, rules: Rules, peers: tuple[Peer, ...] | None = None
) -> int:
    """Return up to where everybody who counts has the log (P-07); 0 if that is not known."""
    if len(view.isr) < rules.min_isr and rules.demand(Guard.ENOUGH_IN_SYNC):
        return 0
    counts = view.maximal if rules.demand(Guard.EAGER_MAXIMAL) else view.isr
    others = counts - {broker.id} if rules.demand(Guard.MAXIMAL_HAS_IT) else NONE
    known = {peer.broker: peer.end for peer in (broker.peers if peers is None else peers)}
    return min([log.end, *(known.get(other, 0) for other in others)])


def raised(broker: Broker, bound: int, rules: Rules, hwm: int | None = None) -> Step | Blocked:
    """Raise the high watermark of a leader, as far as everybody has the log or less."""
    to = max(broker.hwm, bound) if hwm is None else hwm
    blocked = rules.blocked(
        (Guard.HWM_RISES, to >= broker.hwm),
        (Guard.MAXIMAL_HAS_IT, to <= max(bound, broker.hwm)),
    )
    if blocked is not None:
        return blocked
    told: tuple[Told, ...] = ()
    if to > broker.hwm:
        told = (Raised(broker.log, broker.hwm, to, broker.floor),)
    return Step(replace(broker, hwm=to), None, told)


def append(
    broker: Broker, value: int, count: int = 1, rules: Rules = SPECIFIED, hwm: int | None = None
) -> Step | Blocked:
    """Append what clients have sent, to be acknowledged when it is committed."""
    view = broker.view
    blocked = rules.blocked(
        (Guard.IS_UP, broker.phase is Phase.RUNNING),
        (Guard.LEADS, broker.role is Role.LEADER),
        (Guard.ENOUGH_TO_WRITE, len(view.maximal) >= rules.min_isr),
    )
    if blocked is not None:
        return blocked
    floor = broker.log.end if broker.floor is None else broker.floor
    log = broker.log.append(view.leader_epoch, value, count)
    after = replace(broker, log=log, floor=floor)
    step = raised(after, committed(broker, view, log, rules), rules, hwm)
    return step if isinstance(step, Blocked) else replace(step, told=(Sent(value), *step.told))


# --- The ISR ---------------------------------------------------------------------------------


def propose(
    broker: Broker, late: Ids, rules: Rules = SPECIFIED, chosen: AlterRequest | None = None
) -> Step | Blocked:
    """Ask for another ISR: with everybody who has caught up, or who of them was ``chosen``."""
    view = broker.view
    waits = rules.has(Difference.BACKS_OFF) and broker.refused_at is not None
    blocked = rules.blocked(
        (Guard.IS_UP, broker.phase is Phase.RUNNING),
        (Guard.NONE_PENDING, not broker.waits_for_answer),
        (Guard.LEADS, broker.role is Role.LEADER),
        (Guard.WAITS, not waits or broker.applied > (broker.refused_at or 0)),
    )
    if blocked is not None:
        return blocked
    if chosen is None:
        stays = frozenset(each for each in view.isr if each == broker.id or each not in late)
        joins = (each for each in view.replicas - view.isr if not lag(broker, each, rules))
        isr = stays | frozenset(joins)
    else:
        isr = chosen.isr | {broker.id}
        for each in sorted(isr - view.isr):
            behind = lag(broker, each, rules)
            if behind is not None:
                return behind
    blocked = rules.blocked((Guard.IS_CHANGE, isr != view.isr))
    if blocked is not None:
        return blocked
    told = dict(chosen.epochs) if chosen is not None else {}
    request = AlterRequest(
        broker.id,
        isr,
        tuple((each, epoch_of(broker, each, told.get(each))) for each in sorted(isr)),
        broker.epoch,
        view.leader_epoch,
        view.partition_epoch,
    )
    after = replace(
        broker,
        view=replace(view, maximal=isr | view.isr),
        pending=Pending(view.partition_epoch + 1, request),
        refused_at=None,
    )
    return Step(after, request)


def lag(broker: Broker, follower: int, rules: Rules = SPECIFIED) -> Blocked | None:
    """Return what keeps a follower out of the ISR (P-08)."""
    peer = broker.peer(follower)
    known = [each for at, each in enumerate(broker.brokers) if at + 1 == follower]
    eligible = not rules.has(Difference.BACKS_OFF) or (
        bool(known) and not known[0].fenced and (peer is None or known[0].epoch == peer.epoch)
    )
    return rules.blocked(
        (Guard.IS_ELIGIBLE, eligible),
        (Guard.HAS_FETCHED, peer is not None),
        (Guard.REACHED_HWM, peer is None or peer.end >= broker.hwm),
        (Guard.REACHED_START, peer is None or peer.end >= (broker.epoch_start or 0)),
    )


def epoch_of(broker: Broker, member: int, told: int | None = None) -> int:
    """Return the epoch by which a leader names a member: of who is in sync already, it need not."""
    if member == broker.id:
        return broker.epoch
    peer = broker.peer(member)
    known = NO_EPOCH if peer is None else peer.epoch
    return NO_EPOCH if member in broker.view.isr and told != known else known


def repeat(broker: Broker, rules: Rules = SPECIFIED) -> Step | Blocked:
    """Ask again, because no answer has come."""
    pending = broker.pending
    blocked = rules.blocked(
        (Guard.IS_UP, broker.phase is Phase.RUNNING),
        (Guard.LEADS, broker.role is Role.LEADER),
        (Guard.ANSWERS_PROPOSAL, pending is not None and broker.waits_for_answer),
    )
    return blocked or Step(broker, None if pending is None else pending.request)


def answered(
    broker: Broker, answer: AlterAnswer, rules: Rules = SPECIFIED, hwm: int | None = None
) -> Step | Blocked:
    """Learn what has become of a proposal."""
    pending = broker.pending
    blocked = rules.blocked(
        (Guard.IS_UP, broker.phase is Phase.RUNNING),
        (Guard.LEADS, broker.role is Role.LEADER),
        (Guard.ANSWERS_PROPOSAL, broker.waits_for_answer),
        (Guard.ANSWERS_PROPOSAL, pending is not None and pending.request == answer.request),
    )
    if blocked is not None:
        return blocked
    match answer.outcome:
        case Partition() as partition:
            return accepted(broker, partition, rules, hwm)
        case Refusal() as refusal:
            return refused(broker, refusal, rules, hwm)


def accepted(broker: Broker, partition: Partition, rules: Rules, hwm: int | None) -> Step | Blocked:
    """Learn that a proposal was accepted."""
    view = broker.view
    is_newer = partition.partition_epoch > view.partition_epoch
    # Another epoch has begun with it, if it has completed a reassignment: the log will tell.
    same_epoch = partition.leader_epoch == view.leader_epoch
    blocked = rules.blocked((Guard.NEWER_CHANGE, is_newer and same_epoch))
    if blocked is not None:
        return blocked
    after = View(
        partition.replicas,
        partition.isr,
        partition.isr,
        partition.leader,
        partition.leader_epoch,
        partition.partition_epoch,
    )
    return settled(broker, after, rules, hwm)


def refused(broker: Broker, refusal: Refusal, rules: Rules, hwm: int | None) -> Step | Blocked:
    """Learn that a proposal was not accepted, this time."""
    stands = rules.has(Difference.PROPOSALS_STAND) and rules.demand(Guard.KEEPS_PROPOSAL)
    if stands and refusal is not Refusal.INELIGIBLE:
        # It was refused because the partition has changed, which this very proposal may have
        # done when it was received for the first time.  Metadata will tell.
        return Step(broker)
    back = replace(broker, refused_at=broker.applied if rules.has(Difference.BACKS_OFF) else None)
    return settled(back, replace(broker.view, maximal=broker.view.isr), rules, hwm)


def settled(broker: Broker, view: View, rules: Rules, hwm: int | None) -> Step | Blocked:
    """Go on without a proposal that stands."""
    bound = committed(broker, view, broker.log, rules)
    step = raised(replace(broker, view=view), bound, rules, hwm)
    if isinstance(step, Blocked):
        return step
    return replace(step, broker=replace(step.broker, pending=None))
