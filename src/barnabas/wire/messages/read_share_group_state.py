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
    int8,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class ReadShareGroupStateRequest(Request, key=84, versions="0", flexible="0+"):
    """ReadShareGroupState (API 84), version 0, always flexible."""

    group_id: str = field(string, "0+")
    topics: Sequence[ReadShareGroupStateRequest.ReadStateData] = field(
        array_of("ReadStateData"), "0+"
    )

    class ReadStateData(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[ReadShareGroupStateRequest.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")


class ReadShareGroupStateResponse(Response, key=84, versions="0", flexible="0+"):
    """ReadShareGroupState (API 84), version 0, always flexible."""

    results: Sequence[ReadShareGroupStateResponse.ReadStateResult] = field(
        array_of("ReadStateResult"), "0+"
    )

    class ReadStateResult(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[ReadShareGroupStateResponse.PartitionResult] = field(
            array_of("PartitionResult"), "0+"
        )

    class PartitionResult(Struct):
        partition: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
        state_epoch: int = field(int32, "0+")
        start_offset: int = field(int64, "0+")
        state_batches: Sequence[ReadShareGroupStateResponse.StateBatch] = field(
            array_of("StateBatch"), "0+"
        )

    class StateBatch(Struct):
        first_offset: int = field(int64, "0+")
        last_offset: int = field(int64, "0+")
        delivery_state: int = field(int8, "0+")
        delivery_count: int = field(int16, "0+")
