"""The index says at every moment what looking at every partition would say."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.index import (
    EMPTY,
    bits,
    count,
    index_of,
    mask_of,
    partitions_in,
)
from barnabas.controller.state import BLANK, ControllerState
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY as NO_IMAGE
from barnabas.model.ids import Uuid
from barnabas.sim.profiles.control.states import naive_index, told_index
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from tests.metadata.histories import history

TOPIC = Uuid(b"t" * 16)
BRACKETS = (BeginTransactionRecord, EndTransactionRecord)


def topic(partitions: int) -> list[TopicRecord | PartitionRecord]:
    """Return the records of a topic whose partitions 1 leads, and 2 follows."""
    return [
        TopicRecord(name="orders", topic_id=TOPIC),
        *(
            PartitionRecord(
                topic_id=TOPIC, partition_id=number, replicas=(1, 2), isr=(1, 2), leader=1
            )
            for number in range(partitions)
        ),
    ]


@given(st.integers(0, 10**9), st.integers(1, 12))
def test_the_index_that_was_kept_up_is_the_one_that_would_be_made_anew(
    seed: int, batch: int
) -> None:
    written = [
        record
        for record in history(seed, 80, without=["abort"]).records
        if not isinstance(record, BRACKETS)
    ]
    state = BLANK
    for begin in range(0, len(written), batch):
        state = state.apply(written[begin : begin + batch])
        assert told_index(state.index) == naive_index(state.image)
    assert index_of(state.image) == state.index


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_jump_from_one_image_to_another_takes_the_index_along(one: int, other: int) -> None:
    states = []
    for seed in (one, other):
        records = history(seed, 60, without=["abort"]).records
        states.append(BLANK.apply([each for each in records if not isinstance(each, BRACKETS)]))
    before, after = states
    delta = Delta.between(before.image, after.image)
    assert before.after(delta, after.image).index == after.index


def test_a_broker_leads_until_its_last_partition_is_led_by_another() -> None:
    state = BLANK.apply(topic(2))
    assert state.index.leads(1)
    assert state.index.leaderships == {1: 2}
    for number in (0, 1):
        assert state.index.leads(1)
        change = PartitionChangeRecord(topic_id=TOPIC, partition_id=number, isr=(2,), leader=2)
        state = state.apply([change])
    assert not state.index.leads(1)
    assert not state.index.in_sync_of(1)
    assert count(state.index.in_sync_of(2)) == 2
    assert not state.index.eligible_of(2)


def test_partitions_come_in_order_with_their_topic() -> None:
    state = BLANK.apply(topic(40))
    found = list(partitions_in(state.image.topics, state.index.in_sync_of(2)))
    assert [number for _, _, number, _ in found] == list(range(40))
    assert {(topic_id, name) for topic_id, name, _, _ in found} == {(TOPIC, "orders")}
    assert found[3][3] == state.image.topics.partition(TOPIC, 3)


def test_nothing_is_left_of_a_topic_that_is_gone() -> None:
    state = BLANK.apply(topic(3))
    gone = state.apply([RemoveTopicRecord(topic_id=TOPIC)])
    assert gone.index == EMPTY
    assert ControllerState.of(NO_IMAGE) == BLANK
    assert count(state.index.in_sync_of(1)) == 3


@given(st.sets(st.integers(0, 700)))
def test_a_set_of_partitions_survives_being_an_int(indexes: set[int]) -> None:
    shuffled = list(indexes)
    Random(len(indexes)).shuffle(shuffled)
    assert bits(mask_of(shuffled)) == sorted(indexes)
