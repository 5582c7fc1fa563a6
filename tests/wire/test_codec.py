"""Messages to bytes and back, every one in every version."""

import subprocess
import sys
import traceback
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.model.errors import (
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    UnsupportedVersionError,
)
from barnabas.wire import codec
from barnabas.wire.messages import message_class, message_names
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.structs import Message
from tests.wire.instances import messages

PRODUCE_9 = bytes.fromhex(
    "00"  # transactional id: null
    "ffff" "000005dc"  # acks, timeout
    "02"  # one topic
    "05" "746f7069"  # topic name, "topi"
    "02"  # one partition
    "00000007"  # index
    "04" "010203"  # records
    "00" "00" "00"  # no tags in partition, topic, request
)  # fmt: skip

PRODUCE_3 = bytes.fromhex(
    "ffff" "ffff" "000005dc"
    "00000001" "0004" "746f7069"
    "00000001" "00000007" "00000003" "010203"
)  # fmt: skip


def a_produce_request() -> ProduceRequest:
    """Return what the bytes above say."""
    partition = ProduceRequest.PartitionProduceData(index=7, records=b"\1\2\3")
    topic = ProduceRequest.TopicProduceData(name="topi", partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=1500, topic_data=[topic])


@pytest.mark.parametrize("name", message_names())
@settings(max_examples=2, suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow])
@given(data=st.data())
def test_what_is_written_reads_as_the_same(name: str, data: st.DataObject) -> None:
    message = message_class(name)
    for version in codec.versions(message):
        drawn = data.draw(messages(message, version))
        written = codec.encode(drawn, version)
        assert codec.decode(message, version, written) == drawn
        assert codec.decode(message, version, memoryview(written)) == drawn
        assert b"".join(map(bytes, codec.encode_parts(drawn, version))) == written


@pytest.mark.parametrize(("version", "wire"), [(9, PRODUCE_9), (3, PRODUCE_3)])
def test_a_produce_request_is_these_bytes(version: int, wire: bytes) -> None:
    assert codec.encode(a_produce_request(), version) == wire
    assert codec.decode(ProduceRequest, version, memoryview(wire)) == a_produce_request()


def test_an_api_versions_answer_is_these_bytes() -> None:
    produce = ApiVersionsResponse.ApiVersion(api_key=0, min_version=0, max_version=13)
    answer = ApiVersionsResponse(api_keys=[produce], zk_migration_ready=True)
    assert codec.encode(answer, 0).hex() == "00000000000100000000000d"
    assert codec.encode(answer, 3).hex() == (
        "0000" "02" "0000" "0000" "000d" "00" "00000000"  # error, one API, no tags, throttle time
        "01" "03" "01" "01"  # one tag: 3, of one byte, true
    )  # fmt: skip
    assert codec.decode(ApiVersionsResponse, 3, codec.encode(answer, 3)) == answer


def test_record_data_is_a_view_of_the_bytes_that_came() -> None:
    frame = bytearray(PRODUCE_9)
    request = codec.decode(ProduceRequest, 9, memoryview(frame))
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    frame[frame.index(b"\1\2\3")] = 9
    assert bytes(records) == b"\x09\2\3"


def test_record_data_leaves_as_the_part_it_came_in() -> None:
    data = memoryview(bytes(100_000))
    partition = FetchResponse.PartitionData(records=data)
    topic = FetchResponse.FetchableTopicResponse(partitions=[partition])
    parts = codec.encode_parts(FetchResponse(responses=[topic]), 12)
    assert any(part is data for part in parts)


def test_anything_with_a_length_may_stand_for_record_data() -> None:
    class FileSlice:
        def __len__(self) -> int:
            return 1000

    slice_of_a_file = FileSlice()
    partition = FetchResponse.PartitionData(records=slice_of_a_file)  # type: ignore[arg-type]  # -- no bytes
    topic = FetchResponse.FetchableTopicResponse(partitions=[partition])
    parts = codec.encode_parts(FetchResponse(responses=[topic]), 4)
    assert parts[-1] is slice_of_a_file
    assert parts[-2].endswith((1000).to_bytes(4))


@pytest.mark.parametrize(("version", "wire"), [(9, PRODUCE_9), (3, PRODUCE_3)])
def test_a_message_cut_short_anywhere_is_refused(version: int, wire: bytes) -> None:
    for length in range(len(wire)):
        with pytest.raises(RemoteProtocolError, match=rf"ProduceRequest v{version}: ends"):
            codec.decode(ProduceRequest, version, memoryview(wire)[:length])


def test_bytes_left_over_are_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="ends after 25 of 26 bytes"):
        codec.decode(ProduceRequest, 9, PRODUCE_9 + b"\0")


@settings(max_examples=150)
@given(data=st.data())
def test_damage_makes_a_protocol_error_and_nothing_else(data: st.DataObject) -> None:
    message = message_class(data.draw(st.sampled_from(message_names())))
    version = data.draw(st.sampled_from(codec.versions(message)))
    wire = bytearray(codec.encode(data.draw(messages(message, version)), version))
    for _ in range(data.draw(st.integers(1, 3))):
        if wire:
            wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(
                st.sampled_from((0, 1, 0x7F, 0x80, 0xFF))
            )
    try:
        read = codec.decode(message, version, memoryview(wire))
    except RemoteProtocolError:
        return
    codec.encode(read, version)


def test_an_array_that_claims_more_than_there_is_allocates_nothing() -> None:
    lies: list[tuple[type[Message], int, bytes]] = [
        (MetadataRequest, 1, b"\x7f\xff\xff\xff"),
        (MetadataRequest, 12, b"\xff\xff\xff\xff\x07"),
        (FetchRequest, 4, bytes(17) + b"\x7f\xff\xff\xff"),
    ]
    for message, version, wire in lies:
        codec.decoder(message, version)
        tracemalloc.start()
        try:
            with pytest.raises(RemoteProtocolError, match="where 0 bytes are left"):
                codec.decode(message, version, wire)
            assert tracemalloc.get_traced_memory()[1] < 20_000
        finally:
            tracemalloc.stop()


def test_a_version_that_never_was_is_our_own_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="FetchRequest has no version 99; it has 0 to 18"):
        codec.decode(FetchRequest, 99, b"")
    with pytest.raises(LocalProtocolError, match="FetchRequest has no version -1"):
        codec.encode(FetchRequest(), -1)


def test_what_a_version_cannot_carry_is_dropped_only_if_nobody_minds() -> None:
    rack = FetchRequest(rack_id="r1")  # ignorable, from version 11
    assert codec.encode(rack, 10) == codec.encode(FetchRequest(), 10)
    transactional = ProduceRequest(transactional_id="t1")  # from version 3
    with pytest.raises(UnsupportedVersionError, match="v2 cannot carry transactional_id='t1'"):
        codec.encode(transactional, 2)


def test_null_has_no_form_where_the_version_has_none() -> None:
    every_topic = MetadataRequest(topics=None)  # null from version 1
    assert codec.encode(every_topic, 1)[:4] == b"\xff\xff\xff\xff"
    with pytest.raises(LocalProtocolError, match="MetadataRequest v0"):
        codec.encode(every_topic, 0)


def test_a_number_that_does_not_fit_is_our_own_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="FetchRequest v12"):
        codec.encode(FetchRequest(max_wait_ms=2**31), 12)


def test_a_traceback_shows_the_lines_that_were_written() -> None:
    with pytest.raises(ProtocolError) as caught:
        codec.decode(ApiVersionsRequest, 3, b"\x02\xff")
    story = "".join(traceback.format_exception(caught.value))
    assert "ApiVersionsRequest.v3.decode" in story
    assert "message.client_software_name = buf[pos + 1:stop].decode()" in story


def test_the_written_code_can_be_read_by_asking_for_it() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "barnabas.wire.codec", "FetchRequest", "12"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for function in ("def decode(", "def encode(", "def read_tags(", "def write_tags("):
        assert function in shown
