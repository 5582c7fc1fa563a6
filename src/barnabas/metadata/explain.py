"""Why a partition is led by whom it is: each record that changed it, what that did, what caused it.

    offset 812   broker 2 was fenced
                 leader 3 elected (2 led before) · ISR shrunk by 2
                 leader epoch 4 → 5, partition epoch 9 → 10

What a record did follows from the partition before and after it (``changes``), what caused it from
the act in which it stands (``acts``, ``causes``).

Only what is said of brokers and of this one topic is decoded and folded, into an image that holds
nothing else: the history of one partition among a million costs reading a million records, and the
memory of one partition.  So a fault in a record about another topic is not found here, except for a
record of a type that nobody knows.

A topic that was deleted and made anew is two topics of one name; both are told, in order.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from barnabas.metadata.acts import OF_BROKERS, Act, Acts, Said, in_snapshot, is_wanted, kind_of
from barnabas.metadata.batches import unfoldable
from barnabas.metadata.causes import Cause, causes, told_causes
from barnabas.metadata.changes import Effect, effects
from barnabas.metadata.delta import Delta
from barnabas.metadata.faults import BadRecord
from barnabas.metadata.history import BEGINNING, Source, begun
from barnabas.metadata.image import EMPTY, MetadataImage, Provenance
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.records.checksum import Buffer
from barnabas.records.opened import OpenedBatch
from barnabas.wire.messages.stored.clear_elr_record import ClearElrRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Message

OF_PARTITIONS: Final = frozenset({PartitionRecord.API_KEY, PartitionChangeRecord.API_KEY})

PARTITION_IN_TOPIC: Final = slice(3, 23)
TOPIC_ID: Final = slice(3, 19)
"""Where a record says what it is about, behind three bytes of type and version: the number of the
partition and the id of the topic; the id of the topic that is deleted."""


@value
class Change:
    """One record that changed the partition, or the snapshot in which it was found."""

    what: str
    """``found``, ``created``, ``changed`` or ``deleted``."""
    offset: int
    epoch: int
    append_ms: int
    topic_id: Uuid
    before: PartitionRegistration | None
    after: PartitionRegistration | None
    effects: tuple[Effect, ...] = ()
    causes: tuple[Cause, ...] = ()
    others: int = 0
    """How many changes of other partitions stand in the same act."""


def explain(source: Source, topic: str, index: int) -> Iterator[Change]:
    """Yield what became of a partition, in order, as far back as the history reaches."""
    base, past = source.bases[0], Past(topic, index)
    if base != BEGINNING:
        yield from past.begin(*begun(source, base))
    for act in Acts(source.log(base.end_offset), past.matters):
        yield from past.take(act)


class Past:
    """The image of one partition and all brokers, as far as it was followed."""

    def __init__(self, topic: str, index: int) -> None:
        self.image: MetadataImage = EMPTY
        self._topic: Final = topic
        self._index: Final = index
        # Every id that the name ever had, as it is spelled in records: an aborted transaction may
        # take back a new one, so none is forgotten.
        self._ids: Final[set[bytes]] = set()
        self._partitions: Final[set[bytes]] = set()

    @property
    def partition(self) -> tuple[Uuid, PartitionRegistration] | None:
        """The partition as it is by now, and the id of its topic."""
        topic = self.image.topics.named(self._topic)
        found = None if topic is None else topic.partition(self._index)
        return None if topic is None or found is None else (topic.id, found)

    def matters(self, kind: int, data: Buffer) -> bool:
        """Tell whether a record is about the partition, or may be the cause of one that is."""
        if kind in OF_PARTITIONS:
            return bytes(data[PARTITION_IN_TOPIC]) in self._partitions
        if kind == TopicRecord.API_KEY:
            return self._is_ours(data)
        if kind == RemoveTopicRecord.API_KEY:
            return bytes(data[TOPIC_ID]) in self._ids
        return kind in OF_BROKERS or kind in (
            ConfigRecord.API_KEY, FeatureLevelRecord.API_KEY, ClearElrRecord.API_KEY,
        )  # fmt: skip

    def begin(self, place: Provenance, batches: Iterator[OpenedBatch]) -> Iterator[Change]:
        """Take a snapshot; yield the partition if it is there."""
        where = in_snapshot(place)
        for batch in batches:
            for offset, data in enumerate(batch.values, batch.base_offset):
                kind = kind_of(data, offset, where)
                if is_wanted(self.matters, kind, data, offset, where):
                    said = Said(offset, place.epoch, place.append_ms, data, where)
                    self._replay(said, said.record())
        if (found := self.partition) is not None:
            topic_id, partition = found
            at = (place.offset, place.epoch, place.append_ms)
            yield Change("found", *at, topic_id, None, partition)

    def take(self, act: Act) -> Iterator[Change]:
        """Take what was said at once; yield the records of it that changed the partition."""
        brokers = self.image.cluster.brokers
        records = [(said, said.record()) for said in act.said]
        all_told = told_causes([(said.offset, record) for said, record in records], brokers)
        own = sum(isinstance(record, PartitionChangeRecord) for _, record in records)
        for said, record in records:
            was = self.partition
            self._replay(said, record)
            now = self.partition
            if was == now:
                continue
            either = now or was
            assert either is not None, "nothing became of nothing"
            before, after = (None if each is None else each[1] for each in (was, now))
            why: tuple[Cause, ...]
            if before is None or after is None:
                what = "deleted" if after is None else "created"
                why = ends(records, said, what)
                did: tuple[Effect, ...] = ()
            else:
                what, did = "changed", effects(before, after)
                why = all_told
                if isinstance(record, PartitionChangeRecord):
                    why = causes(all_told, record, before, after, brokers)
            yield Change(
                what,
                said.offset,
                said.epoch,
                said.append_ms,
                either[0],
                before,
                after,
                did,
                why,
                act.changes - own,
            )

    def _is_ours(self, data: Buffer) -> bool:
        """Tell whether a topic has the name, and remember its id if it does."""
        record = decode_record(data)[0]
        assert isinstance(record, TopicRecord), f"{record} under the type of topics"
        if record.name != self._topic:
            return False
        self._ids.add(record.topic_id)
        self._partitions.add(self._index.to_bytes(4) + record.topic_id)
        return True

    def _replay(self, said: Said, record: Message) -> None:
        match record:
            case ConfigRecord():
                # Only ever a cause.
                return
            case ClearElrRecord(topic_name=name) if name not in ("", self._topic):
                return
            case _:
                pass
        delta = Delta(self.image)
        try:
            delta.replay(record)
        except BadRecord as error:
            raise unfoldable(f"{said.where} {said.offset}", said.data, error) from error
        self.image = delta.apply(
            Provenance(said.offset, said.epoch, said.append_ms, batch_aligned=False)
        )


def ends(records: Iterable[tuple[Said, Message]], said: Said, what: str) -> tuple[Cause, ...]:
    """Return why a partition is there, or is not any more."""
    if what == "deleted":
        return (Cause("topicDeleted", "the topic was deleted", None, said.offset),)
    for other, record in records:
        if isinstance(record, TopicRecord):
            return (Cause("topicCreated", "the topic was created", None, other.offset),)
    return (Cause("partitionsAdded", "partitions were added to the topic"),)
