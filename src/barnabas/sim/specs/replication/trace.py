"""What a run has to say so that the port can be taken along: one event for each thing done.

    event             who         action of the port          of it is compared
    broker.start      broker      start
    broker.registered broker      registered                  its epoch
    broker.stop       broker      end, cleanly
    broker.crash      broker      end, with what its disk keeps
    ctl.register      controller  register                    the epoch, the partition after it
    ctl.fence         controller  fence                       the partition after it
    ctl.unfence       controller  unfence                     the partition after it
    ctl.alter         controller  alter                       the partition after it, or the refusal
    ctl.reassign      controller  reassign                    the partition after it
    part.apply        broker      apply                       what it means, the replica after it
    part.alter.send   leader      propose; repeat             the proposal
    part.alter.done   leader      answered                    the replica after it
    part.append       leader      append, n records as one    the replica after it
    fetch.send        follower    ask                         the request
    fetch.serve       leader      serve, n records as one     what is answered, the replica after it
    fetch.apply       follower    take                        the replica after it
    fetch.lost        follower    disconnect
    broker.heartbeat  broker      none
    ctl.failover      controller  none

An event is about one partition; what concerns a broker or all partitions is told to the walk of
each.  The controller's events are told when their records are *committed*, in the order of the
log, once, whichever node is the leader then: so a failover is nothing, and what a leader decided
and never committed has not happened.  ``offset`` is how long the metadata log is with those
records; a broker that publishes up to an offset has applied every decision up to there, as one.
Of a question that is asked again there is an event only when it is sent as a new one
(``fetch.send``) or stands still (``part.alter.send`` with the same proposal).  The number of a
fetch is unique in the run: its answer is told by it.
"""

from typing import TypeAlias

from barnabas.model.value import value
from barnabas.sim.specs.replication.applying import Kind
from barnabas.sim.specs.replication.cluster import (
    AlterRequest,
    Broker,
    Diverging,
    FetchAnswer,
    Ids,
    Partition,
    Refusal,
    Role,
    Unserved,
)


@value
class Facts:
    """A replica as it shows itself."""

    role: Role
    leader_epoch: int
    partition_epoch: int
    isr: Ids
    maximal: Ids
    end: int
    last_epoch: int
    hwm: int


@value
class BrokerStart:
    """``broker.start``: a process begins; this is where its log and high watermark are."""

    broker: int
    incarnation: int
    end: int
    hwm: int


@value
class BrokerRegistered:
    """``broker.registered``: it has learned its epoch."""

    broker: int
    incarnation: int
    epoch: int


@value
class BrokerStop:
    """``broker.stop``: it ended, and its mark is on the disk."""

    broker: int


@value
class BrokerCrash:
    """``broker.crash``: it was killed, or lost power: what its disk kept shows when it starts."""

    broker: int
    power: bool = False


@value
class CtlRegister:
    """``ctl.register``: a life was registered; ``marked`` is the epoch its clean mark named."""

    broker: int
    incarnation: int
    marked: int
    epoch: int
    offset: int
    partition: Partition


@value
class CtlFence:
    """``ctl.fence``: a session has ended."""

    broker: int
    offset: int
    partition: Partition


@value
class CtlUnfence:
    """``ctl.unfence``: because of a heartbeat of this epoch that had applied so much."""

    broker: int
    epoch: int
    applied: int
    offset: int
    partition: Partition


@value
class CtlAlter:
    """``ctl.alter``: a proposal was decided."""

    request: AlterRequest
    offset: int
    outcome: Partition | Refusal


@value
class CtlReassign:
    """``ctl.reassign``: an operator has moved replicas."""

    adding: Ids
    removing: Ids
    offset: int
    partition: Partition


@value
class PartApply:
    """``part.apply``: the metadata were published up to an offset."""

    broker: int
    offset: int
    kind: Kind
    after: Facts


@value
class PartAlterSend:
    """``part.alter.send``: a leader proposes an ISR, for the first time or again."""

    broker: int
    request: AlterRequest


@value
class PartAlterDone:
    """``part.alter.done``: a leader hears what has become of its proposal."""

    broker: int
    request: AlterRequest
    outcome: Partition | Refusal
    after: Facts


@value
class PartAppend:
    """``part.append``: a leader has appended so many records."""

    broker: int
    count: int
    after: Facts


@value
class FetchSend:
    """``fetch.send``: a follower asks."""

    broker: int
    leader: int
    number: int
    leader_epoch: int
    offset: int
    last_epoch: int


@value
class FetchServe:
    """``fetch.serve``: a leader answers with so many records, or where to cut, or why not."""

    broker: int
    number: int
    content: int | Diverging | Unserved
    after: Facts


@value
class FetchApply:
    """``fetch.apply``: a follower has done what the answer was about."""

    broker: int
    number: int
    after: Facts


@value
class FetchLost:
    """``fetch.lost``: a follower waits for this answer no longer."""

    broker: int
    number: int


@value
class BrokerHeartbeat:
    """``broker.heartbeat``: it lives."""

    broker: int


@value
class CtlFailover:
    """``ctl.failover``: another node of the quorum leads."""

    node: int


Event: TypeAlias = (
    BrokerStart
    | BrokerRegistered
    | BrokerStop
    | BrokerCrash
    | CtlRegister
    | CtlFence
    | CtlUnfence
    | CtlAlter
    | CtlReassign
    | PartApply
    | PartAlterSend
    | PartAlterDone
    | PartAppend
    | FetchSend
    | FetchServe
    | FetchApply
    | FetchLost
    | BrokerHeartbeat
    | CtlFailover
)


def facts_of(broker: Broker) -> Facts:
    """Return how a replica of the port shows itself."""
    view = broker.view
    return Facts(
        broker.role,
        view.leader_epoch,
        view.partition_epoch,
        view.isr,
        view.maximal,
        broker.log.end,
        broker.log.last_epoch,
        broker.hwm,
    )


def summary(answer: FetchAnswer) -> int | Diverging | Unserved:
    """Return what an answer is, as it is told: records by their number."""
    match answer.content:
        case Diverging() | Unserved() as content:
            return content
        case records:
            return records[-1].end - answer.offset if records else 0
