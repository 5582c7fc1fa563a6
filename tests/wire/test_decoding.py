"""The rules by which bytes are refused, one by one; round trips are in test_codec."""

import pytest

from barnabas.model.errors import RemoteProtocolError
from barnabas.wire import codec
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.stored.consumer_group_member_metadata import (
    ConsumerGroupMemberMetadataValue,
)
from barnabas.wire.primitives import uvarint
from barnabas.wire.structs import Message


def refused(message: type[Message], version: int, wire: bytes) -> str:
    """Return why the bytes are refused."""
    with pytest.raises(RemoteProtocolError) as caught:
        codec.decode(message, version, memoryview(wire))
    return str(caught.value)


def fetch_12(tags: bytes) -> bytes:
    """Write a fetch request without topics that ends in these tags."""
    return codec.encode(FetchRequest(), 12)[:-1] + tags


def test_text_that_is_not_utf_8() -> None:
    assert "can't decode byte 0xff" in refused(OffsetCommitRequest, 2, b"\0\1\xff")
    assert "can't decode byte 0xc3" in refused(ProduceRequest, 9, b"\3\xc3\x28" + bytes(10))


def test_null_where_the_version_has_none() -> None:
    assert "topics is null" in refused(MetadataRequest, 0, b"\xff\xff\xff\xff")
    assert "group_id is null" in refused(OffsetCommitRequest, 2, b"\xff\xff")
    assert "group_id is null" in refused(OffsetCommitRequest, 8, b"\0")
    assert "auth_bytes is null" in refused(SaslAuthenticateRequest, 0, b"\xff\xff\xff\xff")
    assert "auth_bytes is null" in refused(SaslAuthenticateRequest, 2, b"\0\0")


def test_any_negative_length_is_null_where_null_is_allowed() -> None:
    assert codec.decode(MetadataRequest, 1, b"\xff\xff\xff\xfe").topics is None
    produce = codec.decode(ProduceRequest, 3, b"\x80\x00" + bytes(10))
    assert produce.transactional_id is None


def test_a_length_beyond_the_end() -> None:
    assert "ends after 33 of 7 bytes" in refused(SaslAuthenticateRequest, 0, b"\0\0\0\x1d...")
    assert "ends in the middle" in refused(SaslAuthenticateRequest, 2, b"\x1d...")


def test_a_tag_that_comes_twice() -> None:
    assert "tag 9 comes twice" in refused(FetchRequest, 12, fetch_12(b"\2\x09\0\x09\0"))
    assert "tag 0 comes twice" in refused(FetchRequest, 12, fetch_12(b"\2\0\2\2a\0\2\2b"))


def test_a_tag_before_its_version() -> None:
    assert "tag 1 belongs to a later version" in refused(FetchRequest, 12, fetch_12(b"\1\1\0"))


def test_a_tag_whose_size_is_not_that_of_its_content() -> None:
    assert "tag 0 has another size" in refused(FetchRequest, 12, fetch_12(b"\1\0\3\2ab"))
    assert "tag 0 of 9 bytes where 2 are left" in refused(
        FetchRequest, 12, fetch_12(b"\1\0\x09\2a")
    )


def test_tags_in_another_order_are_good_and_are_put_right_on_the_way_out() -> None:
    request = codec.decode(FetchRequest, 12, fetch_12(b"\2\x09\1x\x07\1y"))
    assert request.unknown_tagged_fields == ((9, b"x"), (7, b"y"))
    assert codec.encode(request, 12) == fetch_12(b"\2\x07\1y\x09\1x")


def test_known_and_unknown_tags_of_one_struct() -> None:
    request = codec.decode(FetchRequest, 12, fetch_12(b"\2\0\2\2a\x09\1x"))
    assert request.cluster_id == "a"
    assert request.unknown_tagged_fields == ((9, b"x"),)


def test_more_than_127_tags() -> None:
    tags = b"".join(uvarint(1000 + number) + b"\0" for number in range(200))
    request = codec.decode(FetchRequest, 12, fetch_12(uvarint(200) + tags))
    assert len(request.unknown_tagged_fields) == 200


def test_a_tagged_struct_that_may_be_null_says_so_by_a_varint() -> None:
    null = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    assert codec.encode(null, 0)[-4:] == b"\1\0\1\0"
    assert codec.decode(ConsumerGroupMemberMetadataValue, 0, codec.encode(null, 0)) == null


def test_a_boolean_is_true_unless_it_is_zero() -> None:
    wire = bytearray(codec.encode(MetadataRequest(topics=None), 4))
    wire[-1] = 2
    assert codec.decode(MetadataRequest, 4, bytes(wire)).allow_auto_topic_creation is True


def test_lengths_of_one_two_three_and_four_bytes() -> None:
    for length in (0, 126, 127, 128, 16_382, 16_383, 16_384, 2_097_150, 2_097_151, 2_097_152):
        partition = FetchResponse.PartitionData(partition_index=5, records=bytes(length))
        topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition])
        response = FetchResponse(responses=[topic])
        assert codec.decode(FetchResponse, 12, memoryview(codec.encode(response, 12))) == response


def test_arrays_of_many_numbers() -> None:
    for count in (0, 1, 15, 16, 126, 127, 128, 300):
        topic = MetadataResponse.MetadataResponseTopic(
            partitions=[MetadataResponse.MetadataResponsePartition(replica_nodes=range_of(count))]
        )
        response = MetadataResponse(topics=[topic])
        for version in (0, 12):
            assert (
                codec.decode(MetadataResponse, version, codec.encode(response, version)) == response
            )


@pytest.mark.parametrize("text", [None, "", "a", "b" * 126, "c" * 127, "d" * 300])
@pytest.mark.parametrize("version", [2, 6, 8, 9])
def test_what_follows_a_field_is_right_whether_or_not_the_field_is_there(
    version: int, text: str | None
) -> None:
    partitions = [
        OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=index, committed_metadata=text
        )
        for index in range(3)
    ]
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=partitions)
    commit = OffsetCommitRequest(group_id="g", topics=[topic, topic])
    wire = codec.encode(commit, version)
    assert codec.decode(OffsetCommitRequest, version, wire) == commit
    for length in range(len(wire)):
        with pytest.raises(RemoteProtocolError):
            codec.decode(OffsetCommitRequest, version, wire[:length])


@pytest.mark.parametrize("count", [None, 0, 1, 3, 200])
@pytest.mark.parametrize("version", [4, 11, 12])
def test_the_same_behind_an_array(version: int, count: int | None) -> None:
    transaction = FetchResponse.AbortedTransaction(producer_id=5, first_offset=6)
    partition = FetchResponse.PartitionData(
        partition_index=1,
        aborted_transactions=None if count is None else [transaction] * count,
        records=b"some records",
    )
    topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition, partition])
    response = FetchResponse(responses=[topic])
    wire = codec.encode(response, version)
    assert codec.decode(FetchResponse, version, memoryview(wire)) == response


def range_of(count: int) -> list[int]:
    """Return this many broker ids."""
    return list(range(count))
