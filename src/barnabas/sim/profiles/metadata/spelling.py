"""An image of the product, fact by fact, in the words of the reference.

``fact_in`` looks one fact up, ``facts_in`` yields all; ``touched`` are the facts that a delta says
it changes.  They read the image as any subscriber does, and know nothing of how it came about.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from barnabas.metadata.cluster import Endpoint
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.scram import ScramUser
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.features import METADATA_VERSION
from barnabas.sim.profiles.metadata.reference import (
    Broker,
    Controller,
    Endpoints,
    Fact,
    Facts,
    Key,
    Partition,
    Ranges,
)

Lookup: TypeAlias = Callable[[MetadataImage, Key], Fact]


def fact_in(image: MetadataImage, key: Key) -> Fact:
    """Return a fact of an image; None if it has none."""
    return LOOKUPS[key[0]](image, key)


def facts_in(image: MetadataImage) -> Facts:
    """Return all facts of an image."""
    return {key: fact_in(image, key) for key in keys_in(image)}


def keys_in(image: MetadataImage) -> Iterator[Key]:
    """Yield the key of every fact in an image."""
    if image.features.metadata_version is not None:
        yield "feature", METADATA_VERSION
    for name in image.features.levels:
        yield "feature", name
    for broker_id in image.cluster.brokers:
        yield "broker", broker_id
    for controller_id in image.cluster.controllers:
        yield "controller", controller_id
    for topic_id, topic in image.topics.topics.items():
        yield "topic", topic_id
        for index, _ in topic.partitions():
            yield "partition", topic_id, index
    for name in image.topics.names:
        yield "name", name
    for (resource_type, name), settings in image.configs.resources.items():
        for each in settings:
            yield "config", resource_type, name, each
    for entity, limits in image.client_quotas.entities.items():
        for each in limits:
            yield "quota", entity, each
    if not image.producer_ids.is_empty:
        yield ("producer ids",)
    for acl_id in image.acls.acls:
        yield "acl", acl_id
    for mechanism, name in image.scram.credentials:
        yield "scram", mechanism, name
    for token_id in image.delegation_tokens.tokens:
        yield "token", token_id


def touched(delta: Delta) -> Iterator[Key]:
    """Yield the keys of what a delta says is another."""
    if delta.features is not None:
        yield "feature", METADATA_VERSION
        for name in delta.features.levels:
            yield "feature", name
    if delta.cluster is not None:
        for broker_id in delta.cluster.brokers:
            yield "broker", broker_id
        for controller_id in delta.cluster.controllers:
            yield "controller", controller_id
    yield from touched_topics(delta)
    if delta.configs is not None:
        for (resource_type, name), settings in delta.configs.resources.items():
            for each in settings or {}:
                yield "config", resource_type, name, each
            for each in delta.image.configs.of(resource_type, name):
                yield "config", resource_type, name, each
    if delta.client_quotas is not None:
        for entity, limits in delta.client_quotas.entities.items():
            for each in limits or {}:
                yield "quota", entity, each
            for each in delta.image.client_quotas.entities.get(entity, {}):
                yield "quota", entity, each
    if delta.producer_ids is not None:
        yield ("producer ids",)
    if delta.acls is not None:
        for acl_id in delta.acls.acls:
            yield "acl", acl_id
    if delta.scram is not None:
        for mechanism, name in delta.scram.credentials:
            yield "scram", mechanism, name
    if delta.delegation_tokens is not None:
        for token_id in delta.delegation_tokens.tokens:
            yield "token", token_id


def touched_topics(delta: Delta) -> Iterator[Key]:
    """Yield the keys of the topics and partitions that a delta says are others."""
    if delta.topics is None:
        return
    for topic_id, topic in delta.topics.deleted.items():
        yield "topic", topic_id
        for index in topic.stored:
            yield "partition", topic_id, index
    for topic_id, changes in delta.topics.topics.items():
        yield "topic", topic_id
        for index in changes.changes:
            yield "partition", topic_id, index
    for name in delta.topics.names:
        yield "name", name


# --- one fact of each kind ---------------------------------------------------------------------


def feature(image: MetadataImage, key: Key) -> Fact:
    """Return a level; 0 is none."""
    return image.features.level(key[1]) or None


def broker(image: MetadataImage, key: Key) -> Fact:
    """Return a broker."""
    found = image.cluster.brokers.get(key[1])
    if found is None:
        return None
    return Broker(
        found.epoch,
        found.incarnation_id,
        endpoints(found.listeners),
        ranges(found.supported_features),
        found.rack,
        found.fenced,
        found.in_controlled_shutdown,
        found.is_migrating_zk_broker,
        found.directories,
        found.cordoned_directories,
    )


def controller(image: MetadataImage, key: Key) -> Fact:
    """Return a controller."""
    found = image.cluster.controllers.get(key[1])
    if found is None:
        return None
    return Controller(
        found.incarnation_id,
        endpoints(found.listeners),
        ranges(found.supported_features),
        found.zk_migration_ready,
    )


def topic(image: MetadataImage, key: Key) -> Fact:
    """Return the name of a topic."""
    found = image.topics.topics.get(key[1])
    return None if found is None else found.name


def partition(image: MetadataImage, key: Key) -> Fact:
    """Return a partition."""
    found = image.topics.partition(key[1], key[2])
    return None if found is None else partition_of(found)


def partition_of(found: PartitionRegistration) -> Partition:
    """Return a partition in the words of the reference."""
    return Partition(
        found.replicas,
        found.directories,
        found.isr,
        found.removing_replicas,
        found.adding_replicas,
        found.elr,
        found.last_known_elr,
        found.leader,
        found.leader_recovery_state,
        found.leader_epoch,
        found.partition_epoch,
    )


def quota(image: MetadataImage, key: Key) -> Fact:
    """Return a quota."""
    return image.client_quotas.entities.get(key[1], {}).get(key[2])


def producer_ids(image: MetadataImage, key: Key) -> Fact:
    """Return the next producer id."""
    return None if image.producer_ids.is_empty else image.producer_ids.next_producer_id


def acl(image: MetadataImage, key: Key) -> Fact:
    """Return a rule."""
    found = image.acls.acls.get(key[1])
    if found is None:
        return None
    return (
        found.resource_type, found.resource_name, found.pattern_type, found.principal, found.host,
        found.operation, found.permission_type,
    )  # fmt: skip


def scram(image: MetadataImage, key: Key) -> Fact:
    """Return a credential."""
    found = image.scram.credentials.get(ScramUser(key[1], key[2]))
    if found is None:
        return None
    return bytes(found.salt), bytes(found.stored_key), bytes(found.server_key), found.iterations


def token(image: MetadataImage, key: Key) -> Fact:
    """Return a token."""
    found = image.delegation_tokens.tokens.get(key[1])
    if found is None:
        return None
    return (
        found.owner, found.requester, found.renewers, found.issue_ms, found.max_ms,
        found.expiration_ms,
    )  # fmt: skip


LOOKUPS: Final[Mapping[str, Lookup]] = {
    "feature": feature,
    "broker": broker,
    "controller": controller,
    "topic": topic,
    "name": lambda image, key: image.topics.names.get(key[1]),
    "partition": partition,
    "config": lambda image, key: image.configs.of(key[1], key[2]).get(key[3]),
    "quota": quota,
    "producer ids": producer_ids,
    "acl": acl,
    "scram": scram,
    "token": token,
}


def endpoints(listeners: Mapping[str, Endpoint]) -> Endpoints:
    """Return listeners in the order of their names."""
    return tuple(
        (name, at.host, at.port, at.security_protocol) for name, at in sorted(listeners.items())
    )


def ranges(levels: Mapping[str, tuple[int, int]]) -> Ranges:
    """Return levels of features in the order of their names."""
    return tuple((name, least, most) for name, (least, most) in sorted(levels.items()))
