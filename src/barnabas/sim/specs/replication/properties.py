"""What must hold: of the controller, of a broker, of two of them, and of what clients were told.

What clients were told is a ``History``, which nobody in the cluster sees: which values were sent
and how each was answered, and what was read up to the highest high watermark that there ever was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from barnabas.model.value import value
from barnabas.sim.specs.replication.cluster import (
    NOBODY,
    NONE,
    Broker,
    Controller,
    Elected,
    Failed,
    Ids,
    Partition,
    Phase,
    Position,
    Raised,
    Role,
    Sent,
    Told,
)
from barnabas.sim.specs.replication.guards import Difference, Rules
from barnabas.sim.specs.replication.log import Log

VALID_BROKER: Final = "ValidBrokerState"
VALID_REPLICA: Final = "ValidReplicaState"
VALID_FETCHER: Final = "ValidFetcherState"
VALID_CONTROLLER: Final = "ValidControllerState"
VALID_SETS: Final = "ValidControllerIsrAndElr"
EPOCH_DISCIPLINE: Final = "EpochDiscipline"
RECOVERY_QUORUM: Final = "MinIsrRecoveryQuorum"
SUPERSET: Final = "ReplicationQuorumSuperset"
METADATA_MATCHING: Final = "MetadataLogMatching"
CANDIDATE_COMPLETENESS: Final = "LeaderCandidateCompleteness"
LEADER_COMPLETENESS: Final = "LeaderCompleteness"
CONSISTENT_READ: Final = "ConsistentRead"
LOG_MATCHING: Final = "LogMatching"
RECORD_IDENTITY: Final = "RecordIdentity"
NOTHING_LOST: Final = "NoCommittedRecordLostGlobally"


@value
class History:
    """What clients were told."""

    sent: Ids = NONE
    acked: Ids = NONE
    nacked: Ids = NONE
    """Answered with an error that leaves open whether they are there."""
    consumed: Log = Log()
    """What was below the high watermark of a leader at any time."""

    @property
    def hwm(self) -> int:
        """The highest high watermark that any leader ever had."""
        return self.consumed.end

    def after(self, told: Told) -> "History":
        """Return the history with one thing more."""
        match told:
            case Sent(value):
                return replace(self, sent=self.sent | {value})
            case Raised(log, old, new, floor):
                consumed = self.consumed
                if new > consumed.end:
                    consumed = consumed.extend(consumed.end, log.records(consumed.end, new))
                waiting = self.waiting(log, old, new, floor)
                return replace(self, acked=self.acked | waiting, consumed=consumed)
            case Failed(log, first, floor):
                waiting = self.waiting(log, first, log.end, floor)
                return replace(self, nacked=self.nacked | waiting)
            case Elected():
                return self

    def waiting(self, log: Log, first: int, end: int, floor: int | None) -> Ids:
        """Return what is not answered yet of what a leader has appended between two offsets."""
        if floor is None:
            return NONE
        return (log.values(max(first, floor), end) & self.sent) - self.acked - self.nacked

    def cut(self, log: Log) -> "History":
        """Return the history once somebody leads with this log whoever may have had more.

        What it lacks is lost, and who elected it has said so: nothing more is asked of that.
        """
        end = self.consumed.end
        while not (log.end >= end and log.agrees_with(self.consumed, end)):
            end -= 1
        kept = self.consumed.cut(end)
        return replace(self, acked=self.acked & log.values(0, log.end), consumed=kept)


# --- Of the controller -----------------------------------------------------------------------


def of_controller(controller: Controller, rules: Rules) -> Iterator[str]:
    """Yield the properties that the controller breaks."""
    partition = controller.partition
    if partition.isr - controller.unfenced:
        yield VALID_CONTROLLER
    within = partition.isr <= partition.replicas and partition.elr <= partition.replicas
    small = len(partition.isr) < rules.min_isr or not partition.elr
    leads = partition.leader == NOBODY or partition.leader in partition.isr
    if not within or partition.isr & partition.elr or not small or not leads:
        yield VALID_SETS
    if not partition.isr and not partition.elr:
        quorum = 1 if rules.has(Difference.LAST_KNOWN_LEADER) else rules.min_isr
        if len(partition.last_known) != quorum:
            yield RECOVERY_QUORUM
    if len(controller.log) > 1 and not follows(controller.log[-2].partition, partition):
        yield EPOCH_DISCIPLINE


def follows(before: Partition, after: Partition) -> bool:
    """Tell whether a change of the partition counts its epochs as it must (C-10)."""
    if before == after:
        return True
    steps = after.partition_epoch - before.partition_epoch
    rises = after.leader_epoch - before.leader_epoch
    return steps == 1 and rises in (0, 1) and (after.leader == before.leader or rises == 1)


# --- Of brokers ------------------------------------------------------------------------------


def of_broker(broker: Broker) -> Iterator[str]:
    """Yield the properties that a broker breaks as it is."""
    if broker.phase is Phase.RUNNING and broker.epoch <= 0:
        yield VALID_BROKER
    epochs = [run.epoch for run in broker.log.runs]
    leads = broker.role is Role.LEADER
    misled = leads and broker.view.leader != broker.id
    if misled or epochs != sorted(epochs) or broker.hwm > broker.log.end:
        yield VALID_REPLICA
    placed = [each for each in broker.fetchers if each.position is not None]
    here = Position(broker.log.end, broker.log.last_epoch)
    fits = all(each.position == here and each.leader != broker.id for each in placed)
    if len(placed) != (broker.role is Role.FOLLOWER) or not fits:
        yield VALID_FETCHER


def of_standing(controller: Controller, broker: Broker, rules: Rules) -> Iterator[str]:
    """Yield the properties that a broker breaks beside the controller."""
    view = broker.view
    if is_leader(controller, broker):
        pending = broker.waits_for_answer or view.maximal == view.isr
        counted = controller.partition.isr | controller.partition.elr
        if not pending or (len(view.isr) >= rules.min_isr and not counted <= view.maximal):
            yield SUPERSET
    # The last that it has applied; what it has heard since by the answer to a proposal is newer.
    for record in controller.log[broker.applied - 1 : broker.applied] if broker.applied else ():
        told = record.partition
        known = view.replicas, view.isr, view.leader, view.leader_epoch
        is_so = told.replicas, told.isr, told.leader, told.leader_epoch
        if told.partition_epoch == view.partition_epoch and known != is_so:
            yield METADATA_MATCHING


def is_leader(controller: Controller, broker: Broker) -> bool:
    """Tell whether a broker leads, and the controller has not begun another epoch."""
    epoch = controller.partition.leader_epoch
    return broker.role is Role.LEADER and broker.view.leader_epoch == epoch


# --- Of what clients were told ---------------------------------------------------------------


def of_history(controller: Controller, broker: Broker, history: History) -> Iterator[str]:
    """Yield the properties that a broker breaks beside what clients were told."""
    partition = controller.partition
    runs = broker.phase is Phase.RUNNING
    has_all = has_consumed(broker.log, history)
    if runs and broker.id in partition.isr | partition.elr and not has_all:
        yield CANDIDATE_COMPLETENESS
    if runs and broker.id == partition.leader and history.hwm:
        acked = history.acked <= broker.log.values(0, broker.log.end)
        if not has_all or not acked:
            yield LEADER_COMPLETENESS
    if is_leader(controller, broker) and not has_all:
        yield CONSISTENT_READ


def has_consumed(log: Log, history: History) -> bool:
    """Tell whether a log has everything that was ever read, as it was."""
    return log.end >= history.hwm and log.agrees_with(history.consumed, history.hwm)


def of_logs(one: Broker, other: Broker) -> Iterator[str]:
    """Yield the properties that two replicas break."""
    if not one.log.agrees_with(other.log, min(one.hwm, other.hwm)):
        yield LOG_MATCHING
    if one is not other and not identified(one.log, other.log):
        yield RECORD_IDENTITY


def identified(one: Log, other: Log) -> bool:
    """Tell whether an offset and an epoch always mean the same record (P-30)."""
    stop = min(one.end, other.end)
    for offset in range(stop) if one.runs != other.runs else ():
        (mine,), (theirs,) = one.records(offset, offset + 1), other.records(offset, offset + 1)
        if mine.epoch == theirs.epoch and mine.value != theirs.value:
            return False
    return True


def is_kept(logs: Sequence[Log], history: History) -> bool:
    """Tell whether everything that was acknowledged is still somewhere."""
    held: Ids = NONE
    for log in logs:
        held |= log.values(0, log.end)
    return history.acked <= held
