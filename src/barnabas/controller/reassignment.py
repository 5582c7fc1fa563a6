"""Partitions that move: other replicas, in steps that never leave too few in sync (KIP-455).

    [1, 2, 3] ── asked for [1, 2, 4] ──▶ [1, 2, 4, 3]  adding 4, removing 3
                                              │
                       4 is in sync, and enough of 1, 2, 4 are
                                              ▼
                                          [1, 2, 4]

A partition that is being reassigned has the replicas of both: first those that it is to have, in
the order that was asked for, then those that will go.  The last step is taken when the leader
reports who is in sync, by ``partitions``; or at once, where nothing has to be waited for.

Asked for again in the meantime, it goes from where it is to the new target; cancelled, it goes back
to what it was without those that were being added.  That may not lose anything: if all that are in
sync were being added, and none of the others is eligible either, it takes an unclean election, and
a topic that allows one.

Fixed by Kafka's ReplicationControlManager.java, PartitionReassignmentReplicas.java and
PartitionReassignmentRevert.java; where we differ stands in decision 0019.
"""

from collections.abc import Mapping, Sequence

from barnabas.controller.config import ControllerConfig
from barnabas.controller.elections import RulesInForce
from barnabas.controller.index import bits
from barnabas.controller.partitions import Aim, Change, Leaders, decide, without
from barnabas.controller.state import ControllerState
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.topics import NO_LEADER, Ids, PartitionRegistration, Topic
from barnabas.model.errors import ErrorCode, Refused
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.structs import Message


def reassign(
    state: ControllerState,
    config: ControllerConfig,
    request: AlterPartitionReassignmentsRequest,
) -> Decision[Message, AlterPartitionReassignmentsResponse]:
    """Begin reassignments, redirect them, or cancel them; each partition by itself."""
    asked = Asked(state, config, request.allow_replication_factor_change)
    reply = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[
            AlterPartitionReassignmentsResponse.ReassignableTopicResponse(
                name=topic.name,
                partitions=[asked.answer(topic.name, each) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )
    return Decision(tuple(asked.records), reply)


class Asked:
    """The reassignments of one request."""

    def __init__(
        self, state: ControllerState, config: ControllerConfig, allow_factor_change: bool
    ) -> None:
        self.records: list[PartitionChangeRecord] = []
        self._state = state
        self._allow_factor_change = allow_factor_change
        self._rules = RulesInForce(state, config)
        self._leaders = Leaders(state.image.cluster.brokers)
        self._told: set[tuple[str, int]] = set()

    def answer(
        self, name: str, told: AlterPartitionReassignmentsRequest.ReassignablePartition
    ) -> AlterPartitionReassignmentsResponse.ReassignablePartitionResponse:
        """Decide on one partition, and answer whether it moves."""
        index = told.partition_index
        refused: Refused | None = None
        try:
            self._reassign(name, index, told.replicas)
        except Refused as why:
            refused = why
        return AlterPartitionReassignmentsResponse.ReassignablePartitionResponse(
            partition_index=index,
            error_code=refused.code if refused else ErrorCode.NONE,
            error_message=refused.why if refused else None,
        )

    def _reassign(self, name: str, index: int, replicas: Sequence[int] | None) -> None:
        at = f"{name}-{index}"
        topic = self._state.image.topics.named(name)
        partition = topic.partition(index) if topic else None
        if topic is None or partition is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {at}")
        if (name, index) in self._told:
            raise Refused(ErrorCode.INVALID_REQUEST, f"{at} is told twice in one request")
        if replicas is None:
            change = self._cancelled(at, name, partition)
        else:
            change = self._begun(at, name, partition, tuple(replicas))
        self._told.add((name, index))
        if change is not None:
            self.records.append(change.record(topic.id, index))

    def _begun(
        self, at: str, name: str, partition: PartitionRegistration, target: Ids
    ) -> Change | None:
        """Return what changes for a partition that is to have other replicas."""
        check_assignment(at, target, self._state.image.cluster.brokers)
        stable = without(partition.replicas, partition.adding_replicas)
        if not self._allow_factor_change:
            factor = len(without(partition.replicas, partition.removing_replicas))
            if factor != len(target):
                raise Refused(
                    ErrorCode.INVALID_REPLICATION_FACTOR,
                    f"{at} has {factor} replicas and would have {len(target)}, which this request "
                    "does not allow",
                )
        removing = tuple(sorted(set(partition.replicas) - set(target)))
        # One that was being added before, and is still wanted, is not there yet.
        adding = tuple(sorted(set(target) - set(stable)))
        aim = Aim(replicas=(*target, *removing), removing=removing, adding=adding)
        return decide(partition, aim, self._rules.of(name), self._leaders)

    def _cancelled(self, at: str, name: str, partition: PartitionRegistration) -> Change | None:
        """Return what changes for a partition that is to stay where it was."""
        adding = partition.adding_replicas
        if not adding and not partition.removing_replicas:
            raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{at} is not being reassigned")
        replicas, isr = without(partition.replicas, adding), without(partition.isr, adding)
        if not replicas:
            why = f"{at} has no replica besides {list(adding)}, which are being added"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
        reach = self._rules.election(name)
        aim = Aim(isr=isr, replicas=replicas, removing=(), adding=(), election=reach)
        change = decide(partition, aim, self._rules.of(name), self._leaders)
        if not isr:
            led = change.leader if change else NO_LEADER
            kept = without(partition.elr, adding)
            waits = partition.leader == NO_LEADER and bool(kept)
            if led < 0 and not waits:
                raise Refused(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"{at} cannot go back to {list(replicas)}: in sync are {list(partition.isr)} "
                    "alone, which were being added, and nobody else may lead without an unclean "
                    "election",
                )
        return change


def check_assignment(at: str, target: Ids, brokers: Mapping[int, BrokerRegistration]) -> None:
    """Refuse replicas that cannot be."""
    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if not target:
        raise Refused(code, f"{at} would have no replicas")
    for broker in sorted(target):
        if broker not in brokers:
            raise Refused(code, f"{at} would be on broker {broker}, which is not registered")
        if target.count(broker) > 1:
            raise Refused(code, f"{at} would be on broker {broker} {target.count(broker)} times")


def listed(
    state: ControllerState, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Tell which partitions are being reassigned, of all or of those that are asked for."""
    topics = state.image.topics
    if request.topics is None:
        found = [
            ongoing(topics.topics[topic_id], bits(mask))
            for topic_id, mask in state.index.reassigning.items()
        ]
    else:
        found = [
            ongoing(topic, told.partition_indexes)
            for told in request.topics
            if (topic := topics.named(told.name)) is not None
        ]
    return ListPartitionReassignmentsResponse(
        error_message=None, topics=[topic for topic in found if topic.partitions]
    )


def ongoing(
    topic: Topic, indexes: Sequence[int]
) -> ListPartitionReassignmentsResponse.OngoingTopicReassignment:
    """Return which of some partitions of a topic are being reassigned."""
    return ListPartitionReassignmentsResponse.OngoingTopicReassignment(
        name=topic.name,
        partitions=[
            ListPartitionReassignmentsResponse.OngoingPartitionReassignment(
                partition_index=index,
                replicas=partition.replicas,
                adding_replicas=partition.adding_replicas,
                removing_replicas=partition.removing_replicas,
            )
            for index in indexes
            if (partition := topic.partition(index)) is not None
            and (partition.adding_replicas or partition.removing_replicas)
        ],
    )
