# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

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
)


class ListOffsetsRequest(Request, key=2, versions="0-11", flexible="6+"):
    """ListOffsets (API 2), versions 0-11, flexible from 6; Kafka 4.3 serves 1-11."""

    replica_id: int = field(int32, "0+")
    isolation_level: int = field(int8, "2+")
    topics: Sequence[ListOffsetsRequest.ListOffsetsTopic] = field(
        array_of("ListOffsetsTopic"), "0+"
    )
    timeout_ms: int = field(int32, "10+", ignorable=True)

    class ListOffsetsTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[ListOffsetsRequest.ListOffsetsPartition] = field(
            array_of("ListOffsetsPartition"), "0+"
        )

    class ListOffsetsPartition(Struct):
        partition_index: int = field(int32, "0+")
        current_leader_epoch: int = field(int32, "4+", default=-1, ignorable=True)
        timestamp: int = field(int64, "0+")
        max_num_offsets: int = field(int32, "0", default=1)


class ListOffsetsResponse(Response, key=2, versions="0-11", flexible="6+"):
    """ListOffsets (API 2), versions 0-11, flexible from 6; Kafka 4.3 serves 1-11."""

    throttle_time_ms: int = field(int32, "2+", ignorable=True)
    topics: Sequence[ListOffsetsResponse.ListOffsetsTopicResponse] = field(
        array_of("ListOffsetsTopicResponse"), "0+"
    )

    class ListOffsetsTopicResponse(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[ListOffsetsResponse.ListOffsetsPartitionResponse] = field(
            array_of("ListOffsetsPartitionResponse"), "0+"
        )

    class ListOffsetsPartitionResponse(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        old_style_offsets: Sequence[int] = field(array_of(int64), "0")
        timestamp: int = field(int64, "1+", default=-1)
        offset: int = field(int64, "1+", default=-1)
        leader_epoch: int = field(int32, "4+", default=-1)
