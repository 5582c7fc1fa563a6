"""Configs as clients are told of them: value, source, other names."""

import pytest

from barnabas.metadata.configs import ResourceType
from barnabas.metadata.image import MetadataImage
from barnabas.model.acls import AclResource, Operation
from barnabas.model.caller import ANYBODY, Caller
from barnabas.model.configs import Kind
from barnabas.model.errors import ErrorCode
from barnabas.model.topic_configs import TOPIC_CONFIGS
from barnabas.views.configs import (
    Layers,
    Node,
    Source,
    describe,
    list_resources,
    of_topic,
    of_topic_config,
)
from barnabas.wire.codec import decode, encode
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.wire.structs import Message
from tests.controller.scene import setting, three, topic

TOPIC, BROKER, LOGGER, METRICS, GROUP = ResourceType
NODE = Node(1, {"log.retention.hours": "2", "log.segment.bytes": " 1048576 "})
NOBODY = Caller("User:mallory", lambda operation, kind, name: False)


def image(*records: Message) -> MetadataImage:
    """Return a cluster with a topic."""
    return three(*topic("orders", 1, (1, 2, 3)), *records).image


def asked(
    found: MetadataImage,
    kind: int,
    name: str,
    *wanted: str,
    node: Node = NODE,
    caller: Caller = ANYBODY,
) -> DescribeConfigsResponse.DescribeConfigsResult:
    """Return what is told of a resource, with all there is to tell."""
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=wanted or None
            )
        ],
        include_synonyms=True,
        include_documentation=True,
    )
    (result,) = describe(found, node, request, caller).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def places(
    config: DescribeConfigsResponse.DescribeConfigsResourceResult,
) -> list[tuple[str, str | None, int]]:
    """Return where a config is set."""
    return [(one.name, one.value, one.source) for one in config.synonyms]


def test_a_topics_own_config_goes_before_all_others_and_they_are_told_behind_it() -> None:
    found = image(
        setting(TOPIC, "orders", "segment.bytes", " 1048577 "),
        setting(BROKER, "1", "log.segment.bytes", "1048578"),
        setting(BROKER, "", "log.segment.bytes", "1048579"),
    )
    (config,) = asked(found, TOPIC, "orders", "segment.bytes").configs
    assert (config.value, config.config_source) == ("1048577", Source.TOPIC)
    assert places(config) == [
        ("segment.bytes", "1048577", Source.TOPIC),
        ("log.segment.bytes", "1048578", Source.DYNAMIC_BROKER),
        ("log.segment.bytes", "1048579", Source.DYNAMIC_DEFAULT_BROKER),
        ("log.segment.bytes", " 1048576 ", Source.STATIC_BROKER),
        ("log.segment.bytes", "1073741824", Source.DEFAULT),
    ]
    assert config.config_type == Kind.INT
    assert config.documentation == TOPIC_CONFIGS["segment.bytes"].doc
    assert not config.read_only


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_every_version_that_is_served_can_say_it(version: int) -> None:
    result = asked(image(), TOPIC, "orders")
    sent = encode(DescribeConfigsResponse(results=[result]), version)
    (told,) = decode(DescribeConfigsResponse, version, sent).results
    assert [(one.name, one.value, one.config_source) for one in told.configs] == [
        (one.name, one.value, one.config_source) for one in result.configs
    ]


def test_what_comes_from_another_unit_is_told_in_the_topics_own() -> None:
    (config,) = asked(image(), TOPIC, "orders", "retention.ms").configs
    assert (config.value, config.config_source) == ("7200000", Source.STATIC_BROKER)
    assert places(config)[0] == ("log.retention.hours", "2", Source.STATIC_BROKER)


def test_what_nobody_set_is_the_default() -> None:
    (config,) = asked(image(), TOPIC, "orders", "segment.ms").configs
    assert (config.value, config.config_source) == ("604800000", Source.DEFAULT)
    (none,) = asked(image(), TOPIC, "orders", "remote.storage.enable").configs
    assert (none.value, none.config_source, places(none)) == ("false", Source.DEFAULT, [])


def test_all_configs_of_a_topic_are_told_in_order_and_internal_ones_only_if_set() -> None:
    names = [config.name for config in asked(image(), TOPIC, "orders").configs]
    assert names == sorted(set(TOPIC_CONFIGS) - {"internal.segment.bytes"})
    internal = image(setting(TOPIC, "orders", "internal.segment.bytes", "5"))
    assert len(asked(internal, TOPIC, "orders").configs) == len(names) + 1


def test_another_node_tells_of_a_topic_by_its_own_file() -> None:
    other = Node(2, {})
    (config,) = asked(image(), TOPIC, "orders", "retention.ms", node=other).configs
    assert config.config_source == Source.DEFAULT


def test_a_broker_tells_of_itself_and_of_what_is_set_for_all() -> None:
    found = image(
        setting(BROKER, "1", "log.cleaner.threads", "2"),
        setting(BROKER, "", "log.cleaner.threads", "3"),
        setting(BROKER, "", "custom", "x"),
        setting(BROKER, "1", "ssl.key.password", "secret"),
    )
    configs = {config.name: config for config in asked(found, BROKER, "1").configs}
    threads = configs["log.cleaner.threads"]
    assert (threads.value, threads.config_source) == ("2", Source.DYNAMIC_BROKER)
    assert [source for _, _, source in places(threads)] == [2, 3, 5]
    assert not threads.read_only
    assert configs["node.id"].read_only
    # Secrets, and what nobody knows, are not shown.
    for name in ("custom", "ssl.key.password"):
        assert configs[name].is_sensitive
        assert configs[name].value is None
        assert all(text is None for _, text, _ in places(configs[name]))
    assert configs["custom"].config_type == 0
    everybody = asked(found, BROKER, "").configs
    assert [(one.name, one.config_source) for one in everybody] == [
        ("custom", Source.DYNAMIC_DEFAULT_BROKER),
        ("log.cleaner.threads", Source.DYNAMIC_DEFAULT_BROKER),
    ]


def test_a_broker_tells_each_of_its_names_of_one_thing_for_itself() -> None:
    configs = {one.name: one for one in asked(image(), BROKER, "1").configs}
    assert configs["log.retention.hours"].value == "2"
    assert configs["log.retention.hours"].config_source == Source.STATIC_BROKER
    assert configs["log.retention.ms"].value is None
    assert configs["log.retention.ms"].config_source == Source.DEFAULT
    assert configs["log.segment.bytes"].value == "1048576"


def test_groups_and_subscriptions_are_told_of_whether_there_are_any_or_not() -> None:
    found = image(
        setting(GROUP, "g", "share.session.timeout.ms", "46000"),
        setting(METRICS, "m", "interval.ms", "100"),
    )
    (group,) = asked(found, GROUP, "g", "share.session.timeout.ms").configs
    assert (group.value, group.config_source) == ("46000", Source.GROUP)
    assert places(group)[-1] == ("group.share.session.timeout.ms", "45000", Source.DEFAULT)
    (reset,) = asked(found, GROUP, "other", "share.auto.offset.reset").configs
    assert (reset.value, reset.config_source) == ("latest", Source.DEFAULT)
    metrics = {one.name: one for one in asked(found, METRICS, "m").configs}
    assert (metrics["interval.ms"].value, metrics["interval.ms"].config_source) == ("100", 7)
    assert metrics["match"].config_source == Source.DEFAULT


def test_a_node_has_no_loggers_to_tell_of() -> None:
    assert asked(image(), LOGGER, "1").configs == []


def test_synonyms_and_documentation_are_told_only_if_they_are_asked_for() -> None:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=TOPIC, resource_name="orders", configuration_keys=[]
            )
        ]
    )
    (result,) = describe(image(), NODE, request, ANYBODY).results
    assert len(result.configs) == len(TOPIC_CONFIGS) - 1
    assert not any(one.synonyms or one.documentation for one in result.configs)


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "other", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (LOGGER, "", ErrorCode.INVALID_REQUEST),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST),
        (METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (77, "a", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_not_there_is_refused(kind: int, name: str, code: ErrorCode) -> None:
    result = asked(image(), kind, name)
    assert result.error_code == code
    assert result.error_message
    assert not result.configs


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (BROKER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (METRICS, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_who_may_not_know_is_told_so(kind: int, code: ErrorCode) -> None:
    assert asked(image(), kind, "x", caller=NOBODY).error_code == code


def test_what_is_asked_of_an_authorizer_is_the_resource_itself() -> None:
    asked_for = []

    def may(operation: Operation, kind: AclResource, name: str) -> bool:
        asked_for.append((operation, kind, name))
        return True

    asked(image(), TOPIC, "orders", caller=Caller("User:a", may))
    assert asked_for == [(Operation.DESCRIBE_CONFIGS, AclResource.TOPIC, "orders")]


def test_what_a_later_release_would_not_allow_any_more_is_told_as_it_is() -> None:
    found = image(setting(TOPIC, "orders", "retention.ms", "-5"))
    (config,) = asked(found, TOPIC, "orders", "retention.ms").configs
    assert config.value == "-5"


def test_a_topic_that_is_not_there_yet_has_configs_in_force() -> None:
    configs = {one.name: one for one in of_topic(image(), NODE, {"segment.ms": "5"})}
    assert (configs["segment.ms"].text, configs["segment.ms"].source) == ("5", Source.TOPIC)
    assert configs["retention.ms"].text == "7200000"


# --- Which resources there are ---


def resources(version: int, *kinds: int, caller: Caller = ANYBODY) -> list[tuple[int, str]]:
    """Return the resources of some kinds."""
    found = image(
        setting(GROUP, "g", "share.isolation.level", "read_committed"),
        setting(METRICS, "m", "interval.ms", "100"),
        setting(BROKER, "", "a", "1"),
    )
    request = ListConfigResourcesRequest(resource_types=kinds)
    response = list_resources(found, [2, 1], request, version, caller)
    assert response.error_code == 0
    return [(one.resource_type, one.resource_name) for one in response.config_resources]


def test_resources_are_those_that_could_be_configured_and_groups_that_are() -> None:
    assert resources(1) == [
        (GROUP, "g"), (METRICS, "m"), (LOGGER, "1"), (LOGGER, "2"), (BROKER, "1"), (BROKER, "2"),
        (TOPIC, "orders"),
    ]  # fmt: skip
    assert resources(1, TOPIC, GROUP) == [(GROUP, "g"), (TOPIC, "orders")]


def test_the_first_version_knew_subscriptions_alone() -> None:
    assert resources(0) == [(METRICS, "m")]
    request = ListConfigResourcesRequest(resource_types=[TOPIC])
    assert list_resources(image(), [], request, 0, ANYBODY).error_code == 35
    unknown = ListConfigResourcesRequest(resource_types=[77])
    assert list_resources(image(), [], unknown, 1, ANYBODY).error_code == 35


def test_who_may_not_describe_the_cluster_is_told_of_no_resources() -> None:
    response = list_resources(image(), [1], ListConfigResourcesRequest(), 1, NOBODY)
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert not response.config_resources


def test_what_nobody_set_is_told_as_if_it_were_looked_for_everywhere() -> None:
    found = image(setting(BROKER, "", "log.retention.ms", "7"))
    own = {"segment.bytes": "1048577", "internal.segment.bytes": "5"}
    layers = Layers(found, NODE)
    assert list(of_topic(found, NODE, own)) == [
        of_topic_config(config, layers, own) for _, config in sorted(TOPIC_CONFIGS.items())
    ]
