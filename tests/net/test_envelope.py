"""Requests in envelopes: taken out, answered, put back; or refused, and why."""

import pytest

from barnabas.model.errors import ErrorCode, Refused
from barnabas.net.envelope import address_text, opened, sealed
from barnabas.net.server import Context
from barnabas.runtime.network import Address
from barnabas.wire import codec
from barnabas.wire.apis import ApiKey, ServedApis
from barnabas.wire.frames import SIZE_BYTES, request_frame
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.envelope import EnvelopeRequest
from barnabas.wire.messages.stored.default_principal_data import DefaultPrincipalData
from barnabas.wire.messages.vote import VoteRequest
from barnabas.wire.structs import Request

SERVED = ServedApis("controller", [ApiKey.CREATE_TOPICS, ApiKey.VOTE, ApiKey.ENVELOPE])
CONTEXT = Context("CONTROLLER", Address("broker", 1), "broker-1", 0, 7)
ANNA = DefaultPrincipalData(type="User", name="anna", token_authenticated=False)
PRINCIPAL = b"\0\0" + codec.encode(ANNA, 0)
TOPIC = CreateTopicsRequest(
    topics=[CreateTopicsRequest.CreatableTopic(name="a", num_partitions=1, replication_factor=1)],
    timeout_ms=1_000,
)


def whole(request: Request, version: int) -> bytes:
    """Return a request as it stands in an envelope."""
    return b"".join(request_frame(request, version, 3, "anna's tool"))[SIZE_BYTES:]


def envelope(
    data: bytes, principal: bytes | None = PRINCIPAL, address: bytes = b"\x0a\0\0\x01"
) -> EnvelopeRequest:
    """Return an envelope."""
    return EnvelopeRequest(
        request_data=data, request_principal=principal, client_host_address=address
    )


def test_what_is_inside_is_as_if_the_client_had_asked_itself() -> None:
    forwarded = opened(SERVED, CONTEXT, envelope(whole(TOPIC, 7)))
    assert forwarded.message == TOPIC
    assert forwarded.principal == "User:anna"
    assert forwarded.api.key is ApiKey.CREATE_TOPICS
    inner = forwarded.context
    assert (inner.api_version, inner.correlation_id, inner.client_id) == (7, 3, "anna's tool")
    assert (inner.listener, inner.peer.host) == ("CONTROLLER", "10.0.0.1")


def test_the_answer_is_whole_as_well() -> None:
    forwarded = opened(SERVED, CONTEXT, envelope(whole(TOPIC, 7)))
    answer = CreateTopicsResponse(
        topics=[CreateTopicsResponse.CreatableTopicResult(name="a", error_code=0)]
    )
    told = sealed(forwarded, answer)
    assert told.error_code == ErrorCode.NONE
    assert told.response_data is not None
    assert told.response_data[:5] == b"\0\0\0\x03\0"
    assert codec.decode(CreateTopicsResponse, 7, told.response_data[5:]).topics[0].name == "a"


@pytest.mark.parametrize(
    ("request_", "code", "why"),
    [
        (envelope(whole(VoteRequest(), 2)), ErrorCode.INVALID_REQUEST, "Vote is nothing to be"),
        (envelope(whole(TOPIC, 7), address=b"abc"), ErrorCode.INVALID_REQUEST, "of 3 bytes"),
        (envelope(whole(TOPIC, 7)[:-2]), ErrorCode.UNSUPPORTED_VERSION, "in an envelope"),
        (envelope(b"abc"), ErrorCode.UNSUPPORTED_VERSION, "too short for a header"),
        (
            envelope(b"\0\x13\0\x63" + whole(TOPIC, 7)[4:]),
            ErrorCode.UNSUPPORTED_VERSION,
            "CreateTopics v99 is not served",
        ),
        (
            envelope(whole(TOPIC, 7), principal=None),
            ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE,
            "no version",
        ),
        (
            envelope(whole(TOPIC, 7), principal=b"\0\x09abc"),
            ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE,
            "version 9",
        ),
        (
            envelope(whole(TOPIC, 7), principal=PRINCIPAL[:-3]),
            ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE,
            "who the client is",
        ),
    ],
)
def test_what_cannot_be_opened_is_refused(
    request_: EnvelopeRequest, code: ErrorCode, why: str
) -> None:
    with pytest.raises(Refused, match=why) as refused:
        opened(SERVED, CONTEXT, request_)
    assert refused.value.code is code


def test_what_a_controller_does_not_serve_is_refused() -> None:
    served = ServedApis("controller", [ApiKey.ENVELOPE])
    with pytest.raises(Refused, match="not served"):
        opened(served, CONTEXT, envelope(whole(TOPIC, 7)))


def test_addresses_are_written_as_people_write_them() -> None:
    assert address_text(bytes([127, 0, 0, 1])) == "127.0.0.1"
    assert address_text(bytes(15) + b"\1") == "0:0:0:0:0:0:0:1"
