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
    int64,
    string,
    uuid,
)


class InitializeShareGroupStateRequest(Request, key=83, versions="0", flexible="0+"):
    """InitializeShareGroupState (API 83), version 0, always flexible."""

    group_id: str = field(string, "0+")
    topics: Sequence[InitializeShareGroupStateRequest.InitializeStateData] = field(
        array_of("InitializeStateData"), "0+"
    )

    class InitializeStateData(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[InitializeShareGroupStateRequest.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition: int = field(int32, "0+")
        state_epoch: int = field(int32, "0+")
        start_offset: int = field(int64, "0+")


class InitializeShareGroupStateResponse(Response, key=83, versions="0", flexible="0+"):
    """InitializeShareGroupState (API 83), version 0, always flexible."""

    results: Sequence[InitializeShareGroupStateResponse.InitializeStateResult] = field(
        array_of("InitializeStateResult"), "0+"
    )

    class InitializeStateResult(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[InitializeShareGroupStateResponse.PartitionResult] = field(
            array_of("PartitionResult"), "0+"
        )

    class PartitionResult(Struct):
        partition: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
