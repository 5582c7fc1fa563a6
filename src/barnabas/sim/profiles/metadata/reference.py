"""The reference fold: what the cluster is after every committed record, one record at a time.

    committed batches ──▶ take ──▶ facts ──▶ at(key, offset), changed(after, upto)

``Image*`` of the oracle book.  It knows of no delta, no batch, no snapshot and no sharing: the
cluster is a flat table of *facts*, each under a key of plain values, and a record sets some of them
or takes them back.  Every fact keeps all it ever was, so that a node that lags, or comes back from
long ago, is compared with what it ought to have been there.

Written from the records' schema and Kafka's replay methods, as ``tests/metadata/naive.py`` is, and
apart from both: a slip in the product would have to be made twice.

    ("feature", name)            level              ("config", type, name, key)      text
    ("broker", id)               Broker             ("quota", entity, key)           limit
    ("controller", id)           Controller         ("producer ids",)                the next
    ("topic", id)                name               ("acl", id)                      Acl
    ("name", name)               topic id           ("scram", mechanism, name)       credential
    ("partition", topic, index)  Partition          ("token", id)                    token

A metadata transaction hides what it says until it ends, and takes it back where it is aborted
(KIP-868); no image may end inside of one.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.sim.profiles.metadata.marks import ABORTED, ENDED
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.sim.world import Violation
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
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Message

# ``Any``: a fact is whatever stands under its key in the table above.
Fact: TypeAlias = Any
Key: TypeAlias = tuple[Any, ...]
Facts: TypeAlias = dict[Key, Fact]

TOPIC: Final = 2
NO_LEADER_CHANGE: Final = -2
KRAFT_VERSION: Final = "kraft.version"

Endpoints: TypeAlias = tuple[tuple[str, str, int, int], ...]
Ranges: TypeAlias = tuple[tuple[str, int, int], ...]


class Broker(NamedTuple):
    """A broker, as it is registered."""

    epoch: int
    incarnation: Uuid
    endpoints: Endpoints
    features: Ranges
    rack: str | None
    fenced: bool
    stopping: bool
    migrating: bool
    directories: tuple[Uuid, ...]
    cordoned: tuple[Uuid, ...] | None


class Controller(NamedTuple):
    """A controller, as it is registered."""

    incarnation: Uuid
    endpoints: Endpoints
    features: Ranges
    ready: bool


class Partition(NamedTuple):
    """A partition."""

    replicas: tuple[int, ...]
    directories: tuple[Uuid, ...]
    isr: tuple[int, ...]
    removing: tuple[int, ...]
    adding: tuple[int, ...]
    elr: tuple[int, ...]
    last_elr: tuple[int, ...]
    leader: int
    recovery: int
    leader_epoch: int
    partition_epoch: int


class Change(NamedTuple):
    """Something that a record has said about a fact."""

    offset: int
    key: Key
    aborted: bool


class Reference:
    """The cluster at every offset: the ghost's content of the metadata log."""

    def __init__(self, mark: Callable[[str], None]) -> None:
        self.facts: Final[Facts] = {}
        """What is so behind the last record, an open transaction included."""
        self.values: Final[dict[str, int]] = {}
        """Every value that a client has set, and the end of the batch that did."""
        self.batches: Final[list[Batch]] = []
        self._ends: Final[list[int]] = []
        self._versions: Final[dict[Key, tuple[list[int], list[Fact]]]] = {}
        self._changes: Final[list[Change]] = []
        # Which offsets lie between the begin of a transaction and the record before its end.
        self._begins: Final[list[int]] = []
        self._closes: Final[list[int]] = []
        self._undo: list[tuple[Key, Fact]] = []
        self._begun_in: Batch | None = None
        self._mark: Final = mark

    # --- what is committed -------------------------------------------------------------------

    def take(self, batch: Batch, values: Sequence[bytes]) -> None:
        """Fold what is committed next."""
        for at, data in enumerate(values):
            self._fold(batch.base + at, decode_record(data)[0], batch)
        self.batches.append(batch)
        self._ends.append(batch.end)

    def objection(self, end: int, values: Sequence[bytes]) -> str:
        """Say how a snapshot holds something else than the log below its end (M-06, M-11)."""
        if not self.is_visible(end - 1):
            raise Violation("M-09", f"a snapshot ends at {end}", "inside of a transaction")
        first, _ = decode_record(values[0]) if values else (None, 0)
        if not isinstance(first, FeatureLevelRecord) or first.name != "metadata.version":
            story = f"a snapshot of {end} begins with {type(first).__name__}"
            raise Violation("M-11", story, "features are not first")
        found: Facts = {}
        for data in values:
            record, _ = decode_record(data)
            if isinstance(record, TRANSACTION):
                story = f"a snapshot of {end} holds a {type(record).__name__}"
                raise Violation("M-06", story, "a transaction in a snapshot")
            for key, fact in told(record, found):
                put(found, key, fact)
        return difference(found, self.whole(end - 1))

    # --- what was so -------------------------------------------------------------------------

    @property
    def end_offset(self) -> int:
        """Everything below it is folded."""
        return self._ends[-1] if self._ends else 0

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun and not ended."""
        return len(self._begins) > len(self._closes)

    def at(self, key: Key, offset: int) -> Fact:
        """Return a fact as it was with the record at an offset; None if there was none."""
        known = self._versions.get(key)
        if known is None:
            return None
        place = bisect_right(known[0], offset)
        return known[1][place - 1] if place else None

    def whole(self, offset: int) -> Facts:
        """Return all that was so with the record at an offset."""
        found = {key: self.at(key, offset) for key in self._versions}
        return {key: fact for key, fact in found.items() if fact is not None}

    def changed(self, after: int, upto: int) -> Iterator[Change]:
        """Yield what the records behind one offset, up to another, have said."""
        first = bisect_left(self._changes, after + 1, key=change_offset)
        for change in self._changes[first:]:
            if change.offset > upto:
                return
            yield change

    def is_visible(self, offset: int) -> bool:
        """Tell whether an image may end with the record at an offset: in no transaction."""
        place = bisect_right(self._begins, offset)
        if not place:
            return True
        return place <= len(self._closes) and self._closes[place - 1] <= offset

    def is_end(self, offset: int) -> bool:
        """Tell whether a record is the last of its batch, or stands before a transaction."""
        before = offset + 1
        place = bisect_left(self._begins, before)
        begins = place < len(self._begins) and self._begins[place] == before
        return begins or self.is_boundary(offset)

    def is_boundary(self, offset: int) -> bool:
        """Tell whether a record is the last of its batch."""
        place = bisect_left(self._ends, offset + 1)
        return place < len(self._ends) and self._ends[place] == offset + 1

    def epoch_of(self, offset: int) -> int:
        """Return the epoch of a record."""
        return self.batches[bisect_right(self._ends, offset)].epoch

    # --- folding -----------------------------------------------------------------------------

    def _fold(self, offset: int, record: Message, batch: Batch) -> None:
        match record:
            case BeginTransactionRecord():
                self._begins.append(offset)
                self._undo, self._begun_in = [], batch
            case EndTransactionRecord():
                self._closes.append(offset)
                if batch is not self._begun_in:
                    self._mark(ENDED)
            case AbortTransactionRecord():
                self._abort(offset)
                self._mark(ABORTED)
            case _:
                if isinstance(record, ConfigRecord) and record.value is not None:
                    self.values[record.value] = batch.end
                for key, fact in told(record, self.facts):
                    self._set(offset, key, fact)

    def _set(self, offset: int, key: Key, fact: Fact) -> None:
        if self.in_transaction:
            self._undo.append((key, self.facts.get(key)))
        put(self.facts, key, fact)
        offsets, versions = self._versions.setdefault(key, ([], []))
        if offsets and offsets[-1] == offset:
            versions[-1] = fact
        else:
            offsets.append(offset)
            versions.append(fact)
        self._changes.append(Change(offset, key, aborted=False))

    def _abort(self, offset: int) -> None:
        begin = self._begins[-1]
        for key, before in reversed(self._undo):
            put(self.facts, key, before)
            offsets, versions = self._versions[key]
            while offsets and offsets[-1] > begin:
                offsets.pop()
                versions.pop()
        for at in range(len(self._changes) - 1, -1, -1):
            if self._changes[at].offset < begin:
                break
            self._changes[at] = self._changes[at]._replace(aborted=True)
        self._undo = []
        self._closes.append(offset)


TRANSACTION: Final = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


def change_offset(change: Change) -> int:
    """Return where a change was said."""
    return change.offset


def put(facts: Facts, key: Key, fact: Fact) -> None:
    """Set a fact, or forget it."""
    if fact is None:
        facts.pop(key, None)
    else:
        facts[key] = fact


def difference(found: Mapping[Key, Fact], due: Mapping[Key, Fact]) -> str:
    """Tell the first fact that is another than it should be; nothing if all are right."""
    wrong = [key for key in found.keys() | due.keys() if found.get(key) != due.get(key)]
    if not wrong:
        return ""
    key = min(wrong, key=repr)
    return f"{spelled(key)} is {found.get(key)}, the committed records say {due.get(key)}"


def spelled(key: Key) -> str:
    """Return a key as people read it."""
    return " ".join(part.hex()[:8] if isinstance(part, bytes) else str(part) for part in key)


# --- what each record says ---------------------------------------------------------------------


def told(record: Message, facts: Mapping[Key, Fact]) -> Sequence[tuple[Key, Fact]]:
    """Return the facts that a record sets, or with None forgets."""
    return SAYS[type(record)](record, facts)


Says: TypeAlias = Callable[[Any, Mapping[Key, Fact]], Sequence[tuple[Key, Fact]]]


def feature(r: FeatureLevelRecord, facts: Mapping[Key, Fact]) -> Sequence[tuple[Key, Fact]]:
    """Set a level; 0 is none, and the quorum's own is not kept here."""
    return [] if r.name == KRAFT_VERSION else [(("feature", r.name), r.feature_level or None)]


def register_broker(r: RegisterBrokerRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Replace all that was known of a broker."""
    broker = Broker(
        r.broker_epoch,
        r.incarnation_id,
        endpoints(r.end_points),
        ranges(r.features),
        r.rack,
        r.fenced,
        r.in_controlled_shutdown,
        r.is_migrating_zk_broker,
        in_order(r.log_dirs),
        None if r.cordoned_log_dirs is None else tuple(r.cordoned_log_dirs),
    )
    return [(("broker", r.broker_id), broker)]


def change_broker(
    r: BrokerRegistrationChangeRecord, facts: Mapping[Key, Fact]
) -> list[tuple[Key, Fact]]:
    """Change what the record names of a broker."""
    key = ("broker", r.broker_id)
    broker: Broker = facts[key]
    assert broker.epoch == r.broker_epoch, f"{r} of a broker of epoch {broker.epoch}"
    if r.fenced:
        broker = broker._replace(fenced=r.fenced == 1)
    if r.in_controlled_shutdown:
        broker = broker._replace(stopping=True)
    if r.log_dirs:
        broker = broker._replace(directories=in_order(r.log_dirs))
    if r.cordoned_log_dirs is not None:
        broker = broker._replace(cordoned=tuple(r.cordoned_log_dirs))
    return [(key, broker)]


def fence(
    r: FenceBrokerRecord | UnfenceBrokerRecord, facts: Mapping[Key, Fact]
) -> list[tuple[Key, Fact]]:
    """Fence a broker, or do so no longer."""
    key = ("broker", r.id)
    broker: Broker = facts[key]
    assert broker.epoch == r.epoch, f"{r} of a broker of epoch {broker.epoch}"
    return [(key, broker._replace(fenced=isinstance(r, FenceBrokerRecord)))]


def register_controller(
    r: RegisterControllerRecord, facts: Mapping[Key, Fact]
) -> list[tuple[Key, Fact]]:
    """Replace all that was known of a controller."""
    controller = Controller(
        r.incarnation_id, endpoints(r.end_points), ranges(r.features), r.zk_migration_ready
    )
    return [(("controller", r.controller_id), controller)]


def create_topic(r: TopicRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Make a topic without partitions."""
    return [(("topic", r.topic_id), r.name), (("name", r.name), r.topic_id)]


def remove_topic(r: RemoveTopicRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Forget a topic, its partitions and its configs."""
    name = facts["topic", r.topic_id]
    gone: list[tuple[Key, Fact]] = [(("topic", r.topic_id), None), (("name", name), None)]
    for key in facts:
        of_topic = key[0] == "partition" and key[1] == r.topic_id
        if of_topic or key[:3] == ("config", TOPIC, name):
            gone.append((key, None))
    return gone


def partition(r: PartitionRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Make a partition."""
    made = Partition(
        tuple(r.replicas),
        placed(r.directories, len(r.replicas)),
        tuple(r.isr),
        tuple(r.removing_replicas),
        tuple(r.adding_replicas),
        tuple(r.eligible_leader_replicas or ()),
        tuple(r.last_known_elr or ()),
        r.leader,
        r.leader_recovery_state,
        r.leader_epoch,
        r.partition_epoch,
    )
    return [(("partition", r.topic_id, r.partition_id), made)]


def change_partition(r: PartitionChangeRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Change what the record names of a partition."""
    key = ("partition", r.topic_id, r.partition_id)
    before: Partition = facts[key]
    named: dict[str, Sequence[Any] | None] = {
        "replicas": r.replicas,
        "directories": r.directories,
        "isr": r.isr,
        "removing": r.removing_replicas,
        "adding": r.adding_replicas,
        "elr": r.eligible_leader_replicas,
        "last_elr": r.last_known_elr,
    }
    others: dict[str, Any] = {name: tuple(ids) for name, ids in named.items() if ids is not None}
    after = before._replace(**others, partition_epoch=before.partition_epoch + 1)
    after = after._replace(directories=placed(after.directories, len(after.replicas)))
    if r.leader != NO_LEADER_CHANGE:
        after = after._replace(leader=r.leader, leader_epoch=before.leader_epoch + 1)
    if r.leader_recovery_state >= 0:
        after = after._replace(recovery=r.leader_recovery_state)
    return [(key, after)]


def clear_elr(r: ClearElrRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Forget the eligible leaders of a topic, or of all."""
    cleared: list[tuple[Key, Fact]] = []
    for key, fact in facts.items():
        if key[0] != "partition" or r.topic_name not in ("", facts["topic", key[1]]):
            continue
        if fact.elr or fact.last_elr:
            epoch = fact.partition_epoch + 1
            cleared.append((key, fact._replace(elr=(), last_elr=(), partition_epoch=epoch)))
    return cleared


def config(r: ConfigRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Set a config, or take it back."""
    return [(("config", r.resource_type, r.resource_name, r.name), r.value)]


def quota(r: ClientQuotaRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Set a quota, or take it back."""
    parts = [(part.entity_type, part.entity_name) for part in r.entity]
    entity = tuple(sorted(parts, key=lambda part: part[0]))
    return [(("quota", entity, r.key), None if r.remove else r.value)]


def acl(r: AccessControlEntryRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Add a rule."""
    rule = (
        r.resource_type, r.resource_name, r.pattern_type, r.principal, r.host, r.operation,
        r.permission_type,
    )  # fmt: skip
    return [(("acl", r.id), rule)]


def scram(r: UserScramCredentialRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Set a credential."""
    secret = (bytes(r.salt), bytes(r.stored_key), bytes(r.server_key), r.iterations)
    return [(("scram", r.mechanism, r.name), secret)]


def token(r: DelegationTokenRecord, facts: Mapping[Key, Fact]) -> list[tuple[Key, Fact]]:
    """Make a token, or renew it."""
    known = (
        r.owner, r.requester, tuple(r.renewers), r.issue_timestamp, r.max_timestamp,
        r.expiration_timestamp,
    )  # fmt: skip
    return [(("token", r.token_id), known)]


SAYS: Final[Mapping[type[Message], Says]] = {
    FeatureLevelRecord: feature,
    RegisterBrokerRecord: register_broker,
    BrokerRegistrationChangeRecord: change_broker,
    FenceBrokerRecord: fence,
    UnfenceBrokerRecord: fence,
    UnregisterBrokerRecord: lambda r, _: [(("broker", r.broker_id), None)],
    RegisterControllerRecord: register_controller,
    TopicRecord: create_topic,
    RemoveTopicRecord: remove_topic,
    PartitionRecord: partition,
    PartitionChangeRecord: change_partition,
    ClearElrRecord: clear_elr,
    ConfigRecord: config,
    ClientQuotaRecord: quota,
    ProducerIdsRecord: lambda r, _: [(("producer ids",), r.next_producer_id)],
    AccessControlEntryRecord: acl,
    RemoveAccessControlEntryRecord: lambda r, _: [(("acl", r.id), None)],
    UserScramCredentialRecord: scram,
    RemoveUserScramCredentialRecord: lambda r, _: [(("scram", r.mechanism, r.name), None)],
    DelegationTokenRecord: token,
    RemoveDelegationTokenRecord: lambda r, _: [(("token", r.token_id), None)],
    NoOpRecord: lambda r, _: [],
}


def endpoints(said: Sequence[Any]) -> Endpoints:
    """Return listeners in the order of their names."""
    return tuple(sorted((e.name, e.host, e.port, e.security_protocol) for e in said))


def ranges(said: Sequence[Any]) -> Ranges:
    """Return levels of features in the order of their names."""
    return tuple(sorted((f.name, f.min_supported_version, f.max_supported_version) for f in said))


def in_order(directories: Sequence[Uuid]) -> tuple[Uuid, ...]:
    """Return directories as Kafka sorts them: as two signed numbers each."""
    return tuple(sorted(directories, key=signed))


def signed(directory: Uuid) -> tuple[int, int]:
    """Return an id as Kafka compares it."""
    return int.from_bytes(directory[:8], signed=True), int.from_bytes(directory[8:], signed=True)


def placed(directories: Sequence[Uuid], replicas: int) -> tuple[Uuid, ...]:
    """Return where replicas lie; nobody has said, where all are said to lie nowhere."""
    if all(each == ZERO_UUID for each in directories):
        return (ZERO_UUID,) * replicas
    return tuple(directories)
