"""How values become bytes; round trips are in test_codec."""

from typing import Any

import pytest

from barnabas.model.errors import LocalProtocolError, UnsupportedVersionError
from barnabas.wire import codec
from barnabas.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest


def test_a_tagged_field_is_written_only_if_it_says_something() -> None:
    quiet = codec.encode(FetchRequest(), 15)
    assert quiet[-1] == 0
    replica = FetchRequest(replica_state=FetchRequest.ReplicaState(replica_id=1, replica_epoch=2))
    tag = b"\1" + b"\1" + b"\x0d" + b"\0\0\0\1" + b"\0\0\0\0\0\0\0\2" + b"\0"
    assert codec.encode(replica, 15) == quiet[:-1] + tag


def test_a_default_said_by_another_object_is_still_the_default() -> None:
    said = FetchRequest(replica_state=FetchRequest.ReplicaState())
    assert codec.encode(said, 15) == codec.encode(FetchRequest(), 15)


def test_unknown_tags_go_out_between_the_known_ones() -> None:
    request = FetchRequest(cluster_id="a", unknown_tagged_fields=((9, b"x"),))
    assert codec.encode(request, 12).endswith(b"\2" + b"\0\2\2a" + b"\x09\1x")


def test_unknown_tags_must_not_repeat_known_ones() -> None:
    request = FetchRequest(cluster_id="a", unknown_tagged_fields=((0, b"x"),))
    with pytest.raises(LocalProtocolError, match="two tagged fields have the tag 0"):
        codec.encode(request, 12)


def test_a_struct_that_may_be_null_is_preceded_by_a_byte() -> None:
    without = DescribeTopicPartitionsRequest(cursor=None)
    assert codec.encode(without, 0).hex() == "01000007d0ff00"
    at = DescribeTopicPartitionsRequest.Cursor(topic_name="t", partition_index=1)
    with_cursor = DescribeTopicPartitionsRequest(cursor=at)
    assert codec.encode(with_cursor, 0).hex() == "01000007d0010274000000010000"


def test_arrays_that_say_nothing_can_be_left_out_of_an_old_version() -> None:
    assert codec.encode(FetchRequest(forgotten_topics_data=[]), 4)
    forgotten = FetchRequest(forgotten_topics_data=[FetchRequest.ForgottenTopic(topic="t")])
    with pytest.raises(UnsupportedVersionError, match="FetchRequest v4 cannot carry forgotten"):
        codec.encode(forgotten, 4)


def test_to_ask_for_all_cannot_be_left_out_as_if_it_were_to_ask_for_nothing() -> None:
    # Version 8 asks for several groups, and has no place for the topics of a single one.
    assert codec.encode(OffsetFetchRequest(topics=()), 8)
    with pytest.raises(UnsupportedVersionError, match="topics"):
        codec.encode(OffsetFetchRequest(topics=None), 8)


def test_what_is_refused_deep_inside_names_the_message_and_the_field() -> None:
    partition = FetchRequest.FetchPartition(last_fetched_epoch=5)
    topic = FetchRequest.FetchTopic(topic="t", partitions=[partition])
    with pytest.raises(UnsupportedVersionError, match=r"FetchRequest v11.*last_fetched_epoch=5"):
        codec.encode(FetchRequest(topics=[topic]), 11)


@pytest.mark.parametrize("topics", [5, [None], [MetadataResponse()]])
def test_a_value_of_the_wrong_type_is_our_own_mistake(topics: Any) -> None:  # noqa: ANN401 -- wrong
    with pytest.raises(LocalProtocolError, match="MetadataRequest v12"):
        codec.encode(MetadataRequest(topics=topics), 12)


def test_text_with_half_a_surrogate_is_our_own_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="surrogates not allowed"):
        codec.encode(OffsetCommitRequest(group_id="\ud800"), 8)


def test_long_text_has_a_long_length() -> None:
    long = OffsetCommitRequest(group_id="g" * 200)
    assert codec.encode(long, 8).startswith(b"\xc9\x01" + b"g" * 200)
    assert codec.encode(long, 7).startswith(b"\x00\xc8" + b"g" * 200)
