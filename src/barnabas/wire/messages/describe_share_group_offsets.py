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


class DescribeShareGroupOffsetsRequest(Request, key=90, versions="0-1", flexible="0+"):
    """DescribeShareGroupOffsets (API 90), versions 0-1, always flexible."""

    groups: Sequence[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup] = (
        field(array_of("DescribeShareGroupOffsetsRequestGroup"), "0+")
    )

    class DescribeShareGroupOffsetsRequestGroup(Struct):
        group_id: str = field(string, "0+")
        topics: (
            Sequence[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None
        ) = field(array_of("DescribeShareGroupOffsetsRequestTopic"), "0+", nullable="0+")

    class DescribeShareGroupOffsetsRequestTopic(Struct):
        topic_name: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")


class DescribeShareGroupOffsetsResponse(Response, key=90, versions="0-1", flexible="0+"):
    """DescribeShareGroupOffsets (API 90), versions 0-1, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    groups: Sequence[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup] = (
        field(array_of("DescribeShareGroupOffsetsResponseGroup"), "0+")
    )

    class DescribeShareGroupOffsetsResponseGroup(Struct):
        group_id: str = field(string, "0+")
        topics: Sequence[
            DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic
        ] = field(array_of("DescribeShareGroupOffsetsResponseTopic"), "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")

    class DescribeShareGroupOffsetsResponseTopic(Struct):
        topic_name: str = field(string, "0+")
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[
            DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
        ] = field(array_of("DescribeShareGroupOffsetsResponsePartition"), "0+")

    class DescribeShareGroupOffsetsResponsePartition(Struct):
        partition_index: int = field(int32, "0+")
        start_offset: int = field(int64, "0+")
        leader_epoch: int = field(int32, "0+")
        lag: int = field(int64, "1+", default=-1, ignorable=True)
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
