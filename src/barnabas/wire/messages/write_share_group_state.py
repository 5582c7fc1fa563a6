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


class WriteShareGroupStateRequest(Request, key=85, versions="0-1", flexible="0+"):
    """WriteShareGroupState (API 85), versions 0-1, always flexible."""

    group_id: str = field(string, "0+")
    topics: Sequence[WriteShareGroupStateRequest.WriteStateData] = field(
        array_of("WriteStateData"), "0+"
    )

    class WriteStateData(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[WriteShareGroupStateRequest.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition: int = field(int32, "0+")
        state_epoch: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
        start_offset: int = field(int64, "0+")
        delivery_complete_count: int = field(int32, "1+", default=-1, ignorable=True)
        state_batches: Sequence[WriteShareGroupStateRequest.StateBatch] = field(
            array_of("StateBatch"), "0+"
        )

    class StateBatch(Struct):
        first_offset: int = field(int64, "0+")
        last_offset: int = field(int64, "0+")
        delivery_state: int = field(int8, "0+")
        delivery_count: int = field(int16, "0+")


class WriteShareGroupStateResponse(Response, key=85, versions="0-1", flexible="0+"):
    """WriteShareGroupState (API 85), versions 0-1, always flexible."""

    results: Sequence[WriteShareGroupStateResponse.WriteStateResult] = field(
        array_of("WriteStateResult"), "0+"
    )

    class WriteStateResult(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[WriteShareGroupStateResponse.PartitionResult] = field(
            array_of("PartitionResult"), "0+"
        )

    class PartitionResult(Struct):
        partition: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
