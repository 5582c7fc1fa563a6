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


class DeleteShareGroupOffsetsRequest(Request, key=92, versions="0", flexible="0+"):
    """DeleteShareGroupOffsets (API 92), version 0, always flexible."""

    group_id: str = field(string, "0+")
    topics: Sequence[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic] = field(
        array_of("DeleteShareGroupOffsetsRequestTopic"), "0+"
    )

    class DeleteShareGroupOffsetsRequestTopic(Struct):
        topic_name: str = field(string, "0+")


class DeleteShareGroupOffsetsResponse(Response, key=92, versions="0", flexible="0+"):
    """DeleteShareGroupOffsets (API 92), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", default=None, nullable="0+")
    responses: Sequence[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic] = (
        field(array_of("DeleteShareGroupOffsetsResponseTopic"), "0+")
    )

    class DeleteShareGroupOffsetsResponseTopic(Struct):
        topic_name: str = field(string, "0+")
        topic_id: Uuid = field(uuid, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
