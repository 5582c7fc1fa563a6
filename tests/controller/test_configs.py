"""What is set for whom: whole or not at all, judged with what stays, and what it brings with it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.config import ControllerConfig
from barnabas.controller.configs import (
    LENGTH_MAX,
    ConfigChange,
    alter,
    at_creation,
    overwrite,
    safe_for_elr,
)
from barnabas.controller.state import ControllerState
from barnabas.metadata.configs import ResourceType
from barnabas.model.acls import AclResource, Operation
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from barnabas.sim.profiles.control.states import naive_index, told_index
from barnabas.wire.messages.alter_configs import AlterConfigsRequest
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.structs import Message
from tests.controller.scene import level, setting, three, topic, uuid

SET, DELETE, APPEND, SUBTRACT = ConfigChange
TOPIC, BROKER, LOGGER, METRICS, GROUP = ResourceType
CONFIG = ControllerConfig(9)
MIN_ISR = "min.insync.replicas"

Ops = Sequence[tuple[str, int, str | None]]


def incremental(
    *resources: tuple[int, str, Ops], validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    """Return a request that changes some resources."""
    return IncrementalAlterConfigsRequest(
        validate_only=validate_only,
        resources=[
            IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    IncrementalAlterConfigsRequest.AlterableConfig(
                        name=config, config_operation=what, value=text
                    )
                    for config, what, text in operations
                ],
            )
            for kind, name, operations in resources
        ],
    )


def whole(
    *resources: tuple[int, str, Mapping[str, str | None]], validate_only: bool = False
) -> AlterConfigsRequest:
    """Return a request that sets all configs of some resources."""
    return AlterConfigsRequest(
        validate_only=validate_only,
        resources=[
            AlterConfigsRequest.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    AlterConfigsRequest.AlterableConfig(name=config, value=text)
                    for config, text in texts.items()
                ],
            )
            for kind, name, texts in resources
        ],
    )


def code(
    state: ControllerState,
    kind: int,
    name: str,
    operations: Ops,
    caller: Caller = ANYBODY,
    config: ControllerConfig = CONFIG,
) -> ErrorCode:
    """Return what becomes of a change of one resource; one that is refused writes nothing."""
    decision = alter(state, config, incremental((kind, name, operations)), caller)
    (response,) = decision.reply.responses
    assert (response.resource_type, response.resource_name) == (kind, name)
    if response.error_code:
        assert decision.records == ()
        assert response.error_message
    return ErrorCode(response.error_code)


def orders(*records: Message) -> ControllerState:
    """Return three brokers and a topic."""
    return three(*topic("orders", 1, (1, 2, 3), (2, 3, 1)), *records)


def test_configs_are_set_and_taken_back_one_by_one() -> None:
    state = orders(setting(TOPIC, "orders", "retention.ms", "5"))
    request = incremental(
        (TOPIC, "orders", [("retention.ms", DELETE, None), ("segment.ms", SET, "7")])
    )
    decision = alter(state, CONFIG, request, ANYBODY)
    assert decision.records == (
        setting(TOPIC, "orders", "retention.ms", None),
        setting(TOPIC, "orders", "segment.ms", "7"),
    )
    assert state.apply(decision.records).image.configs.of(TOPIC, "orders") == {"segment.ms": "7"}


def test_what_is_not_named_is_taken_back_by_the_older_request() -> None:
    state = orders(
        setting(TOPIC, "orders", "retention.ms", "5"), setting(TOPIC, "orders", "segment.ms", "7")
    )
    decision = overwrite(state, CONFIG, whole((TOPIC, "orders", {"segment.ms": "8"})), ANYBODY)
    after = state.apply(decision.records)
    assert after.image.configs.of(TOPIC, "orders") == {"segment.ms": "8"}
    again = overwrite(after, CONFIG, whole((TOPIC, "orders", {"segment.ms": "8"})), ANYBODY)
    assert again.records == ()


def test_nothing_is_written_when_it_is_only_asked_whether_it_could_be() -> None:
    state = orders()
    operations = [("retention.ms", SET, "5")]
    asked = incremental((TOPIC, "orders", operations), validate_only=True)
    decision = alter(state, CONFIG, asked, ANYBODY)
    assert decision.records == ()
    assert decision.reply.responses[0].error_code == 0
    old = whole((TOPIC, "orders", {"retention.ms": "x"}), validate_only=True)
    assert overwrite(state, CONFIG, old, ANYBODY).reply.responses[0].error_code == 40


def test_a_resource_is_changed_whole_or_not_at_all_and_each_for_itself() -> None:
    decision = alter(
        orders(),
        CONFIG,
        incremental(
            (TOPIC, "orders", [("retention.ms", SET, "5"), ("segment.ms", SET, "x")]),
            (GROUP, "g", [("share.isolation.level", SET, "read_committed")]),
        ),
        ANYBODY,
    )
    assert [one.error_code for one in decision.reply.responses] == [ErrorCode.INVALID_CONFIG, 0]
    assert decision.records == (setting(GROUP, "g", "share.isolation.level", "read_committed"),)


def test_words_are_appended_to_a_list_and_taken_from_it() -> None:
    state = orders()
    name = "cleanup.policy"
    for what, text, becomes in (
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact,delete", "delete,compact"),
        (SUBTRACT, "delete,none", "compact"),
        (SUBTRACT, "compact", ""),
        (APPEND, "delete", "delete"),
    ):
        request = incremental((TOPIC, "orders", [(name, what, text)]))
        decision = alter(state, CONFIG, request, ANYBODY)
        assert decision.reply.responses[0].error_code == 0
        state = state.apply(decision.records)
        assert state.image.configs.of(TOPIC, "orders") == {name: becomes}


@given(
    st.lists(
        st.tuples(
            st.sampled_from([APPEND, SUBTRACT, SET, DELETE]),
            st.lists(st.sampled_from(["0:1", "1:2", "2:3"]), min_size=1, max_size=3),
        ),
        max_size=8,
    )
)
def test_lists_are_what_a_plain_list_would_be(steps: list[tuple[int, list[str]]]) -> None:
    state, name = orders(), "leader.replication.throttled.replicas"
    expected: list[str] = []
    for what, words in steps:
        given = None if what == DELETE else ",".join(words)
        request = incremental((TOPIC, "orders", [(name, what, given)]))
        decision = alter(state, CONFIG, request, ANYBODY)
        state = state.apply(decision.records)
        match what:
            case ConfigChange.SET:
                expected = words
            case ConfigChange.DELETE:
                expected = []
            case ConfigChange.APPEND:
                expected = expected + [w for w in dict.fromkeys(words) if w not in expected]
            case _:
                for word in words:
                    if word in expected:
                        expected = [*expected]
                        expected.remove(word)
        found = state.image.configs.of(TOPIC, "orders").get(name, "")
        assert found == ",".join(expected)


def test_what_is_set_already_is_written_again_for_brokers_alone() -> None:
    state = orders(
        setting(TOPIC, "orders", "retention.ms", "5"),
        setting(BROKER, "1", "log.cleaner.threads", "2"),
    )
    request = incremental(
        (TOPIC, "orders", [("retention.ms", SET, "5")]),
        (BROKER, "1", [("log.cleaner.threads", SET, "2")]),
    )
    records = alter(state, CONFIG, request, ANYBODY).records
    assert records == (setting(BROKER, "1", "log.cleaner.threads", "2"),)


@pytest.mark.parametrize(
    ("kind", "name", "operations", "expected"),
    [
        (TOPIC, "orders", [("no.such", SET, "1")], ErrorCode.INVALID_CONFIG),
        (TOPIC, "orders", [("retention.ms", SET, "x")], ErrorCode.INVALID_CONFIG),
        (TOPIC, "orders", [("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        (TOPIC, "orders", [("retention.ms", 9, "1")], ErrorCode.INVALID_REQUEST),
        (TOPIC, "orders", [("retention.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        (TOPIC, "orders", [("retention.ms", SET, "1")] * 2, ErrorCode.INVALID_REQUEST),
        (TOPIC, "orders", [("retention.ms", SET, "1" * (1 << 15))], ErrorCode.INVALID_CONFIG),
        (TOPIC, "", [("retention.ms", SET, "1")], ErrorCode.INVALID_REQUEST),
        (TOPIC, "a b", [("retention.ms", SET, "1")], ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "other", [("retention.ms", SET, "1")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "other", [("retention.ms", SET, "x")], ErrorCode.INVALID_CONFIG),
        (BROKER, "x", [("a", SET, "1")], ErrorCode.INVALID_REQUEST),
        (BROKER, "-1", [("a", SET, "1")], ErrorCode.INVALID_REQUEST),
        (BROKER, "7", [("a", SET, "1")], ErrorCode.BROKER_ID_NOT_REGISTERED),
        (BROKER, "1", [("a", SET, "1")], ErrorCode.NONE),
        (BROKER, "9", [("a", SET, "1")], ErrorCode.NONE),
        (BROKER, "", [("a", SET, "1")], ErrorCode.NONE),
        (GROUP, "", [("share.isolation.level", SET, "read_committed")], ErrorCode.INVALID_REQUEST),
        (GROUP, "g", [("a", SET, "1")], ErrorCode.INVALID_CONFIG),
        (METRICS, "", [("interval.ms", SET, "100")], ErrorCode.INVALID_REQUEST),
        (METRICS, "m", [("interval.ms", SET, "1")], ErrorCode.INVALID_REQUEST),
        (METRICS, "m", [("metrics", APPEND, "a")], ErrorCode.INVALID_CONFIG),
        (LOGGER, "1", [("a", SET, "INFO")], ErrorCode.INVALID_REQUEST),
        (0, "a", [], ErrorCode.UNSUPPORTED_VERSION),
        (77, "a", [], ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_refusals_have_kafkas_codes(
    kind: int, name: str, operations: Ops, expected: ErrorCode
) -> None:
    assert code(orders(), kind, name, operations) is expected


def test_a_value_may_be_as_long_as_a_short_can_count() -> None:
    text = "x" * LENGTH_MAX
    assert code(orders(), BROKER, "1", [("a", SET, text)]) is ErrorCode.NONE


def test_a_resource_that_is_named_twice_is_refused_once() -> None:
    operations = [("retention.ms", SET, "5")]
    request = incremental((TOPIC, "orders", operations), (TOPIC, "orders", operations))
    decision = alter(orders(), CONFIG, request, ANYBODY)
    assert [one.error_code for one in decision.reply.responses] == [ErrorCode.INVALID_REQUEST]
    assert decision.records == ()


def test_configs_are_judged_with_what_stays() -> None:
    state = orders(setting(TOPIC, "orders", "min.compaction.lag.ms", "5"))
    shorter = [("max.compaction.lag.ms", SET, "4")]
    assert code(state, TOPIC, "orders", shorter) is ErrorCode.INVALID_CONFIG
    both = [("min.compaction.lag.ms", DELETE, None), *shorter]
    assert code(state, TOPIC, "orders", both) is ErrorCode.NONE


def test_configs_are_judged_with_the_nodes_file() -> None:
    told = ControllerConfig(9, static={"log.cleaner.max.compaction.lag.ms": "4"})
    longer = [("min.compaction.lag.ms", SET, "5")]
    assert code(orders(), TOPIC, "orders", longer) is ErrorCode.NONE
    assert code(orders(), TOPIC, "orders", longer, config=told) is ErrorCode.INVALID_CONFIG


def test_what_a_caller_may_not_change_is_refused_by_what_it_is() -> None:
    def may(operation: Operation, kind: AclResource, name: str) -> bool:
        assert operation is Operation.ALTER_CONFIGS
        return (kind, name) == (AclResource.TOPIC, "orders")

    caller = Caller("User:alice", may)
    state = orders()
    for kind, name, expected in (
        (TOPIC, "orders", ErrorCode.NONE),
        (TOPIC, "other", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (GROUP, "g", ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (BROKER, "1", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (METRICS, "m", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ):
        assert code(state, kind, name, [], caller) is expected


# --- Cordoned directories ---


def test_only_a_broker_adds_to_its_cordoned_directories() -> None:
    state = orders(setting(BROKER, "1", "cordoned.log.dirs", "/a,/b"))
    more, less, none = ([("cordoned.log.dirs", SET, text)] for text in ("/a, /c", "/b", " "))
    assert code(state, BROKER, "1", more) is ErrorCode.INVALID_CONFIG
    assert code(state, BROKER, "1", more, Caller(forwarded=True)) is ErrorCode.NONE
    assert code(state, BROKER, "1", less) is ErrorCode.NONE
    assert code(state, BROKER, "1", none) is ErrorCode.NONE


def test_directories_are_cordoned_from_the_level_on_that_has_words_for_it() -> None:
    state = three(at=29)
    forwarded = Caller(forwarded=True)
    cordoned = [("cordoned.log.dirs", SET, "/a")]
    assert code(state, BROKER, "1", cordoned, forwarded) is ErrorCode.INVALID_CONFIG


# --- Eligible leader replicas ---


def change(partition: int, **fields: Any) -> PartitionChangeRecord:  # noqa: ANN401 -- as the record has them
    """Return a change of a partition of the topic."""
    return PartitionChangeRecord(topic_id=uuid(1), partition_id=partition, **fields)


def with_elr() -> ControllerState:
    """Return a topic with a partition that still has a leader, and one that has none."""
    return orders(
        level(1, ELIGIBLE_LEADER_REPLICAS_VERSION),
        setting(BROKER, "", MIN_ISR, "2"),
        BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=102, fenced=1),
        BrokerRegistrationChangeRecord(broker_id=3, broker_epoch=103, fenced=1),
        change(0, isr=(1,), eligible_leader_replicas=(2,)),
        change(1, isr=(), leader=-1, eligible_leader_replicas=(2,), last_known_elr=(3,)),
    )


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "orders"), (BROKER, "")])
def test_fewer_in_sync_forget_who_is_eligible_where_those_suffice(kind: int, name: str) -> None:
    state = with_elr()
    decision = alter(state, CONFIG, incremental((kind, name, [(MIN_ISR, SET, "1")])), ANYBODY)
    assert decision.records == (
        setting(kind, name, MIN_ISR, "1"), change(0, eligible_leader_replicas=()),
    )  # fmt: skip
    after = state.apply(decision.records)
    assert told_index(after.index) == naive_index(after.image)
    # Kafka forgets this one, too, and then nobody may ever lead the partition.
    leaderless = after.image.topics.partition(uuid(1), 1)
    assert leaderless is not None
    assert (leaderless.isr, leaderless.elr) == ((), (2,))


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "orders"), (BROKER, "")])
def test_more_in_sync_forget_nobody(kind: int, name: str) -> None:
    request = incremental((kind, name, [(MIN_ISR, SET, "3")]))
    records = alter(with_elr(), CONFIG, request, ANYBODY).records
    assert records == (setting(kind, name, MIN_ISR, "3"),)


def test_a_topic_that_has_its_own_number_does_not_mind_that_of_all() -> None:
    state = with_elr().apply([setting(TOPIC, "orders", MIN_ISR, "2")])
    request = incremental((BROKER, "", [(MIN_ISR, SET, "1")]))
    assert alter(state, CONFIG, request, ANYBODY).records == (setting(BROKER, "", MIN_ISR, "1"),)
    # Unless both change at once: then the second is judged by what the first has become.
    both = incremental(
        (BROKER, "", [(MIN_ISR, SET, "1")]), (TOPIC, "orders", [(MIN_ISR, DELETE, None)])
    )
    records = alter(state, CONFIG, both, ANYBODY).records
    assert change(0, eligible_leader_replicas=()) in records


def test_the_same_number_again_forgets_nothing() -> None:
    records = alter(
        with_elr(), CONFIG, incremental((BROKER, "", [(MIN_ISR, SET, "2")])), ANYBODY
    ).records
    assert records == (setting(BROKER, "", MIN_ISR, "2"),)


def test_without_eligible_leaders_it_is_a_config_like_any_other() -> None:
    state = orders(setting(BROKER, "", MIN_ISR, "2"))
    assert code(state, BROKER, "1", [(MIN_ISR, SET, "1")]) is ErrorCode.NONE
    assert code(state, BROKER, "", [(MIN_ISR, DELETE, None)]) is ErrorCode.NONE
    decision = alter(state, CONFIG, incremental((TOPIC, "orders", [(MIN_ISR, SET, "2")])), ANYBODY)
    assert [type(record) for record in decision.records] == [ConfigRecord]


def test_with_eligible_leaders_it_is_the_same_for_all_brokers_and_never_absent() -> None:
    state = with_elr()
    assert code(state, BROKER, "1", [(MIN_ISR, SET, "1")]) is ErrorCode.INVALID_CONFIG
    assert code(state, BROKER, "", [(MIN_ISR, DELETE, None)]) is ErrorCode.INVALID_CONFIG
    emptied = overwrite(state, CONFIG, whole((BROKER, "", {})), ANYBODY)
    assert emptied.reply.responses[0].error_code == ErrorCode.INVALID_CONFIG


def test_before_eligible_leaders_are_used_one_value_is_set_for_all() -> None:
    state = orders(
        setting(BROKER, "3", MIN_ISR, "1"), setting(BROKER, "2", MIN_ISR, "2"),
        setting(BROKER, "1", "log.cleaner.threads", "1"),
    )  # fmt: skip
    config = ControllerConfig(9, static={MIN_ISR: " 3 "})
    assert list(safe_for_elr(state, config)) == [
        setting(BROKER, "", MIN_ISR, "3"),
        setting(BROKER, "2", MIN_ISR, None),
        setting(BROKER, "3", MIN_ISR, None),
    ]
    assert list(safe_for_elr(with_elr(), config)) == []


# --- New topics ---


def test_a_new_topic_begins_with_configs_that_are_allowed() -> None:
    assert at_creation(orders(), CONFIG, "new", {"segment.ms": "5"}, ANYBODY) == [
        setting(TOPIC, "new", "segment.ms", "5")
    ]
    with pytest.raises(Refused) as caught:
        at_creation(orders(), CONFIG, "new", {"segment.ms": "0"}, ANYBODY)
    assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_a_change_that_is_tried_again_changes_nothing_more() -> None:
    state = with_elr()
    request = incremental((TOPIC, "orders", [(MIN_ISR, SET, "1"), ("segment.ms", SET, "9")]))
    once = state.apply(alter(state, CONFIG, request, ANYBODY).records)
    again = alter(once, CONFIG, request, ANYBODY)
    assert again.records == ()
    assert [one.error_code for one in again.reply.responses] == [0]
