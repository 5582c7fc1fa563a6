"""A change to the image: what leads from one image to the next.

    image ── delta ──▶ image         delta.apply(provenance)
      ▲                  │
      └─── Delta.between ┘

A delta is made in one of two ways.  ``replay`` takes committed records one by one; what they say
goes to the part that they speak of, and a part of which nobody spoke stays None and is shared by
the next image.  ``between`` compares two images: that is how a snapshot becomes a delta, so that
what the snapshot does not have is removed (M-07), and how a newcomer is given everything at once,
as a change from nothing.

Publishers are given the delta together with the image that it leads to, and write into neither.

Every record that a controller writes can be replayed.  One that none would write, a change of a
topic that is not there for example, raises ``BadRecord``, and the delta is of no use any more.

Fixed by Kafka's MetadataDelta.java.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from barnabas.metadata.acls import AclsDelta
from barnabas.metadata.cluster import ClusterDelta
from barnabas.metadata.configs import ConfigsDelta
from barnabas.metadata.faults import BadRecord
from barnabas.metadata.features import FeaturesDelta
from barnabas.metadata.image import MetadataImage, Provenance
from barnabas.metadata.levels import LevelChange
from barnabas.metadata.partition_bytes import plain_partition
from barnabas.metadata.producer_ids import ProducerIdsDelta
from barnabas.metadata.quotas import ClientQuotasDelta
from barnabas.metadata.scram import ScramDelta
from barnabas.metadata.tokens import DelegationTokensDelta
from barnabas.metadata.topics import Stored, TopicsDelta
from barnabas.model.ids import Uuid
from barnabas.records.checksum import Buffer
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
from barnabas.wire.messages.stored.no_op_record import NoOpRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.register_controller_record import RegisterControllerRecord
from barnabas.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from barnabas.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from barnabas.wire.messages.stored.zk_migration_state_record import ZkMigrationStateRecord
from barnabas.wire.structs import Message

PartDelta: TypeAlias = (
    FeaturesDelta
    | ClusterDelta
    | TopicsDelta
    | ConfigsDelta
    | ClientQuotasDelta
    | ProducerIdsDelta
    | AclsDelta
    | ScramDelta
    | DelegationTokensDelta
)

PARTS: Final[Mapping[str, type[PartDelta]]] = {
    "features": FeaturesDelta,
    "cluster": ClusterDelta,
    "topics": TopicsDelta,
    "configs": ConfigsDelta,
    "client_quotas": ClientQuotasDelta,
    "producer_ids": ProducerIdsDelta,
    "acls": AclsDelta,
    "scram": ScramDelta,
    "delegation_tokens": DelegationTokensDelta,
}
"""The parts of an image, in the order in which they are written."""

PART_OF: Final[Mapping[type[Message], str]] = {
    PartitionRecord: "topics",
    PartitionChangeRecord: "topics",
    TopicRecord: "topics",
    ClearElrRecord: "topics",
    RegisterBrokerRecord: "cluster",
    UnregisterBrokerRecord: "cluster",
    FenceBrokerRecord: "cluster",
    UnfenceBrokerRecord: "cluster",
    BrokerRegistrationChangeRecord: "cluster",
    RegisterControllerRecord: "cluster",
    FeatureLevelRecord: "features",
    ConfigRecord: "configs",
    ClientQuotaRecord: "client_quotas",
    ProducerIdsRecord: "producer_ids",
    AccessControlEntryRecord: "acls",
    RemoveAccessControlEntryRecord: "acls",
    UserScramCredentialRecord: "scram",
    RemoveUserScramCredentialRecord: "scram",
    DelegationTokenRecord: "delegation_tokens",
    RemoveDelegationTokenRecord: "delegation_tokens",
}

SILENT: Final = (NoOpRecord, ZkMigrationStateRecord)
"""What only moves the offset, and what only mattered while a cluster came from ZooKeeper."""


class Delta:
    """What becomes of an image."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        # What takes each type of record, found when the first of the type comes.
        self._replays: dict[type[Message], Callable[[Any], None]] = {}
        self.features: FeaturesDelta | None = None
        self.cluster: ClusterDelta | None = None
        self.topics: TopicsDelta | None = None
        self.configs: ConfigsDelta | None = None
        self.client_quotas: ClientQuotasDelta | None = None
        self.producer_ids: ProducerIdsDelta | None = None
        self.acls: AclsDelta | None = None
        self.scram: ScramDelta | None = None
        self.delegation_tokens: DelegationTokensDelta | None = None

    @staticmethod
    def between(image: MetadataImage, later: MetadataImage) -> "Delta":
        """Return what leads from one image to another, however far apart they are."""
        delta = Delta(image)
        for name, part in PARTS.items():
            before, after = getattr(image, name), getattr(later, name)
            if before != after:
                setattr(delta, name, part.between(before, after))
        return delta

    @property
    def metadata_version_change(self) -> LevelChange | None:
        """The change of ``metadata.version``, if there is one."""
        return None if self.features is None else self.features.metadata_version_change

    def replay(self, record: Message) -> None:
        """Take a committed record."""
        kind = type(record)
        try:
            replay = self._replays[kind]
        except KeyError:
            replay = self._replays[kind] = self._replay_of(kind)
        replay(record)

    def replay_plain(self, values: Sequence[Buffer], start: int) -> int:
        """Take plain partitions from a record on, while there are any; return where they end.

        One of a topic that is not there ends them, too: ``replay`` will say so.
        """
        known: Uuid | None = None
        changes: dict[int, Stored | None] = {}
        for at in range(start, len(values)):
            plain = plain_partition(values[at])
            if plain is None:
                return at
            topic_id, index, partition = plain
            if topic_id != known:
                topics = self.topics = self.topics or TopicsDelta(self.image.topics)
                topic = topics.changes_of(topic_id)
                if topic is None:
                    return at
                known, changes = topic_id, topic.changes
            changes[index] = partition
        return len(values)

    def apply(self, provenance: Provenance) -> MetadataImage:
        """Return the image afterwards, which ends where the provenance says."""
        before, tokens = self.image, self.delegation_tokens
        return MetadataImage(
            provenance,
            features=self.features.apply() if self.features else before.features,
            cluster=self.cluster.apply() if self.cluster else before.cluster,
            topics=self.topics.apply() if self.topics else before.topics,
            configs=self.configs.apply() if self.configs else before.configs,
            client_quotas=(
                self.client_quotas.apply() if self.client_quotas else before.client_quotas
            ),
            producer_ids=self.producer_ids.apply() if self.producer_ids else before.producer_ids,
            acls=self.acls.apply() if self.acls else before.acls,
            scram=self.scram.apply() if self.scram else before.scram,
            delegation_tokens=tokens.apply() if tokens else before.delegation_tokens,
        )

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        """Remove a topic, and what was configured for it."""
        topics = self.topics = self.topics or TopicsDelta(self.image.topics)
        configs = self.configs = self.configs or ConfigsDelta(self.image.configs)
        name = topics.name_of(record.topic_id)
        topics.replay(record)
        configs.remove_topic(name)

    def _replay_of(self, kind: type[Message]) -> Callable[[Any], None]:
        """Return what takes a type of record: the part it speaks of, which begins here."""
        if kind in PART_OF:
            name = PART_OF[kind]
            part: PartDelta | None = getattr(self, name)
            if part is None:
                part = PARTS[name](getattr(self.image, name))
                setattr(self, name, part)
            return part.replay
        if kind is RemoveTopicRecord:
            return self._remove_topic
        if kind in SILENT:
            return lambda record: None
        raise BadRecord(f"{kind.__name__} is nothing that an image could hold")
