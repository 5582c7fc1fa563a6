# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    field,
    int16,
    int32,
    string,
    uuid,
)


class DeleteTopicsRequest(Request, key=20, versions="0-6", flexible="4+"):
    """DeleteTopics (API 20), versions 0-6, flexible from 4; Kafka 4.3 serves 1-6."""

    topics: Sequence[DeleteTopicsRequest.DeleteTopicState] = field(
        array_of("DeleteTopicState"), "6+"
    )
    topic_names: Sequence[str] = field(array_of(string), "0-5", ignorable=True)
    timeout_ms: int = field(int32, "0+")

    class DeleteTopicState(Struct):
        name: str | None = field(string, "6+", default=None, nullable="6+")
        topic_id: Uuid = field(uuid, "6+")


class DeleteTopicsResponse(Response, key=20, versions="0-6", flexible="4+"):
    """DeleteTopics (API 20), versions 0-6, flexible from 4; Kafka 4.3 serves 1-6."""

    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    responses: Sequence[DeleteTopicsResponse.DeletableTopicResult] = field(
        array_of("DeletableTopicResult"), "0+"
    )

    class DeletableTopicResult(Struct):
        name: str | None = field(string, "0+", nullable="6+")
        topic_id: Uuid = field(uuid, "6+", ignorable=True)
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "5+", default=None, nullable="5+", ignorable=True)
