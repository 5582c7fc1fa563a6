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


class DeleteShareGroupStateRequest(Request, key=86, versions="0", flexible="0+"):
    """DeleteShareGroupState (API 86), version 0, always flexible."""

    group_id: str = field(string, "0+")
    topics: Sequence[DeleteShareGroupStateRequest.DeleteStateData] = field(
        array_of("DeleteStateData"), "0+"
    )

    class DeleteStateData(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[DeleteShareGroupStateRequest.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition: int = field(int32, "0+")


class DeleteShareGroupStateResponse(Response, key=86, versions="0", flexible="0+"):
    """DeleteShareGroupState (API 86), version 0, always flexible."""

    results: Sequence[DeleteShareGroupStateResponse.DeleteStateResult] = field(
        array_of("DeleteStateResult"), "0+"
    )

    class DeleteStateResult(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[DeleteShareGroupStateResponse.PartitionResult] = field(
            array_of("PartitionResult"), "0+"
        )

    class PartitionResult(Struct):
        partition: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
