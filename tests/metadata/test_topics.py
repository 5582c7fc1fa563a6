"""Topics and partitions: each record by example, what is shared, what stays of a change."""

import gc

import pytest

from barnabas.metadata.faults import BadRecord
from barnabas.metadata.levels import Form
from barnabas.metadata.snapshot import no_loss
from barnabas.metadata.topics import (
    EMPTY,
    MIGRATING,
    NO_LEADER,
    RECOVERING,
    USUAL,
    PartitionRegistration,
    TopicsDelta,
    TopicsImage,
    TopicsRecord,
)
from barnabas.model.ids import Uuid
from barnabas.wire.messages.stored.clear_elr_record import ClearElrRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord

ID, OTHER, NEW = (Uuid(bytes([number] * 16)) for number in (1, 2, 3))
D1, D2, D3, D4 = (Uuid(bytes([number] * 16)) for number in (11, 12, 13, 14))

TOPIC = TopicRecord(name="orders", topic_id=ID)
PARTITION = PartitionRecord(
    partition_id=0,
    topic_id=ID,
    replicas=[1, 2, 3],
    isr=[1, 2],
    leader=1,
    leader_epoch=5,
    partition_epoch=9,
    directories=[D1, D2, D3],
    eligible_leader_replicas=[3],
)


def after(*records: TopicsRecord, image: TopicsImage = EMPTY) -> TopicsImage:
    """Return the image after some records, in one delta; and see that one each makes the same."""
    delta, alone = TopicsDelta(image), image
    for record in records:
        delta.replay(record)
        step = TopicsDelta(alone)
        step.replay(record)
        alone = step.apply()
    made = delta.apply()
    assert made == alone
    return made


def changed(record: PartitionChangeRecord, *more: TopicsRecord) -> PartitionRegistration:
    """Return the partition after a change."""
    found = after(TOPIC, PARTITION, record, *more).partition(ID, 0)
    assert found is not None
    return found


def change(index: int = 0, topic_id: Uuid = ID, **fields: object) -> PartitionChangeRecord:
    """Return a change of a partition."""
    return PartitionChangeRecord(partition_id=index, topic_id=topic_id, **fields)  # type: ignore[arg-type]  # -- the fields are spelled beside what they are


# --- Records ------------------------------------------------------------------------------------


def test_a_topic_is_found_by_its_id_and_by_its_name() -> None:
    image = after(TOPIC, PARTITION)
    assert image.topics[ID] is image.named("orders")
    assert image.named("clicks") is None
    assert image.partition(OTHER, 0) is None
    assert image.partition(ID, 1) is None
    assert not image.is_empty


def test_a_partition_is_what_its_record_says() -> None:
    assert after(TOPIC, PARTITION).partition(ID, 0) == PartitionRegistration(
        replicas=(1, 2, 3),
        directories=(D1, D2, D3),
        isr=(1, 2),
        leader=1,
        leader_epoch=5,
        partition_epoch=9,
        unusual=((), (), (3,), (), 0),
    )


def test_a_partition_of_an_old_record_has_directories_that_nobody_knows() -> None:
    old = PartitionRecord(partition_id=0, topic_id=ID, replicas=[1, 2], isr=[1], leader=1)
    found = after(TOPIC, old).partition(ID, 0)
    assert found is not None
    assert found.directories == (MIGRATING, MIGRATING)
    assert found.unusual is USUAL
    assert found.directory(2) == MIGRATING
    assert found.directory(3) is None


def test_a_change_of_the_isr_raises_the_partition_epoch_alone() -> None:
    before = changed(change())
    after = changed(change(isr=[1]))
    assert after == before._replace(isr=(1,))
    assert (after.leader_epoch, after.partition_epoch) == (5, 10)


def test_a_change_of_the_leader_raises_both_epochs_even_if_it_stays() -> None:
    gone = changed(change(leader=NO_LEADER))
    assert (gone.leader, gone.leader_epoch, gone.partition_epoch) == (-1, 6, 10)
    same = changed(change(leader=1))
    assert (same.leader, same.leader_epoch, same.partition_epoch) == (1, 6, 10)


def test_a_reassignment_changes_what_it_names_and_leaves_the_rest() -> None:
    moving = changed(
        change(
            replicas=[4, 1, 2, 3],
            directories=[D4, D1, D2, D3],
            adding_replicas=[4],
            removing_replicas=[3],
        )
    )
    assert moving.replicas == (4, 1, 2, 3)
    assert moving.directories == (D4, D1, D2, D3)
    assert (moving.adding_replicas, moving.removing_replicas) == ((4,), (3,))
    assert (moving.isr, moving.elr, moving.leader) == ((1, 2), (3,), 1)


def test_recovery_and_eligible_leaders_come_and_go() -> None:
    odd = changed(change(leader_recovery_state=RECOVERING, last_known_elr=[2]))
    assert (odd.leader_recovery_state, odd.elr, odd.last_known_elr) == (RECOVERING, (3,), (2,))
    usual = changed(change(eligible_leader_replicas=[], leader_recovery_state=0))
    assert usual.unusual is USUAL


def test_replicas_whose_directories_nobody_knows_may_become_more() -> None:
    unknown = change(directories=[MIGRATING] * 3)
    grown = changed(unknown, change(replicas=[1, 2, 3, 4]))
    assert grown.partition_epoch == 11
    assert grown.directories == (MIGRATING,) * 4


def test_eligible_leaders_are_cleared_where_there_are_any() -> None:
    plain = PartitionRecord(partition_id=1, topic_id=ID, replicas=[1], isr=[1], leader=1)
    clicks = TopicRecord(name="clicks", topic_id=OTHER)
    there = PartitionRecord(
        partition_id=0, topic_id=OTHER, replicas=[1], last_known_elr=[1], partition_epoch=0
    )
    before = after(TOPIC, PARTITION, plain, clicks, there)
    for name, cleared in (("orders", {ID}), ("clicks", {OTHER}), ("", {ID, OTHER})):
        image = after(ClearElrRecord(topic_name=name), image=before)
        for topic_id, epoch in ((ID, 9), (OTHER, 0)):
            found = image.partition(topic_id, 0)
            assert found is not None
            assert found.partition_epoch == epoch + (topic_id in cleared)
            assert bool(found.elr or found.last_known_elr) == (topic_id not in cleared)
        assert image.partition(ID, 1) == before.partition(ID, 1)
    # The same where topic and clearing come in one update.
    everything = (TOPIC, PARTITION, plain, clicks, there, ClearElrRecord(topic_name=""))
    assert after(*everything) == after(ClearElrRecord(topic_name=""), image=before)


def test_a_topic_is_removed_with_its_partitions_and_its_name_is_free() -> None:
    gone = after(TOPIC, PARTITION, RemoveTopicRecord(topic_id=ID))
    assert gone == EMPTY
    again = TopicRecord(name="orders", topic_id=NEW)
    remade = after(again, image=after(RemoveTopicRecord(topic_id=ID), image=after(TOPIC)))
    assert list(remade.topics) == [NEW]
    assert remade.names["orders"] == NEW


def test_a_topic_that_is_removed_and_made_anew_in_one_update_is_two_topics() -> None:
    before = after(TOPIC, PARTITION)
    delta = TopicsDelta(before)
    for record in (RemoveTopicRecord(topic_id=ID), TopicRecord(name="orders", topic_id=NEW)):
        delta.replay(record)
    assert list(delta.deleted) == [ID]
    assert list(delta.topics) == [NEW]
    assert delta.names == {"orders": NEW}
    assert delta.apply().named("orders") == delta.apply().topics[NEW]


def test_a_topic_that_is_told_again_has_only_the_partitions_that_follow() -> None:
    before = after(TOPIC, PARTITION)
    assert after(TOPIC, image=before).partition(ID, 0) is None
    assert after(TOPIC, PARTITION, image=before) == before
    assert after(RemoveTopicRecord(topic_id=ID), TOPIC, image=before).partition(ID, 0) is None


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (change(1), "orders-1 is changed and not there"),
        (change(topic_id=OTHER), "there is no topic of id AgICAgICAgICAgICAgICAg"),
        (PartitionRecord(partition_id=0, topic_id=OTHER), "there is no topic of id"),
        (RemoveTopicRecord(topic_id=OTHER), "there is no topic of id"),
        (ClearElrRecord(topic_name="clicks"), "of topic 'clicks', which is not there"),
        (TopicRecord(name="orders", topic_id=OTHER), "topic 'orders' has id AQEBAQEBAQEBAQEBAQEB"),
        (change(leader_recovery_state=7), "leader recovery state 7, not 0 or 1"),
        (change(directories=[D1]), "has 3 replicas in 1 directories"),
        (change(replicas=[1, 2]), "has 2 replicas in 3 directories"),
    ],
    ids=str,
)
@pytest.mark.parametrize("known_before", [True, False])
def test_what_no_controller_would_say_of_a_topic_is_refused(
    record: TopicsRecord, why: str, known_before: bool
) -> None:
    image = after(TOPIC, PARTITION)
    with pytest.raises(BadRecord, match=why):
        after(record, image=image) if known_before else after(TOPIC, PARTITION, record)


def test_a_removed_topic_is_not_there_any_more() -> None:
    image, removal = after(TOPIC, PARTITION), RemoveTopicRecord(topic_id=ID)
    for record in (removal, PARTITION, change(), ClearElrRecord(topic_name="orders")):
        with pytest.raises(BadRecord, match=r"no topic of id|not there"):
            after(removal, record, image=image)


# --- Deltas and memory --------------------------------------------------------------------------


def test_between_two_images_lies_what_is_new_other_or_gone_and_nothing_else() -> None:
    clicks = TopicRecord(name="clicks", topic_id=OTHER)
    second = PartitionRecord(partition_id=1, topic_id=ID, replicas=[1], isr=[1], leader=1)
    one = after(TOPIC, PARTITION, second, clicks)
    payments = TopicRecord(name="payments", topic_id=NEW)
    other = after(change(isr=[1]), RemoveTopicRecord(topic_id=OTHER), payments, image=one)
    delta = TopicsDelta.between(one, other)
    assert list(delta.deleted) == [OTHER]
    assert set(delta.topics) == {ID, NEW}
    assert list(delta.topics[ID].changes) == [0]
    assert delta.names == {"clicks": None, "payments": NEW}
    assert delta.apply() == other
    shorter = after(TOPIC, PARTITION)
    assert TopicsDelta.between(after(TOPIC, PARTITION, second), shorter).topics[ID].changes == {
        1: None
    }


def test_an_update_shares_every_topic_that_it_does_not_touch() -> None:
    clicks = TopicRecord(name="clicks", topic_id=OTHER)
    before = after(TOPIC, PARTITION, clicks)
    image = after(change(isr=[1]), image=before)
    assert image.topics[OTHER] is before.topics[OTHER]
    assert image.names is before.names
    assert before.partition(ID, 0) != image.partition(ID, 0)


def test_partitions_share_the_tuples_that_are_equal() -> None:
    more = [
        PartitionRecord(
            partition_id=index,
            topic_id=ID,
            replicas=[1, 2, 3],
            isr=[1, 2, 3],
            directories=[D1, D2, D3],
        )
        for index in range(1, 5)
    ]
    topic = after(TOPIC, PARTITION, *more, change(isr=[1, 2, 3])).named("orders")
    assert topic is not None
    stored = list(topic.stored.values())
    assert len({id(each[0]) for each in stored} | {id(each[2]) for each in stored}) == 1
    assert len({id(each[1]) for each in stored}) == 1


def test_the_garbage_collector_stops_watching_partitions() -> None:
    topic = after(TOPIC, *(PARTITION for _ in range(3))).named("orders")
    assert topic is not None
    for _ in range(3):
        gc.collect()
    assert not any(gc.is_tracked(stored) for stored in topic.stored.values())


# --- Writing ------------------------------------------------------------------------------------


def test_partitions_are_written_in_order_with_what_the_level_has_words_for() -> None:
    second = PartitionRecord(partition_id=1, topic_id=ID, replicas=[1], isr=[1], leader=1)
    image = after(TOPIC, second, PARTITION)
    [(topic, _), (first, version), (next_one, _)] = image.records(Form(23, no_loss))
    assert topic == TOPIC
    assert (first, version) == (PARTITION, 2)
    assert isinstance(next_one, PartitionRecord)
    assert (next_one.partition_id, next_one.eligible_leader_replicas) == (1, None)


@pytest.mark.parametrize(
    ("level", "version", "lost"),
    [
        (23, 2, []),
        (22, 1, ["the eligible leaders of partitions"]),
        (16, 0, ["the directories of replicas", "the eligible leaders of partitions"]),
    ],
)
def test_what_a_level_has_no_words_for_is_lost_and_told(
    level: int, version: int, lost: list[str]
) -> None:
    told: list[str] = []
    [_, (record, written)] = after(TOPIC, PARTITION).records(Form(level, told.append))
    assert written == version
    assert told == lost
    assert isinstance(record, PartitionRecord)
    assert bool(record.directories) == (version > 0)
