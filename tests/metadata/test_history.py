"""Images at any offset: of whole batches and transactions, as far back as there is anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.delta import Delta
from barnabas.metadata.faults import Unfoldable
from barnabas.metadata.history import (
    BEGINNING,
    Base,
    Reach,
    Unreachable,
    image_at,
    images_at,
    reach,
)
from barnabas.metadata.image import EMPTY
from barnabas.wire.metadata_records import decode_record
from tests.metadata.histories import history
from tests.metadata.naive import plain
from tests.metadata.stories import ABORT, BEGIN, END, LEVEL, Story, change, started, topic

SEEDS = st.integers(0, 2**32)


def told(seed: int, *cuts: int) -> tuple[Story, list[object]]:
    """Tell a random history in batches; return it with what may be seen at each offset."""
    log, story = history(seed), Story()
    for batch in log.cut(*cuts):
        story.write(*map(bytes, batch.values))
    return story, list(log.seen)


@pytest.mark.slow
@given(SEEDS, st.lists(st.integers(1, 80), max_size=12))
def test_the_image_at_an_offset_is_what_everybody_saw_there(seed: int, cuts: list[int]) -> None:
    story, seen = told(seed, *cuts)
    ends = [batch.end_offset - 1 for batch in story.batches]
    for offset in range(story.end_offset):
        image = image_at(story, offset)
        assert image.offset <= offset
        if offset in ends and seen[offset] is not None:
            assert image.offset == offset
            assert plain(image) == seen[offset]


@pytest.mark.slow
@given(SEEDS, st.lists(st.integers(1, 80), min_size=3, max_size=12))
def test_a_snapshot_in_between_changes_nothing(seed: int, cuts: list[int]) -> None:
    story, _ = told(seed, *cuts)
    expected = [image_at(story, offset) for offset in range(story.end_offset)]
    whole = story.parts
    for count in range(1, len(whole) + 1):
        story.parts = whole[:count]
        image = story.image()
        if image.features.metadata_version and image.provenance.batch_aligned:
            story.remember()
    for offset, image in enumerate(expected):
        again = image_at(story, offset)
        # A snapshot bears the time of the last record in it, as the log does.
        assert again == image


@pytest.mark.slow
@given(SEEDS, st.lists(st.integers(1, 80), max_size=12), st.integers(0, 59), st.integers(0, 59))
def test_two_images_at_once_are_those_of_their_offsets(
    seed: int, cuts: list[int], one: int, other: int
) -> None:
    story, _ = told(seed, *cuts)
    assert images_at(story, one, other) == (image_at(story, one), image_at(story, other))


def test_an_image_that_ends_where_a_transaction_begins_leads_on_as_well() -> None:
    story, _ = started()
    first = story.say(topic("one", 7), BEGIN, topic("two", 8))
    last = story.say(END, topic("three", 9))
    before, after = images_at(story, first + 2, last + 1)
    assert before.offset == first
    assert not before.provenance.batch_aligned
    assert after == image_at(story, last + 1)
    for pair in ((0, last + 2), (last + 2, 0)):
        with pytest.raises(Unreachable, match="not there yet"):
            images_at(story, *pair)


def test_what_is_inside_of_a_batch_is_answered_with_the_image_before_it() -> None:
    story, _ = started()
    end = story.end_offset - 1
    assert image_at(story, end).topics.named("orders") is not None
    assert image_at(story, end - 1).offset == end - 3
    assert image_at(story, end - 1).topics.named("orders") is None


def test_a_transaction_is_seen_from_its_end_on_and_an_aborted_one_never() -> None:
    story, _ = started()
    before = story.end_offset - 1
    story.say(BEGIN, topic("one", 7))
    story.say(topic("two", 8))
    last = story.say(END)
    story.say(BEGIN, topic("three", 9), ABORT)
    story.say(BEGIN, topic("four", 10))
    assert image_at(story, last - 1).offset == before
    assert image_at(story, last).topics.names.keys() == {"orders", "one", "two"}
    open_one = image_at(story, story.end_offset - 1)
    assert open_one.topics.names.keys() == {"orders", "one", "two"}


def test_the_history_reaches_from_the_oldest_snapshot_to_the_end() -> None:
    story, _ = started()
    first = story.remember()
    story.say(change(1, 0, leader=2))
    second = story.remember()
    last = story.say(change(1, 0, leader=3))
    assert reach(story) == Reach(0, last)
    story.forget(first.end_offset)
    assert reach(story) == Reach(first.last_offset, last)
    assert image_at(story, first.last_offset).offset == first.last_offset
    partition = image_at(story, second.last_offset).topics.named("orders")
    assert partition is not None
    for offset in (first.last_offset - 1, 0, -1):
        with pytest.raises(Unreachable, match=f"reaches from {first.last_offset} to {last}"):
            image_at(story, offset)
    with pytest.raises(Unreachable, match=f"not there yet.*to {last}"):
        image_at(story, last + 1)


def test_an_empty_log_reaches_nothing() -> None:
    with pytest.raises(Unreachable, match="nothing has been written"):
        reach(Story())


def test_a_record_that_cannot_be_applied_is_named_by_its_offset() -> None:
    story, _ = started()
    offset = story.say(change(77, 0, leader=2))
    assert image_at(story, offset - 1).offset == offset - 1
    with pytest.raises(Unfoldable, match=f"offset {offset}: PartitionChangeRecord: there is no"):
        image_at(story, offset)


def test_the_beginning_sums_up_nothing() -> None:
    assert BEGINNING.last_offset == -1
    assert Base(12, 3).last_offset == 11
    story = Story()
    story.say(LEVEL)
    assert Delta.between(EMPTY, image_at(story, 0)).features is not None
    assert decode_record(story.batches[0].values[0])[0] == LEVEL
