"""What an update means to one broker: the replicas it gives up, leads or follows now.

    partition is another   ─┬─ not a replica any more ──▶ deletes
                            ├─ leads it ────────────────▶ leaders ─┬─ leader epoch rose ▶ elected
                            │                                      └─ else: ISR, replicas …
                            └─ follows it ──────────────▶ followers

Each partition that is another for this broker is in exactly one of the three (M-10).  ``elected``
tells a new leader from one whose followers have changed: only the first starts a coordinator
(KAFKA-15468).  ``directories`` are those that the controller wants a replica in, if others.

A topic that was deleted and made anew is two topics: the old one's replicas are in ``deletes``
under the old id, the new one's under theirs.

Fixed by Kafka's TopicsDelta.java, TopicDelta.java and LocalReplicaChanges.java.
"""

from collections.abc import Mapping
from typing import Final

from barnabas.metadata.topics import (
    PartitionRegistration,
    TopicDelta,
    TopicsDelta,
    directory,
    named,
)
from barnabas.model.ids import TopicIdPartition, Uuid
from barnabas.model.value import value


@value
class LocalChanges:
    """What has changed for one broker."""

    deletes: tuple[TopicIdPartition, ...]
    leaders: Mapping[TopicIdPartition, PartitionRegistration]
    elected: Mapping[TopicIdPartition, PartitionRegistration]
    """Of the leaders, those that were not before, or lead in a new epoch."""
    followers: Mapping[TopicIdPartition, PartitionRegistration]
    directories: Mapping[TopicIdPartition, Uuid]


NOTHING: Final = LocalChanges((), {}, {}, {}, {})


def local_changes(delta: TopicsDelta | None, broker_id: int) -> LocalChanges:
    """Return what an update means to a broker."""
    if delta is None:
        return NOTHING
    gathered = Gathered(broker_id)
    for topic_id, topic in sorted(delta.deleted.items()):
        for index in sorted(topic.stored):
            if broker_id in topic.stored[index][0]:
                gathered.deletes.append(TopicIdPartition(topic_id, topic.name, index))
    for _, changes in sorted(delta.topics.items(), key=lambda item: item[0]):
        gathered.take(changes)
    return LocalChanges(
        tuple(gathered.deletes),
        gathered.leaders,
        gathered.elected,
        gathered.followers,
        gathered.directories,
    )


class Gathered:
    """Local changes while they are put together."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.deletes: list[TopicIdPartition] = []
        self.leaders: dict[TopicIdPartition, PartitionRegistration] = {}
        self.elected: dict[TopicIdPartition, PartitionRegistration] = {}
        self.followers: dict[TopicIdPartition, PartitionRegistration] = {}
        self.directories: dict[TopicIdPartition, Uuid] = {}

    def take(self, topic: TopicDelta) -> None:
        """Take the changes of one topic."""
        me = self.broker_id
        for index in sorted(topic.changes):
            before, stored = topic.before.get(index), topic.changes[index]
            was_replica = before is not None and me in before[0]
            if stored is None or me not in stored[0]:
                if was_replica:
                    self.deletes.append(TopicIdPartition(topic.id, topic.name, index))
                continue
            if stored == before:
                continue
            tp, after = TopicIdPartition(topic.id, topic.name, index), named(stored)
            if after.leader == me:
                self.leaders[tp] = after
                if before is None or named(before).leader_epoch != after.leader_epoch:
                    self.elected[tp] = after
            else:
                self.followers[tp] = after
            place = directory(stored, me)
            if place is not None and (before is None or place != directory(before, me)):
                self.directories[tp] = place
