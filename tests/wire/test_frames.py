"""A size, a header, a body."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.errors import RemoteProtocolError
from barnabas.wire import codec
from barnabas.wire.apis import APIS, ApiKey, request_header_version
from barnabas.wire.frames import (
    PART_BYTES_MIN,
    read_request_header,
    read_response_header,
    request_frame,
    response_frame,
    split,
)
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.controlled_shutdown import ControlledShutdownRequest
from barnabas.wire.messages.fetch import FetchResponse
from barnabas.wire.messages.headers import RequestHeader, ResponseHeader
from barnabas.wire.messages.metadata import MetadataResponse


@given(
    key=st.sampled_from(ApiKey),
    correlation_id=st.integers(-(2**31), 2**31 - 1),
    client_id=st.none() | st.text(max_size=50),
    tags=st.sampled_from(((), ((7, b"x"),), tuple((100 + n, b"") for n in range(150)))),
    data=st.data(),
)
def test_a_header_reads_as_its_message_says(
    key: ApiKey,
    correlation_id: int,
    client_id: str | None,
    tags: tuple[tuple[int, bytes], ...],
    data: st.DataObject,
) -> None:
    version = data.draw(st.sampled_from(APIS[key].versions))
    header_version = request_header_version(key, version)
    header = RequestHeader(
        request_api_key=key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id if header_version else "",
        unknown_tagged_fields=tags if header_version == 2 else (),
    )
    wire = codec.encode(header, header_version)
    said = (APIS[key], version, correlation_id, (client_id or "") if header_version else "")
    assert read_request_header(memoryview(wire + b"body")) == (*said, len(wire))
    for length in range(len(wire)):
        with pytest.raises(RemoteProtocolError):
            read_request_header(memoryview(wire)[:length])


def test_an_unknown_api_is_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="there is no API 999"):
        read_request_header(b"\x03\xe7\0\0\0\0\0\1\xff\xff")


def test_a_negative_client_id_is_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="header of Metadata v1: client id of -2 bytes"):
        read_request_header(b"\0\3\0\1\0\0\0\1\xff\xfe")


def test_a_request_frame_is_a_size_a_header_and_a_body() -> None:
    request = ApiVersionsRequest(client_software_name="n", client_software_version="v")
    assert b"".join(request_frame(request, 3, 7, "me")).hex() == (
        "00000012" "0012" "0003" "00000007" "0002" "6d65" "00" "026e" "0276" "00"
    )  # fmt: skip
    assert b"".join(request_frame(request, 0, 7, None)).hex() == (
        "0000000a" "0012" "0000" "00000007" "ffff"
    )  # fmt: skip
    shutdown = ControlledShutdownRequest(broker_id=5)
    assert b"".join(request_frame(shutdown, 0, 7, "me")).hex() == (
        "0000000c" "0007" "0000" "00000007" "00000005"
    )  # fmt: skip


def test_a_response_frame_has_tags_only_where_the_request_could_have_them() -> None:
    metadata = b"".join(response_frame(MetadataResponse(), 9, 7))
    header = codec.encode(ResponseHeader(correlation_id=7), 1)
    body = codec.encode(MetadataResponse(), 9)
    assert metadata == (len(header) + len(body)).to_bytes(4) + header + body
    assert read_response_header(metadata[4:], APIS[ApiKey.METADATA], 9) == (7, 5)
    versions = b"".join(response_frame(ApiVersionsResponse(), 3, 7))
    assert versions[4:] == b"\0\0\0\7" + codec.encode(ApiVersionsResponse(), 3)
    assert read_response_header(versions[4:], APIS[ApiKey.API_VERSIONS], 3) == (7, 4)


def test_a_response_header_cut_short_is_refused() -> None:
    for wire in (b"", b"\0\0\0", b"\0\0\0\7", b"\0\0\0\7\1"):
        with pytest.raises(RemoteProtocolError, match="header of an answer to Metadata v9"):
            read_response_header(wire, APIS[ApiKey.METADATA], 9)


def test_large_parts_leave_as_they_are_and_small_ones_together() -> None:
    large, small = bytes(PART_BYTES_MIN), b"small"
    topic = FetchResponse.FetchableTopicResponse(
        partitions=[FetchResponse.PartitionData(records=data) for data in (small, large, small)]
    )
    parts = response_frame(FetchResponse(responses=[topic]), 12, 1)
    assert [part is large for part in parts] == [False, True, False]
    size = int.from_bytes(parts[0][:4])
    assert size == sum(map(len, parts)) - 4


def test_bytes_are_cut_into_whole_frames() -> None:
    wire = memoryview(b"\0\0\0\2ab\0\0\0\1c\0\0\0\3d")
    frames, consumed, wanted, error = split(wire, 10, 1)
    assert frames == [b"ab", b"c"]
    assert consumed == 11
    assert wanted == 7
    assert error is None
    assert split(wire[:3], 10, 1) == ([], 0, 4, None)


@pytest.mark.parametrize(
    "size", [b"\0\0\0\x0b", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"]
)
def test_a_frame_of_a_size_that_nobody_may_send_is_an_error_as_soon_as_it_is_said(
    size: bytes,
) -> None:
    frames, consumed, _, error = split(memoryview(b"\0\0\0\1a" + size), 10, 1)
    assert frames == [b"a"]
    assert consumed == 5
    assert error is not None
    assert "1 to 10 are taken" in str(error)
