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


class ReadShareGroupStateSummaryRequest(Request, key=87, versions="0-1", flexible="0+"):
    """ReadShareGroupStateSummary (API 87), versions 0-1, always flexible."""

    group_id: str = field(string, "0+")
    topics: Sequence[ReadShareGroupStateSummaryRequest.ReadStateSummaryData] = field(
        array_of("ReadStateSummaryData"), "0+"
    )

    class ReadStateSummaryData(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[ReadShareGroupStateSummaryRequest.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")


class ReadShareGroupStateSummaryResponse(Response, key=87, versions="0-1", flexible="0+"):
    """ReadShareGroupStateSummary (API 87), versions 0-1, always flexible."""

    results: Sequence[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult] = field(
        array_of("ReadStateSummaryResult"), "0+"
    )

    class ReadStateSummaryResult(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[ReadShareGroupStateSummaryResponse.PartitionResult] = field(
            array_of("PartitionResult"), "0+"
        )

    class PartitionResult(Struct):
        partition: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
        state_epoch: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
        start_offset: int = field(int64, "0+")
        delivery_complete_count: int = field(int32, "1+", default=-1, ignorable=True)
