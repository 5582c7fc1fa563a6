"""Every API that has a handler is answered, in an envelope too; refusals become answers."""

from collections.abc import Callable, Coroutine
from typing import Any

from barnabas.controller.handlers import HANDLERS, handlers
from barnabas.model.errors import ErrorCode
from barnabas.net.server import Context
from barnabas.runtime.network import Address
from barnabas.wire import codec
from barnabas.wire.apis import APIS, ApiKey
from barnabas.wire.frames import SIZE_BYTES, request_frame
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from barnabas.wire.structs import Request, Response
from tests.controller.apis.desk import Desk, at_desk
from tests.net.test_envelope import PRINCIPAL

TOPICS = CreateTopicsRequest(
    topics=[CreateTopicsRequest.CreatableTopic(name="a", num_partitions=1, replication_factor=1)]
)


async def described(_: Context, __: Request) -> Response:
    """Answer what is not the controller's business."""
    return DescribeQuorumResponse(error_code=0)


def context(version: int) -> Context:
    """Return what is known of a request beside it."""
    return Context("CONTROLLER", Address("broker", 1), "broker-3", version, 5)


def enveloped(request: Request, version: int) -> EnvelopeRequest:
    """Put a request into an envelope."""
    data = b"".join(request_frame(request, version, 5, "client"))[SIZE_BYTES:]
    return EnvelopeRequest(
        request_data=data, request_principal=PRINCIPAL, client_host_address=bytes(4)
    )


def asked(story: Callable[[Desk, Any], Coroutine[Any, Any, None]]) -> None:
    """Run a story with a desk and the handlers of its controller."""

    async def told(desk: Desk) -> None:
        await story(desk, handlers(desk.controller, {ApiKey.DESCRIBE_QUORUM: described}))

    at_desk(told)


def test_every_api_is_one_of_a_controllers() -> None:
    assert all("controller" in APIS[key].listeners for key in HANDLERS)


def test_a_request_is_answered_as_it_comes_and_in_an_envelope() -> None:
    async def story(desk: Desk, own: Any) -> None:  # noqa: ANN401 -- handlers by API
        await desk.join(3)
        told = await own[ApiKey.CREATE_TOPICS](context(7), TOPICS)
        assert told.topics[0].error_code == ErrorCode.NONE
        again = await own[ApiKey.ENVELOPE](context(0), enveloped(TOPICS, 7))
        assert again.error_code == ErrorCode.NONE
        inner = codec.decode(CreateTopicsResponse, 7, again.response_data[5:])
        assert inner.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS

    asked(story)


def test_what_others_answer_may_be_in_an_envelope_as_well() -> None:
    async def story(_: Desk, own: Any) -> None:  # noqa: ANN401 -- handlers by API
        told = await own[ApiKey.ENVELOPE](context(0), enveloped(DescribeQuorumRequest(), 2))
        assert isinstance(told, EnvelopeResponse)
        assert told.error_code == ErrorCode.NONE

    asked(story)


def test_who_does_not_lead_says_so_in_the_answer_or_on_the_envelope() -> None:
    async def story(desk: Desk, own: Any) -> None:  # noqa: ANN401 -- handlers by API
        desk.controller.leader_changed(2, 8)
        told = await own[ApiKey.CREATE_TOPICS](context(7), TOPICS)
        assert told.topics[0].error_code == ErrorCode.NOT_CONTROLLER
        again = await own[ApiKey.ENVELOPE](context(0), enveloped(TOPICS, 7))
        assert (again.error_code, again.response_data) == (ErrorCode.NOT_CONTROLLER, None)

    asked(story)


def test_an_envelope_that_cannot_be_opened_is_refused() -> None:
    async def story(_: Desk, own: Any) -> None:  # noqa: ANN401 -- handlers by API
        bad = EnvelopeRequest(
            request_data=b"abc", request_principal=PRINCIPAL, client_host_address=bytes(4)
        )
        told = await own[ApiKey.ENVELOPE](context(0), bad)
        assert told.error_code == ErrorCode.UNSUPPORTED_VERSION

    asked(story)
