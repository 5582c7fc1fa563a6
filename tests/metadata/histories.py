"""Random valid histories: what controllers of any level could have written.

A history is a list of records with versions, and for each offset the state that everybody may see
there, folded by the naive twin; None inside of a transaction, where nobody may see anything.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, TypeVar

from barnabas.metadata.levels import (
    CONTROLLER_REGISTRATION,
    CORDONED_DIRECTORIES,
    DELEGATION_TOKENS,
    DIRECTORIES,
    ELIGIBLE_LEADERS,
    MIGRATION,
    SCRAM,
    TRANSACTIONS,
    LevelChange,
    record_version,
)
from barnabas.model.features import LATEST_TESTING, MINIMUM_VERSION
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.records.opened import OpenedBatch
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
from barnabas.wire.messages.stored.zk_migration_state_record import ZkMigrationStateRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message
from tests.metadata.naive import Plain, fold, nothing

T = TypeVar("T")

LEAST, MOST = MINIMUM_VERSION.level, LATEST_TESTING.level

BROKERS = range(1, 6)
NAMES = ("orders", "payments", "clicks", "Ünïcode")


class History:
    """What was written, and what may be seen at each offset."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.records: list[Message] = []
        self.seen: list[Plain | None] = []

    def __len__(self) -> int:
        return len(self.values)

    def add(self, record: Message, version: int, seen: Plain | None) -> None:
        """Write a record."""
        self.values.append(encode_record(record, version))
        self.records.append(record)
        self.seen.append(seen)

    def batch(self, begin: int, end: int, epoch: int = 1) -> OpenedBatch:
        """Return the records from one offset to another as a batch."""
        values = self.values[begin:end]
        size = 61 + sum(map(len, values))
        return OpenedBatch(begin, end, epoch, 1_000 + end, size, values)

    def cut(self, *places: int, start: int = 0) -> list[OpenedBatch]:
        """Return the records in batches that end at these places, and at the end."""
        ends = [*sorted({place for place in places if start < place < len(self)}), len(self)]
        return [self.batch(a, b) for a, b in zip([start, *ends], ends, strict=False)]

    def states(self) -> set[str]:
        """Return which types of records there are."""
        return {type(record).__name__ for record in self.records}


def history(seed: int, length: int = 60, without: Sequence[str] = ()) -> History:
    """Return a random history, without some kinds of events."""
    return Historian(Random(seed), without).written(length)


def uuid(random: Random) -> Uuid:
    """Return a random id, as Kafka makes them: none of the reserved."""
    return Uuid(random.randbytes(16))


class Historian:
    """Writes what controllers could have written, one record after another."""

    def __init__(self, random: Random, without: Sequence[str] = ()) -> None:
        self.random = random
        self.without = without
        self.history = History()
        self.state = nothing()
        self.before: Plain | None = None
        """What was before the open transaction."""
        self.level = random.choice((LEAST, MOST, random.randint(LEAST, MOST)))

    def written(self, length: int) -> History:
        """Write a history; its last transaction has ended."""
        self.write(FeatureLevelRecord(name="metadata.version", feature_level=self.level))
        for broker in BROKERS:
            self.write(self.registration(broker))
        while len(self.history) < length:
            self.maybe_transact()
            if record := self.random.choice(self.writers())():
                self.write(record)
        if self.before is not None:
            self.end()
        return self.history

    def write(self, record: Message) -> None:
        """Write a record in the version of the level, or the least that can say it."""
        version = record_version(type(record), self.level)
        if isinstance(record, BrokerRegistrationChangeRecord):
            version = 3 if record.cordoned_log_dirs is not None else 2 if record.log_dirs else 1
        if not isinstance(record, TRANSACTION):
            self.state = fold(self.state, record)
        self.history.add(record, version, None if self.before is not None else self.state)

    # --- Transactions ---

    def maybe_transact(self) -> None:
        """Begin a transaction, or end the one that is open, sometimes."""
        if self.before is None:
            if self.level >= TRANSACTIONS and self.random.random() < 0.1:
                self.before = self.state
                self.write(BeginTransactionRecord(name="a transaction"))
        elif self.random.random() < 0.2:
            self.end()

    def end(self) -> None:
        """End the open transaction, one way or the other."""
        if "abort" not in self.without and self.random.random() < 0.5:
            assert self.before is not None
            self.state, self.before = self.before, None
            self.level = self.state["features"]["metadata.version"]
            self.write(AbortTransactionRecord(reason="why not"))
        else:
            self.before = None
            self.write(EndTransactionRecord())

    # --- Records ---

    def writers(self) -> list[Callable[[], Message | None]]:
        """Return what can be written at this level."""
        gated = (
            (SCRAM, self.scram),
            (SCRAM, self.unscram),
            (DELEGATION_TOKENS, self.token),
            (DELEGATION_TOKENS, self.untoken),
            (CONTROLLER_REGISTRATION, self.controller),
            (ELIGIBLE_LEADERS, self.clear_elr),
        )
        always = (
            self.feature, self.register, self.unregister, self.fence, self.unfence,
            self.broker_change, self.topic, self.topic, self.partition, self.partition,
            self.partition, self.partition_change, self.partition_change, self.partition_change,
            self.remove_topic, self.config, self.config, self.quota, self.producer_ids, self.acl,
            self.unacl, NoOpRecord, lambda: ZkMigrationStateRecord(zk_migration_state=0),
        )  # fmt: skip
        writers = [*always, *(write for level, write in gated if self.level >= level)]
        return [write for write in writers if write.__name__ not in self.without]

    def one(self, *things: T) -> T:
        """Draw one of some things."""
        return self.random.choice(things)

    def any_of(self, things: Iterable[T]) -> T | None:
        """Draw one of some things; None if there are none."""
        gathered = list(things)
        return self.random.choice(gathered) if gathered else None

    def some(self, *things: T) -> tuple[T, ...]:
        """Draw at least one of some things, in any order."""
        return tuple(self.random.sample(things, self.random.randint(1, len(things))))

    def feature(self) -> Message:
        """Raise or lower a level, as far as a controller would."""
        if self.random.random() < 0.6:
            name = self.one("transaction.version", "group.version", "kraft.version")
            return FeatureLevelRecord(name=name, feature_level=self.random.randint(0, 2))
        level = self.random.randint(LEAST, MOST)
        self.level = level if LevelChange(self.level, level).is_safe else self.level
        return FeatureLevelRecord(name="metadata.version", feature_level=self.level)

    def registration(self, broker: int) -> Message:
        """Begin another life of a broker."""
        directories = tuple(uuid(self.random) for _ in range(2))
        return RegisterBrokerRecord(
            broker_id=broker,
            broker_epoch=len(self.history),
            incarnation_id=uuid(self.random),
            end_points=[
                RegisterBrokerRecord.BrokerEndpoint(
                    name=name, host=f"b{broker}", port=port, security_protocol=protocol
                )
                for name, port, protocol in self.some(("IN", 9092, 0), ("OUT", 9093, 3))
            ],
            features=[
                RegisterBrokerRecord.BrokerFeature(
                    name="metadata.version", min_supported_version=7, max_supported_version=30
                )
            ],
            rack=self.one(None, "a", "b"),
            fenced=self.one(True, False),
            in_controlled_shutdown=self.one(True, False),
            is_migrating_zk_broker=self.level >= MIGRATION and self.one(True, False, False),
            log_dirs=directories if self.level >= DIRECTORIES else (),
            cordoned_log_dirs=(
                self.one(None, (), directories[:1]) if self.level >= CORDONED_DIRECTORIES else None
            ),
        )

    def register(self) -> Message:
        """Register a broker."""
        return self.registration(self.one(*BROKERS))

    def living(self) -> tuple[int, int]:
        """Draw a registered broker and its epoch."""
        broker = self.any_of(self.state["brokers"]) or 0
        return broker, self.state["brokers"].get(broker, {}).get("epoch", 0)

    def unregister(self) -> Message | None:
        """Remove a broker, sometimes."""
        broker, epoch = self.living()
        few = len(self.state["brokers"]) < 3
        return None if few else UnregisterBrokerRecord(broker_id=broker, broker_epoch=epoch)

    def fence(self) -> Message:
        """Fence a broker."""
        broker, epoch = self.living()
        return FenceBrokerRecord(id=broker, epoch=epoch)

    def unfence(self) -> Message:
        """Unfence a broker."""
        broker, epoch = self.living()
        return UnfenceBrokerRecord(id=broker, epoch=epoch)

    def broker_change(self) -> Message:
        """Change something about a broker."""
        broker, epoch = self.living()
        directories = (uuid(self.random), uuid(self.random))
        return BrokerRegistrationChangeRecord(
            broker_id=broker,
            broker_epoch=epoch,
            fenced=self.one(-1, 0, 1),
            in_controlled_shutdown=self.one(0, 0, 1),
            log_dirs=self.one((), directories) if self.level >= DIRECTORIES else (),
            cordoned_log_dirs=(
                self.one(None, (), directories) if self.level >= CORDONED_DIRECTORIES else None
            ),
        )

    def controller(self) -> Message:
        """Register a controller."""
        return RegisterControllerRecord(
            controller_id=self.one(3000, 3001, 3002),
            incarnation_id=uuid(self.random),
            zk_migration_ready=self.one(True, False),
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

    def topic(self) -> Message | None:
        """Create a topic, perhaps one of a name that was there before."""
        taken = {topic["name"] for topic in self.state["topics"].values()}
        name = self.any_of(name for name in NAMES if name not in taken)
        return TopicRecord(name=name, topic_id=uuid(self.random)) if name else None

    def remove_topic(self) -> Message | None:
        """Remove a topic, sometimes."""
        found = self.one(*self.state["topics"], None)
        return RemoveTopicRecord(topic_id=found) if found else None

    def partition(self) -> Message | None:
        """Create the next partition of a topic."""
        found = self.any_of(self.state["topics"])
        if found is None:
            return None
        replicas = self.some(*BROKERS)
        isr = self.some(*replicas)
        return PartitionRecord(
            partition_id=len(self.state["topics"][found]["partitions"]),
            topic_id=found,
            replicas=replicas,
            isr=isr,
            leader=self.one(*isr, -1),
            leader_recovery_state=self.one(0, 0, 0, 1),
            leader_epoch=self.one(0, 0, 7),
            partition_epoch=self.one(0, 0, 9),
            directories=self.directories(len(replicas)) or (),
            **self.eligible(),
        )

    def partition_change(self) -> Message | None:
        """Change some of what there is to a partition."""
        places = [(t, p) for t, topic in self.state["topics"].items() for p in topic["partitions"]]
        if not places:
            return None
        topic_id, index = self.one(*places)
        now = self.state["topics"][topic_id]["partitions"][index]
        replicas = self.some(*BROKERS) if self.random.random() < 0.3 else None
        directories = None
        if replicas is not None or self.random.random() < 0.2:
            directories = self.directories(len(replicas or now["replicas"]))
        isr = self.one(None, self.some(*(replicas or now["replicas"])))
        return PartitionChangeRecord(
            partition_id=index,
            topic_id=topic_id,
            isr=isr,
            leader=self.one(-2, -2, -1, *(isr or now["isr"])),
            replicas=replicas,
            removing_replicas=self.one(None, None, (), self.some(*now["replicas"])),
            adding_replicas=self.one(None, None, (), self.some(*BROKERS)),
            leader_recovery_state=self.one(-1, -1, 0, 1),
            directories=directories,
            **self.eligible(),
        )

    def directories(self, count: int) -> tuple[Uuid, ...] | None:
        """Draw directories for replicas, if the level has words for them."""
        if self.level < DIRECTORIES:
            return None
        chosen = tuple(self.one(ZERO_UUID, uuid(self.random)) for _ in range(count))
        return self.one(chosen, (ZERO_UUID,) * count)

    def eligible(self) -> dict[str, Any]:
        """Draw eligible leaders, if the level has words for them."""
        if self.level < ELIGIBLE_LEADERS:
            return {}
        names = ("eligible_leader_replicas", "last_known_elr")
        return {name: self.one(None, None, (), self.some(*BROKERS)) for name in names}

    def clear_elr(self) -> Message:
        """Clear the eligible leaders of a topic, or of all."""
        names = [topic["name"] for topic in self.state["topics"].values()]
        return ClearElrRecord(topic_name=self.one("", *names))

    def config(self) -> Message:
        """Set a config, or take it back."""
        names = [topic["name"] for topic in self.state["topics"].values()]
        kind, name = self.one(
            (4, ""), (4, "1"), (32, "group"), *self.odd(), *((2, n) for n in names)
        )
        return ConfigRecord(
            resource_type=kind,
            resource_name=name,
            name=self.one("retention.ms", "min.insync.replicas", "unheard.of"),
            value=self.one(None, "1", "2"),
        )

    def odd(self) -> list[tuple[int, str]]:
        """Return a resource of a type that nobody has heard of."""
        return [] if "odd_config" in self.without else [(77, "?")]

    def quota(self) -> Message:
        """Set a quota, or take it back."""
        kinds = self.one(("user",), ("client-id",), ("ip",), ("user", "client-id"))
        return ClientQuotaRecord(
            entity=[
                ClientQuotaRecord.EntityData(entity_type=kind, entity_name=self.one(None, "a", "b"))
                for kind in kinds
            ],
            key=self.one("producer_byte_rate", "consumer_byte_rate"),
            value=self.one(0.5, 1024.0),
            remove=self.one(True, False, False),
        )

    def producer_ids(self) -> Message:
        """Give a block of producer ids to a broker."""
        broker, epoch = self.living()
        given = self.state["producer_ids"].get("next", 0)
        return ProducerIdsRecord(
            broker_id=broker, broker_epoch=epoch, next_producer_id=given + 1000
        )

    def acl(self) -> Message:
        """Add a rule."""
        return AccessControlEntryRecord(
            id=uuid(self.random),
            resource_type=2,
            resource_name=self.one(*NAMES),
            pattern_type=3,
            principal="User:alice",
            host="*",
            operation=self.random.randint(2, 12),
            permission_type=self.one(2, 3),
        )

    def unacl(self) -> Message | None:
        """Remove a rule."""
        found = self.any_of(self.state["acls"])
        return RemoveAccessControlEntryRecord(id=found) if found else None

    def scram(self) -> Message:
        """Set a credential."""
        return UserScramCredentialRecord(
            name=self.one("alice", "bob"),
            mechanism=self.one(1, 2),
            salt=self.random.randbytes(4),
            stored_key=self.random.randbytes(4),
            server_key=self.random.randbytes(4),
            iterations=4096,
        )

    def unscram(self) -> Message:
        """Remove a credential, there or not."""
        return RemoveUserScramCredentialRecord(
            name=self.one("alice", "bob"), mechanism=self.one(1, 2)
        )

    def token(self) -> Message:
        """Make a token, or renew it."""
        return DelegationTokenRecord(
            owner="User:alice",
            requester="User:bob",
            renewers=self.one((), ("User:carol", "User:dave")),
            issue_timestamp=1,
            max_timestamp=100,
            expiration_timestamp=self.random.randint(1, 100),
            token_id=self.one("t1", "t2"),
        )

    def untoken(self) -> Message:
        """Remove a token, there or not."""
        return RemoveDelegationTokenRecord(token_id=self.one("t1", "t2"))


TRANSACTION = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


def aligned(history: History, cuts: list[OpenedBatch]) -> Iterator[int]:
    """Yield the end offsets of batches at which a snapshot may end."""
    for batch in cuts:
        if history.seen[batch.end_offset - 1] is not None:
            yield batch.end_offset
