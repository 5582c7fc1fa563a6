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


class OffsetForLeaderEpochRequest(Request, key=23, versions="0-4", flexible="4+"):
    """OffsetForLeaderEpoch (API 23), versions 0-4, flexible from 4; Kafka 4.3 serves 2-4."""

    replica_id: int = field(int32, "3+", default=-2, ignorable=True)
    topics: Sequence[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = field(
        array_of("OffsetForLeaderTopic"), "0+"
    )

    class OffsetForLeaderTopic(Struct):
        topic: str = field(string, "0+")
        partitions: Sequence[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = field(
            array_of("OffsetForLeaderPartition"), "0+"
        )

    class OffsetForLeaderPartition(Struct):
        partition: int = field(int32, "0+")
        current_leader_epoch: int = field(int32, "2+", default=-1, ignorable=True)
        leader_epoch: int = field(int32, "0+")


class OffsetForLeaderEpochResponse(Response, key=23, versions="0-4", flexible="4+"):
    """OffsetForLeaderEpoch (API 23), versions 0-4, flexible from 4; Kafka 4.3 serves 2-4."""

    throttle_time_ms: int = field(int32, "2+", ignorable=True)
    topics: Sequence[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = field(
        array_of("OffsetForLeaderTopicResult"), "0+"
    )

    class OffsetForLeaderTopicResult(Struct):
        topic: str = field(string, "0+")
        partitions: Sequence[OffsetForLeaderEpochResponse.EpochEndOffset] = field(
            array_of("EpochEndOffset"), "0+"
        )

    class EpochEndOffset(Struct):
        error_code: int = field(int16, "0+")
        partition: int = field(int32, "0+")
        leader_epoch: int = field(int32, "1+", default=-1, ignorable=True)
        end_offset: int = field(int64, "0+", default=-1)
