"""Where a broker is in sync, where nobody leads: the questions that may not cost a look at all.

    in_sync     broker ─▶ topic ─▶ 0b…010110      a bit for each partition of the topic
    eligible    broker ─▶ topic ─▶ 0b…            in the ELR (KIP-966)
    leaderships broker ─▶ how many partitions it leads
    leaderless, unpreferred, reassigning          topic ─▶ 0b…

A broker that is fenced must leave every in-sync set that it is in, and a cluster of a million
partitions has no time to look at each.  So the state that decisions are made on carries this beside
the image, and it is kept up by what changed, never made anew (C-16).

A set of partitions of one topic is an int.  It is immutable, so a state that is dropped costs
nothing; it holds a hundred partitions in forty bytes, which the garbage collector never looks at;
and what became of it is one exclusive or, whatever the order of the changes was.  The price is a
copy of the topic's bits for each change: of 125 KB, some microseconds, if a topic has a million
partitions, and of nothing that can be measured otherwise.

Which partitions lie in one log directory is not kept.  It would be as large as the rest together,
and is asked once in a directory's life, when it fails; the partitions of its broker are looked at
then.  The same holds for the partitions that a broker *leads*: every question about them but
whether there are any is asked of those in whose in-sync set it is.

Derived from the image and nothing else: soft state that every controller has, active or not.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.table import Table, by_last_byte, changed
from barnabas.metadata.topics import NO_LEADER, USUAL, Ids, Stored, TopicsDelta, TopicsImage
from barnabas.model.ids import Uuid
from barnabas.model.value import value

Places: TypeAlias = Mapping[Uuid, int]
"""Sets of partitions: by topic, a bit for each partition.  No set is empty."""

NOWHERE: Final[Table[Uuid, int]] = Table(by_last_byte, shards=256)
"""No partition.  Each of a thousand brokers has a table, so that a table has fewer shards than that
of all topics: with 1,024 of them, most of the memory would be shards of two or three topics.
"""

FEW: Final = 32
"""Up to so many bits are gathered one by one."""

BITS: Final = tuple(tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256))
"""The bits of each byte."""


@value
class PartitionIndex:
    """What can be asked of all partitions at once."""

    in_sync: Mapping[int, Table[Uuid, int]]
    """In whose ISR each broker is."""
    eligible: Mapping[int, Table[Uuid, int]]
    """In whose ELR each broker is."""
    leaderships: Mapping[int, int]
    """How many partitions each broker leads; none is 0."""
    leaderless: Table[Uuid, int]
    unpreferred: Table[Uuid, int]
    """Those that another than the first of their replicas leads, or nobody."""
    reassigning: Table[Uuid, int]
    """Those of which replicas are being added or removed."""

    def leads(self, broker: int) -> bool:
        """Tell whether a broker leads any partition."""
        return broker in self.leaderships

    def in_sync_of(self, broker: int) -> Places:
        """Return the partitions in whose ISR a broker is."""
        return self.in_sync.get(broker, NOWHERE)

    def eligible_of(self, broker: int) -> Places:
        """Return the partitions in whose ELR a broker is."""
        return self.eligible.get(broker, NOWHERE)

    def after(self, delta: TopicsDelta) -> "PartitionIndex":
        """Return the index after a change, which began where this index stands."""
        turned = Turned()
        for topic_id, topic in delta.deleted.items():
            for index, before in topic.stored.items():
                turned.turn(index, before, None)
            turned.close(topic_id)
        for topic_id, changes in delta.topics.items():
            earlier = changes.before.get
            for index, after in changes.changes.items():
                turned.turn(index, earlier(index), after)
            turned.close(topic_id)
        return PartitionIndex(
            in_sync=tables(self.in_sync, turned.in_sync),
            eligible=tables(self.eligible, turned.eligible),
            leaderships=counted(self.leaderships, turned.leaderships),
            leaderless=flipped(self.leaderless, turned.leaderless),
            unpreferred=flipped(self.unpreferred, turned.unpreferred),
            reassigning=flipped(self.reassigning, turned.reassigning),
        )


EMPTY: Final = PartitionIndex({}, {}, {}, NOWHERE, NOWHERE, NOWHERE)


def index_of(image: MetadataImage) -> PartitionIndex:
    """Return the index of an image, for one that was not followed from the beginning."""
    return EMPTY.after(TopicsDelta.between(TopicsImage({}, {}), image.topics))


def partitions_in(topics: TopicsImage, places: Places) -> Iterator[tuple[Uuid, str, int, Stored]]:
    """Yield the partitions of a set: the topic's id and name, the number, and what is stored.

    In an order that depends on the content alone.
    """
    for topic_id, mask in places.items():
        topic = topics.topics[topic_id]
        name, stored = topic.name, topic.stored
        for index in bits(mask):
            yield topic_id, name, index, stored[index]


def count(places: Places) -> int:
    """Return how many partitions a set has."""
    return sum(mask.bit_count() for mask in places.values())


class Turned:
    """The bits that are to be turned over, gathered partition by partition, topic by topic."""

    def __init__(self) -> None:
        self.in_sync: dict[int, dict[Uuid, int]] = {}
        self.eligible: dict[int, dict[Uuid, int]] = {}
        self.leaderships: dict[int, int] = {}
        self.leaderless: dict[Uuid, int] = {}
        self.unpreferred: dict[Uuid, int] = {}
        self.reassigning: dict[Uuid, int] = {}
        self._begin()

    def turn(self, index: int, before: Stored | None, after: Stored | None) -> None:
        """Take what became of a partition."""
        replicas, _, isr, leader, _, _, unusual = before or ABSENT
        replicas_after, _, isr_after, leader_after, _, _, unusual_after = after or ABSENT
        if isr is not isr_after:
            differ(self._in_sync, index, isr, isr_after)
        if unusual is not unusual_after:
            differ(self._eligible, index, unusual[2], unusual_after[2])
            if bool(unusual[0] or unusual[1]) != bool(unusual_after[0] or unusual_after[1]):
                self._reassigning.append(index)
        if leader != leader_after:
            totals = self.leaderships
            totals[leader] = totals.get(leader, 0) - 1
            totals[leader_after] = totals.get(leader_after, 0) + 1
            if NO_LEADER in (leader, leader_after):
                self._leaderless.append(index)
        # Neither is one that is not there.
        if (leader != (replicas[0] if replicas else leader)) != (
            leader_after != (replicas_after[0] if replicas_after else leader_after)
        ):
            self._unpreferred.append(index)

    def close(self, topic_id: Uuid) -> None:
        """Keep what was gathered as a topic's."""
        for totals, gathered in (
            (self.in_sync, self._in_sync),
            (self.eligible, self._eligible),
        ):
            for broker, indexes in gathered.items():
                totals.setdefault(broker, {})[topic_id] = mask_of(indexes)
        for places, indexes in (
            (self.leaderless, self._leaderless),
            (self.unpreferred, self._unpreferred),
            (self.reassigning, self._reassigning),
        ):
            if indexes:
                places[topic_id] = mask_of(indexes)
        self._begin()

    def _begin(self) -> None:
        self._in_sync: dict[int, list[int]] = {}
        self._eligible: dict[int, list[int]] = {}
        self._leaderless: list[int] = []
        self._unpreferred: list[int] = []
        self._reassigning: list[int] = []


NOBODY: Final = -2
"""Who leads a partition that is not there: not even no one."""

ABSENT: Final[Stored] = ((), (), (), NOBODY, 0, 0, USUAL)


def differ(gathered: dict[int, list[int]], index: int, before: Ids, after: Ids) -> None:
    """Note a partition for each broker that is in one of two sets and not in the other."""
    for broker in before:
        if broker not in after:
            gathered.setdefault(broker, []).append(index)
    for broker in after:
        if broker not in before:
            gathered.setdefault(broker, []).append(index)


def tables(
    before: Mapping[int, Table[Uuid, int]], turned: Mapping[int, Mapping[Uuid, int]]
) -> Mapping[int, Table[Uuid, int]]:
    """Return the tables of brokers with some bits turned over."""
    after = {
        broker: flipped(before.get(broker, NOWHERE), masks) for broker, masks in turned.items()
    }
    return changed(before, {broker: table or None for broker, table in after.items()})


def flipped(before: Table[Uuid, int], masks: Mapping[Uuid, int]) -> Table[Uuid, int]:
    """Return a table with some bits turned over."""
    return before.changed(
        {topic_id: (before.get(topic_id, 0) ^ mask) or None for topic_id, mask in masks.items()}
    )


def counted(before: Mapping[int, int], turned: Mapping[int, int]) -> Mapping[int, int]:
    """Return how many partitions each broker leads, with what was won and lost."""
    return changed(
        before,
        {
            broker: (before.get(broker, 0) + more) or None
            for broker, more in turned.items()
            if more and broker >= 0
        },
    )


def mask_of(indexes: Iterable[int]) -> int:
    """Return a set of partitions as bits."""
    gathered = list(indexes)
    if len(gathered) <= FEW:
        mask = 0
        for index in gathered:
            mask |= 1 << index
        return mask
    # One by one, each would copy all bits of a large topic.
    data = bytearray((max(gathered) >> 3) + 1)
    for index in gathered:
        data[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(data, "little")


def bits(mask: int) -> list[int]:
    """Return the partitions of a set, in order."""
    data = mask.to_bytes((mask.bit_length() + 7) >> 3, "little")
    return [place << 3 | bit for place, byte in enumerate(data) if byte for bit in BITS[byte]]
