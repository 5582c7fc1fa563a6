"""What must hold of every state that decisions lead to, worked out the long way.

Nothing here is taken from the deciders or from the index that they use: an oracle that shares code
with what it judges would share its mistakes.  The letters and numbers are those of the project's
catalogue of invariants.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from barnabas.controller.index import PartitionIndex
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.topics import PartitionRegistration, Topic
from barnabas.model.ids import Uuid

Place = tuple[Uuid, int]


def partitions(image: MetadataImage) -> Iterator[tuple[Topic, int, PartitionRegistration]]:
    """Yield every partition."""
    for topic in image.topics.topics.values():
        for number, partition in topic.partitions():
            yield topic, number, partition


def naive_index(image: MetadataImage) -> dict[str, Any]:
    """Return what an index of the image must say, by looking at every partition (C-16)."""
    in_sync, eligible = defaultdict(set), defaultdict(set)
    leaderships: Counter[int] = Counter()
    sets: dict[str, set[Place]] = {"leaderless": set(), "unpreferred": set(), "reassigning": set()}
    for topic, number, partition in partitions(image):
        place = topic.id, number
        for broker in partition.isr:
            in_sync[broker].add(place)
        for broker in partition.elr:
            eligible[broker].add(place)
        if partition.leader >= 0:
            leaderships[partition.leader] += 1
        else:
            sets["leaderless"].add(place)
        if partition.leader != partition.replicas[0]:
            sets["unpreferred"].add(place)
        if partition.adding_replicas or partition.removing_replicas:
            sets["reassigning"].add(place)
    return {"in_sync": in_sync, "eligible": eligible, "leaderships": leaderships} | sets


def told_index(index: PartitionIndex) -> dict[str, Any]:
    """Return what an index says, spelled out."""
    return {
        "in_sync": {broker: spelled(places) for broker, places in index.in_sync.items()},
        "eligible": {broker: spelled(places) for broker, places in index.eligible.items()},
        "leaderships": dict(index.leaderships),
        "leaderless": spelled(index.leaderless),
        "unpreferred": spelled(index.unpreferred),
        "reassigning": spelled(index.reassigning),
    }


def spelled(places: Mapping[Uuid, int]) -> set[Place]:
    """Return a set of partitions, spelled out; no topic may be there for nothing."""
    assert all(places.values())
    return {
        (topic_id, number)
        for topic_id, mask in places.items()
        for number in range(mask.bit_length())
        if mask >> number & 1
    }
