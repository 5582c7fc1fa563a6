"""Topics and their partitions: nearly all of what a large cluster's metadata is.

    TopicsImage ── topics: id ──▶ Topic ── partitions: number ──▶ plain tuple
                └─ names: name ─▶ id

A million partitions must fit into memory and a change of one must cost nothing that grows with
them.  So topics lie in a ``Table``, and a partition is a plain tuple of numbers and of tuples that
it shares with others: 150 bytes instead of 400, and nothing the garbage collector looks at twice
(it stops watching plain tuples of such things, and never stops watching an object of a class; the
difference is 2 against 100 ms for each full collection).  Whoever reads a partition gets it as a
``PartitionRegistration``, which is the same tuple with names.

A change names what it changes; what it leaves out stays.  ``partition_epoch`` rises with every
change and ``leader_epoch`` with every change of the leader, so a replica can tell "I lead now" from
"my followers have changed".

The delta compares with what each partition was before the update, whether it came from the log or
from a snapshot.  (Kafka loses sight of it in a snapshot and then takes everything for new.)

Fixed by Kafka's TopicsDelta.java, TopicDelta.java and PartitionRegistration.java.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from barnabas.metadata.faults import BadRecord
from barnabas.metadata.levels import DIRECTORIES, ELIGIBLE_LEADERS, Form
from barnabas.metadata.table import Table, by_tail, by_text, changed, difference
from barnabas.model.ids import ZERO_UUID, Uuid, uuid_text
from barnabas.model.value import value
from barnabas.wire.messages.stored.clear_elr_record import ClearElrRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.structs import Message

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2

RECOVERED: Final = 0
RECOVERING: Final = 1
"""Whether the leader was elected from outside of the ISR and has to be recovered (KIP-704)."""
NO_RECOVERY_CHANGE: Final = -1

MIGRATING: Final = ZERO_UUID
"""The directory of a replica of which nobody has told yet where it lies (KIP-858)."""

Ids: TypeAlias = tuple[int, ...]
Unusual: TypeAlias = tuple[Ids, Ids, Ids, Ids, int]
"""What is not empty only while something is going on: removing, adding, ELR, last known, state."""
Stored: TypeAlias = tuple[Ids, tuple[Uuid, ...], Ids, int, int, int, Unusual]

USUAL: Final[Unusual] = ((), (), (), (), RECOVERED)


class PartitionRegistration(NamedTuple):
    """A partition as the controller has registered it."""

    replicas: Ids
    directories: tuple[Uuid, ...]
    """Of each replica, in the same order."""
    isr: Ids
    leader: int
    leader_epoch: int
    partition_epoch: int
    unusual: Unusual = USUAL

    @property
    def removing_replicas(self) -> Ids:
        """The replicas that a reassignment takes away."""
        return self.unusual[0]

    @property
    def adding_replicas(self) -> Ids:
        """The replicas that a reassignment brings."""
        return self.unusual[1]

    @property
    def elr(self) -> Ids:
        """The replicas that may lead although they are not in sync (KIP-966)."""
        return self.unusual[2]

    @property
    def last_known_elr(self) -> Ids:
        """The last of those, for when none is left."""
        return self.unusual[3]

    @property
    def leader_recovery_state(self) -> int:
        """Whether the leader has to be recovered."""
        return self.unusual[4]

    def directory(self, replica: int) -> Uuid | None:
        """Return the directory of a replica; None if the broker has none."""
        return directory(self, replica)


def directory(partition: Stored, replica: int) -> Uuid | None:
    """Return the directory of a replica; None if the broker has none."""
    for broker, place in zip(partition[0], partition[1], strict=True):
        if broker == replica:
            return place
    return None


def named(partition: Stored) -> PartitionRegistration:
    """Return a partition with names for its fields."""
    return tuple.__new__(PartitionRegistration, partition)


@value
class Topic:
    """A topic."""

    name: str
    id: Uuid
    stored: Mapping[int, Stored]
    """The partitions as they are kept."""

    def partition(self, index: int) -> PartitionRegistration | None:
        """Return a partition."""
        found = self.stored.get(index)
        return None if found is None else named(found)

    def partitions(self) -> Iterator[tuple[int, PartitionRegistration]]:
        """Yield the partitions in order."""
        for index in sorted(self.stored):
            yield index, named(self.stored[index])

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the topic and its partitions as records."""
        yield form.versioned(TopicRecord(name=self.name, topic_id=self.id))
        for index, partition in self.partitions():
            yield form.versioned(partition_record(self.id, index, partition, form))


def partition_record(
    topic_id: Uuid, index: int, partition: PartitionRegistration, form: Form
) -> PartitionRecord:
    """Return a partition as a record."""
    directories, elr, last = partition.directories, partition.elr, partition.last_known_elr
    if form.level < DIRECTORIES:
        if any(place != MIGRATING for place in directories):
            form.lose("the directories of replicas")
        directories = ()
    if form.level < ELIGIBLE_LEADERS and (elr or last):
        form.lose("the eligible leaders of partitions")
        elr = last = ()
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=directories,
        # Absent rather than empty: these are fields that cost bytes only if they are there.
        eligible_leader_replicas=elr or None,
        last_known_elr=last or None,
    )


@value
class TopicsImage:
    """The topics."""

    topics: Mapping[Uuid, Topic]
    names: Mapping[str, Uuid]

    @property
    def is_empty(self) -> bool:
        """Whether there is no topic."""
        return not self.topics

    def named(self, name: str) -> Topic | None:
        """Return the topic of a name."""
        topic_id = self.names.get(name)
        return None if topic_id is None else self.topics[topic_id]

    def partition(self, topic_id: Uuid, index: int) -> PartitionRegistration | None:
        """Return a partition."""
        topic = self.topics.get(topic_id)
        return None if topic is None else topic.partition(index)

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the topics as records."""
        for topic in self.topics.values():
            yield from topic.records(form)


EMPTY: Final = TopicsImage(Table(by_tail), Table(by_text))


class TopicDelta:
    """A topic of which some partitions are others; None for one that is gone."""

    __slots__ = ("before", "changes", "id", "name")

    def __init__(self, name: str, topic_id: Uuid, before: Mapping[int, Stored]) -> None:
        self.name = name
        self.id = topic_id
        self.before = before
        """The partitions before the update: none if the topic is new."""
        self.changes: dict[int, Stored | None] = {}

    def get(self, index: int) -> Stored | None:
        """Return a partition as it is by now."""
        if index in self.changes:
            return self.changes[index]
        return self.before.get(index)

    def apply(self) -> Topic:
        """Return the topic afterwards."""
        return Topic(self.name, self.id, changed(self.before, self.changes))


TopicsRecord: TypeAlias = (
    PartitionChangeRecord | PartitionRecord | TopicRecord | RemoveTopicRecord | ClearElrRecord
)


class TopicsDelta:
    """Topics that are new, others or gone."""

    def __init__(self, image: TopicsImage) -> None:
        self.image = image
        self.topics: dict[Uuid, TopicDelta] = {}
        """The topics that are new or others."""
        self.deleted: dict[Uuid, Topic] = {}
        """The topics that were there before the update and are gone."""
        self.names: dict[str, Uuid | None] = {}
        """The names that mean another topic now, or none."""
        # One object for all tuples that are equal: most partitions have the replicas of another.
        self._shared: dict[Any, Any] = {}

    @staticmethod
    def between(image: TopicsImage, later: TopicsImage) -> "TopicsDelta":
        """Return what leads from one image to another."""
        delta = TopicsDelta(image)
        delta.names = difference(image.names, later.names)
        for topic_id, topic in difference(image.topics, later.topics).items():
            before = image.topics.get(topic_id)
            if topic is None:
                delta.deleted[topic_id] = image.topics[topic_id]
            elif before is None:
                # The partitions of a new topic are what it has: nothing is copied.
                changes = TopicDelta(topic.name, topic_id, {})
                changes.changes = topic.stored  # type: ignore[assignment]  # -- never written to again
                delta.topics[topic_id] = changes
            else:
                changes = TopicDelta(topic.name, topic_id, before.stored)
                changes.changes = difference(before.stored, topic.stored)
                delta.topics[topic_id] = changes
        return delta

    def replay(self, record: TopicsRecord) -> None:
        """Take a record about a topic."""
        match record:
            case PartitionChangeRecord():
                topic = self._topic(record.topic_id)
                before = topic.get(record.partition_id)
                if before is None:
                    raise BadRecord(
                        f"{spelled(topic, record.partition_id)} is changed and not there"
                    )
                topic.changes[record.partition_id] = self._merged(before, record)
            case PartitionRecord():
                topic = self._topic(record.topic_id)
                topic.changes[record.partition_id] = self._stored(record)
            case TopicRecord():
                self._create(record)
            case RemoveTopicRecord(topic_id=topic_id):
                self._remove(topic_id)
            case ClearElrRecord(topic_name=""):
                for topic_id in self._all_ids():
                    clear_elr(self._topic(topic_id))
            case ClearElrRecord(topic_name=name):
                found = self.names.get(name, self.image.names.get(name))
                if found is None:
                    raise BadRecord(f"the eligible leaders of topic {name!r}, which is not there")
                clear_elr(self._topic(found))

    def changes_of(self, topic_id: Uuid) -> TopicDelta | None:
        """Return what becomes of a topic, to be written into; None if it is not there by now."""
        if topic_id in self.topics or (
            topic_id in self.image.topics and topic_id not in self.deleted
        ):
            return self._topic(topic_id)
        return None

    def name_of(self, topic_id: Uuid) -> str:
        """Return the name of a topic that is there by now."""
        if topic_id in self.topics:
            return self.topics[topic_id].name
        topic = None if topic_id in self.deleted else self.image.topics.get(topic_id)
        if topic is None:
            raise BadRecord(f"there is no topic of id {uuid_text(topic_id)}")
        return topic.name

    def apply(self) -> TopicsImage:
        """Return the topics afterwards."""
        topics: dict[Uuid, Topic | None] = dict.fromkeys(self.deleted)
        topics |= {topic_id: topic.apply() for topic_id, topic in self.topics.items()}
        return TopicsImage(
            changed(self.image.topics, topics), changed(self.image.names, self.names)
        )

    def _topic(self, topic_id: Uuid) -> TopicDelta:
        """Return the changes of a topic that is there by now."""
        try:
            return self.topics[topic_id]
        except KeyError:
            name = self.name_of(topic_id)
            topic = TopicDelta(name, topic_id, self.image.topics[topic_id].stored)
            self.topics[topic_id] = topic
            return topic

    def _create(self, record: TopicRecord) -> None:
        topic_id, name = record.topic_id, record.name
        found = self.names.get(name, self.image.names.get(name))
        if found is not None and found != topic_id:
            raise BadRecord(
                f"topic {name!r} has id {uuid_text(found)}, and gets id {uuid_text(topic_id)}"
            )
        self.deleted.pop(topic_id, None)
        known = self.image.topics.get(topic_id)
        topic = TopicDelta(name, topic_id, known.stored if known else {})
        # A topic that is told again begins anew: only the partitions that follow are its own.
        topic.changes.update(dict.fromkeys(topic.before))
        self.topics[topic_id] = topic
        self.names[name] = topic_id

    def _remove(self, topic_id: Uuid) -> None:
        name = self.name_of(topic_id)
        self.topics.pop(topic_id, None)
        self.names[name] = None
        if topic_id in self.image.topics:
            self.deleted[topic_id] = self.image.topics[topic_id]

    def _all_ids(self) -> list[Uuid]:
        ids = [topic_id for topic_id in self.image.topics if topic_id not in self.deleted]
        return ids + [topic_id for topic_id in self.topics if topic_id not in self.image.topics]

    def _stored(self, record: PartitionRecord) -> Stored:
        """Return the partition that a record tells."""
        share = self._shared.setdefault
        replicas, isr = tuple(record.replicas), tuple(record.isr)
        directories = located(record, len(replicas), record.directories)
        unusual = USUAL
        if (
            record.removing_replicas
            or record.adding_replicas
            or record.eligible_leader_replicas
            or record.last_known_elr
            or record.leader_recovery_state
        ):
            unusual = (
                tuple(record.removing_replicas),
                tuple(record.adding_replicas),
                tuple(record.eligible_leader_replicas or ()),
                tuple(record.last_known_elr or ()),
                recovery_state(record, record.leader_recovery_state),
            )
        return (
            share(replicas, replicas),
            share(directories, directories),
            share(isr, isr),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            unusual,
        )

    def _merged(self, before: Stored, record: PartitionChangeRecord) -> Stored:
        """Return a partition with what a record changes."""
        share = self._shared.setdefault
        replicas, directories, isr, leader, leader_epoch, partition_epoch, unusual = before
        if record.replicas is not None:
            replicas = tuple(record.replicas)
            replicas = share(replicas, replicas)
        if record.directories is not None or record.replicas is not None:
            told = directories if record.directories is None else record.directories
            directories = located(record, len(replicas), told)
        if record.isr is not None:
            isr = tuple(record.isr)
            isr = replicas if isr == replicas else share(isr, isr)
        if record.leader != NO_LEADER_CHANGE:
            leader, leader_epoch = record.leader, leader_epoch + 1
        return (
            replicas,
            directories,
            isr,
            leader,
            leader_epoch,
            partition_epoch + 1,
            merged_unusual(unusual, record),
        )


def merged_unusual(unusual: Unusual, record: PartitionChangeRecord) -> Unusual:
    """Return what is not usual about a partition, with what a record changes of it."""
    removing, adding, elr, last, recovery = unusual
    if record.removing_replicas is not None:
        removing = tuple(record.removing_replicas)
    if record.adding_replicas is not None:
        adding = tuple(record.adding_replicas)
    if record.eligible_leader_replicas is not None:
        elr = tuple(record.eligible_leader_replicas)
    if record.last_known_elr is not None:
        last = tuple(record.last_known_elr)
    if record.leader_recovery_state != NO_RECOVERY_CHANGE:
        recovery = recovery_state(record, record.leader_recovery_state)
    after = (removing, adding, elr, last, recovery)
    return USUAL if after == USUAL else after


def located(
    record: PartitionRecord | PartitionChangeRecord, replicas: int, told: Sequence[Uuid]
) -> tuple[Uuid, ...]:
    """Return where each replica lies: nowhere yet, or one directory each."""
    if told.count(MIGRATING) == len(told):
        return (MIGRATING,) * replicas
    if len(told) != replicas:
        which = f"partition {record.partition_id} of topic {uuid_text(record.topic_id)}"
        raise BadRecord(f"{which} has {replicas} replicas in {len(told)} directories")
    return tuple(told)


def recovery_state(record: PartitionRecord | PartitionChangeRecord, state: int) -> int:
    """Return a state that there is."""
    if state not in (RECOVERED, RECOVERING):
        which = f"partition {record.partition_id} of topic {uuid_text(record.topic_id)}"
        raise BadRecord(f"{which} has leader recovery state {state}, not 0 or 1")
    return state


def clear_elr(topic: TopicDelta) -> None:
    """Forget the eligible leaders of a topic's partitions."""
    for index in sorted(topic.before.keys() | topic.changes.keys()):
        partition = topic.get(index)
        if partition is None:
            continue
        replicas, directories, isr, leader, leader_epoch, epoch, unusual = partition
        removing, adding, elr, last, recovery = unusual
        if elr or last:
            unusual = (removing, adding, (), (), recovery)
            unusual = USUAL if unusual == USUAL else unusual
            topic.changes[index] = (
                replicas, directories, isr, leader, leader_epoch, epoch + 1, unusual,
            )  # fmt: skip


def spelled(topic: TopicDelta, index: int) -> str:
    """Return what people call a partition."""
    return f"{topic.name}-{index}"
