"""Local changes: each partition in its one place, elections told from changed followers."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.local_changes import NOTHING, LocalChanges, local_changes
from barnabas.metadata.topics import EMPTY, TopicsDelta, TopicsImage, TopicsRecord
from barnabas.model.ids import TopicIdPartition, Uuid
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from tests.metadata.histories import BROKERS, history
from tests.metadata.naive import plain
from tests.metadata.shell import Fake, Shell

ID, NEW, D1, D2 = (Uuid(bytes([number] * 16)) for number in (1, 2, 11, 12))
ME = 1
TP = TopicIdPartition(ID, "orders", 0)


def partition(topic_id: Uuid = ID, **fields: object) -> PartitionRecord:
    """Return a partition of brokers 1 and 2, led by 1."""
    told = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "directories": [D1, D2]} | fields
    return PartitionRecord(partition_id=0, topic_id=topic_id, **told)  # type: ignore[arg-type]  # -- the fields are spelled beside what they are


def change(**fields: object) -> PartitionChangeRecord:
    """Return a change of that partition."""
    return PartitionChangeRecord(partition_id=0, topic_id=ID, **fields)  # type: ignore[arg-type]  # -- as above


TOPIC = TopicRecord(name="orders", topic_id=ID)


def image_of(*records: TopicsRecord) -> TopicsImage:
    """Return the image after some records."""
    delta = TopicsDelta(EMPTY)
    for record in records:
        delta.replay(record)
    return delta.apply()


def mine(before: TopicsImage, *records: TopicsRecord) -> LocalChanges:
    """Return what some records change for broker 1, whether they come as a log or a snapshot."""
    delta = TopicsDelta(before)
    for record in records:
        delta.replay(record)
    local = local_changes(delta, ME)
    assert local == local_changes(TopicsDelta.between(before, delta.apply()), ME)
    return local


LED = image_of(TOPIC, partition())
FOLLOWED = image_of(TOPIC, partition(leader=2))


def test_a_new_partition_is_led_or_followed_and_lies_in_a_directory() -> None:
    led = mine(EMPTY, TOPIC, partition())
    assert list(led.leaders) == list(led.elected) == [TP]
    assert (led.deletes, led.followers, led.directories) == ((), {}, {TP: D1})
    followed = mine(EMPTY, TOPIC, partition(leader=2))
    assert list(followed.followers) == [TP]
    assert (followed.leaders, followed.elected) == ({}, {})


def test_a_partition_of_others_does_not_matter() -> None:
    assert mine(EMPTY, TOPIC, partition(replicas=[2, 3])) == NOTHING
    assert local_changes(None, ME) == NOTHING


def test_a_leader_whose_followers_have_changed_was_not_elected() -> None:
    local = mine(LED, change(isr=[1]))
    assert list(local.leaders) == [TP]
    assert local.elected == {}
    assert local.directories == {}
    assert local.leaders[TP].isr == (1,)


def test_a_leader_in_a_new_epoch_was_elected_though_it_led_before() -> None:
    assert list(mine(LED, change(leader=1)).elected) == [TP]
    # Away and back in one update: the epoch tells.
    assert list(mine(LED, change(leader=2), change(leader=1)).elected) == [TP]


def test_a_follower_becomes_leader_and_a_leader_follower() -> None:
    assert list(mine(FOLLOWED, change(leader=1)).elected) == [TP]
    local = mine(LED, change(leader=2))
    assert list(local.followers) == [TP]
    assert local.leaders == {}


def test_a_replica_that_is_taken_away_is_deleted() -> None:
    local = mine(LED, change(replicas=[2, 3], directories=[D2, D1], leader=2))
    assert local == LocalChanges((TP,), {}, {}, {}, {})


def test_the_replicas_of_a_deleted_topic_are_deleted_unless_they_were_others() -> None:
    assert mine(LED, RemoveTopicRecord(topic_id=ID)).deletes == (TP,)
    others = image_of(TOPIC, partition(replicas=[2, 3]))
    assert mine(others, RemoveTopicRecord(topic_id=ID)) == NOTHING


def test_a_topic_made_anew_is_deleted_under_one_id_and_led_under_the_other() -> None:
    again = (TopicRecord(name="orders", topic_id=NEW), partition(NEW))
    local = mine(LED, RemoveTopicRecord(topic_id=ID), *again)
    assert local.deletes == (TP,)
    assert list(local.elected) == [TopicIdPartition(NEW, "orders", 0)]


def test_another_directory_is_told_and_the_same_is_not() -> None:
    moved = mine(LED, change(directories=[D2, D2]))
    assert moved.directories == {TP: D2}
    assert list(moved.leaders) == [TP]
    assert mine(LED, change(directories=[D1, D1])).directories == {}


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_every_change_is_in_exactly_one_place_and_nothing_else_is(seed: int, drawn: int) -> None:
    log, random, fake = history(seed), Random(drawn), Fake("replicas")
    shell = Shell(fake)
    batches = log.cut(*random.sample(range(len(log)), 12))
    if random.random() < 0.5:
        # The whole log as one snapshot, after some of it was known.
        writer = Shell()
        writer.commit(batches)
        known = next(offset for offset in range(6, len(log)) if log.seen[offset] is not None)
        shell.commit([log.batch(0, known + 1)])
        shell.load(writer.image)
    else:
        for batch in batches:
            shell.commit([batch], len(log))
    for publication in fake.told:
        before = plain(publication.delta.image)["topics"]
        after = plain(publication.image)["topics"]
        for broker in BROKERS:
            judge(broker, before, after, local_changes(publication.delta.topics, broker))


def judge(
    me: int,
    before: dict[bytes, dict[str, dict[int, dict[str, object]]]],
    after: dict[bytes, dict[str, dict[int, dict[str, object]]]],
    local: LocalChanges,
) -> None:
    """Compare local changes with what two images say (M-10)."""
    deletes, leaders, elected, followers = set(), set(), set(), set()
    places = {(t, p) for side in (before, after) for t in side for p in side[t]["partitions"]}
    for topic_id, index in places:
        old = before.get(topic_id, {}).get("partitions", {}).get(index)
        new = after.get(topic_id, {}).get("partitions", {}).get(index)
        had, has = (side is not None and me in side["replicas"] for side in (old, new))  # type: ignore[operator]  # -- a list
        if had and not has:
            deletes.add((topic_id, index))
        elif has and old != new:
            assert new is not None
            if new["leader"] != me:
                followers.add((topic_id, index))
                continue
            leaders.add((topic_id, index))
            if old is None or old["leader_epoch"] != new["leader_epoch"]:
                elected.add((topic_id, index))
    assert {(tp.topic_id, tp.partition) for tp in local.deletes} == deletes
    assert {(tp.topic_id, tp.partition) for tp in local.leaders} == leaders
    assert {(tp.topic_id, tp.partition) for tp in local.elected} == elected
    assert {(tp.topic_id, tp.partition) for tp in local.followers} == followers
    assert local.directories.keys() <= local.leaders.keys() | local.followers.keys()
