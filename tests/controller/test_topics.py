"""Topics that come, grow and go; each of a request for itself."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.config import ControllerConfig
from barnabas.controller.partitions import UNASSIGNED
from barnabas.controller.state import ControllerState
from barnabas.controller.topics import PARTITIONS_MAX, create, delete, grow
from barnabas.metadata.topics import MIGRATING
from barnabas.model.acls import AclResource, Operation
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.sim.profiles.control.states import naive_index, told_index
from barnabas.views.configs import Source
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import decode_record
from tests.controller.scene import broker, cluster, setting, three, topic, uuid

CONFIG = ControllerConfig(9, default_replication_factor=2, num_partitions=3)
IDS = [uuid(number) for number in range(100, 120)]
Assignments = Mapping[int, Sequence[int]]


def new(
    name: str,
    partitions: int = -1,
    factor: int = -1,
    assigned: Sequence[tuple[int, Sequence[int]]] = (),
    **configs: str | None,
) -> CreateTopicsRequest.CreatableTopic:
    """Return a topic that somebody wants."""
    return CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[
            CreateTopicsRequest.CreatableReplicaAssignment(
                partition_index=index, broker_ids=replicas
            )
            for index, replicas in assigned
        ],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=text)
            for key, text in configs.items()
        ],
    )


def created(
    state: ControllerState,
    *topics: CreateTopicsRequest.CreatableTopic,
    caller: Caller = ANYBODY,
    config: ControllerConfig = CONFIG,
    validate_only: bool = False,
) -> tuple[ControllerState, list[CreateTopicsResponse.CreatableTopicResult]]:
    """Return what becomes of topics that are wanted."""
    request = CreateTopicsRequest(topics=topics, validate_only=validate_only)
    decision = create(state, config, request, caller, IDS, 7)
    after = state.apply(decision.records)
    assert told_index(after.index) == naive_index(after.image)
    return after, list(decision.reply.topics)


def codes(results: Sequence[CreateTopicsResponse.CreatableTopicResult]) -> list[ErrorCode]:
    """Return the codes of results; each refusal says why."""
    assert all(bool(result.error_code) is bool(result.error_message) for result in results)
    return [ErrorCode(result.error_code) for result in results]


def replicas(state: ControllerState, name: str) -> list[tuple[int, ...]]:
    """Return the replicas of a topic's partitions."""
    found = state.image.topics.named(name)
    assert found is not None
    return [partition.replicas for _, partition in found.partitions()]


# --- Creating ---


def test_a_topic_is_made_of_its_records_in_order() -> None:
    wanted = new("orders", assigned=[(1, [2, 3]), (0, [1, 2])], retention_ms="5")
    request = CreateTopicsRequest(topics=[wanted])
    records = create(three(), CONFIG, request, ANYBODY, IDS, 7).records
    assert records == (
        TopicRecord(name="orders", topic_id=IDS[0]),
        setting(2, "orders", "retention.ms", "5"),
        partition(0, 1, 2),
        partition(1, 2, 3),
    )


def partition(index: int, *replicas: int) -> PartitionRecord:
    """Return a partition of a new topic whose replicas are all there."""
    return PartitionRecord(
        topic_id=IDS[0],
        partition_id=index,
        replicas=replicas,
        isr=replicas,
        leader=replicas[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(uuid(200 + replica) for replica in replicas),
    )


def test_what_is_not_said_is_what_the_controller_was_told() -> None:
    after, (result,) = created(three(), new("orders"))
    assert (result.num_partitions, result.replication_factor) == (3, 2)
    assert [len(each) for each in replicas(after, "orders")] == [2, 2, 2]
    assert result.topic_id == IDS[0]
    assert after.image.topics.names["orders"] == IDS[0]


def test_the_reply_tells_the_configs_in_force() -> None:
    state = three(setting(4, "", "log.segment.bytes", "1048577"))
    _, (result, other) = created(state, new("orders", retention_ms="5"), new("other"))
    assert result.configs is not None
    configs = {one.name: (one.value, one.config_source) for one in result.configs}
    assert configs["retention.ms"] == ("5", Source.TOPIC)
    assert configs["segment.bytes"] == ("1048577", Source.DYNAMIC_DEFAULT_BROKER)
    assert configs["segment.ms"] == ("604800000", Source.DEFAULT)
    assert list(configs) == sorted(configs)
    assert other.configs is not None
    assert {one.name: one.value for one in other.configs}["retention.ms"] == "604800000"


def test_only_brokers_that_may_lead_are_in_sync() -> None:
    state = cluster(broker(1, fenced=True), broker(2), broker(3, stopping=True))
    after, results = created(
        state, new("a", assigned=[(0, [1, 2, 3])]), new("b", partitions=1, factor=2)
    )
    assert codes(results) == [0, 0]
    for name, expected in (("a", (1, 2, 3)), ("b", (2, 1))):
        found = after.image.topics.named(name)
        assert found is not None
        partition = found.partition(0)
        assert partition is not None
        assert (partition.replicas, partition.isr, partition.leader) == (expected, (2,), 2)
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)


def test_directories_are_said_from_the_level_on_that_has_words_for_them() -> None:
    several = broker(1, directories=[uuid(5), uuid(6)])
    for at, version, directories in ((15, 0, ()), (17, 1, (UNASSIGNED,)), (23, 2, (UNASSIGNED,))):
        state = cluster(several, at=at)
        request = CreateTopicsRequest(topics=[new("a", 1, 1)])
        record = create(state, CONFIG, request, ANYBODY, IDS, 7).records[1]
        assert isinstance(record, PartitionRecord)
        assert record.directories == directories
        assert decode_record(state.encode(record))[1] == version
        found = state.apply([TopicRecord(name="a", topic_id=IDS[0]), record]).image.topics
        partition = found.partition(IDS[0], 0)
        assert partition is not None
        assert partition.directories == (directories or (MIGRATING,))


def test_nothing_is_written_when_it_is_only_asked_whether_it_could_be() -> None:
    after, results = created(three(), new("a"), new("", 1, 1), validate_only=True)
    assert codes(results) == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert after.image.topics.is_empty


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (new("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new("there"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (new("x.y"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
        (new("a", retention_ms=None), ErrorCode.INVALID_CONFIG),
        (new("a", retention_ms="x"), ErrorCode.INVALID_CONFIG),
        (new("a", no_such="x"), ErrorCode.INVALID_CONFIG),
        (new("a", factor=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (new("a", factor=-2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (new("a", factor=4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (new("a", partitions=0), ErrorCode.INVALID_PARTITIONS),
        (new("a", partitions=-2), ErrorCode.INVALID_PARTITIONS),
        (new("a", partitions=PARTITIONS_MAX + 1), ErrorCode.POLICY_VIOLATION),
        (new("a", 1, -1, [(0, [1])]), ErrorCode.INVALID_REQUEST),
        (new("a", -1, 1, [(0, [1])]), ErrorCode.INVALID_REQUEST),
        (new("a", assigned=[(0, [])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (new("a", assigned=[(0, [1, 1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (new("a", assigned=[(0, [7])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (new("a", assigned=[(0, [1]), (0, [2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (new("a", assigned=[(0, [1]), (2, [2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (new("a", assigned=[(0, [1]), (1, [1, 2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=repr,
)
def test_refusals_have_kafkas_codes_and_stop_nobody_else(
    wanted: CreateTopicsRequest.CreatableTopic, code: ErrorCode
) -> None:
    state = three(*topic("there", 1, (1,)), *topic("x_y", 2, (1,)))
    after, (result,) = created(state, wanted)
    assert codes([result]) == [code]
    assert after.image.topics == state.image.topics
    if code is not ErrorCode.POLICY_VIOLATION:
        after, results = created(state, wanted, new("fine"))
        assert codes(results) == [code, ErrorCode.NONE]
        assert set(after.image.topics.names) == {"there", "x_y", "fine"}


def test_all_brokers_of_an_assignment_being_away_is_refused() -> None:
    state = cluster(broker(1, fenced=True), broker(2, stopping=True), broker(3))
    _, results = created(state, new("a", assigned=[(0, [3]), (1, [2])]))
    assert codes(results) == [ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    nobody = cluster(broker(1, fenced=True))
    _, results = created(nobody, new("a", 1, 1))
    assert codes(results) == [ErrorCode.INVALID_REPLICATION_FACTOR]
    assert "All brokers are currently fenced" in str(results[0].error_message)


def test_too_many_partitions_are_refused_with_the_whole_request() -> None:
    half = PARTITIONS_MAX // 2
    _, results = created(three(), new("a", half, 1), new("b", half + 1, 1), new("a b"))
    assert codes(results) == [ErrorCode.POLICY_VIOLATION] * 3
    after, results = created(three(), new("a", half, 1), new("b", half, 1))
    assert codes(results) == [0, 0]
    assert sum(len(each.stored) for each in after.image.topics.topics.values()) == PARTITIONS_MAX


def test_a_topic_that_is_named_twice_is_refused_once() -> None:
    _, results = created(three(), new("a"), new("b"), new("a"))
    assert [result.name for result in results] == ["a", "b"]
    assert codes(results) == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]


def test_two_topics_of_one_request_collide_like_any_others() -> None:
    after, results = created(three(), new("a.b"), new("a_b"), new("a-b"))
    assert codes(results) == [0, ErrorCode.INVALID_TOPIC_EXCEPTION, 0]
    assert set(after.image.topics.names) == {"a.b", "a-b"}


def test_what_is_refused_for_its_configs_does_not_keep_its_name() -> None:
    _, results = created(three(), new("a.b", retention_ms="x"), new("a_b"))
    assert codes(results) == [ErrorCode.INVALID_CONFIG, 0]


def test_who_may_create_all_topics_need_not_be_permitted_each() -> None:
    def may(operation: Operation, kind: AclResource, name: str) -> bool:
        return (operation, kind) == (Operation.CREATE, AclResource.CLUSTER)

    _, (result,) = created(three(), new("a"), caller=Caller("User:a", may))
    assert result.error_code == 0
    # Its configs are another matter.
    assert result.topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert not result.configs
    assert (result.num_partitions, result.replication_factor) == (-1, -1)


def test_who_may_create_some_topics_creates_those() -> None:
    def may(operation: Operation, kind: AclResource, name: str) -> bool:
        return kind is AclResource.TOPIC and name == "mine"

    _, results = created(three(), new("mine"), new("yours"), caller=Caller("User:a", may))
    assert codes(results) == [0, ErrorCode.TOPIC_AUTHORIZATION_FAILED]


def test_creating_a_topic_again_finds_it_there() -> None:
    once, _ = created(three(), new("a"))
    again, results = created(once, new("a"))
    assert codes(results) == [ErrorCode.TOPIC_ALREADY_EXISTS]
    assert again.image.topics == once.image.topics


def test_each_topic_of_a_request_is_placed_anew() -> None:
    state = cluster(*(broker(number) for number in range(1, 10)))
    names = [f"t{number}" for number in range(20)]
    after, _ = created(state, *(new(name, 1, 1) for name in names))
    assert len({replicas(after, name)[0] for name in names}) > 3


# --- More partitions ---


def grown(
    state: ControllerState,
    *topics: tuple[str, int, Sequence[Sequence[int]] | None],
    caller: Caller = ANYBODY,
    validate_only: bool = False,
) -> tuple[ControllerState, list[CreatePartitionsResponse.CreatePartitionsTopicResult]]:
    """Return what becomes of topics that are to be larger."""
    request = CreatePartitionsRequest(
        validate_only=validate_only,
        topics=[
            CreatePartitionsRequest.CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if assigned is None
                else [
                    CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=replicas)
                    for replicas in assigned
                ],
            )
            for name, count, assigned in topics
        ],
    )
    decision = grow(state, request, caller, 7)
    after = state.apply(decision.records)
    assert told_index(after.index) == naive_index(after.image)
    return after, list(decision.reply.results)


def orders() -> ControllerState:
    """Return three brokers and a topic of two partitions."""
    return three(*topic("orders", 1, (1, 2), (2, 3)))


def test_new_partitions_have_as_many_replicas_as_those_there() -> None:
    after, (result,) = grown(orders(), ("orders", 5, None))
    assert result.error_code == 0
    found = replicas(after, "orders")
    assert found[:2] == [(1, 2), (2, 3)]
    assert [len(each) for each in found] == [2] * 5


def test_new_partitions_are_put_where_somebody_wants_them() -> None:
    after, (result,) = grown(orders(), ("orders", 4, [[3, 1], [1, 2]]))
    assert result.error_code == 0
    assert replicas(after, "orders")[2:] == [(3, 1), (1, 2)]


def test_a_partition_that_is_being_reassigned_counts_as_what_it_will_be() -> None:
    moving = PartitionChangeRecord(
        topic_id=uuid(1), partition_id=0, replicas=(1, 2, 3), isr=(1, 2),
        adding_replicas=(3,), removing_replicas=(1,),
    )  # fmt: skip
    after, _ = grown(orders().apply([moving]), ("orders", 3, None))
    assert len(replicas(after, "orders")[2]) == 2


@pytest.mark.parametrize(
    ("name", "count", "assigned", "code"),
    [
        ("other", 3, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 2, None, ErrorCode.INVALID_PARTITIONS),
        ("orders", 1, None, ErrorCode.INVALID_PARTITIONS),
        ("orders", -1, None, ErrorCode.INVALID_PARTITIONS),
        ("orders", 4, [[1, 2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("orders", 3, [[]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("orders", 3, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("orders", 3, [[1, 9]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("orders", (1 << 31) - 1, None, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_what_is_no_growth_is_refused(
    name: str, count: int, assigned: Sequence[Sequence[int]] | None, code: ErrorCode
) -> None:
    state = orders()
    after, (result,) = grown(state, (name, count, assigned))
    assert result.error_code == code
    assert result.error_message
    assert after.image.topics == state.image.topics


def test_topics_grow_each_for_itself_and_once() -> None:
    state = three(*topic("a", 1, (1,)), *topic("b", 2, (1,)))
    after, results = grown(state, ("a", 2, None), ("b", 2, None), ("a", 3, None))
    assert [(one.name, one.error_code) for one in results] == [
        ("a", ErrorCode.INVALID_REQUEST), ("b", 0),
    ]  # fmt: skip
    assert (len(replicas(after, "a")), len(replicas(after, "b"))) == (1, 2)


def test_who_may_not_alter_a_topic_does_not_learn_whether_it_is_there() -> None:
    caller = Caller("User:a", lambda operation, kind, name: False)
    _, results = grown(orders(), ("orders", 3, None), ("other", 3, None), caller=caller)
    assert {one.error_code for one in results} == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}


def test_nothing_grows_when_it_is_only_asked() -> None:
    after, (result,) = grown(orders(), ("orders", 3, None), validate_only=True)
    assert result.error_code == 0
    assert len(replicas(after, "orders")) == 2


# --- Deleting ---


def deleted(
    state: ControllerState,
    *named: str | Uuid | tuple[str, Uuid] | None,
    version: int = 6,
    caller: Caller = ANYBODY,
    config: ControllerConfig = CONFIG,
) -> tuple[ControllerState, list[DeleteTopicsResponse.DeletableTopicResult]]:
    """Return what becomes of topics that are to go."""
    names = [one for one in named if isinstance(one, str)]
    told = []
    for one in named:
        name, topic_id = one if isinstance(one, tuple) else (None, ZERO_UUID)
        if isinstance(one, str):
            name = one
        elif isinstance(one, bytes):
            topic_id = one
        told.append(DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=topic_id))
    request = DeleteTopicsRequest(topics=told)
    if version < 6:
        assert len(names) == len(named)
        request = DeleteTopicsRequest(topic_names=names)
    decision = delete(state, config, request, version, caller)
    assert all(isinstance(record, RemoveTopicRecord) for record in decision.records)
    after = state.apply(decision.records)
    assert told_index(after.index) == naive_index(after.image)
    return after, list(decision.reply.responses)


def outcomes(
    results: Sequence[DeleteTopicsResponse.DeletableTopicResult],
) -> list[tuple[str | None, Uuid, ErrorCode]]:
    """Return what was told of each topic."""
    return [(one.name, one.topic_id, ErrorCode(one.error_code)) for one in results]


def several() -> ControllerState:
    """Return three topics, one with a config."""
    return three(
        *topic("a", 1, (1,)), *topic("b", 2, (1,)), *topic("c", 3, (1,)),
        setting(2, "a", "retention.ms", "5"),
    )  # fmt: skip


def test_topics_go_by_name_or_id_with_all_they_had() -> None:
    after, results = deleted(several(), "a", uuid(2))
    assert outcomes(results) == [("a", uuid(1), ErrorCode.NONE), ("b", uuid(2), ErrorCode.NONE)]
    assert set(after.image.topics.names) == {"c"}
    assert after.image.configs.is_empty


def test_before_version_six_topics_go_by_name() -> None:
    after, results = deleted(several(), "a", "x", version=5)
    assert [(one.name, one.error_code) for one in results] == [("a", 0), ("x", 3)]
    assert set(after.image.topics.names) == {"b", "c"}


def test_topics_that_are_not_there_are_refused_as_they_were_named() -> None:
    _, results = deleted(several(), "x", uuid(9))
    assert outcomes(results) == [
        ("x", ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, uuid(9), ErrorCode.UNKNOWN_TOPIC_ID),
    ]


def test_a_topic_is_named_once_and_in_one_way() -> None:
    state = several()
    after, results = deleted(
        state, None, ("a", uuid(1)), "b", "b", uuid(3), uuid(3), "b"
    )  # fmt: skip
    assert outcomes(results) == [
        (None, ZERO_UUID, ErrorCode.INVALID_REQUEST),
        ("a", uuid(1), ErrorCode.INVALID_REQUEST),
        ("b", ZERO_UUID, ErrorCode.INVALID_REQUEST),
        (None, uuid(3), ErrorCode.INVALID_REQUEST),
    ]
    assert after.image.topics == state.image.topics


def test_a_topic_that_is_named_by_name_and_by_id_stays() -> None:
    state = several()
    after, results = deleted(state, uuid(1), "a", "b")
    assert outcomes(results) == [
        ("a", uuid(1), ErrorCode.INVALID_REQUEST),
        ("a", uuid(1), ErrorCode.INVALID_REQUEST),
        ("b", uuid(2), ErrorCode.NONE),
    ]
    assert set(after.image.topics.names) == {"a", "c"}


@pytest.mark.parametrize(
    ("version", "code"),
    [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)],
)
def test_where_topics_are_not_deleted_all_is_refused(version: int, code: ErrorCode) -> None:
    config = ControllerConfig(9, static={"delete.topic.enable": "false"})
    state = several()
    after, results = deleted(state, "a", "x", version=version, config=config)
    assert {one.error_code for one in results} == {code}
    assert after.image.topics == state.image.topics


def test_who_may_not_know_a_topic_learns_nothing_by_its_id() -> None:
    def may(operation: Operation, kind: AclResource, name: str) -> bool:
        if kind is AclResource.CLUSTER:
            return False
        return {"a": True, "b": operation is Operation.DESCRIBE}.get(name, False)

    _, results = deleted(
        several(), "a", "b", "c", "x", uuid(2), uuid(3), caller=Caller("User:m", may)
    )
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert outcomes(results) == [
        ("a", uuid(1), ErrorCode.NONE),
        ("b", ZERO_UUID, denied),
        ("c", ZERO_UUID, denied),
        ("x", ZERO_UUID, denied),
        ("b", uuid(2), denied),
        (None, uuid(3), denied),
    ]


def test_a_topic_that_went_is_not_there_to_go_again() -> None:
    once, _ = deleted(several(), "a", "b")
    again, results = deleted(once, "a", "b")
    assert {one.error_code for one in results} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert again.image.topics == once.image.topics


# --- Histories ---


NAMES = st.sampled_from(["a", "a.b", "a_b", "c"])


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("create"), st.lists(NAMES, min_size=1, max_size=3)),
            st.tuples(st.just("delete"), st.lists(NAMES, min_size=1, max_size=3)),
            st.tuples(st.just("grow"), st.lists(NAMES, min_size=1, max_size=3)),
        ),
        max_size=12,
    )
)
def test_names_and_ids_belong_together_whatever_is_asked(
    steps: list[tuple[str, list[str]]],
) -> None:
    state, ids = three(), iter(range(1_000, 10_000))
    model: dict[str, int] = {}
    for what, names in steps:
        once = [name for name in dict.fromkeys(names) if names.count(name) == 1]
        match what:
            case "create":
                drawn = [uuid(next(ids)) for _ in names]
                request = CreateTopicsRequest(topics=[new(name, 2, 1) for name in names])
                decision = create(state, CONFIG, request, ANYBODY, drawn, next(ids))
                for name in once:
                    if not any(
                        other.replace(".", "_") == name.replace(".", "_") for other in model
                    ):
                        model[name] = 2
                state = state.apply(decision.records)
            case "delete":
                state, _ = deleted(state, *names)
                for name in once:
                    model.pop(name, None)
            case _:
                wanted = [(name, model.get(name, 0) + 1, None) for name in names]
                state, _ = grown(state, *wanted)
                for name in once:
                    if name in model:
                        model[name] += 1
        topics = state.image.topics
        # C-15: names and ids are one to one.
        assert {name: len(topics.topics[id_].stored) for name, id_ in topics.names.items()} == model
        assert len(set(topics.names.values())) == len(topics.names) == len(topics.topics)
        assert all(topics.topics[id_].name == name for name, id_ in topics.names.items())
        assert told_index(state.index) == naive_index(state.image)
