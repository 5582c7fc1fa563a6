"""Configs as they are in force: each with its value, its source, and the other names it has.

    topic's own ─▶ this broker's ─▶ all brokers' ─▶ the node's file ─▶ the default
    TOPIC          DYNAMIC_BROKER   DYNAMIC_DEFAULT  STATIC            DEFAULT

Where each comes from is told with it, and all the places where it is set behind that (its synonyms,
in the order in which they count).  Passwords, and configs that nobody knows, are told without their
values.

The node whose file is looked at is the one that answers: two brokers may tell different defaults.

Fixed by Kafka's ConfigHelper.scala.  We differ in one thing: of a topic's config that comes from
one of several names of the broker's (``log.retention.hours`` for ``retention.ms``) the true source
is told, where Kafka always says that it is the default.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Final

from barnabas.metadata.configs import ResourceType
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.model import group_configs, topic_configs
from barnabas.model.acls import AclResource, Operation
from barnabas.model.broker_configs import BROKER_CONFIGS, family
from barnabas.model.caller import Caller
from barnabas.model.configs import Config, written
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.group_configs import GROUP_CONFIGS
from barnabas.model.metrics_configs import METRICS_CONFIGS
from barnabas.model.topic_configs import TOPIC_CONFIGS
from barnabas.model.topic_names import check_topic_name
from barnabas.model.value import value
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from barnabas.wire.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

ALL_BROKERS: Final = ""
"""The name under which configs of all brokers are set."""

UNKNOWN_KIND: Final = 0
"""The kind of a config that nobody knows."""


TOPIC_NAMES: Final = {
    name: frozenset(synonym.name for synonym in topic_configs.SYNONYMS.get(name, ()))
    for name in sorted(TOPIC_CONFIGS)
}
"""The configs of topics in the order in which they are told, and their names as a broker's."""


class Source(IntEnum):
    """Where a value comes from, by Kafka's numbers."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    CLIENT_METRICS = 7
    GROUP = 8


@value
class Node:
    """The node that answers."""

    id: int
    static: Mapping[str, str]
    """Its properties file."""


@value
class Place:
    """A place where a config is set; the default is one."""

    name: str
    text: str
    source: Source


@value
class Effective:
    """A config as it is in force."""

    name: str
    text: str | None
    source: Source
    synonyms: tuple[Place, ...]
    config: Config | None
    """What it is, if anybody knows."""
    is_read_only: bool = False

    @property
    def is_sensitive(self) -> bool:
        """Whether nobody is shown its value."""
        return self.config is None or self.config.is_sensitive


class Layers:
    """What a node's brokers have set, layer over layer."""

    def __init__(self, image: MetadataImage, node: Node) -> None:
        self.layers: Final = (
            (image.configs.of(ResourceType.BROKER, str(node.id)), Source.DYNAMIC_BROKER),
            (image.configs.of(ResourceType.BROKER, ALL_BROKERS), Source.DYNAMIC_DEFAULT_BROKER),
            (node.static, Source.STATIC_BROKER),
        )
        self.names: Final = frozenset[str]().union(*(layer for layer, _ in self.layers))
        """Everything that is set in any of them."""

    def places(self, names: Sequence[str]) -> list[Place]:
        """Return where a config of some names is set, the place that counts first."""
        found = [
            Place(name, layer[name], source)
            for layer, source in self.layers
            for name in names
            if name in layer
        ]
        for name in names:
            config = BROKER_CONFIGS.get(name)
            if config is not None and config.default is not None:
                found.append(Place(name, config.default, Source.DEFAULT))
        return found


# --- What is in force ----------------------------------------------------------------------------


def of_topic(image: MetadataImage, node: Node, own: Mapping[str, str]) -> Iterator[Effective]:
    """Yield the configs of a topic that has some of its own, by name."""
    layers = Layers(image, node)
    for name, others in TOPIC_NAMES.items():
        config = TOPIC_CONFIGS[name]
        if config.internal and name not in own:
            continue
        if name in own or not layers.names.isdisjoint(others):
            yield of_topic_config(config, layers, own)
        else:
            yield set_nowhere(name)


def of_topic_config(config: Config, layers: Layers, own: Mapping[str, str]) -> Effective:
    """Return what is in force of a config for a topic that has some of its own."""
    synonyms = topic_configs.SYNONYMS.get(config.name, ())
    places = layers.places([synonym.name for synonym in synonyms])
    text = config.default
    if places and places[0].source is not Source.DEFAULT:
        found = next(one for one in synonyms if one.name == places[0].name)
        text = found.converted(places[0].text)
    return owned(config, own, text, places, Source.TOPIC)


@cache
def set_nowhere(name: str) -> Effective:
    """Return what is in force of a topic's config that nobody has set: most, for most topics."""
    return of_topic_config(TOPIC_CONFIGS[name], Layers(EMPTY, Node(-1, {})), {})


def of_group(image: MetadataImage, node: Node, own: Mapping[str, str]) -> Iterator[Effective]:
    """Yield the configs of a group that has some of its own, by name."""
    layers = Layers(image, node)
    for name, config in sorted(GROUP_CONFIGS.items()):
        synonym = group_configs.SYNONYMS.get(name)
        places = [Place(name, config.default or "", Source.DEFAULT)]
        if synonym is not None:
            places = layers.places([synonym])
        yield owned(config, own, places[0].text, places, Source.GROUP)


def of_client_metrics(own: Mapping[str, str]) -> Iterator[Effective]:
    """Yield the configs of a subscription to the metrics of clients, by name."""
    for _, config in sorted(METRICS_CONFIGS.items()):
        yield owned(config, own, config.default, [], Source.CLIENT_METRICS)


def owned(
    config: Config, own: Mapping[str, str], text: str | None, places: list[Place], source: Source
) -> Effective:
    """Return a config that a resource may have of its own."""
    if config.name in own:
        text = normal(config, own[config.name])
        assert text is not None, f"{config.name} is set to nothing"
        places = [Place(config.name, text, source), *places]
    first = places[0].source if places else Source.DEFAULT
    return Effective(config.name, normal(config, text), first, tuple(places), config)


def of_broker(image: MetadataImage, node: Node) -> Iterator[Effective]:
    """Yield the configs of the node itself, by name: what it knows, and what else is set for it."""
    layers = Layers(image, node)
    names = {name for name, config in BROKER_CONFIGS.items() if not config.internal}
    names |= {name for layer, _ in layers.layers for name in layer}
    for name in sorted(names):
        config = BROKER_CONFIGS.get(name)
        own = layers.places([name])
        places = layers.places(family(name))
        # What counts more under another name is no other name of this one.
        while places and places[0].name != name:
            del places[0]
        yield Effective(
            name,
            normal(config, own[0].text) if own else None,
            own[0].source if own else Source.DEFAULT,
            tuple(places),
            config,
            is_read_only=is_read_only(config),
        )


def of_all_brokers(image: MetadataImage) -> Iterator[Effective]:
    """Yield what is set for all brokers, by name."""
    for name, text in sorted(image.configs.of(ResourceType.BROKER, ALL_BROKERS).items()):
        config, source = BROKER_CONFIGS.get(name), Source.DYNAMIC_DEFAULT_BROKER
        yield Effective(
            name, text, source, (Place(name, text, source),), config, is_read_only(config)
        )


def is_read_only(config: Config | None) -> bool:
    """Tell whether a broker's config cannot change while it runs."""
    return config is None or config.update.value == "read-only"


def normal(config: Config | None, text: str | None) -> str | None:
    """Return a text as it is written once it was read; what cannot be read stays as it is."""
    if config is None or text is None or text == config.default:
        return text
    try:
        return written(config.parsed(text))
    except Refused:
        # It was allowed when it was set, by a release that allowed more.
        return text


# --- What is told --------------------------------------------------------------------------------


def describe(
    image: MetadataImage, node: Node, request: DescribeConfigsRequest, caller: Caller
) -> DescribeConfigsResponse:
    """Answer DescribeConfigs."""
    return DescribeConfigsResponse(
        results=[described(image, node, request, one, caller) for one in request.resources]
    )


def described(
    image: MetadataImage,
    node: Node,
    request: DescribeConfigsRequest,
    resource: DescribeConfigsRequest.DescribeConfigsResource,
    caller: Caller,
) -> DescribeConfigsResponse.DescribeConfigsResult:
    """Answer for one resource."""
    kind, name = resource.resource_type, resource.resource_name
    try:
        check_may_describe(kind, name, caller)
        configs = told(effective(image, node, kind, name), resource.configuration_keys, request)
    except Refused as refused:
        return DescribeConfigsResponse.DescribeConfigsResult(
            error_code=refused.code,
            error_message=refused.why,
            resource_type=kind,
            resource_name=name,
        )
    return DescribeConfigsResponse.DescribeConfigsResult(
        resource_type=kind, resource_name=name, configs=configs
    )


PROTECTED: Final = {
    ResourceType.TOPIC: (AclResource.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ResourceType.GROUP: (AclResource.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
}


def check_may_describe(kind: int, name: str, caller: Caller) -> None:
    """Refuse to tell of what the caller may not know."""
    if kind in PROTECTED:
        resource, code = PROTECTED[ResourceType(kind)]
        if not caller.may(Operation.DESCRIBE_CONFIGS, resource, name):
            raise Refused(code)
    elif kind in tuple(ResourceType):
        caller.check_cluster(Operation.DESCRIBE_CONFIGS)
    else:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Unexpected resource type {kind} for resource {name}"
        )


def effective(image: MetadataImage, node: Node, kind: int, name: str) -> Iterator[Effective]:
    """Return the configs of a resource; ``Refused`` if there is none, or not here."""
    match kind:
        case ResourceType.TOPIC:
            check_topic_name(name)
            if name not in image.topics.names:
                raise Refused(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
                )
            return of_topic(image, node, image.configs.of(kind, name))
        case ResourceType.BROKER if name == ALL_BROKERS:
            return of_all_brokers(image)
        case ResourceType.BROKER:
            check_is_here(node, name)
            return of_broker(image, node)
        case ResourceType.BROKER_LOGGER:
            check_is_here(node, name)
            # Nothing here logs through loggers that could be set one by one.
            return iter(())
        case ResourceType.CLIENT_METRICS if name:
            return of_client_metrics(image.configs.of(kind, name))
        case ResourceType.GROUP if name:
            return of_group(image, node, image.configs.of(kind, name))
    raise Refused(ErrorCode.INVALID_REQUEST, "The name of the resource must not be empty")


def check_is_here(node: Node, name: str) -> None:
    """Refuse to tell of another node, whose file is not here."""
    if not name.isdecimal():
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name!r}"
        )
    if int(name) != node.id:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {node.id}, but received {name}; ask that node itself",
        )


def told(
    found: Iterable[Effective], wanted: Sequence[str] | None, request: DescribeConfigsRequest
) -> list[DescribeConfigsResponse.DescribeConfigsResourceResult]:
    """Return configs as they are sent; all of them, if no names are wanted."""
    return [
        DescribeConfigsResponse.DescribeConfigsResourceResult(
            name=one.name,
            value=None if one.is_sensitive else one.text,
            read_only=one.is_read_only,
            config_source=one.source,
            is_sensitive=one.is_sensitive,
            synonyms=[synonym(one, place) for place in one.synonyms]
            if request.include_synonyms
            else [],
            config_type=UNKNOWN_KIND if one.config is None else one.config.kind,
            documentation=one.config.doc
            if request.include_documentation and one.config is not None
            else None,
        )
        for one in found
        if not wanted or one.name in wanted
    ]


def synonym(config: Effective, place: Place) -> DescribeConfigsResponse.DescribeConfigsSynonym:
    """Return a place where a config is set, as it is sent."""
    return DescribeConfigsResponse.DescribeConfigsSynonym(
        name=place.name,
        value=None if config.is_sensitive else place.text,
        source=place.source,
    )


def list_resources(
    image: MetadataImage,
    brokers: Iterable[int],
    request: ListConfigResourcesRequest,
    version: int,
    caller: Caller,
) -> ListConfigResourcesResponse:
    """Answer ListConfigResources; version 0 asked for subscriptions to metrics alone (KIP-1142).

    ``brokers`` are those that the caller can reach.  Groups and subscriptions are resources as long
    as a config is set for them.
    """
    kinds = tuple(ResourceType) if version > 0 else (ResourceType.CLIENT_METRICS,)
    wanted = request.resource_types or kinds
    if not caller.may_cluster(Operation.DESCRIBE_CONFIGS):
        return ListConfigResourcesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if not set(wanted) <= set(kinds):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    set_for = sorted((kind, name) for kind, name in image.configs.resources)
    ids = sorted(map(str, brokers))
    found: list[tuple[int, str]] = []
    for kind in (ResourceType.GROUP, ResourceType.CLIENT_METRICS):
        found += [(kind, name) for of, name in set_for if of == kind]
    found += [
        (kind, id_) for kind in (ResourceType.BROKER_LOGGER, ResourceType.BROKER) for id_ in ids
    ]
    found += [(ResourceType.TOPIC, name) for name in sorted(image.topics.names)]
    return ListConfigResourcesResponse(
        config_resources=[
            ListConfigResourcesResponse.ConfigResource(resource_name=name, resource_type=kind)
            for kind, name in found
            if kind in wanted
        ]
    )
