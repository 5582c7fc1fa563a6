"""Where replicas lie: a broker tells in which of its directories it has put them (KIP-858).

The controller needs to know for one purpose: when a directory fails, the replicas in it are out of
sync, and nobody but their broker could say which these are, which by then has other worries.  (What
becomes of them stands in ``elections``; that the directory failed, a heartbeat tells.)

A replica that is told to lie in a directory which is not online is out of sync in the same moment.

Fixed by Kafka's ReplicationControlManager.java (``handleAssignReplicasToDirs``).
"""

from barnabas.controller.brokers import stale
from barnabas.controller.config import ControllerConfig
from barnabas.controller.elections import RulesInForce
from barnabas.controller.partitions import Aim, Election, Leaders, decide, is_online, without
from barnabas.controller.state import ControllerState
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.levels import DIRECTORIES
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.features import METADATA_VERSION
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.value import value
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.structs import Message


@value
class Assigned:
    """The answer, and for the log why parts of it refuse: the wire has no words for that."""

    response: AssignReplicasToDirsResponse
    refusals: tuple[Refused, ...]


def assign(
    state: ControllerState, config: ControllerConfig, request: AssignReplicasToDirsRequest
) -> Decision[Message, Assigned | Refused]:
    """Take a broker's word for where its replicas lie."""
    if state.level < DIRECTORIES:
        why = f"{METADATA_VERSION} is {state.level}, and knows of directories from {DIRECTORIES} on"
        return Decision((), Refused(ErrorCode.UNSUPPORTED_VERSION, why))
    broker = state.image.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Decision((), stale(request.broker_id, request.broker_epoch, broker))
    assignments = Assignments(state, config, broker)
    response = AssignReplicasToDirsResponse(
        directories=[
            AssignReplicasToDirsResponse.DirectoryData(
                id=place.id,
                topics=[
                    AssignReplicasToDirsResponse.TopicData(
                        topic_id=topic.topic_id,
                        partitions=[
                            AssignReplicasToDirsResponse.PartitionData(
                                partition_index=each.partition_index,
                                error_code=assignments.code(
                                    place.id, topic.topic_id, each.partition_index
                                ),
                            )
                            for each in topic.partitions
                        ],
                    )
                    for topic in place.topics
                ],
            )
            for place in request.directories
        ]
    )
    return Decision(tuple(assignments.records), Assigned(response, tuple(assignments.refusals)))


class Assignments:
    """The assignments of one request."""

    def __init__(
        self, state: ControllerState, config: ControllerConfig, broker: BrokerRegistration
    ) -> None:
        self.records: list[PartitionChangeRecord] = []
        self.refusals: list[Refused] = []
        self._topics = state.image.topics.topics
        self._broker = broker
        self._rules = RulesInForce(state, config)
        self._leaders = Leaders(state.image.cluster.brokers)
        self._told: set[tuple[Uuid, int]] = set()

    def code(self, place: Uuid, topic_id: Uuid, index: int) -> ErrorCode:
        """Decide on one assignment, and return the code to answer with."""
        try:
            self._assign(place, topic_id, index)
        except Refused as refused:
            self.refusals.append(refused)
            return refused.code
        return ErrorCode.NONE

    def _assign(self, place: Uuid, topic_id: Uuid, index: int) -> None:
        broker, topic = self._broker, self._topics.get(topic_id)
        if topic is None:
            why = f"broker {broker.id} has replicas of topic id {uuid_text(topic_id)}, not there"
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, why)
        at = f"{topic.name}-{index}"
        partition = topic.partition(index)
        if partition is None:
            why = f"broker {broker.id} has a replica of {at}, and there is no such partition"
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why)
        if broker.id not in partition.replicas:
            why = f"broker {broker.id} has a replica of {at}: {list(partition.replicas)} should"
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, why)
        if (topic_id, index) in self._told:
            why = f"broker {broker.id} has put its replica of {at} into two directories"
            raise Refused(ErrorCode.INVALID_REQUEST, why)
        self._told.add((topic_id, index))
        online = is_online(broker, place)
        aim = Aim(
            isr=None if online else without(partition.isr, (broker.id,)),
            directories=((broker.id, place),),
            election=Election.ONLINE if online else self._rules.election(topic.name),
        )
        change = decide(partition, aim, self._rules.of(topic.name), self._leaders)
        if change is not None:
            self.records.append(change.record(topic_id, index))
