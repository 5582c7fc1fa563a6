"""What the leader of a partition asks: let this one in, let that one go (KIP-497, KIP-903).

A leader sees who keeps up, and the controller sees who is alive; so the leader proposes an ISR and
the controller decides.  A proposal names the leader epoch and the partition epoch that it was made
in, so that one that has been overtaken changes nothing; and it names the life of each replica, so
that nobody gets in on what a former life had.

``judge`` is the whole matrix (P-12), in Kafka's order.  Where it is stricter than Kafka: a replica
whose life is not named gets in only where no life could be known, and none gets in whose directory
is offline.

Fixed by Kafka's ReplicationControlManager.java (``alterPartition``, ``validateAlterPartitionData``,
``ineligibleReplicasForIsr``).
"""

from collections.abc import Sequence
from typing import Final

from barnabas.controller.brokers import stale
from barnabas.controller.config import ControllerConfig
from barnabas.controller.elections import RulesInForce
from barnabas.controller.partitions import Aim, Leaders, decide, is_online
from barnabas.controller.state import ControllerState
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.topics import (
    NO_LEADER_CHANGE,
    RECOVERED,
    RECOVERING,
    PartitionRegistration,
    Topic,
)
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.value import value
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.structs import Message

NAMES_LIVES: Final = 3
"""The version of AlterPartition from which on it names the life of each replica."""

FETCHES_NAME_LIVES: Final = 10
"""The metadata.version from which on leaders know the life of whoever fetches from them."""

UNKNOWN_LIFE: Final = -1


@value
class Altered:
    """The answer, and for the log why parts of it refuse: the wire has no words for that."""

    response: AlterPartitionResponse
    refusals: tuple[Refused, ...]


def alter(
    state: ControllerState, config: ControllerConfig, version: int, request: AlterPartitionRequest
) -> Decision[Message, Altered | Refused]:
    """Decide on the ISRs that a leader proposes."""
    broker = state.image.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Decision((), stale(request.broker_id, request.broker_epoch, broker))
    proposals = Proposals(state, config, version, broker)
    topics = []
    for told in request.topics:
        topic = state.image.topics.topics.get(told.topic_id)
        if topic is None:
            proposals.refusals.append(
                Refused(
                    ErrorCode.UNKNOWN_TOPIC_ID,
                    f"broker {broker.id} leads partitions of topic id {uuid_text(told.topic_id)}, "
                    "and there is none",
                )
            )
            answers = [
                AlterPartitionResponse.PartitionData(
                    partition_index=each.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_ID
                )
                for each in told.partitions
            ]
        else:
            answers = [proposals.answer(topic, each) for each in told.partitions]
        topics.append(AlterPartitionResponse.TopicData(topic_id=told.topic_id, partitions=answers))
    response = AlterPartitionResponse(topics=topics)
    return Decision(tuple(proposals.records), Altered(response, tuple(proposals.refusals)))


class Proposals:
    """The proposals of one request."""

    def __init__(
        self,
        state: ControllerState,
        config: ControllerConfig,
        version: int,
        broker: BrokerRegistration,
    ) -> None:
        self.records: list[PartitionChangeRecord] = []
        self.refusals: list[Refused] = []
        self._state = state
        self._broker = broker
        self._names_lives = version >= NAMES_LIVES
        self._rules = RulesInForce(state, config)
        self._leaders = Leaders(state.image.cluster.brokers)
        self._changed: set[tuple[str, int]] = set()

    def answer(
        self, topic: Topic, told: AlterPartitionRequest.PartitionData
    ) -> AlterPartitionResponse.PartitionData:
        """Decide on one proposal, and answer what the partition is now."""
        index = told.partition_index
        at = f"{topic.name}-{index}"
        lives = self._lives(told)
        partition = topic.partition(index)
        try:
            if (topic.name, index) in self._changed:
                raise Refused(
                    ErrorCode.INVALID_UPDATE_VERSION,
                    f"{at} is told twice, and has changed since partition epoch "
                    f"{told.partition_epoch}",
                )
            self._judge(at, partition, told, lives)
            assert partition is not None, f"{at} was judged and is not there"
            return self._altered(topic, index, partition, told, lives)
        except Refused as refused:
            self.refusals.append(refused)
            return AlterPartitionResponse.PartitionData(
                partition_index=index, error_code=refused.code
            )

    def _altered(
        self,
        topic: Topic,
        index: int,
        partition: PartitionRegistration,
        told: AlterPartitionRequest.PartitionData,
        lives: Sequence[tuple[int, int]],
    ) -> AlterPartitionResponse.PartitionData:
        """Alter a partition as proposed, and with it whatever follows from that."""
        aim = Aim(
            isr=tuple(broker for broker, _ in lives),
            recovery_state=told.leader_recovery_state,
            election=self._rules.election(topic.name),
        )
        change = decide(partition, aim, self._rules.of(topic.name), self._leaders)
        if change is None:
            return answered(index, partition)
        record = change.record(topic.id, index)
        self.records.append(record)
        self._changed.add((topic.name, index))
        if change.leader not in (NO_LEADER_CHANGE, self._broker.id):
            # The proposal has completed a reassignment that takes the leader away.  It is applied
            # and refused at the same time: the leader has to read what became of it.
            raise Refused(
                ErrorCode.NEW_LEADER_ELECTED,
                f"{topic.name}-{index} is altered as broker {self._broker.id} proposed, and is led "
                f"by {change.leader} now",
            )
        renewed = change.leader != NO_LEADER_CHANGE
        isr = partition.isr if change.isr is None else change.isr
        return AlterPartitionResponse.PartitionData(
            partition_index=index,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch + renewed,
            isr=isr,
            leader_recovery_state=told.leader_recovery_state,
            partition_epoch=partition.partition_epoch + 1,
        )

    def _lives(self, told: AlterPartitionRequest.PartitionData) -> Sequence[tuple[int, int]]:
        """Return who is proposed, with the epoch that the leader knows of each."""
        if self._names_lives:
            return [(each.broker_id, each.broker_epoch) for each in told.new_isr_with_epochs]
        return [(broker, UNKNOWN_LIFE) for broker in told.new_isr]

    def _judge(
        self,
        at: str,
        partition: PartitionRegistration | None,
        told: AlterPartitionRequest.PartitionData,
        lives: Sequence[tuple[int, int]],
    ) -> None:
        judge(at, self._broker.id, partition, told, [broker for broker, _ in lives])
        assert partition is not None, f"{at} was judged and is not there"
        may_be_unknown = not self._names_lives or self._state.level < FETCHES_NAME_LIVES
        for broker, epoch in lives:
            known = self._state.image.cluster.brokers.get(broker)
            accepted = may_be_unknown or broker in partition.isr
            place = partition.directory(broker)
            assert place is not None, f"{at}: {broker} is a replica and lies nowhere"
            if why := ineligible(known, place, epoch, accepted):
                raise Refused(
                    ErrorCode.INELIGIBLE_REPLICA,
                    f"{at}: broker {broker} cannot be in the ISR: {why}",
                )


def judge(
    at: str,
    sender: int,
    partition: PartitionRegistration | None,
    told: AlterPartitionRequest.PartitionData,
    isr: Sequence[int],
) -> None:
    """Refuse a proposal that was overtaken, or makes no sense."""
    if partition is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {at}")
    what = f"{at}: broker {sender} proposes {list(isr)} in leader epoch {told.leader_epoch}, "
    what += f"partition epoch {told.partition_epoch}"
    epochs = (partition.leader_epoch, partition.partition_epoch)
    if told.leader_epoch > epochs[0] or told.partition_epoch > epochs[1]:
        # Either we are a controller of the past, and a newer one has told the leader more, or the
        # leader is wrong: it asks another controller, and finds out (KAFKA-14154).
        why = f"{what}, and this controller knows of {epochs[0]} and {epochs[1]} only"
        raise Refused(ErrorCode.NOT_CONTROLLER, why)
    if told.leader_epoch < epochs[0]:
        why = f"{what}, and leader epoch {epochs[0]} has begun"
        raise Refused(ErrorCode.FENCED_LEADER_EPOCH, why)
    if sender != partition.leader:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{what}, and {partition.leader} leads")
    if told.partition_epoch < epochs[1]:
        why = f"{what}, and the partition is at {epochs[1]}"
        raise Refused(ErrorCode.INVALID_UPDATE_VERSION, why)
    if len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas):
        why = f"{what}: each has to be one of the replicas {list(partition.replicas)}, once"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    if partition.leader not in isr:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{what}: the leader has to be in its own ISR")
    if told.leader_recovery_state not in (RECOVERED, RECOVERING):
        why = f"{what}: leader recovery state {told.leader_recovery_state} is none"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    if told.leader_recovery_state == RECOVERING:
        if len(isr) > 1:
            why = f"{what}: a leader that recovers is alone in the ISR"
            raise Refused(ErrorCode.INVALID_REQUEST, why)
        if partition.leader_recovery_state == RECOVERED:
            why = f"{what}: the leader has recovered, and cannot begin to recover again"
            raise Refused(ErrorCode.INVALID_REQUEST, why)


def ineligible(
    known: BrokerRegistration | None, place: Uuid, epoch: int, may_be_unknown: bool
) -> str | None:
    """Return why a broker cannot be in an ISR; None if it can."""
    if known is None:
        return "it is not registered"
    if known.in_controlled_shutdown:
        return "it is shutting down"
    if known.fenced:
        return "it is fenced"
    if not is_online(known, place):
        # In an ISR of its own, it would keep the eligible from leading, and could not lead itself.
        return f"its log directory {uuid_text(place)} is offline"
    if epoch == UNKNOWN_LIFE:
        return None if may_be_unknown else f"the leader has not seen its epoch {known.epoch}"
    if epoch != known.epoch:
        return f"the leader saw epoch {epoch}, and epoch {known.epoch} lives"
    return None


def answered(index: int, partition: PartitionRegistration) -> AlterPartitionResponse.PartitionData:
    """Return what a partition is, as an answer."""
    return AlterPartitionResponse.PartitionData(
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )
