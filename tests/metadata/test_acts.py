"""Acts: what belongs together, and what does not."""

import pytest

from barnabas.metadata.acts import GOES_ON_RECORDS, OF_BROKERS, Act, Acts, kind_of
from barnabas.metadata.faults import Unfoldable
from barnabas.model.errors import RemoteProtocolError
from barnabas.records.checksum import Buffer
from barnabas.wire.messages.stored.no_op_record import NoOpRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.primitives import uvarint
from tests.metadata.stories import ABORT, BEGIN, END, Story, change, standing, topic


def everything(kind: int, data: Buffer) -> bool:
    """Want every record."""
    return True


def acts(story: Story) -> list[Act]:
    """Return the acts of a story."""
    return list(Acts(story.log(0), everything))


def offsets(story: Story) -> list[list[int]]:
    """Return the offsets in each act."""
    return [[said.offset for said in act.said] for act in acts(story)]


def test_a_batch_is_an_act() -> None:
    story = Story()
    story.say(change(1, 0), standing(1, 5, fenced=1))
    story.lead()
    story.say(change(1, 0))
    assert offsets(story) == [[0, 1], [3]]
    assert [act.changes for act in acts(story)] == [1, 1]


def test_a_record_knows_where_it_stands_and_what_it_says() -> None:
    story = Story()
    story.lead()
    story.say(topic("orders", 1))
    [act] = acts(story)
    [said] = act.said
    assert (said.offset, said.epoch, said.append_ms) == (1, 2, story.batches[1].append_ms)
    assert said.record() == topic("orders", 1)


def test_a_transaction_is_an_act_and_what_is_around_it_are_others() -> None:
    story = Story()
    story.say(topic("a", 1), BEGIN, topic("b", 2))
    story.say(topic("c", 3))
    story.lead()
    story.say(topic("d", 4), END, topic("e", 5))
    assert offsets(story) == [[0], [2, 3, 5], [7]]


def test_an_aborted_transaction_was_never_said() -> None:
    story = Story()
    story.say(BEGIN, change(1, 0))
    story.say(ABORT, topic("b", 2))
    assert offsets(story) == [[3]]
    assert [act.changes for act in acts(story)] == [0]


def test_what_an_open_transaction_says_is_not_known_yet() -> None:
    story = Story()
    story.say(topic("a", 1))
    story.say(BEGIN, topic("b", 2))
    found = Acts(story.log(0), everything)
    assert [[said.offset for said in act.said] for act in found] == [[0]]
    assert found.in_transaction


def test_a_full_batch_goes_on_in_the_next() -> None:
    # Kafka writes what a fenced broker loses first, and that it is fenced last.
    story = Story()
    story.say(*[change(1, 0)] * GOES_ON_RECORDS)
    story.say(change(1, 0), standing(1, 5, fenced=1))
    story.say(topic("a", 1))
    assert [len(each) for each in offsets(story)] == [GOES_ON_RECORDS + 2, 1]
    assert acts(story)[0].changes == GOES_ON_RECORDS + 1


def test_a_full_batch_that_another_leader_follows_is_an_act_of_its_own() -> None:
    story = Story()
    story.say(*[change(1, 0)] * GOES_ON_RECORDS)
    story.lead()
    story.say(topic("a", 1))
    assert [len(each) for each in offsets(story)] == [GOES_ON_RECORDS, 1]


def test_only_what_matters_is_kept_and_an_act_without_it_is_passed_over() -> None:
    story = Story()
    story.say(topic("a", 1))
    story.say(change(1, 0), standing(1, 5, fenced=1))
    found = list(Acts(story.log(0), lambda kind, _: kind in OF_BROKERS))
    assert [[said.offset for said in act.said] for act in found] == [[2]]
    assert found[0].changes == 1


def test_a_record_of_a_type_that_nobody_knows_is_named_with_the_way_out() -> None:
    story = Story()
    story.say(NoOpRecord())
    story.write(uvarint(1) + uvarint(99) + uvarint(0))
    with pytest.raises(Unfoldable, match=r"offset 1: metadata record of type 99: .*newer release"):
        acts(story)


def test_a_type_that_takes_two_bytes_is_read_as_well() -> None:
    data = uvarint(1) + uvarint(300) + uvarint(0)
    with pytest.raises(Unfoldable, match="metadata record of type 300"):
        kind_of(data, 7)
    # The same number in more bytes than it needs.
    assert kind_of(b"\x01\x82\x00\x00", 7) == TopicRecord.API_KEY


def test_bytes_that_are_no_record_are_named() -> None:
    story = Story()
    story.write(b"\x05")
    with pytest.raises(Unfoldable, match="offset 0: metadata record"):
        acts(story)


def test_who_cannot_read_what_might_matter_names_it() -> None:
    story = Story()
    story.write(encode_record(topic("a", 1), 0))

    def unreadable(kind: int, data: Buffer) -> bool:
        raise RemoteProtocolError("what is this")

    with pytest.raises(Unfoldable, match="offset 0: TopicRecord: what is this"):
        list(Acts(story.log(0), unreadable))


def test_a_record_of_an_unknown_version_is_named_when_it_is_read() -> None:
    story = Story()
    story.write(uvarint(1) + uvarint(TopicRecord.API_KEY) + uvarint(9))
    [act] = acts(story)
    with pytest.raises(Unfoldable, match=r"offset 0: TopicRecord: .*version 9.*newer release"):
        act.said[0].record()
