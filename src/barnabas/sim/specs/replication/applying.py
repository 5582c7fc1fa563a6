"""What a replica learns of its partition from the metadata log.

                     leads it now                    somebody else leads it
    same epoch       remain leader                   remain follower
    new epoch        become leader (again)           become follower
    nobody leads     wait            no replica any more: delete

In the specification: ReceiveMetadataUpdate.  Several records are applied as one, the last of them:
each says all of the partition.  There a broker that nothing concerns does not move on; here that
is the closed model's business.
"""

from dataclasses import replace
from enum import StrEnum

from barnabas.sim.specs.replication.cluster import (
    NOBODY,
    Broker,
    Failed,
    Fetcher,
    Partition,
    Phase,
    Position,
    Record,
    Role,
    Step,
    Told,
    View,
)
from barnabas.sim.specs.replication.guards import SPECIFIED, Guard, Rules
from barnabas.sim.specs.replication.leading import committed, raised
from barnabas.sim.specs.replication.log import Log
from barnabas.sim.specs.rules import Blocked


class Kind(StrEnum):
    """What an update means to a replica."""

    NOTHING = "nothing new"
    DELETE = "deletes it"
    REMAIN_LEADER = "remains leader"
    BECOME_LEADER = "becomes leader"
    REMAIN_FOLLOWER = "remains follower"
    BECOME_FOLLOWER = "becomes follower"
    WAIT = "waits for a leader"


def apply(
    broker: Broker, record: Record, offset: int, rules: Rules = SPECIFIED, hwm: int | None = None
) -> Step | Blocked:
    """Apply the metadata log up to an offset, at which it says this.

    ``hwm`` is where the high watermark of a leader is then; as high as it may be if not told.
    """
    blocked = rules.blocked(
        (Guard.IS_REGISTERED, broker.phase is Phase.RUNNING),
        (Guard.GOES_ON, offset > broker.applied),
        (Guard.SEES_ITSELF, offset >= broker.registered_at),
    )
    if blocked is not None:
        return blocked
    kind = kind_of(broker, record.partition, rules)
    moved = replace(broker, applied=offset, brokers=record.brokers)
    if kind is Kind.NOTHING:
        return Step(moved)
    view = view_of(broker.id, record.partition)
    match kind:
        case Kind.REMAIN_LEADER:
            return remain_leader(moved, view, rules, hwm)
        case Kind.BECOME_LEADER:
            return become_leader(moved, view, rules, hwm)
        case Kind.REMAIN_FOLLOWER:
            return Step(replace(moved, view=view))
        case Kind.BECOME_FOLLOWER:
            return become_follower(moved, view, rules)
        case Kind.WAIT:
            return renounce(stop_fetching(replace(moved, view=view, role=Role.NONE)), moved)
        case Kind.DELETE:
            step = renounce(stop_fetching(replace(moved, view=view, role=Role.NONE)), moved)
            return replace(step, broker=replace(step.broker, log=Log(), hwm=0))


def kind_of(broker: Broker, partition: Partition, rules: Rules = SPECIFIED) -> Kind:
    """Return what an update means to a replica."""
    view, leader = broker.view, partition.leader
    hosts = broker.id in partition.replicas
    is_newer = partition.partition_epoch > view.partition_epoch
    if not is_newer and rules.demand(Guard.LEARNS_MORE):
        return Kind.NOTHING
    if not hosts:
        return Kind.DELETE if broker.id in view.replicas else Kind.NOTHING
    same_epoch = partition.leader_epoch == view.leader_epoch
    if leader == broker.id:
        stays = view.leader == broker.id and same_epoch
        return Kind.REMAIN_LEADER if stays else Kind.BECOME_LEADER
    if leader == NOBODY:
        return Kind.WAIT
    stays = same_epoch and view.leader != broker.id
    return Kind.REMAIN_FOLLOWER if stays else Kind.BECOME_FOLLOWER


def view_of(broker: int, partition: Partition) -> View:
    """Return the partition as a replica knows it from the log."""
    if broker not in partition.replicas:
        return View()
    return View(
        partition.replicas,
        partition.isr,
        partition.isr,
        partition.leader,
        partition.leader_epoch,
        partition.partition_epoch,
    )


# --- Leading ---------------------------------------------------------------------------------


def remain_leader(broker: Broker, view: View, rules: Rules, hwm: int | None) -> Step | Blocked:
    """Lead on, with another ISR: a proposal that this decides stands no longer."""
    step = raised(
        replace(broker, view=view), committed(broker, view, broker.log, rules), rules, hwm
    )
    if isinstance(step, Blocked):
        return step
    after = step.broker
    if after.pending is not None and view.partition_epoch >= after.pending.epoch:
        after = replace(after, pending=None)
    return replace(step, broker=after)


def become_leader(broker: Broker, view: View, rules: Rules, hwm: int | None) -> Step | Blocked:
    """Begin a new epoch, having led the one before or not."""
    step = raised(
        replace(broker, view=view), committed(broker, view, broker.log, rules), rules, hwm
    )
    if isinstance(step, Blocked):
        return step
    peers = broker.peers
    if broker.role is not Role.LEADER:
        peers = () if rules.demand(Guard.LEADS_KNOWING_NOTHING) else peers
    elif rules.demand(Guard.LEADS_ANEW):
        # 1. 3 is in sync, and its fetches told so.  2. It loses its log, and comes back.  3. The
        # leader is elected again.  What it knew of 3 would let 3 join the ISR.
        peers = tuple(peer for peer in peers if peer.broker in view.isr)
    after = replace(
        step.broker,
        role=Role.LEADER,
        epoch_start=broker.log.end,
        peers=peers,
        pending=None,
        refused_at=None,
    )
    return replace(step, broker=stop_fetching(after))


# --- Following, waiting, deleting ------------------------------------------------------------


def become_follower(broker: Broker, view: View, rules: Rules) -> Step:
    """Follow a leader of another epoch: its fetcher begins at the end of the log."""
    known = broker.fetcher(view.leader)
    later = view.leader_epoch > broker.view.leader_epoch and rules.demand(Guard.FETCHES_ANEW)
    after = replace(broker, role=Role.FOLLOWER, view=view)
    if later or known.position is None:
        after = stop_fetching(after)
        fetcher = Fetcher(view.leader, Position(broker.log.end, broker.log.last_epoch), known.waits)
        after = after.with_fetcher(fetcher)
    return renounce(after, broker)


def stop_fetching(broker: Broker) -> Broker:
    """Return a broker whose fetchers have no position; answers may still be under way."""
    fetchers = tuple(Fetcher(each.leader, None, True) for each in broker.fetchers if each.waits)
    return replace(broker, fetchers=fetchers)


def renounce(broker: Broker, before: Broker) -> Step:
    """Forget all that belongs to a leader; who waits for an acknowledgement is told so."""
    fails = before.hwm < before.log.end
    told: tuple[Told, ...] = (Failed(before.log, before.hwm, before.floor),) if fails else ()
    after = replace(
        broker,
        epoch_start=None,
        peers=(),
        pending=None,
        refused_at=None,
        floor=None,
    )
    return Step(after, None, told)
