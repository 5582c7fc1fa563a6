"""What a message is, for whoever makes one by hand."""

import pytest

from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.metadata import MetadataResponse
from barnabas.wire.structs import Scalar, array_of, int32, struct_of


def test_every_field_has_kafkas_default() -> None:
    request = FetchRequest()
    assert request.max_bytes == 0x7FFFFFFF
    assert request.session_epoch == -1
    assert request.cluster_id is None
    assert request.topics == ()
    assert request.replica_state == FetchRequest.ReplicaState(replica_id=-1, replica_epoch=-1)
    assert request.unknown_tagged_fields == ()


def test_a_name_that_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_wait'"):
        FetchRequest(max_wait=1)  # type: ignore[call-arg]  # -- what is tested
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_wait'"):
        FetchRequest(max_wait=1)  # type: ignore[call-arg]  # -- now compiled


def test_a_misspelt_attribute_is_refused_since_there_are_only_slots() -> None:
    with pytest.raises(AttributeError):
        FetchRequest().max_wait = 1  # type: ignore[attr-defined]  # -- what is tested


def test_messages_are_equal_when_they_hold_the_same() -> None:
    one = FetchRequest.ForgottenTopic(topic="t", partitions=[1, 2])
    same = FetchRequest.ForgottenTopic(topic="t", partitions=(1, 2))
    assert one == same
    assert one != FetchRequest.ForgottenTopic(topic="t", partitions=[1, 3])
    assert one != FetchRequest.ForgottenTopic(topic="t", partitions=[1])
    assert one != FetchRequest.ForgottenTopic(
        topic="t", partitions=[1, 2], unknown_tagged_fields=((9, b""),)
    )
    assert one != "t"


def test_bytes_equal_a_view_of_the_same_bytes() -> None:
    held = FetchResponse.PartitionData(records=b"abc")
    assert held == FetchResponse.PartitionData(records=memoryview(b"abc"))


def test_messages_say_what_is_not_default() -> None:
    partition = FetchRequest.FetchPartition(partition=3, fetch_offset=7)
    assert repr(partition) == "FetchRequest.FetchPartition(partition=3, fetch_offset=7)"
    assert repr(FetchRequest()) == "FetchRequest()"


def test_messages_have_no_hash_since_their_arrays_may_be_lists() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(FetchRequest())


def test_a_struct_knows_its_message() -> None:
    assert MetadataResponse.MetadataResponseTopic.MESSAGE is MetadataResponse
    assert MetadataResponse.MESSAGE is MetadataResponse
    assert MetadataResponse.API_KEY == 3


def test_arrays_repeat_scalars_and_structs_by_name() -> None:
    assert isinstance(array_of(int32).element, Scalar)
    assert array_of("Topic").element.name == struct_of("Topic").name == "Topic"
