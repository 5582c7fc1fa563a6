"""What a controller could write next: records that are valid on the image at which it stands.

    Draft: the committed image, and what this leader has appended since ──▶ Writer ──▶ records

It stands in for the controller.  What is drawn comes from the numbers of the plan alone, but what
may be written depends on the draft: a topic is deleted that is there, a broker is fenced in the
life that is registered, a record is written in the version that the level has words for.  A leader
writes from the head of its log, its own uncommitted tail included (C-02), and never outside of its
epoch.

A metadata transaction (KIP-868) spans batches: what is written between its begin and its end
becomes visible at once, or never.  One that a former leader has left open is aborted first, as
Kafka's ActivationRecordsGenerator.java has it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, Final, TypeVar

from barnabas.metadata.delta import Delta
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.levels import (
    CONTROLLER_REGISTRATION,
    CORDONED_DIRECTORIES,
    DELEGATION_TOKENS,
    DIRECTORIES,
    ELIGIBLE_LEADERS,
    SCRAM,
    LevelChange,
    record_version,
)
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.features import LATEST_TESTING, METADATA_VERSION, MINIMUM_VERSION
from barnabas.model.ids import ZERO_UUID, TopicIdPartition, Uuid
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.clear_elr_record import ClearElrRecord
from barnabas.wire.messages.stored.client_quota_record import ClientQuotaRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
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
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message

T = TypeVar("T")

LEAST, MOST = MINIMUM_VERSION.level, LATEST_TESTING.level

BROKERS: Final = range(1, 6)
"""The brokers there may be; the first of them are the hosts of the plan, in their order."""
NAMES: Final = ("orders", "payments", "clicks", "Ünïcode")
BROKER: Final = 4
TOPIC: Final = 2

BLOCK: Final = 1_000
"""How many producer ids are given away at once."""

TRANSACTION: Final = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


class Draft:
    """The cluster as the leader of the log sees it: committed, and what it has appended since."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.before: MetadataImage | None = None
        """What will be so again if the open transaction is aborted; None where none is open."""

    @property
    def level(self) -> int:
        """The ``metadata.version``."""
        return self.image.features.metadata_version or LEAST

    def take(self, records: Sequence[Message]) -> None:
        """Learn what was appended."""
        delta = Delta(self.image)
        for record in records:
            match record:
                case BeginTransactionRecord():
                    assert self.before is None, "a transaction in a transaction"
                    self.before = self.image = delta.apply(self.image.provenance)
                    delta = Delta(self.image)
                case EndTransactionRecord():
                    assert self.before is not None, "the end of no transaction"
                    self.before = None
                case AbortTransactionRecord():
                    assert self.before is not None, "the abort of no transaction"
                    delta = Delta(self.before)
                    self.before = None
                case _:
                    delta.replay(record)
        self.image = delta.apply(self.image.provenance)


def encoded(records: Iterable[Message], level: int) -> list[bytes]:
    """Write records, each in the version of the level that is in force when it is appended."""
    values: list[bytes] = []
    for record in records:
        if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION:
            level = record.feature_level
        values.append(encode_record(record, version_of(record, level)))
    return values


def version_of(record: Message, level: int) -> int:
    """Return the version of a record: that of the level, or the least that can say it."""
    if isinstance(record, BrokerRegistrationChangeRecord):
        return 3 if record.cordoned_log_dirs is not None else 2 if record.log_dirs else 1
    return record_version(type(record), level)


def activation(image: MetadataImage, in_transaction: bool, level: int) -> list[Message]:
    """Return what a new leader writes before anything else.

    It aborts what it found begun, and gives an empty cluster its level and its brokers.
    """
    records: list[Message] = []
    if in_transaction:
        records.append(AbortTransactionRecord(reason="its leader is gone"))
    if image.features.metadata_version is None:
        records.append(FeatureLevelRecord(name=METADATA_VERSION, feature_level=level))
    return records


class Writer:
    """One batch: what to write, drawn from a number, on a draft that is left as it is."""

    def __init__(self, seed: int, draft: Draft, next_offset: int) -> None:
        self._random: Final = Random(seed)
        self._draft = Draft(draft.image)
        self._before = draft.before
        self._next_offset = next_offset

    @property
    def _image(self) -> MetadataImage:
        return self._draft.image

    def records(self, what: str, count: int) -> list[Message]:
        """Return records of one kind, or of any; none where there is nothing to write."""
        found: list[Message] = []
        for _ in range(count):
            kind = what if what in KINDS else self._one(*KINDS)
            least, write = KINDS[kind]
            if self._draft.level >= least:
                made = write(self, self._next_offset)
                self._draft.take(made)
                self._next_offset += len(made)
                found += made
        return found

    def mark(self, record: Message) -> list[Message]:
        """Return a record that begins or ends a transaction, where it has its place."""
        self._next_offset += 1
        if isinstance(record, BeginTransactionRecord):
            self._before = self._draft.image
        elif isinstance(record, AbortTransactionRecord):
            assert self._before is not None, "the abort of no transaction"
            self._draft = Draft(self._before)
        return [record]

    # --- drawing -----------------------------------------------------------------------------

    def _one(self, *things: T) -> T:
        return self._random.choice(things)

    def _any_of(self, things: Iterable[T]) -> T | None:
        gathered = list(things)
        return self._random.choice(gathered) if gathered else None

    def _some(self, *things: T) -> tuple[T, ...]:
        return tuple(self._random.sample(things, self._random.randint(1, len(things))))

    def _uuid(self) -> Uuid:
        return Uuid(self._random.randbytes(16))

    # --- brokers and controllers -------------------------------------------------------------

    def register(self, offset: int) -> list[Message]:
        """Begin another life of a broker; its epoch is the offset of the record."""
        broker, level = self._one(*BROKERS), self._draft.level
        directories = (self._uuid(), self._uuid())
        return [
            RegisterBrokerRecord(
                broker_id=broker,
                broker_epoch=offset,
                incarnation_id=self._uuid(),
                end_points=[
                    RegisterBrokerRecord.BrokerEndpoint(
                        name=name, host=f"b{broker}", port=port, security_protocol=protocol
                    )
                    for name, port, protocol in self._some(("IN", 9092, 0), ("OUT", 9093, 3))
                ],
                features=[
                    RegisterBrokerRecord.BrokerFeature(
                        name=METADATA_VERSION, min_supported_version=7, max_supported_version=30
                    )
                ],
                rack=self._one(None, "a", "b"),
                log_dirs=directories if level >= DIRECTORIES else (),
                cordoned_log_dirs=(
                    self._one(None, (), directories[:1]) if level >= CORDONED_DIRECTORIES else None
                ),
            )
        ]

    def _living(self) -> tuple[int, int] | None:
        found = self._any_of(self._image.cluster.brokers)
        return None if found is None else (found, self._image.cluster.brokers[found].epoch)

    def unregister(self, offset: int) -> list[Message]:
        """Remove a broker, if others stay."""
        living = self._living()
        if living is None or len(self._image.cluster.brokers) < 3:
            return []
        return [UnregisterBrokerRecord(broker_id=living[0], broker_epoch=living[1])]

    def fence(self, offset: int) -> list[Message]:
        """Fence a broker, or do so no longer, in the old words."""
        living = self._living()
        kind = self._one(FenceBrokerRecord, UnfenceBrokerRecord)
        return [] if living is None else [kind(id=living[0], epoch=living[1])]

    def change_broker(self, offset: int) -> list[Message]:
        """Change something about a broker."""
        living, level = self._living(), self._draft.level
        if living is None:
            return []
        directories = (self._uuid(), self._uuid())
        return [
            BrokerRegistrationChangeRecord(
                broker_id=living[0],
                broker_epoch=living[1],
                fenced=self._one(-1, 0, 1),
                in_controlled_shutdown=self._one(0, 0, 1),
                log_dirs=self._one((), directories) if level >= DIRECTORIES else (),
                cordoned_log_dirs=(
                    self._one(None, (), directories) if level >= CORDONED_DIRECTORIES else None
                ),
            )
        ]

    def controller(self, offset: int) -> list[Message]:
        """Register a controller."""
        return [
            RegisterControllerRecord(
                controller_id=self._one(3000, 3001, 3002),
                incarnation_id=self._uuid(),
                zk_migration_ready=self._one(True, False),
                end_points=[
                    RegisterControllerRecord.ControllerEndpoint(
                        name="CONTROLLER", host="c", port=9093, security_protocol=0
                    )
                ],
                features=[
                    RegisterControllerRecord.ControllerFeature(
                        name="kraft.version", min_supported_version=0, max_supported_version=1
                    )
                ],
            )
        ]

    # --- topics ------------------------------------------------------------------------------

    def topic(self, offset: int) -> list[Message]:
        """Create a topic with its partitions, perhaps of a name that was there before."""
        name = self._any_of(each for each in NAMES if self._image.topics.named(each) is None)
        if name is None:
            return []
        topic_id = self._uuid()
        made: list[Message] = [TopicRecord(name=name, topic_id=topic_id)]
        return made + [self._partition(topic_id, index) for index in range(self._one(1, 2, 3))]

    def partition(self, offset: int) -> list[Message]:
        """Create the next partition of a topic."""
        found = self._any_of(self._image.topics.topics)
        if found is None:
            return []
        return [self._partition(found, len(self._image.topics.topics[found].stored))]

    def _partition(self, topic_id: Uuid, index: int) -> Message:
        replicas = self._some(*BROKERS)
        isr = self._some(*replicas)
        return PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=replicas,
            isr=isr,
            leader=self._one(*isr, -1),
            leader_recovery_state=self._one(0, 0, 0, 1),
            leader_epoch=0,
            partition_epoch=0,
            directories=self._directories(len(replicas)) or (),
            **self._eligible(),
        )

    def remove_topic(self, offset: int) -> list[Message]:
        """Remove a topic."""
        found = self._any_of(self._image.topics.topics)
        return [] if found is None else [RemoveTopicRecord(topic_id=found)]

    def renew_topic(self, offset: int) -> list[Message]:
        """Remove a topic and make one of the same name, in one breath."""
        found = self._any_of(self._image.topics.topics)
        if found is None:
            return []
        topic_id = self._uuid()
        return [
            RemoveTopicRecord(topic_id=found),
            TopicRecord(name=self._image.topics.topics[found].name, topic_id=topic_id),
            self._partition(topic_id, 0),
        ]

    def change_partition(self, offset: int) -> list[Message]:
        """Change some of what there is to a partition."""
        found = self._any_of(partitions(self._image))
        if found is None:
            return []
        place, now = found
        replicas = self._some(*BROKERS) if self._random.random() < 0.3 else None
        directories = None
        if replicas is not None or self._random.random() < 0.2:
            directories = self._directories(len(replicas or now.replicas))
        isr = self._one(None, self._some(*(replicas or now.replicas)))
        return [
            PartitionChangeRecord(
                partition_id=place.partition,
                topic_id=place.topic_id,
                isr=isr,
                leader=self._one(-2, -2, -1, *(isr or now.isr)),
                replicas=replicas,
                removing_replicas=self._one(None, None, (), self._some(*now.replicas)),
                adding_replicas=self._one(None, None, (), self._some(*BROKERS)),
                leader_recovery_state=self._one(-1, -1, 0, 1),
                directories=directories,
                **self._eligible(),
            )
        ]

    def change_isr(self, offset: int) -> list[Message]:
        """Let a follower fall out of the ISR, or come back: the leader stays as it is."""
        found = self._any_of(
            (place, now) for place, now in partitions(self._image) if now.leader in now.replicas
        )
        if found is None:
            return []
        place, now = found
        others = [each for each in now.replicas if each != now.leader]
        isr = (now.leader, *self._random.sample(others, self._random.randint(0, len(others))))
        return [
            PartitionChangeRecord(
                partition_id=place.partition, topic_id=place.topic_id, isr=tuple(isr)
            )
        ]

    def _directories(self, count: int) -> tuple[Uuid, ...] | None:
        if self._draft.level < DIRECTORIES:
            return None
        chosen = tuple(self._one(ZERO_UUID, self._uuid()) for _ in range(count))
        return self._one(chosen, (ZERO_UUID,) * count)

    def _eligible(self) -> dict[str, Any]:  # Any: fields of either record of partitions
        if self._draft.level < ELIGIBLE_LEADERS:
            return {}
        names = ("eligible_leader_replicas", "last_known_elr")
        return {name: self._one(None, None, (), self._some(*BROKERS)) for name in names}

    def clear_elr(self, offset: int) -> list[Message]:
        """Clear the eligible leaders of a topic, or of all."""
        return [ClearElrRecord(topic_name=self._one("", *self._image.topics.names))]

    # --- everything else ---------------------------------------------------------------------

    def feature(self, offset: int) -> list[Message]:
        """Raise or lower the level of a feature."""
        name = self._one("transaction.version", "group.version", "kraft.version")
        return [FeatureLevelRecord(name=name, feature_level=self._random.randint(0, 2))]

    def level(self, offset: int) -> list[Message]:
        """Raise the ``metadata.version``, or lower it as far as nothing is lost."""
        level = self._random.randint(LEAST, MOST)
        safe = [each for each in range(LEAST, MOST + 1) if self._is_safe(each)]
        if not self._is_safe(level):
            level = self._one(*safe)
        return [FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)]

    def _is_safe(self, level: int) -> bool:
        return LevelChange(self._image.features.metadata_version, level).is_safe

    def config(self, offset: int) -> list[Message]:
        """Set a config, or take it back."""
        kind, name = self._one(
            (BROKER, "1"), (32, "group"), *((TOPIC, each) for each in self._image.topics.names)
        )
        key = self._one("retention.ms", "min.insync.replicas", "unheard.of")
        text = self._one(None, f"{offset}", f"{offset} again")
        return [ConfigRecord(resource_type=kind, resource_name=name, name=key, value=text)]

    def quota(self, offset: int) -> list[Message]:
        """Set a quota, or take it back."""
        kinds = self._one(("user",), ("client-id",), ("ip",), ("user", "client-id"))
        return [
            ClientQuotaRecord(
                entity=[
                    ClientQuotaRecord.EntityData(
                        entity_type=kind, entity_name=self._one(None, "a", "b")
                    )
                    for kind in kinds
                ],
                key=self._one("producer_byte_rate", "consumer_byte_rate"),
                value=self._one(0.5, 1024.0),
                remove=self._one(True, False, False),
            )
        ]

    def producer_ids(self, offset: int) -> list[Message]:
        """Give a block of producer ids to a broker."""
        living = self._living()
        if living is None:
            return []
        given = max(self._image.producer_ids.next_producer_id, 0)
        return [
            ProducerIdsRecord(
                broker_id=living[0], broker_epoch=living[1], next_producer_id=given + BLOCK
            )
        ]

    def acl(self, offset: int) -> list[Message]:
        """Add a rule."""
        return [
            AccessControlEntryRecord(
                id=self._uuid(),
                resource_type=TOPIC,
                resource_name=self._one(*NAMES),
                pattern_type=3,
                principal="User:alice",
                host="*",
                operation=self._random.randint(2, 12),
                permission_type=self._one(2, 3),
            )
        ]

    def remove_acl(self, offset: int) -> list[Message]:
        """Remove a rule."""
        found = self._any_of(self._image.acls.acls)
        return [] if found is None else [RemoveAccessControlEntryRecord(id=found)]

    def scram(self, offset: int) -> list[Message]:
        """Set a credential, or remove one that may not be there."""
        user, mechanism = self._one("alice", "bob"), self._one(1, 2)
        if self._random.random() < 0.3:
            return [RemoveUserScramCredentialRecord(name=user, mechanism=mechanism)]
        return [
            UserScramCredentialRecord(
                name=user,
                mechanism=mechanism,
                salt=self._random.randbytes(4),
                stored_key=self._random.randbytes(4),
                server_key=self._random.randbytes(4),
                iterations=4096,
            )
        ]

    def token(self, offset: int) -> list[Message]:
        """Make a token, renew it, or remove one that may not be there."""
        token_id = self._one("t1", "t2", "t3")
        if self._random.random() < 0.3:
            return [RemoveDelegationTokenRecord(token_id=token_id)]
        return [
            DelegationTokenRecord(
                owner="User:alice",
                requester="User:bob",
                renewers=self._one((), ("User:carol", "User:dave")),
                issue_timestamp=1,
                max_timestamp=100,
                expiration_timestamp=self._random.randint(1, 100),
                token_id=token_id,
            )
        ]

    def nothing(self, offset: int) -> list[Message]:
        """Move the offset only."""
        return [NoOpRecord()]


Write = Callable[[Writer, int], list[Message]]

KINDS: Final[Mapping[str, tuple[int, Write]]] = {
    "register": (0, Writer.register),
    "unregister": (0, Writer.unregister),
    "fence": (0, Writer.fence),
    "change_broker": (0, Writer.change_broker),
    "controller": (CONTROLLER_REGISTRATION, Writer.controller),
    "topic": (0, Writer.topic),
    "partition": (0, Writer.partition),
    "remove_topic": (0, Writer.remove_topic),
    "renew_topic": (0, Writer.renew_topic),
    "change_partition": (0, Writer.change_partition),
    "change_isr": (0, Writer.change_isr),
    "clear_elr": (ELIGIBLE_LEADERS, Writer.clear_elr),
    "feature": (0, Writer.feature),
    "level": (0, Writer.level),
    "config": (0, Writer.config),
    "quota": (0, Writer.quota),
    "producer_ids": (0, Writer.producer_ids),
    "acl": (0, Writer.acl),
    "remove_acl": (0, Writer.remove_acl),
    "scram": (SCRAM, Writer.scram),
    "token": (DELEGATION_TOKENS, Writer.token),
    "nothing": (0, Writer.nothing),
}
"""What can be written: from which level on, and how."""


def partitions(image: MetadataImage) -> list[tuple[TopicIdPartition, PartitionRegistration]]:
    """Return every partition."""
    return [
        (TopicIdPartition(topic.id, topic.name, index), partition)
        for topic in image.topics.topics.values()
        for index, partition in topic.partitions()
    ]
