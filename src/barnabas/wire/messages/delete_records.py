# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

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
)


class DeleteRecordsRequest(Request, key=21, versions="0-2", flexible="2+"):
    """DeleteRecords (API 21), versions 0-2, flexible from 2."""

    topics: Sequence[DeleteRecordsRequest.DeleteRecordsTopic] = field(
        array_of("DeleteRecordsTopic"), "0+"
    )
    timeout_ms: int = field(int32, "0+")

    class DeleteRecordsTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[DeleteRecordsRequest.DeleteRecordsPartition] = field(
            array_of("DeleteRecordsPartition"), "0+"
        )

    class DeleteRecordsPartition(Struct):
        partition_index: int = field(int32, "0+")
        offset: int = field(int64, "0+")


class DeleteRecordsResponse(Response, key=21, versions="0-2", flexible="2+"):
    """DeleteRecords (API 21), versions 0-2, flexible from 2."""

    throttle_time_ms: int = field(int32, "0+")
    topics: Sequence[DeleteRecordsResponse.DeleteRecordsTopicResult] = field(
        array_of("DeleteRecordsTopicResult"), "0+"
    )

    class DeleteRecordsTopicResult(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[DeleteRecordsResponse.DeleteRecordsPartitionResult] = field(
            array_of("DeleteRecordsPartitionResult"), "0+"
        )

    class DeleteRecordsPartitionResult(Struct):
        partition_index: int = field(int32, "0+")
        low_watermark: int = field(int64, "0+")
        error_code: int = field(int16, "0+")
