"""Both ends of a connection, talking to each other in any chunks the network likes."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.errors import ErrorCode, LocalProtocolError, RemoteProtocolError
from barnabas.wire import codec
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.connection import (
    CORRELATION_ID_MAX,
    ClientConnection,
    IncomingRequest,
    IncomingResponse,
    ServerConnection,
)
from barnabas.wire.frames import request_frame
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.wire.messages.produce import ProduceRequest, ProduceResponse
from barnabas.wire.structs import Response

SERVED = ServedApis("broker", [ApiKey.PRODUCE, ApiKey.METADATA, ApiKey.API_VERSIONS])


def joined(parts: list[memoryview]) -> memoryview:
    """Put on the wire what an end has to send."""
    return memoryview(b"".join(parts))


def produce(number: int) -> ProduceRequest:
    """Make a request that can be told from others."""
    data = ProduceRequest.PartitionProduceData(index=number, records=bytes(number % 300))
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[data])
    return ProduceRequest(acks=1, topic_data=[topic])


def produced(number: int) -> ProduceResponse:
    """Make the answer to it."""
    partition = ProduceResponse.PartitionProduceResponse(index=number, base_offset=number)
    topic = ProduceResponse.TopicProduceResponse(name="t", partition_responses=[partition])
    return ProduceResponse(responses=[topic])


def answer_to(request: IncomingRequest) -> Response:
    """Answer as a broker would that does nothing else."""
    match request.message:
        case ProduceRequest(topic_data=[topic]):
            return produced(topic.partition_data[0].index)
        case MetadataRequest():
            return MetadataResponse(cluster_id="c")
        case other:
            raise AssertionError(f"nobody asked {other}")


class Wire:
    """One direction of a connection, which shows its end what is not consumed, as it grows."""

    def __init__(self, end: ServerConnection | ClientConnection) -> None:
        self.end = end
        self.kept = b""
        self.arrived: list[IncomingRequest | IncomingResponse] = []

    def carry(self, data: bytes, cuts: list[int]) -> None:
        """Deliver bytes in chunks."""
        bounds = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
        for start, stop in pairwise(bounds):
            self.kept += data[start:stop]
            wanted = self.end.wanted_bytes
            consumed, arrived, error = self.end.receive(memoryview(self.kept))
            assert error is None
            self.arrived += arrived
            self.kept = self.kept[consumed:]
            # It has no use for less than it wanted, and wants more than it left.
            assert consumed == 0 or consumed >= wanted
            assert self.end.wanted_bytes > len(self.kept)


@given(
    numbers=st.lists(st.integers(0, 1000), min_size=1, max_size=8),
    versions=st.lists(st.integers(3, 12), min_size=8, max_size=8),
    cuts=st.lists(st.integers(0, 5000), max_size=20),
    order=st.randoms(use_true_random=False),
)
def test_answers_come_in_the_order_of_the_requests_however_they_become_ready(
    numbers: list[int], versions: list[int], cuts: list[int], order: Random,
) -> None:  # fmt: skip
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    asked, answered = Wire(server), Wire(client)
    ids = [
        client.send(produce(number), version)
        for number, version in zip(numbers, versions, strict=False)
    ]
    asked.carry(bytes(joined(client.to_send())), cuts)
    requests = [one for one in asked.arrived if isinstance(one, IncomingRequest)]
    assert [request.message for request in requests] == [produce(number) for number in numbers]
    assert {request.client_id for request in requests} == {"me"}

    shuffled = list(requests)
    order.shuffle(shuffled)
    sent = bytearray()
    for request in shuffled:
        server.reply(request, answer_to(request))
        sent += joined(server.to_send())
    answered.carry(bytes(sent), cuts)
    responses = [one for one in answered.arrived if isinstance(one, IncomingResponse)]
    assert [response.correlation_id for response in responses] == ids
    assert [response.message for response in responses] == [produced(number) for number in numbers]
    assert not server.unanswered
    assert not client.awaited


def test_an_answer_waits_for_those_before_it() -> None:
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    client.send(produce(1), 9)
    client.send(MetadataRequest(), 12)
    _, [first, second], _ = server.receive(joined(client.to_send()))
    server.reply(second, answer_to(second))
    assert server.to_send() == []
    server.reply(first, answer_to(first))
    _, responses, _ = client.receive(joined(server.to_send()))
    assert [response.api.key for response in responses] == [ApiKey.PRODUCE, ApiKey.METADATA]


def test_a_request_that_gets_no_answer_holds_nobody_up() -> None:
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    client.send(produce(1), 9, answered=False)
    client.send(produce(2), 9)
    _, [unanswered, asked], _ = server.receive(joined(client.to_send()))
    server.reply(asked, produced(2))
    assert server.to_send() == []
    server.reply(unanswered, None)
    _, [response], error = client.receive(joined(server.to_send()))
    assert response.message == produced(2)
    assert error is None


def test_answering_twice_is_a_bug() -> None:
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    client.send(produce(1), 9)
    _, [request], _ = server.receive(joined(client.to_send()))
    server.reply(request, None)
    with pytest.raises(AssertionError, match="Produce was answered twice"):
        server.reply(request, None)


def test_records_of_a_request_are_views_of_the_bytes_shown() -> None:
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    client.send(produce(5), 9)
    data = bytearray(joined(client.to_send()))
    _, [request], _ = server.receive(memoryview(data))
    assert isinstance(request.message, ProduceRequest)
    records = request.message.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is data


def test_an_unknown_version_of_api_versions_is_answered_in_version_0() -> None:
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    # A client of the year 2040: a version, a header and a body that nobody knows yet.
    future = b"\0\x12\0\x63" + b"\0\0\0\7" + b"\0\2me" + b"\0" + b"who knows"
    client.send(ApiVersionsRequest(), 4)
    client.to_send()
    consumed, requests, error = server.receive(
        memoryview(len(future).to_bytes(4) + future.replace(b"\0\0\0\7", b"\0\0\0\0"))
    )
    assert (consumed, requests, error) == (4 + len(future), [], None)
    _, [response], _ = client.receive(joined(server.to_send()))
    assert response.version == 0
    assert response.message == ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4)],
    )


def test_that_answer_too_waits_for_those_before_it() -> None:
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    client.send(produce(1), 9)
    unknown = b"\0\x12\0\x63" + b"\0\0\0\1" + b"\xff\xff" + b"\0"
    _, [request], _ = server.receive(
        memoryview(bytes(joined(client.to_send())) + len(unknown).to_bytes(4) + unknown)
    )
    assert server.to_send() == []
    server.reply(request, produced(1))
    client.awaited.append((1, SERVED.apis[ApiKey.API_VERSIONS], 4))
    _, responses, error = client.receive(joined(server.to_send()))
    assert [response.api.key for response in responses] == [ApiKey.PRODUCE, ApiKey.API_VERSIONS]
    assert error is None


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (b"".join(request_frame(FetchRequest(), 12, 1, "me"))[4:], "Fetch is not served by this"),
        (b"\x03\xe7\0\0\0\0\0\1\xff\xff", "there is no API 999"),
        (b"\0\0\0\2\0\0\0\1\xff\xff", "Produce v2: 3 to 13 are served"),
        (b"\0\0\0\x0e\0\0\0\1\xff\xff", "header of Produce v14"),
        (b"\0\0\0\x0e\0\0\0\1\xff\xff\0", "Produce v14: 3 to 13 are served"),
        (b"\0\3\0\1\0\0\0\1\xff\xff\0\0\0\1", "MetadataRequest v1: ends in the middle of a field"),
        (b"\0\3\0\1\0\0\0\1\xff\xff\0\0\0\0!", "Metadata v1: ends after 14 of 15 bytes"),
        (b"\0\3\0\1\0\0", "frame of 6 bytes; 8 to 1000 are taken"),
        (bytes(1001), "frame of 1001 bytes; 8 to 1000 are taken"),
    ],
)  # fmt: skip
def test_a_bad_frame_is_an_error_and_nothing_after_it_counts(frame: bytes, why: str) -> None:
    good = b"".join(request_frame(produce(1), 9, 0, "me"))
    server = ServerConnection(SERVED, frame_bytes_max=1000)
    data = memoryview(good + len(frame).to_bytes(4) + frame + good)
    consumed, [request], error = server.receive(data)
    assert consumed == len(data)
    assert isinstance(error, RemoteProtocolError)
    assert why in str(error)
    assert server.receive(memoryview(good)) == (len(good), [], error)
    # What came before the bad frame may still be answered.
    server.reply(request, produced(1))
    assert server.to_send()


def test_a_frame_that_claims_to_be_large_asks_for_its_bytes_and_for_no_more() -> None:
    server = ServerConnection(SERVED)
    assert server.wanted_bytes == 4
    assert server.receive(memoryview(b"\0\1\0\0\0\0")) == (0, [], None)
    assert server.wanted_bytes == 4 + 65536


def test_an_answer_to_another_question_is_an_error() -> None:
    client = ClientConnection("me")
    client.send(MetadataRequest(), 1)
    wrong = b"\0\0\0\x05" + b"\0\0\0\x09" + b"!"
    _, responses, error = client.receive(memoryview(wrong))
    assert responses == []
    assert str(error) == "answer #9 came where #0 was due (Metadata v1)"
    assert client.receive(memoryview(b"x")) == (1, [], error)


def test_an_answer_to_no_question_is_an_error() -> None:
    _, _, error = ClientConnection("me").receive(memoryview(b"\0\0\0\x04\0\0\0\0"))
    assert str(error) == "an answer came to no question"


def test_good_answers_before_a_bad_one_are_kept() -> None:
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    client.send(produce(1), 9)
    client.send(produce(2), 9)
    _, [first, _], _ = server.receive(joined(client.to_send()))
    server.reply(first, produced(1))
    data = bytes(joined(server.to_send())) + b"\0\0\0\x05" + b"\0\0\0\1" + b"\0"
    consumed, [response], error = client.receive(memoryview(data))
    assert consumed == len(data)
    assert response.message == produced(1)
    assert "ProduceResponse v9: ends in the middle" in str(error)


def test_a_bad_answer_to_api_versions_is_no_answer_in_version_0_either() -> None:
    client = ClientConnection("me")
    client.send(ApiVersionsRequest(), 0)
    _, _, error = client.receive(memoryview(b"\0\0\0\x05\0\0\0\0!"))
    assert "ApiVersionsResponse v0" in str(error)


def test_a_request_that_cannot_be_written_leaves_no_trace() -> None:
    client = ClientConnection("me")
    with pytest.raises(LocalProtocolError):
        client.send(ProduceRequest(transactional_id="t"), 2)
    assert client.to_send() == []
    assert client.send(MetadataRequest(), 1) == 0


def test_correlation_ids_start_again_behind_the_largest() -> None:
    client = ClientConnection("me")
    client.next_correlation_id = CORRELATION_ID_MAX
    assert client.send(MetadataRequest(), 1) == CORRELATION_ID_MAX
    assert client.send(MetadataRequest(), 1) == 0


def test_requests_and_responses_tell_their_story() -> None:
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    client.send(MetadataRequest(), 1)
    _, [request], _ = server.receive(joined(client.to_send()))
    assert repr(request) == "Metadata v1 #0 from 'me': MetadataRequest()"
    server.reply(request, MetadataResponse(controller_id=3))
    _, [response], _ = client.receive(joined(server.to_send()))
    assert repr(response) == "answer to Metadata v1 #0: MetadataResponse(controller_id=3)"


def test_an_answer_that_the_version_cannot_carry_can_be_given_again() -> None:
    client, server = ClientConnection("me"), ServerConnection(SERVED)
    client.send(produce(1), 3)
    _, [request], _ = server.receive(joined(client.to_send()))
    wrong = ProduceResponse(throttle_time_ms=2**40)
    with pytest.raises(LocalProtocolError):
        server.reply(request, wrong)
    server.reply(request, produced(1))
    assert codec.decode(ProduceResponse, 3, joined(server.to_send())[8:]) == produced(1)
