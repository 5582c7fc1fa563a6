"""The naive twin: the image as dictionaries of dictionaries, one record at a time, copied whole.

It knows of no delta, no sharing, no batch and no snapshot.  Written from Kafka's own replay methods
and the schema, so that a slip in the product has to be made twice.
"""

import pickle
from collections.abc import Callable
from typing import Any

from barnabas.metadata.image import MetadataImage
from barnabas.model.ids import ZERO_UUID
from barnabas.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.clear_elr_record import ClearElrRecord
from barnabas.wire.messages.stored.client_quota_record import ClientQuotaRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.register_controller_record import RegisterControllerRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from barnabas.wire.structs import Message

Plain = dict[str, dict[Any, Any]]


def nothing() -> Plain:
    """Return the state before the first record."""
    parts = ("features", "brokers", "controllers", "topics", "configs", "quotas", "producer_ids")
    return {part: {} for part in (*parts, "acls", "scram", "tokens")}


def fold(state: Plain, record: Message) -> Plain:
    """Return the state after a record; the one before is left alone."""
    state = pickle.loads(pickle.dumps(state))
    name = type(record).__name__
    FOLD[name](state, record)
    return state


def feature(state: Plain, r: FeatureLevelRecord) -> None:
    """Set a level; 0 is none, and the quorum's own is not kept here."""
    if r.name == "kraft.version":
        return
    state["features"].pop(r.name, None)
    if r.feature_level:
        state["features"][r.name] = r.feature_level


def signed(uuid: bytes) -> tuple[int, int]:
    """Return an id as Kafka compares it."""
    return int.from_bytes(uuid[:8], signed=True), int.from_bytes(uuid[8:], signed=True)


def register_broker(state: Plain, r: RegisterBrokerRecord) -> None:
    """Replace all that was known of a broker."""
    state["brokers"][r.broker_id] = {
        "epoch": r.broker_epoch,
        "incarnation": r.incarnation_id,
        "listeners": {e.name: (e.host, e.port, e.security_protocol) for e in r.end_points},
        "features": {
            f.name: (f.min_supported_version, f.max_supported_version) for f in r.features
        },
        "rack": r.rack,
        "fenced": r.fenced,
        "stopping": r.in_controlled_shutdown,
        "migrating": r.is_migrating_zk_broker,
        "directories": sorted(r.log_dirs, key=signed),
        "cordoned": None if r.cordoned_log_dirs is None else list(r.cordoned_log_dirs),
    }


def change_broker(state: Plain, r: BrokerRegistrationChangeRecord) -> None:
    """Change what the record names."""
    broker = state["brokers"][r.broker_id]
    assert broker["epoch"] == r.broker_epoch
    if r.fenced:
        broker["fenced"] = r.fenced == 1
    if r.in_controlled_shutdown:
        broker["stopping"] = True
    if r.log_dirs:
        broker["directories"] = sorted(r.log_dirs, key=signed)
    if r.cordoned_log_dirs is not None:
        broker["cordoned"] = list(r.cordoned_log_dirs)


def fence(state: Plain, r: FenceBrokerRecord) -> None:
    """Fence a broker."""
    state["brokers"][r.id]["fenced"] = True


def unfence(state: Plain, r: UnfenceBrokerRecord) -> None:
    """Unfence a broker."""
    state["brokers"][r.id]["fenced"] = False


def register_controller(state: Plain, r: RegisterControllerRecord) -> None:
    """Replace all that was known of a controller."""
    state["controllers"][r.controller_id] = {
        "incarnation": r.incarnation_id,
        "listeners": {e.name: (e.host, e.port, e.security_protocol) for e in r.end_points},
        "features": {
            f.name: (f.min_supported_version, f.max_supported_version) for f in r.features
        },
        "ready": r.zk_migration_ready,
    }


def partition(state: Plain, r: PartitionRecord) -> None:
    """Set a partition."""
    directories = list(r.directories)
    if all(each == ZERO_UUID for each in directories):
        directories = [ZERO_UUID] * len(r.replicas)
    state["topics"][r.topic_id]["partitions"][r.partition_id] = {
        "replicas": list(r.replicas),
        "directories": directories,
        "isr": list(r.isr),
        "removing": list(r.removing_replicas),
        "adding": list(r.adding_replicas),
        "elr": list(r.eligible_leader_replicas or []),
        "last_elr": list(r.last_known_elr or []),
        "leader": r.leader,
        "recovery": r.leader_recovery_state,
        "leader_epoch": r.leader_epoch,
        "partition_epoch": r.partition_epoch,
    }


def change_partition(state: Plain, r: PartitionChangeRecord) -> None:
    """Change what the record names."""
    p = state["topics"][r.topic_id]["partitions"][r.partition_id]
    for name, told in (
        ("replicas", r.replicas),
        ("directories", r.directories),
        ("isr", r.isr),
        ("removing", r.removing_replicas),
        ("adding", r.adding_replicas),
        ("elr", r.eligible_leader_replicas),
        ("last_elr", r.last_known_elr),
    ):
        if told is not None:
            p[name] = list(told)
    if all(each == ZERO_UUID for each in p["directories"]):
        p["directories"] = [ZERO_UUID] * len(p["replicas"])
    if r.leader != -2:
        p["leader"] = r.leader
        p["leader_epoch"] += 1
    if r.leader_recovery_state != -1:
        p["recovery"] = r.leader_recovery_state
    p["partition_epoch"] += 1


def clear_elr(state: Plain, r: ClearElrRecord) -> None:
    """Forget the eligible leaders of a topic, or of all."""
    for topic in state["topics"].values():
        if r.topic_name in ("", topic["name"]):
            for p in topic["partitions"].values():
                if p["elr"] or p["last_elr"]:
                    p["elr"], p["last_elr"] = [], []
                    p["partition_epoch"] += 1


def remove_topic(state: Plain, r: RemoveTopicRecord) -> None:
    """Remove a topic and its configs."""
    topic = state["topics"].pop(r.topic_id)
    state["configs"].pop((2, topic["name"]), None)


def setting(state: Plain, part: str, whose: object, key: str, told: object) -> None:
    """Set a value of something, or take it back; what has none left is gone."""
    values = state[part].setdefault(whose, {})
    values.pop(key, None)
    if told is not None:
        values[key] = told
    if not values:
        del state[part][whose]


def config(state: Plain, r: ConfigRecord) -> None:
    """Set a config."""
    setting(state, "configs", (r.resource_type, r.resource_name), r.name, r.value)


def quota(state: Plain, r: ClientQuotaRecord) -> None:
    """Set a quota."""
    whose = tuple(sorted((e.entity_type, e.entity_name) for e in r.entity))
    setting(state, "quotas", whose, r.key, None if r.remove else r.value)


def acl(state: Plain, r: AccessControlEntryRecord) -> None:
    """Add a rule."""
    state["acls"][r.id] = (
        r.resource_type, r.resource_name, r.pattern_type, r.principal, r.host, r.operation,
        r.permission_type,
    )  # fmt: skip


def scram(state: Plain, r: UserScramCredentialRecord) -> None:
    """Set a credential."""
    secret = (r.salt, r.stored_key, r.server_key, r.iterations)
    state["scram"][r.mechanism, r.name] = secret


def token(state: Plain, r: DelegationTokenRecord) -> None:
    """Set a token."""
    state["tokens"][r.token_id] = (
        r.owner, r.requester, list(r.renewers), r.issue_timestamp, r.max_timestamp,
        r.expiration_timestamp,
    )  # fmt: skip


FOLD: dict[str, Callable[[Plain, Any], object]] = {
    "FeatureLevelRecord": feature,
    "RegisterBrokerRecord": register_broker,
    "UnregisterBrokerRecord": lambda s, r: s["brokers"].pop(r.broker_id, None),
    "FenceBrokerRecord": fence,
    "UnfenceBrokerRecord": unfence,
    "BrokerRegistrationChangeRecord": change_broker,
    "RegisterControllerRecord": register_controller,
    "TopicRecord": lambda s, r: s["topics"].update(
        {r.topic_id: {"name": r.name, "partitions": {}}}
    ),
    "PartitionRecord": partition,
    "PartitionChangeRecord": change_partition,
    "ClearElrRecord": clear_elr,
    "RemoveTopicRecord": remove_topic,
    "ConfigRecord": config,
    "ClientQuotaRecord": quota,
    "ProducerIdsRecord": lambda s, r: s["producer_ids"].update({"next": r.next_producer_id}),
    "AccessControlEntryRecord": acl,
    "RemoveAccessControlEntryRecord": lambda s, r: s["acls"].pop(r.id),
    "UserScramCredentialRecord": scram,
    "RemoveUserScramCredentialRecord": lambda s, r: s["scram"].pop((r.mechanism, r.name), None),
    "DelegationTokenRecord": token,
    "RemoveDelegationTokenRecord": lambda s, r: s["tokens"].pop(r.token_id, None),
    "NoOpRecord": lambda s, r: None,
    "ZkMigrationStateRecord": lambda s, r: None,
}


def plain(image: MetadataImage) -> Plain:
    """Return an image of the product as the twin spells it."""
    state = nothing()
    state["features"] = dict(image.features.levels)
    if image.features.metadata_version is not None:
        state["features"]["metadata.version"] = image.features.metadata_version
    for broker in image.cluster.brokers.values():
        cordoned = broker.cordoned_directories
        state["brokers"][broker.id] = {
            "epoch": broker.epoch,
            "incarnation": broker.incarnation_id,
            "listeners": {
                e.name: (e.host, e.port, e.security_protocol) for e in broker.listeners.values()
            },
            "features": dict(broker.supported_features),
            "rack": broker.rack,
            "fenced": broker.fenced,
            "stopping": broker.in_controlled_shutdown,
            "migrating": broker.is_migrating_zk_broker,
            "directories": list(broker.directories),
            "cordoned": None if cordoned is None else list(cordoned),
        }
    for controller in image.cluster.controllers.values():
        state["controllers"][controller.id] = {
            "incarnation": controller.incarnation_id,
            "listeners": {
                e.name: (e.host, e.port, e.security_protocol) for e in controller.listeners.values()
            },
            "features": dict(controller.supported_features),
            "ready": controller.zk_migration_ready,
        }
    state["topics"] = plain_topics(image)
    state["configs"] = {tuple(who): dict(v) for who, v in image.configs.resources.items()}
    state["quotas"] = {who: dict(v) for who, v in image.client_quotas.entities.items()}
    if not image.producer_ids.is_empty:
        state["producer_ids"] = {"next": image.producer_ids.next_producer_id}
    for acl_id, rule in image.acls.acls.items():
        state["acls"][acl_id] = (
            rule.resource_type, rule.resource_name, rule.pattern_type, rule.principal, rule.host,
            rule.operation, rule.permission_type,
        )  # fmt: skip
    for (mechanism, name), c in image.scram.credentials.items():
        secret = (c.salt, c.stored_key, c.server_key, c.iterations)
        state["scram"][mechanism, name] = secret
    for token_id, t in image.delegation_tokens.tokens.items():
        state["tokens"][token_id] = (
            t.owner, t.requester, list(t.renewers), t.issue_ms, t.max_ms, t.expiration_ms,
        )  # fmt: skip
    return state


def plain_topics(image: MetadataImage) -> dict[bytes, Any]:
    """Return the topics of an image as the twin spells them."""
    topics: dict[bytes, Any] = {}
    for topic in image.topics.topics.values():
        assert image.topics.named(topic.name) is topic
        topics[topic.id] = {
            "name": topic.name,
            "partitions": {
                index: {
                    "replicas": list(p.replicas),
                    "directories": list(p.directories),
                    "isr": list(p.isr),
                    "removing": list(p.removing_replicas),
                    "adding": list(p.adding_replicas),
                    "elr": list(p.elr),
                    "last_elr": list(p.last_known_elr),
                    "leader": p.leader,
                    "recovery": p.leader_recovery_state,
                    "leader_epoch": p.leader_epoch,
                    "partition_epoch": p.partition_epoch,
                }
                for index, p in topic.partitions()
            },
        }
    assert len(image.topics.names) == len(image.topics.topics) == len(topics)
    return topics
