"""Configs: what is set for topics, brokers, groups and subscriptions, and what that brings with it.

    IncrementalAlterConfigs ── SET, DELETE, APPEND, SUBTRACT ─┐
    AlterConfigs ── everything, the rest is taken back ───────┼─▶ changed? allowed? ─▶ records
    CreateTopics ── what a new topic begins with ─────────────┘

A resource is changed whole or not at all, and each for itself.  What is set is judged together with
what stays: two values may contradict each other.

Changes of brokers' configs are judged by the broker that forwards them
(``model.broker_configs.check_broker``), which knows what it is; here only their names and their
brokers are.  They are written even if nothing changes: that is how a broker is told to read its
certificates again.

**Fewer replicas in sync.**  With eligible leader replicas (KIP-966) ``min.insync.replicas`` is what
the high watermark waits for, so it must be the same for every broker, and whoever is in an ELR is
known to have everything only as long as fewer than that are in sync.  As soon as it is lower, a
leader that suffices may commit records that its ELR has not got (P-03).  So a change judges every
ELR anew, in the same batch.  (Kafka clears all of them.  A partition whose ISR is empty is then led
by nobody for good: the only replicas that are known to have everything are forgotten.)

Fixed by Kafka's ConfigurationControlManager.java, ControllerConfigurationValidator.scala and
ControllerApis.scala.  Where we differ stands in decision 0018.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Final, NamedTuple

from barnabas.controller.config import ControllerConfig
from barnabas.controller.elections import Memory, moved
from barnabas.controller.index import partitions_in
from barnabas.controller.partitions import Aim, Leaders
from barnabas.controller.state import ALL_BROKERS, ControllerState
from barnabas.metadata.configs import ConfigResource, ResourceType
from barnabas.metadata.levels import CORDONED_DIRECTORIES
from barnabas.model.acls import AclResource, Operation
from barnabas.model.broker_configs import BROKER_CONFIGS
from barnabas.model.caller import Caller
from barnabas.model.configs import Config, Kind
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from barnabas.model.group_configs import check_group
from barnabas.model.ids import Uuid
from barnabas.model.metrics_configs import check_client_metrics
from barnabas.model.topic_configs import MIN_INSYNC_REPLICAS, TOPIC_CONFIGS, check_topic
from barnabas.model.topic_names import check_topic_name
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from barnabas.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.structs import Message

CORDONED_DIRS: Final = "cordoned.log.dirs"

LENGTH_MAX: Final = (1 << 15) - 1
"""How long a value may be: older formats could not say more, and nothing needs it."""


class ConfigChange(IntEnum):
    """What is done to a config, by the numbers of IncrementalAlterConfigs."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """What somebody wants of one config."""

    name: str
    what: int
    text: str | None


# --- The requests --------------------------------------------------------------------------------


def alter(
    state: ControllerState,
    config: ControllerConfig,
    request: IncrementalAlterConfigsRequest,
    caller: Caller,
) -> Decision[Message, IncrementalAlterConfigsResponse]:
    """Answer IncrementalAlterConfigs (KIP-339)."""
    wanted = [
        Wanted(
            ConfigResource(resource.resource_type, resource.resource_name),
            partial(
                incrementally,
                [Change(one.name, one.config_operation, one.value) for one in resource.configs],
            ),
        )
        for resource in request.resources
    ]
    records, refusals = altered(state, config, wanted, caller)
    return Decision(
        () if request.validate_only else tuple(records),
        IncrementalAlterConfigsResponse(
            responses=[
                IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
                    error_code=refused.code if refused else ErrorCode.NONE,
                    error_message=refused.why if refused else None,
                    resource_type=resource.type,
                    resource_name=resource.name,
                )
                for resource, refused in refusals.items()
            ]
        ),
    )


def overwrite(
    state: ControllerState, config: ControllerConfig, request: AlterConfigsRequest, caller: Caller
) -> Decision[Message, AlterConfigsResponse]:
    """Answer AlterConfigs: what is not named is taken back."""
    wanted = [
        Wanted(
            ConfigResource(resource.resource_type, resource.resource_name),
            partial(wholly, [(one.name, one.value) for one in resource.configs]),
        )
        for resource in request.resources
    ]
    records, refusals = altered(state, config, wanted, caller)
    return Decision(
        () if request.validate_only else tuple(records),
        AlterConfigsResponse(
            responses=[
                AlterConfigsResponse.AlterConfigsResourceResponse(
                    error_code=refused.code if refused else ErrorCode.NONE,
                    error_message=refused.why if refused else None,
                    resource_type=resource.type,
                    resource_name=resource.name,
                )
                for resource, refused in refusals.items()
            ]
        ),
    )


def at_creation(
    state: ControllerState,
    config: ControllerConfig,
    topic: str,
    texts: Mapping[str, str],
    caller: Caller,
) -> list[Message]:
    """Return the records of what a new topic begins with."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    check(state, config, resource, {}, texts, caller)
    return [record_of(resource, name, text) for name, text in texts.items()]


class Wanted(NamedTuple):
    """What somebody wants of one resource."""

    resource: ConfigResource
    after: Callable[[ConfigResource, Mapping[str, str]], dict[str, str | None]]
    """From what is set to what is to be set; None where it is taken back."""


def altered(
    state: ControllerState, config: ControllerConfig, wanted: Sequence[Wanted], caller: Caller
) -> tuple[list[Message], dict[ConfigResource, Refused | None]]:
    """Return the records that change some resources, and for each whether it was refused."""
    records: list[Message] = []
    refusals: dict[ConfigResource, Refused | None] = {}
    named = Counter(one.resource for one in wanted)
    for resource, after in wanted:
        if resource in refusals:
            continue
        refusals[resource] = None
        try:
            check_kind(resource)
            if named[resource] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate resource.")
            check_may_alter(resource, caller)
            before = state.image.configs.of(*resource)
            changes = after(resource, before)
            check(state, config, resource, before, changes, caller)
            check_there(state, config, resource)
            found: list[Message] = [
                record_of(resource, name, text)
                for name, text in changes.items()
                # A broker reads its files again whenever something is written, changed or not.
                if text != before.get(name) or resource.type == ResourceType.BROKER
            ]
            found += judged_anew(state, config, resource, before, changes)
        except Refused as refused:
            refusals[resource] = refused
        else:
            records += found
            if MIN_INSYNC_REPLICAS in changes:
                # The next resource of the request is judged by what this one has become.
                state = state.apply(found)
    return records, refusals


def record_of(resource: ConfigResource, name: str, text: str | None) -> ConfigRecord:
    """Return the record that sets a config, or takes it back."""
    return ConfigRecord(
        resource_type=resource.type, resource_name=resource.name, name=name, value=text
    )


# --- What is to be set ---------------------------------------------------------------------------


def incrementally(
    changes: Sequence[Change], resource: ConfigResource, before: Mapping[str, str]
) -> dict[str, str | None]:
    """Return what is to be set, from what is."""
    check_names([change.name for change in changes])
    lost = [one.name for one in changes if one.text is None and one.what != ConfigChange.DELETE]
    check_none(lost)
    return {change.name: changed(change, resource, before) for change in changes}


def wholly(
    texts: Sequence[tuple[str, str | None]], resource: ConfigResource, before: Mapping[str, str]
) -> dict[str, str | None]:
    """Return what is to be set, where all else is taken back."""
    check_names([name for name, _ in texts])
    check_none([name for name, text in texts if text is None])
    gone = dict.fromkeys(sorted(before.keys() - dict(texts).keys()))
    return {**dict(texts), **gone}


def check_names(names: Sequence[str]) -> None:
    """Refuse to change a config twice."""
    if len(set(names)) < len(names):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")


def check_none(names: Sequence[str]) -> None:
    """Refuse to set a config to nothing."""
    if names:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(names)}"
        )


def changed(change: Change, resource: ConfigResource, before: Mapping[str, str]) -> str | None:
    """Return what a config becomes."""
    text = change.text or ""
    match change.what:
        case ConfigChange.SET:
            return text
        case ConfigChange.DELETE:
            return None
        case ConfigChange.APPEND:
            words = words_of(change, resource, before)
            words += [word for word in dict.fromkeys(text.split(",")) if word not in words]
            return ",".join(words)
        case ConfigChange.SUBTRACT:
            words = words_of(change, resource, before)
            for word in text.split(","):
                if word in words:
                    words.remove(word)
            return ",".join(words)
        case unknown:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown operations type {unknown}")


# Kafka's controllers know the kinds of no other configs.
LISTS: Final[Mapping[int, Mapping[str, Config]]] = {
    ResourceType.TOPIC: TOPIC_CONFIGS,
    ResourceType.BROKER: BROKER_CONFIGS,
}


def words_of(change: Change, resource: ConfigResource, before: Mapping[str, str]) -> list[str]:
    """Return the words of a list as it is set, or as it is by default."""
    config = LISTS.get(resource.type, {}).get(change.name)
    if config is None or config.kind is not Kind.LIST:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"Can't {ConfigChange(change.what).name} to key {change.name} because its type is not "
            "LIST.",
        )
    text = before.get(change.name, config.default) or ""
    return [word for word in text.split(",") if word]


# --- What is allowed -----------------------------------------------------------------------------


def check_kind(resource: ConfigResource) -> None:
    """Refuse what has no configs in the cluster."""
    if resource.type == ResourceType.BROKER_LOGGER:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "Unexpected resource type BROKER_LOGGER: levels of loggers are no configs of the "
            "cluster; a node is told its own when it starts",
        )
    if resource.type not in tuple(ResourceType):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"Unknown resource type {resource.type}.")


PROTECTED: Final = {
    ResourceType.TOPIC: (AclResource.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ResourceType.GROUP: (AclResource.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
}


def check_may_alter(resource: ConfigResource, caller: Caller) -> None:
    """Refuse to change what this caller may not."""
    if resource.type not in PROTECTED:
        caller.check_cluster(Operation.ALTER_CONFIGS)
        return
    kind, code = PROTECTED[ResourceType(resource.type)]
    if not caller.may(Operation.ALTER_CONFIGS, kind, resource.name):
        raise Refused(code)


def check(
    state: ControllerState,
    config: ControllerConfig,
    resource: ConfigResource,
    before: Mapping[str, str],
    changes: Mapping[str, str | None],
    caller: Caller,
) -> None:
    """Refuse what is not allowed for a resource, with what stays set for it."""
    for name, text in changes.items():
        if resource.type == ResourceType.BROKER:
            check_for_brokers(state, resource, name, before.get(name), text, caller)
        if text is not None and len(text) > LENGTH_MAX:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                "The configuration value cannot be added because it exceeds the maximum value size "
                f"of {LENGTH_MAX} bytes.",
            )
    after = {name: text for name, text in {**before, **changes}.items() if text is not None}
    kind, name = resource
    if kind == ResourceType.TOPIC:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_topic_name(name)
        check_topic(after, before, config.static)
    elif kind == ResourceType.BROKER and name != ALL_BROKERS:
        node_id(name)
    elif kind == ResourceType.CLIENT_METRICS:
        check_client_metrics(name, after)
    elif kind == ResourceType.GROUP:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        check_group(after, config.static)


def node_id(name: str) -> int:
    """Return the broker or controller that a resource is."""
    digits = name.removeprefix("-")
    if not digits.isdecimal():
        raise Refused(ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number.")
    if digits != name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Invalid negative broker ID.")
    return int(name)


def check_for_brokers(
    state: ControllerState,
    resource: ConfigResource,
    name: str,
    before: str | None,
    text: str | None,
    caller: Caller,
) -> None:
    """Refuse what brokers could not live with."""
    if name == MIN_INSYNC_REPLICAS and has_elr(state):
        if resource.name != ALL_BROKERS:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Broker-level {name} cannot be altered while ELR is enabled.",
            )
        if text is None:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Cluster-level {name} cannot be removed while ELR is enabled.",
            )
    if name == CORDONED_DIRS:
        if state.level < CORDONED_DIRECTORIES:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"The {name} configuration value cannot be set because it requires "
                f"metadata.version >= {CORDONED_DIRECTORIES}, and it is {state.level}",
            )
        # Only the broker knows its directories by their paths; a controller can but take from them.
        told = words(text)
        if not caller.forwarded and not told <= words(before):
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"When updating {name} via controllers, the new value must be a subset of the "
                "current configuration value; ask the broker itself to add to it",
            )


def words(text: str | None) -> set[str]:
    """Return the words of a list."""
    return {word.strip() for word in (text or "").split(",") if word.strip()}


def check_there(state: ControllerState, config: ControllerConfig, resource: ConfigResource) -> None:
    """Refuse to configure what is not there."""
    kind, name = resource
    if kind == ResourceType.TOPIC and name not in state.image.topics.names:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind == ResourceType.BROKER and name != ALL_BROKERS:
        cluster, found = state.image.cluster, node_id(name)
        if found not in (*cluster.brokers, *cluster.controllers, config.node_id):
            raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {found} found.")


# --- Eligible leader replicas --------------------------------------------------------------------


def has_elr(state: ControllerState) -> bool:
    """Tell whether the cluster uses eligible leader replicas."""
    return state.image.features.level(ELIGIBLE_LEADER_REPLICAS_VERSION) > 0


def eligible(state: ControllerState) -> Mapping[Uuid, int]:
    """Return the partitions where somebody may lead without being in sync."""
    places: dict[Uuid, int] = {}
    for _, table in sorted(state.index.eligible.items()):
        for topic_id, mask in table.items():
            places[topic_id] = places.get(topic_id, 0) | mask
    return places


def judged_anew(
    state: ControllerState,
    config: ControllerConfig,
    resource: ConfigResource,
    before: Mapping[str, str],
    changes: Mapping[str, str | None],
) -> Iterator[Message]:
    """Yield what a change of ``min.insync.replicas`` means for those that may lead."""
    name = MIN_INSYNC_REPLICAS
    if name not in changes or changes[name] == before.get(name) or not has_elr(state):
        return
    after = state.apply([record_of(resource, name, changes[name])])
    places = eligible(state)
    if resource.type == ResourceType.TOPIC:
        topic_id = state.image.topics.names[resource.name]
        places = {topic_id: places[topic_id]} if topic_id in places else {}
    leaders = Leaders(after.image.cluster.brokers)
    memory = Memory(leaders, lambda _, election: Aim(election=election))
    yield from moved(after, config, places, memory)


def safe_for_elr(state: ControllerState, config: ControllerConfig) -> Iterator[Message]:
    """Yield what has to be set before eligible leader replicas are used: one value for all."""
    configs = state.image.configs
    name = MIN_INSYNC_REPLICAS
    if name not in configs.of(ResourceType.BROKER, ALL_BROKERS):
        text = str(BROKER_CONFIGS[name].number(config.static))
        yield record_of(ConfigResource(ResourceType.BROKER, ALL_BROKERS), name, text)
    own: Iterable[ConfigResource] = (
        resource
        for resource, texts in configs.resources.items()
        if resource.type == ResourceType.BROKER and resource.name != ALL_BROKERS and name in texts
    )
    for resource in sorted(own):
        yield record_of(resource, name, None)


def forgotten_elrs(state: ControllerState) -> Iterator[Message]:
    """Yield what becomes of partitions when eligible leader replicas are used no more.

    Then a partition always has somebody in sync, if only to remember who may lead it; so where
    nobody is, one of those takes that place who are known to have everything.
    """
    for topic_id, _, number, stored in partitions_in(state.image.topics, eligible(state)):
        replicas, isr, elr = stored[0], stored[2], stored[6][2]
        yield PartitionChangeRecord(
            topic_id=topic_id,
            partition_id=number,
            isr=None if isr else tuple(replica for replica in replicas if replica in elr)[:1],
            eligible_leader_replicas=(),
        )
