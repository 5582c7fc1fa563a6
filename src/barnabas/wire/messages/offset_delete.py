# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Request, Response, Struct, array_of, field, int16, int32, string


class OffsetDeleteRequest(Request, key=47, versions="0"):
    """OffsetDelete (API 47), version 0, never flexible."""

    group_id: str = field(string, "0+")
    topics: Sequence[OffsetDeleteRequest.OffsetDeleteRequestTopic] = field(
        array_of("OffsetDeleteRequestTopic"), "0+"
    )

    class OffsetDeleteRequestTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[OffsetDeleteRequest.OffsetDeleteRequestPartition] = field(
            array_of("OffsetDeleteRequestPartition"), "0+"
        )

    class OffsetDeleteRequestPartition(Struct):
        partition_index: int = field(int32, "0+")


class OffsetDeleteResponse(Response, key=47, versions="0"):
    """OffsetDelete (API 47), version 0, never flexible."""

    error_code: int = field(int16, "0+")
    throttle_time_ms: int = field(int32, "0+", ignorable=True)
    topics: Sequence[OffsetDeleteResponse.OffsetDeleteResponseTopic] = field(
        array_of("OffsetDeleteResponseTopic"), "0+"
    )

    class OffsetDeleteResponseTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[OffsetDeleteResponse.OffsetDeleteResponsePartition] = field(
            array_of("OffsetDeleteResponsePartition"), "0+"
        )

    class OffsetDeleteResponsePartition(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
