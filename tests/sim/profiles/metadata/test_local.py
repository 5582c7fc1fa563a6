"""The twin of local changes."""

from dataclasses import replace

from barnabas.metadata.local_changes import NOTHING
from barnabas.model.ids import TopicIdPartition, Uuid
from barnabas.sim.profiles.metadata.local import Due, due, objection
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from tests.sim.profiles.metadata.committed import LEVEL, Log, committed

TOPIC = Uuid(bytes(15) + b"T")


def partition(index: int, leader: int, *replicas: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index, topic_id=TOPIC, replicas=replicas, isr=replicas, leader=leader
    )


def founded() -> Log:
    first = (partition(0, 1, 1, 2), partition(1, 2, 2, 1), partition(2, 3, 3, 2))
    return committed([LEVEL], [TopicRecord(name="orders", topic_id=TOPIC), *first])


def test_each_partition_that_is_another_is_in_one_of_the_three() -> None:
    log = founded()
    before = log.image
    found = due(log.reference, -1, before.offset, 1)
    assert found.leaders == found.elected == {(TOPIC, 0)}
    assert found.followers == {(TOPIC, 1)}
    assert set(found.directories) == {(TOPIC, 0), (TOPIC, 1)}
    log.commit(
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC, isr=(1,)),
        PartitionChangeRecord(partition_id=1, topic_id=TOPIC, leader=1),
    )
    found = due(log.reference, before.offset, log.image.offset, 1)
    assert found == Due(
        frozenset(), frozenset({(TOPIC, 0), (TOPIC, 1)}), frozenset({(TOPIC, 1)}), frozenset(), {}
    )
    before = log.image
    log.commit(
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC, replicas=(2, 3), leader=2),
        RemoveTopicRecord(topic_id=TOPIC),
    )
    assert due(log.reference, before.offset, log.image.offset, 1).deletes == {
        (TOPIC, 0),
        (TOPIC, 1),
    }
    assert not due(log.reference, before.offset, log.image.offset, 5).deletes


def test_it_agrees_with_the_product_and_says_where_something_else_does_not() -> None:
    log = founded()
    before = log.image
    log.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC, isr=(1,)))
    must = due(log.reference, before.offset, log.image.offset, 1)
    place = TopicIdPartition(TOPIC, "orders", 0)
    assert objection(NOTHING, must).startswith("leaders are none, must be")
    registration = log.image.topics.partition(TOPIC, 0)
    assert registration is not None
    right = replace(NOTHING, leaders={place: registration})
    assert not objection(right, must)
    assert objection(replace(right, elected={place: registration}), must).startswith("elected")
    assert objection(replace(right, deletes=(place,)), must).startswith("deletes")
