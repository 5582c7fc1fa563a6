"""Fetching: a follower asks from its end on, and the leader learns by that what it has.

    follower                                         leader
    ask  (everything below the offset is here) ─────▶ serve: what follower has, high watermark
    take: append, high watermark  ◀── records ──────────┤
          cut, ask again          ◀── diverging ────────┤
          wait                    ◀── unserved ─────────┘

In the specification: SendFetchRequest (``ask``), ReceiveFetchRequest (``serve``),
ReceiveFetchResponse (``take``).  There one record is sent at a time; here any number.
"""

from dataclasses import replace

from barnabas.sim.specs.replication.cluster import (
    Broker,
    Diverging,
    FetchAnswer,
    Fetcher,
    FetchRequest,
    Peer,
    Phase,
    Position,
    Role,
    Step,
    Unserved,
)
from barnabas.sim.specs.replication.guards import SPECIFIED, Difference, Guard, Rules
from barnabas.sim.specs.replication.leading import committed, raised
from barnabas.sim.specs.replication.log import Log, Records
from barnabas.sim.specs.rules import Blocked


def ask(broker: Broker, leader: int, rules: Rules = SPECIFIED) -> Step | Blocked:
    """Ask a leader for what follows."""
    fetcher = broker.fetcher(leader)
    position = fetcher.position
    blocked = rules.blocked(
        (Guard.IS_UP, broker.phase is Phase.RUNNING),
        (Guard.FOLLOWS, position is not None and broker.view.leader == leader),
        (Guard.ONE_OUTSTANDING, not fetcher.waits),
    )
    if blocked is not None or position is None:
        return blocked or Blocked(Guard.FOLLOWS)
    request = FetchRequest(
        broker.id,
        leader,
        broker.epoch,
        broker.view.leader_epoch,
        position.offset,
        position.last_epoch,
    )
    return Step(broker.with_fetcher(replace(fetcher, waits=True)), request)


def serve(
    broker: Broker,
    request: FetchRequest,
    rules: Rules = SPECIFIED,
    count: int = 1,
    hwm: int | None = None,
) -> Step | Blocked:
    """Answer a fetch: with records if the follower has a beginning of this log."""
    blocked = rules.blocked((Guard.IS_UP, broker.phase is Phase.RUNNING))
    if blocked is not None:
        return blocked
    why = unserved(broker, request, rules)
    if why is not None:
        return Step(broker, answer_of(broker, request, why))
    if is_late(broker, request, rules):
        return Step(broker, answer_of(broker, request, Unserved.OLD_LIFE))
    diverging = divergence(broker, request)
    if diverging is not None and rules.demand(Guard.FETCH_POSITION):
        return Step(broker, answer_of(broker, request, diverging))
    after = broker.with_peer(Peer(request.follower, request.offset, request.broker_epoch))
    bound = committed(broker, broker.view, broker.log, rules, after.peers)
    step = raised(after, bound, rules, hwm)
    if isinstance(step, Blocked):
        return step
    records = broker.log.records(request.offset, request.offset + count)
    return replace(step, said=answer_of(step.broker, request, records))


def unserved(broker: Broker, request: FetchRequest, rules: Rules = SPECIFIED) -> Unserved | None:
    """Return why a fetch is not served, if it is not (P-17)."""
    epoch = broker.view.leader_epoch
    fits = epoch == request.leader_epoch or not rules.demand(Guard.FETCH_EPOCH)
    if broker.role is Role.LEADER and fits:
        return None
    if epoch == request.leader_epoch:
        return Unserved.NO_LEADER
    return Unserved.UNKNOWN_EPOCH if epoch < request.leader_epoch else Unserved.FENCED_EPOCH


def is_late(broker: Broker, request: FetchRequest, rules: Rules = SPECIFIED) -> bool:
    """Tell whether a fetch is of a life that is over, as far as the leader knows (KIP-903)."""
    if not rules.has(Difference.LINGERS):
        return False
    peer, told = broker.peer(request.follower), broker.brokers[request.follower - 1 :][:1]
    known = [peer.epoch] if peer is not None else []
    known += [registration.epoch for registration in told]
    blocked = rules.blocked(
        (Guard.LIFE_THAT_FETCHES, request.broker_epoch >= max(known, default=0))
    )
    return blocked is not None


def divergence(broker: Broker, request: FetchRequest) -> Diverging | None:
    """Return where the follower's last epoch ends here, if it has more or another one (P-18)."""
    epoch, end = broker.log.end_of_epoch(request.last_epoch, broker.view.leader_epoch)
    if epoch < request.last_epoch or end < request.offset:
        return Diverging(epoch, end)
    return None


def answer_of(
    broker: Broker, request: FetchRequest, content: Records | Diverging | Unserved
) -> FetchAnswer:
    """Return what a leader says."""
    return FetchAnswer(
        broker.id,
        request.follower,
        broker.view.leader_epoch,
        request.offset,
        broker.hwm,
        content,
    )


def take(broker: Broker, answer: FetchAnswer, rules: Rules = SPECIFIED) -> Step | Blocked:
    """Take what a leader has answered, if it still concerns this replica (P-16)."""
    fetcher = broker.fetcher(answer.leader)
    blocked = rules.blocked(
        (Guard.IS_UP, broker.phase is Phase.RUNNING),
        (Guard.OUTSTANDING, fetcher.waits),
    )
    if blocked is not None:
        return blocked
    done = replace(fetcher, waits=False)
    position = fetcher.position
    if position is None or isinstance(answer.content, Unserved) or stale(broker, answer, rules):
        return Step(broker.with_fetcher(done))
    log, hwm = broker.log, broker.hwm
    if isinstance(answer.content, Diverging):
        log = log.cut(safe_point(log, answer.content, rules))
        # As specified it stays, and is within the log all the same: what is committed is not cut.
        # A last known leader may have less.
        hwm = min(hwm, log.end)
        last_epoch = log.last_epoch
    else:
        log = log.extend(answer.offset, answer.content)
        last_epoch = answer.content[-1].epoch if answer.content else position.last_epoch
        if answer.hwm <= log.end or not rules.demand(Guard.HWM_IN_LOG):
            hwm = answer.hwm
    fetcher = Fetcher(answer.leader, Position(log.end, last_epoch))
    return Step(replace(broker, log=log, hwm=hwm).with_fetcher(fetcher))


def stale(broker: Broker, answer: FetchAnswer, rules: Rules = SPECIFIED) -> Blocked | None:
    """Return why an answer concerns this replica no longer, if it does not."""
    position = broker.fetcher(answer.leader).position
    return rules.blocked(
        (Guard.SAME_POSITION, position is not None and position.offset == answer.offset),
        (Guard.SAME_EPOCH, broker.view.leader_epoch == answer.leader_epoch),
    )


def safe_point(log: Log, told: Diverging, rules: Rules = SPECIFIED) -> int:
    """Return up to where the leader's log may be alike."""
    epoch, end = log.end_of_epoch(told.epoch)
    if epoch != told.epoch or not rules.demand(Guard.CUTS_WHERE_TOLD):
        return end
    return min(end, told.end)
