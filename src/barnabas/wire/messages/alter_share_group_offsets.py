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


class AlterShareGroupOffsetsRequest(Request, key=91, versions="0", flexible="0+"):
    """AlterShareGroupOffsets (API 91), version 0, always flexible."""

    group_id: str = field(string, "0+")
    topics: Sequence[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic] = field(
        array_of("AlterShareGroupOffsetsRequestTopic"), "0+"
    )

    class AlterShareGroupOffsetsRequestTopic(Struct):
        topic_name: str = field(string, "0+")
        partitions: Sequence[
            AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition
        ] = field(array_of("AlterShareGroupOffsetsRequestPartition"), "0+")

    class AlterShareGroupOffsetsRequestPartition(Struct):
        partition_index: int = field(int32, "0+")
        start_offset: int = field(int64, "0+")


class AlterShareGroupOffsetsResponse(Response, key=91, versions="0", flexible="0+"):
    """AlterShareGroupOffsets (API 91), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", default=None, nullable="0+")
    responses: Sequence[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic] = field(
        array_of("AlterShareGroupOffsetsResponseTopic"), "0+"
    )

    class AlterShareGroupOffsetsResponseTopic(Struct):
        topic_name: str = field(string, "0+")
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[
            AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition
        ] = field(array_of("AlterShareGroupOffsetsResponsePartition"), "0+")

    class AlterShareGroupOffsetsResponsePartition(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
