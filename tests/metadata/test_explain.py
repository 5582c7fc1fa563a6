"""One partition's history: each record that changed it, and why, and none that did not."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.explain import Change, explain
from barnabas.metadata.faults import Unfoldable
from barnabas.metadata.fold import BatchFold
from barnabas.metadata.image import EMPTY
from barnabas.metadata.publication import NO_LEADER_YET
from barnabas.metadata.topics import PartitionRegistration
from barnabas.records.snapshot import snapshot_batches
from barnabas.wire.messages.stored.clear_elr_record import ClearElrRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.primitives import uvarint
from tests.metadata.histories import NAMES, history
from tests.metadata.stories import (
    ABORT,
    BEGIN,
    END,
    Story,
    change,
    partition,
    standing,
    started,
    topic,
    uuid,
)


def orders(story: Story, index: int = 0) -> list[Change]:
    """Return what became of a partition of ``orders`` behind its creation."""
    found = list(explain(story, "orders", index))
    assert found[0].what == "created"
    return found[1:]


def why(changes: list[Change]) -> list[tuple[str, list[str], list[str]]]:
    """Return what each record did, and the causes and effects by their names."""
    return [
        (
            change.what,
            [cause.what for cause in change.causes],
            [effect.what for effect in change.effects],
        )
        for change in changes
    ]


def test_a_partition_is_created_with_its_topic_or_added_to_it() -> None:
    story, _ = started()
    [created] = explain(story, "orders", 0)
    assert (created.what, created.before, created.topic_id) == ("created", None, uuid(1))
    assert created.after is not None
    assert created.after.leader == 1
    [cause] = created.causes
    assert (cause.what, cause.offset) == ("topicCreated", created.offset - 1)
    offset = story.say(partition(1, 2, 3, 1))
    [added] = explain(story, "orders", 2)
    assert (added.offset, [cause.what for cause in added.causes]) == (offset, ["partitionsAdded"])


def test_a_fence_takes_the_lead_from_its_broker_and_stands_behind_what_it_brings() -> None:
    story, epochs = started()
    offset = story.say(
        change(1, 0, leader=2, isr=(2, 3)),
        change(1, 1, isr=(2, 3)),
        standing(1, epochs[1], fenced=1),
    )
    [changed] = orders(story)
    assert why([changed]) == [("changed", ["fenced"], ["leaderElected", "isrShrunk"])]
    assert (changed.offset, changed.causes[0].offset) == (offset, offset + 2)
    assert changed.others == 1
    assert changed.before is not None
    assert changed.after is not None
    assert (changed.before.leader_epoch, changed.before.partition_epoch) == (0, 0)
    assert (changed.after.leader_epoch, changed.after.partition_epoch) == (1, 1)
    assert why(orders(story, 1)) == [("changed", ["fenced"], ["isrShrunk"])]


def test_a_drain_goes_on_after_the_act_that_began_it() -> None:
    story, epochs = started()
    story.say(standing(1, epochs[1], in_controlled_shutdown=1), change(1, 0, isr=(1,)))
    story.say(change(1, 0, isr=(2, 1)))
    story.say(change(1, 0, leader=2, isr=(2,)))
    story.say(standing(1, epochs[1], fenced=1))
    assert why(orders(story)) == [
        ("changed", ["stopping"], ["isrShrunk"]),
        ("changed", ["alterPartition"], ["isrGrown"]),
        ("changed", ["stopping"], ["leaderElected", "isrShrunk"]),
    ]


def test_a_transaction_is_one_act_and_an_aborted_one_leaves_nothing() -> None:
    story, epochs = started()
    story.say(BEGIN, change(1, 0, leader=2, isr=(2, 3)))
    story.say(standing(1, epochs[1], fenced=1), END)
    story.say(BEGIN, change(1, 0, leader=3), ABORT)
    story.say(BEGIN, RemoveTopicRecord(topic_id=uuid(1)), topic("orders", 9), ABORT)
    story.say(change(1, 0, isr=(2, 3, 1)))
    story.say(BEGIN, change(1, 0, leader=1))
    assert [(each.what, each.causes[0].what) for each in orders(story)] == [
        ("changed", "fenced"),
        ("changed", "alterPartition"),
    ]


def test_a_topic_that_is_deleted_and_made_anew_is_two() -> None:
    story, _ = started()
    story.say(RemoveTopicRecord(topic_id=uuid(1)))
    story.say(topic("orders", 2), partition(2, 0, 3))
    story.say(change(2, 0, leader=-1))
    deleted, created, lost = orders(story)
    assert (deleted.what, deleted.after) == ("deleted", None)
    assert deleted.causes[0].what == "topicDeleted"
    assert (created.what, created.topic_id) == ("created", uuid(2))
    assert lost.effects[0].what == "leaderLost"


def test_clearing_the_eligible_leaders_is_told_where_there_were_any() -> None:
    story, _ = started()
    story.say(change(1, 0, isr=(1,), eligible_leader_replicas=(2,)))
    story.say(topic("other", 5))
    story.say(ClearElrRecord(topic_name="other"))
    story.say(ClearElrRecord(topic_name="orders"))
    story.say(ClearElrRecord(topic_name=""))
    assert why(orders(story))[1:] == [("changed", ["eligibleCleared"], ["notEligible"])]


def test_a_config_is_a_cause_and_nothing_else() -> None:
    story, _ = started()
    config = ConfigRecord(
        resource_type=2, resource_name="orders", name="min.insync.replicas", value="2"
    )
    story.say(config)
    story.say(config, change(1, 0, eligible_leader_replicas=(2,)))
    assert why(orders(story)) == [("changed", ["configSet"], ["eligible"])]


def test_what_a_snapshot_sums_up_is_how_the_partition_was_found() -> None:
    story, _ = started()
    story.say(change(1, 0, leader=2))
    base = story.remember()
    story.say(change(1, 0, leader=3))
    whole = list(explain(story, "orders", 0))
    story.forget(base.end_offset)
    found, elected = explain(story, "orders", 0)
    assert (found.what, found.offset, found.append_ms) == (
        "found",
        base.last_offset,
        whole[1].append_ms,
    )
    assert found.after == whole[1].after
    assert elected == whole[2]
    # What was created since then is not in the snapshot.
    assert list(explain(story, "payments", 0)) == []
    story.say(topic("payments", 6), partition(6, 0, 1))
    assert [each.what for each in explain(story, "payments", 0)] == ["created"]


def test_a_partition_that_never_was_has_no_history() -> None:
    story, _ = started()
    assert list(explain(story, "orders", 7)) == []
    assert list(explain(story, "nobody", 0)) == []


def test_what_cannot_be_understood_is_named_by_its_offset() -> None:
    story, epochs = started()
    offset = story.say(standing(1, epochs[1] + 1, fenced=1))
    with pytest.raises(Unfoldable, match=f"offset {offset}: BrokerRegistrationChange.*epoch"):
        list(explain(story, "orders", 0))
    story, _ = started()
    offset = story.say(RemoveTopicRecord(topic_id=uuid(1)))
    story.say(change(1, 0, leader=2))
    with pytest.raises(Unfoldable, match=f"offset {offset + 1}: PartitionChange.*there is no"):
        list(explain(story, "orders", 0))
    story, _ = started()
    offset = story.write(uvarint(1) + uvarint(TopicRecord.API_KEY) + uvarint(7) + b"\0")
    with pytest.raises(Unfoldable, match=f"offset {offset}: TopicRecord: .*newer release"):
        list(explain(story, "orders", 0))


def test_what_is_wrong_in_a_snapshot_is_named_by_its_file() -> None:
    story, _ = started()
    base = story.remember()
    story.forget(base.end_offset)
    story.snapshots[base] = file_of(uvarint(1) + uvarint(99) + uvarint(0))
    with pytest.raises(Unfoldable, match=r"checkpoint, record 1: .*type 99"):
        list(explain(story, "orders", 0))
    story.snapshots[base] = file_of(encode_record(partition(1, 0, 1), 2))
    assert list(explain(story, "orders", 0)) == []
    recovering = partition(1, 0, 1, leader_recovery_state=7)
    values = encode_record(topic("orders", 1), 0), encode_record(recovering, 2)
    story.snapshots[base] = file_of(*values)
    with pytest.raises(Unfoldable, match=r"checkpoint, record 2: PartitionRecord: .*state 7"):
        list(explain(story, "orders", 0))


def file_of(*values: bytes) -> bytes:
    """Return a snapshot of some records, in bytes."""
    return b"".join(snapshot_batches(2, 0, bytes(11), values, bytes(3)))


@pytest.mark.slow
@given(st.integers(0, 2**32), st.lists(st.integers(1, 80), max_size=12))
def test_every_change_that_anybody_could_see_is_told(seed: int, cuts: list[int]) -> None:
    log, story = history(seed), Story()
    for batch in log.cut(*cuts):
        story.write(*map(bytes, batch.values))
    seen: dict[tuple[str, int], list[PartitionRegistration | None]] = {
        (name, index): [None] for name in NAMES for index in range(3)
    }
    fold = BatchFold(EMPTY)
    for batch in story.batches:
        publications = [*fold.load(batch, NO_LEADER_YET), *fold.flush(NO_LEADER_YET)]
        for publication in publications:
            for (name, index), states in seen.items():
                topic = publication.image.topics.named(name)
                now = None if topic is None else topic.partition(index)
                if now != states[-1]:
                    states.append(now)
    for (name, index), states in seen.items():
        told = list(explain(story, name, index))
        # One publication may hold several changes; each that was seen is among what is told.
        after = iter([None, *(change.after for change in told)])
        assert all(any(state == each for each in after) for state in states)
        assert all(one.after == following.before for one, following in pairwise(told))
        assert (told[-1].after if told else None) == states[-1]
