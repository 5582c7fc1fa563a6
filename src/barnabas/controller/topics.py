"""Topics: created with their partitions and configs, deleted, given more partitions.

    CreateTopics ─▶ name ─▶ configs ─▶ replicas: assigned, or placed ─▶ TopicRecord
                                                                        ConfigRecord …
                                                                        PartitionRecord …

Each topic of a request is decided for itself; a request that fails for one goes on with the next.
What it all needs of chance is handed in: an id for each topic, and a number to place with.

A new partition is led by the first of its replicas that is unfenced and not about to stop, and
those are its ISR.  If there is none, there is no such partition: a topic that nobody can write to
would only puzzle whoever made it.

Deleting writes one record for a topic, whatever it has: its partitions and configs go with it.
Topics are named by name or by id, and whether a caller may know of one is asked by its name, so
that nobody learns from the answer which ids there are.

Fixed by Kafka's ReplicationControlManager.java and ControllerApis.scala.  Where we differ stands in
decision 0018.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from barnabas.controller.config import ControllerConfig
from barnabas.controller.configs import at_creation
from barnabas.controller.placement import directories, place, usable
from barnabas.controller.state import ControllerState
from barnabas.metadata.levels import Form
from barnabas.metadata.topics import Ids, PartitionRegistration, Topic, partition_record
from barnabas.model.acls import AclResource, Operation
from barnabas.model.broker_configs import BROKER_CONFIGS
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.model.topic_names import CLUSTER_METADATA, check_topic_name, collisions, unified
from barnabas.statelog.decision import Decision
from barnabas.views.configs import Node, of_topic
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.structs import Message

PARTITIONS_MAX: Final = 10_000
"""How many partitions one request may create, and how many topics it may delete."""

BY_DEFAULT: Final = -1
"""What stands for the number of partitions, or of replicas, that the controller is told to give."""

DELETE_ENABLE: Final = BROKER_CONFIGS["delete.topic.enable"]

TOO_MANY: Final = Refused(
    ErrorCode.POLICY_VIOLATION,
    f"Excessively large number of partitions per request: at most {PARTITIONS_MAX} are created or "
    "deleted at once; ask for them in several requests",
)


# --- New topics ----------------------------------------------------------------------------------


def create(
    state: ControllerState,
    config: ControllerConfig,
    request: CreateTopicsRequest,
    caller: Caller,
    ids: Sequence[Uuid],
    number: int,
) -> Decision[Message, CreateTopicsResponse]:
    """Answer CreateTopics; ``ids`` are as many as topics, ``number`` is what to place with."""
    assert len(ids) >= len(request.topics), f"{len(ids)} ids for {len(request.topics)} topics"
    creation = Creation(state, config, caller, number)
    named = Counter(topic.name for topic in request.topics)
    wanted = [
        topic
        for topic in request.topics
        if named[topic.name] == 1 and topic.name != CLUSTER_METADATA and creation.may(topic.name)
    ]
    too_many = sum(asked_for(topic, config) for topic in wanted) > PARTITIONS_MAX
    results = {}
    for topic, topic_id in zip(request.topics, ids, strict=False):
        if topic.name in results:
            continue
        try:
            if named[topic.name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            if topic.name == CLUSTER_METADATA:
                raise Refused(
                    ErrorCode.INVALID_REQUEST,
                    f"Creation of internal topic {CLUSTER_METADATA} is prohibited.",
                )
            if not creation.may(topic.name):
                raise Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
            if too_many:
                raise TOO_MANY
            results[topic.name] = creation.create(topic, topic_id)
        except Refused as refused:
            results[topic.name] = CreateTopicsResponse.CreatableTopicResult(
                name=topic.name, error_code=refused.code, error_message=refused.why
            )
    records = () if request.validate_only else tuple(creation.records)
    return Decision(records, CreateTopicsResponse(topics=list(results.values())))


def asked_for(topic: CreateTopicsRequest.CreatableTopic, config: ControllerConfig) -> int:
    """Return how many partitions somebody wants."""
    if topic.assignments:
        return len(topic.assignments)
    if topic.num_partitions == BY_DEFAULT:
        return config.num_partitions
    return max(0, topic.num_partitions)


class Creation:
    """The topics of one request, one after the other."""

    def __init__(
        self, state: ControllerState, config: ControllerConfig, caller: Caller, number: int
    ) -> None:
        self.records: list[Message] = []
        self._state: Final = state
        self._config: Final = config
        self._caller: Final = caller
        self._number = number
        self._may_all: Final = caller.may_cluster(Operation.CREATE)
        self._unified: dict[str, str] = {}
        """The new topics, by what metrics call them."""

    def may(self, name: str) -> bool:
        """Tell whether the caller may create a topic."""
        return self._may_all or self._caller.may(Operation.CREATE, AclResource.TOPIC, name)

    def create(
        self, topic: CreateTopicsRequest.CreatableTopic, topic_id: Uuid
    ) -> CreateTopicsResponse.CreatableTopicResult:
        """Create a topic: add its records, and return its result."""
        self._check_name(topic.name)
        lost = [one.name for one in topic.configs if one.value is None]
        if lost:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Null value not supported for topic configs: {','.join(lost)}",
            )
        texts = {one.name: one.value for one in topic.configs if one.value is not None}
        set_ = at_creation(self._state, self._config, topic.name, texts, self._caller)
        partitions = self._partitions(topic)
        self.records.append(TopicRecord(name=topic.name, topic_id=topic_id))
        self.records += set_
        self.records += partition_records(self._state, topic_id, enumerate(partitions))
        self._unified[unified(topic.name)] = topic.name
        return self._result(topic.name, topic_id, texts, partitions)

    def _check_name(self, name: str) -> None:
        names = self._state.image.topics.names
        if name in names:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        check_topic_name(name)
        other = next(collisions(name, names, names), self._unified.get(unified(name)))
        if other is not None:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {other}",
            )

    def _partitions(self, topic: CreateTopicsRequest.CreatableTopic) -> list[Ids]:
        """Return the replicas of each partition."""
        if topic.assignments:
            return self._assigned(topic)
        if topic.replication_factor < BY_DEFAULT or topic.replication_factor == 0:
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if topic.num_partitions < BY_DEFAULT or topic.num_partitions == 0:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS,
                "Number of partitions was set to an invalid non-positive value.",
            )
        factor = topic.replication_factor
        if factor == BY_DEFAULT:
            factor = self._config.default_replication_factor
        self._number += 1
        return placed(self._state, asked_for(topic, self._config), factor, self._number)

    def _assigned(self, topic: CreateTopicsRequest.CreatableTopic) -> list[Ids]:
        if topic.replication_factor != BY_DEFAULT:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but replication factor was not set "
                "to -1.",
            )
        if topic.num_partitions != BY_DEFAULT:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but numPartitions was not set to -1.",
            )
        assigned: dict[int, Ids] = {}
        factor = None
        for assignment in topic.assignments:
            index = assignment.partition_index
            if index in assigned:
                raise Refused(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Found multiple manual partition assignments for partition {index}",
                )
            replicas = tuple(assignment.broker_ids)
            check_assigned(self._state, index, replicas, factor)
            assigned[index], factor = replicas, len(replicas)
        if assigned.keys() != set(range(len(assigned))):
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "partitions should be a consecutive 0-based integer sequence, and are "
                f"{sorted(assigned)}",
            )
        return [assigned[index] for index in range(len(assigned))]

    def _result(
        self, name: str, topic_id: Uuid, texts: Mapping[str, str], partitions: Sequence[Ids]
    ) -> CreateTopicsResponse.CreatableTopicResult:
        if not self._caller.may(Operation.DESCRIBE_CONFIGS, AclResource.TOPIC, name):
            return CreateTopicsResponse.CreatableTopicResult(
                name=name,
                topic_id=topic_id,
                topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            )
        return CreateTopicsResponse.CreatableTopicResult(
            name=name,
            topic_id=topic_id,
            num_partitions=len(partitions),
            replication_factor=len(partitions[0]),
            configs=self._told(texts) if texts else self._defaults,
        )

    @cached_property
    def _defaults(self) -> list[CreateTopicsResponse.CreatableTopicConfigs]:
        """What is in force for topics that have no configs of their own."""
        return self._told({})

    def _told(self, texts: Mapping[str, str]) -> list[CreateTopicsResponse.CreatableTopicConfigs]:
        node = Node(self._config.node_id, self._config.static)
        return [
            CreateTopicsResponse.CreatableTopicConfigs(
                name=one.name,
                value=None if one.is_sensitive else one.text,
                read_only=one.is_read_only,
                config_source=one.source,
                is_sensitive=one.is_sensitive,
            )
            for one in of_topic(self._state.image, node, texts)
        ]


# --- New partitions ------------------------------------------------------------------------------


def grow(
    state: ControllerState, request: CreatePartitionsRequest, caller: Caller, number: int
) -> Decision[Message, CreatePartitionsResponse]:
    """Answer CreatePartitions; ``number`` is what to place with."""
    named = Counter(topic.name for topic in request.topics)
    records: list[Message] = []
    results = {}
    for topic in request.topics:
        if topic.name in results:
            continue
        number += 1
        try:
            if named[topic.name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            if not caller.may(Operation.ALTER, AclResource.TOPIC, topic.name):
                raise Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            found = state.image.topics.named(topic.name)
            if found is None:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            more = added(state, found, topic, number)
            if len(records) + len(more) > PARTITIONS_MAX:
                raise TOO_MANY
            records += partition_records(state, found.id, enumerate(more, len(found.stored)))
            results[topic.name] = CreatePartitionsResponse.CreatePartitionsTopicResult(
                name=topic.name
            )
        except Refused as refused:
            results[topic.name] = CreatePartitionsResponse.CreatePartitionsTopicResult(
                name=topic.name, error_code=refused.code, error_message=refused.why
            )
    return Decision(
        () if request.validate_only else tuple(records),
        CreatePartitionsResponse(results=list(results.values())),
    )


def added(
    state: ControllerState,
    found: Topic,
    topic: CreatePartitionsRequest.CreatePartitionsTopic,
    number: int,
) -> list[Ids]:
    """Return the replicas of each partition that a topic is to get."""
    there = len(found.stored)
    if topic.count == there:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {there} partition(s).")
    if topic.count < there:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {there} partition(s); {topic.count} would not "
            "be an increase.",
        )
    additional = topic.count - there
    if topic.assignments is not None and len(topic.assignments) != additional:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {additional} additional partition(s), but only "
            f"{len(topic.assignments)} assignment(s) were specified.",
        )
    if additional > PARTITIONS_MAX:
        raise TOO_MANY
    _, first = next(found.partitions())
    # Of a partition that is being reassigned, what it will be counts.
    factor = len(first.replicas) - len(first.removing_replicas)
    if topic.assignments is None:
        return placed(state, additional, factor, number)
    assigned = [tuple(assignment.broker_ids) for assignment in topic.assignments]
    for index, replicas in enumerate(assigned, there):
        check_assigned(state, index, replicas, factor)
    return assigned


# --- Replicas ------------------------------------------------------------------------------------


def placed(state: ControllerState, partitions: int, factor: int, number: int) -> list[Ids]:
    """Return where the controller puts the replicas of some partitions."""
    try:
        return place(usable(state), partitions, factor, number)
    except Refused as refused:
        why = f"Unable to replicate the partition {factor} time(s): {refused.why}"
        raise Refused(refused.code, why) from refused


def check_assigned(state: ControllerState, index: int, replicas: Ids, factor: int | None) -> None:
    """Refuse replicas that somebody has assigned and that cannot be."""
    refused = "The manual partition assignment includes"
    if not replicas:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{refused} an empty replica list.")
    before = None
    for replica in sorted(replicas):
        if replica not in state.image.cluster.brokers:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{refused} broker {replica}, but no such broker is registered.",
            )
        if replica == before:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{refused} the broker {replica} more than once.",
            )
        before = replica
    if factor not in (None, len(replicas)):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{refused} a partition with {len(replicas)} replica(s), but this is not consistent "
            f"with previous partitions, which have {factor} replica(s).",
        )
    if not active(state, replicas):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"All brokers specified in the manual partition assignment for partition {index} are "
            "fenced or in controlled shutdown.",
        )


def active(state: ControllerState, replicas: Iterable[int]) -> Ids:
    """Return the replicas whose brokers may lead."""
    brokers = state.image.cluster.brokers
    return tuple(
        replica
        for replica in replicas
        if not brokers[replica].fenced and not brokers[replica].in_controlled_shutdown
    )


def partition_records(
    state: ControllerState, topic_id: Uuid, partitions: Iterable[tuple[int, Ids]]
) -> list[Message]:
    """Return the records of new partitions, each led by the first replica that can."""
    form = Form(state.level, no_loss)
    records: list[Message] = []
    for index, replicas in partitions:
        in_sync = active(state, replicas)
        partition = PartitionRegistration(
            replicas=replicas,
            directories=directories(state, replicas),
            isr=in_sync,
            leader=in_sync[0],
            leader_epoch=0,
            partition_epoch=0,
        )
        records.append(partition_record(topic_id, index, partition, form))
    return records


def no_loss(lost: str) -> None:
    """Know that every level has words for a new partition."""
    raise AssertionError(f"a new partition cannot be written without {lost}")


# --- Topics that go ------------------------------------------------------------------------------


class Named(NamedTuple):
    """A topic as a request names it."""

    name: str | None
    id: Uuid


def delete(
    state: ControllerState,
    config: ControllerConfig,
    request: DeleteTopicsRequest,
    version: int,
    caller: Caller,
) -> Decision[Message, DeleteTopicsResponse]:
    """Answer DeleteTopics; up to version 5 topics are named by name alone."""
    named = [Named(name, ZERO_UUID) for name in request.topic_names]
    named += [Named(topic.name, topic.topic_id) for topic in request.topics]
    told = Counter(named)
    deletion = Deletion(state, caller, told)
    records: list[Message] = []
    results = []
    for one in told:
        found = one
        refused: Refused | None = None
        try:
            check_deletion(config, version)
            if len(told) > PARTITIONS_MAX:
                raise TOO_MANY
            check_named(one, told[one])
            found, removed = deletion.resolved(one)
            records.append(RemoveTopicRecord(topic_id=removed))
        except Disclosed as disclosed:
            found, refused = disclosed.found, disclosed
        except Refused as undisclosed:
            refused = undisclosed
        results.append(
            DeleteTopicsResponse.DeletableTopicResult(
                name=found.name,
                topic_id=found.id,
                error_code=refused.code if refused else ErrorCode.NONE,
                error_message=refused.why if refused else None,
            )
        )
    return Decision(tuple(records), DeleteTopicsResponse(responses=results))


class Disclosed(Refused):
    """A topic that is refused to somebody who may know how it is called."""

    def __init__(self, code: ErrorCode, found: Named, why: str = "") -> None:
        super().__init__(code, why)
        self.found = found


def check_deletion(config: ControllerConfig, version: int) -> None:
    """Refuse to delete topics where that is switched off."""
    if not DELETE_ENABLE.flag(config.static):
        # The code that says so came with version 3.
        code = ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
        raise Refused(code, "Topic deletion is disabled: delete.topic.enable is false.")


def check_named(one: Named, times: int) -> None:
    """Refuse a topic that is named twice, in two ways, or not at all."""
    if one.name is None and one.id == ZERO_UUID:
        raise Refused(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if one.name is not None and one.id != ZERO_UUID:
        raise Refused(
            ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id."
        )
    if times > 1:
        how = "id" if one.name is None else "name"
        raise Refused(ErrorCode.INVALID_REQUEST, f"Duplicate topic {how}.")


class Deletion:
    """Finds topics that are to be deleted, for a caller who may not know of all."""

    def __init__(self, state: ControllerState, caller: Caller, told: Collection[Named]) -> None:
        self._topics: Final = state.image.topics
        self._caller: Final = caller
        self._ids: Final = {one.id for one in told if one.name is None}
        self._names: Final = {one.name for one in told if one.name is not None}
        self._may_all: Final = caller.may_cluster(Operation.DELETE)

    def resolved(self, one: Named) -> tuple[Named, Uuid]:
        """Return a topic as the caller may know it, and the id to delete."""
        if one.name is None:
            return self._by_id(one)
        may_know = self._may(Operation.DESCRIBE, one.name)
        if not may_know or not self._may(Operation.DELETE, one.name):
            # Whether there is such a topic is nothing to tell somebody who may not know.
            if may_know and one.name not in self._topics.names:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            raise Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        found = self._topics.names.get(one.name)
        if found is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if found in self._ids:
            raise named_twice(Named(one.name, found))
        return Named(one.name, found), found

    def _by_id(self, one: Named) -> tuple[Named, Uuid]:
        topic = self._topics.topics.get(one.id)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        if not self._may(Operation.DELETE, topic.name):
            if self._may(Operation.DESCRIBE, topic.name):
                raise Disclosed(ErrorCode.TOPIC_AUTHORIZATION_FAILED, Named(topic.name, topic.id))
            raise Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if topic.name in self._names:
            raise named_twice(Named(topic.name, topic.id))
        return Named(topic.name, topic.id), topic.id

    def _may(self, operation: Operation, name: str) -> bool:
        return self._may_all or self._caller.may(operation, AclResource.TOPIC, name)


def named_twice(found: Named) -> Disclosed:
    """Return the refusal of a topic that is named by name and by id."""
    return Disclosed(
        ErrorCode.INVALID_REQUEST,
        found,
        "The provided topic name maps to an ID that was already supplied.",
    )
