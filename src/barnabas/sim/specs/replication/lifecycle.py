"""The lives of a broker: how it starts, is registered, and ends.

    STOPPED, LOST ── start ──▶ STARTING ── registered ──▶ RUNNING ── crash, stop ──▶ STOPPED, LOST

In the specification: BrokerStart (``start``), ReceiveBrokerRegResponse (``registered``),
DataLossShutdown and NoDataLossShutdown (``end``).  There the controller fences a broker in the
moment that it ends, and all that was under way to and from it is lost (``disconnect``); it is the
closed model that puts these together.
"""

from dataclasses import replace

from barnabas.sim.specs.replication.cluster import (
    NO_EPOCH,
    Broker,
    Failed,
    Phase,
    RegisterAnswer,
    RegisterRequest,
    Role,
    Step,
    Told,
    View,
)
from barnabas.sim.specs.replication.guards import SPECIFIED, Difference, Guard, Rules
from barnabas.sim.specs.rules import Blocked


def start(broker: Broker, incarnation: int, rules: Rules = SPECIFIED) -> Step | Blocked:
    """Begin a new life, and ask to be registered."""
    blocked = rules.blocked((Guard.IS_DOWN, not broker.is_up))
    if blocked is not None:
        return blocked
    after = replace(broker, phase=Phase.STARTING, incarnation=incarnation, role=Role.NONE)
    return Step(after, RegisterRequest(broker.id, incarnation, broker.epoch))


def registered(broker: Broker, answer: RegisterAnswer, rules: Rules = SPECIFIED) -> Step | Blocked:
    """Learn that this life is registered.

    As specified, the metadata log is applied at once, but for the last record; what a broker knew
    of its partition in another life is forgotten either way.
    """
    blocked = rules.blocked(
        (Guard.IS_UP, broker.phase is Phase.STARTING),
        (Guard.SAME_LIFE, broker.incarnation == answer.incarnation),
    )
    if blocked is not None:
        return blocked
    after = replace(broker, phase=Phase.RUNNING, epoch=answer.epoch, view=View(), brokers=())
    if rules.has(Difference.STARTS_FENCED):
        return Step(replace(after, applied=0, registered_at=answer.offset))
    return Step(replace(after, applied=max(answer.offset - 1, 0)))


def end(
    broker: Broker, kept: int | None, is_clean: bool = False, rules: Rules = SPECIFIED
) -> Step | Blocked:
    """End a life: with all of its log, or with what is below an offset; a clean end is marked."""
    blocked = rules.blocked((Guard.IS_UP, broker.is_up))
    if blocked is not None:
        return blocked
    fails = broker.role is Role.LEADER and broker.hwm < broker.log.end
    told: tuple[Told, ...] = (Failed(broker.log, broker.hwm, broker.floor),) if fails else ()
    ended = Broker(
        broker.id,
        Phase.STOPPED if kept is None else Phase.LOST,
        epoch=broker.epoch if is_clean else NO_EPOCH,
        applied=broker.applied,
        view=broker.view,
        log=broker.log if kept is None else broker.log.cut(kept),
        hwm=broker.hwm if kept is None else min(kept, broker.hwm),
        # As specified; nobody reads it before the next epoch begins.
        epoch_start=broker.epoch_start if kept is None else None,
    )
    return Step(ended, None, told)


def disconnect(broker: Broker, other: int) -> Broker:
    """Return a broker whose connection to another one has ended: it waits for no answer."""
    return broker.with_fetcher(replace(broker.fetcher(other), waits=False))
