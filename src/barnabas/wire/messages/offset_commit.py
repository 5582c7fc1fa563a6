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


class OffsetCommitRequest(Request, key=8, versions="0-10", flexible="8+"):
    """OffsetCommit (API 8), versions 0-10, flexible from 8; Kafka 4.3 serves 2-10."""

    group_id: str = field(string, "0+")
    generation_id_or_member_epoch: int = field(int32, "1+", default=-1, ignorable=True)
    member_id: str = field(string, "1+", ignorable=True)
    group_instance_id: str | None = field(string, "7+", default=None, nullable="7+")
    retention_time_ms: int = field(int64, "2-4", default=-1, ignorable=True)
    topics: Sequence[OffsetCommitRequest.OffsetCommitRequestTopic] = field(
        array_of("OffsetCommitRequestTopic"), "0+"
    )

    class OffsetCommitRequestTopic(Struct):
        name: str = field(string, "0-9", ignorable=True)
        topic_id: Uuid = field(uuid, "10+", ignorable=True)
        partitions: Sequence[OffsetCommitRequest.OffsetCommitRequestPartition] = field(
            array_of("OffsetCommitRequestPartition"), "0+"
        )

    class OffsetCommitRequestPartition(Struct):
        partition_index: int = field(int32, "0+")
        committed_offset: int = field(int64, "0+")
        commit_timestamp: int = field(int64, "1", default=-1)
        committed_leader_epoch: int = field(int32, "6+", default=-1, ignorable=True)
        committed_metadata: str | None = field(string, "0+", nullable="0+")


class OffsetCommitResponse(Response, key=8, versions="0-10", flexible="8+"):
    """OffsetCommit (API 8), versions 0-10, flexible from 8; Kafka 4.3 serves 2-10."""

    throttle_time_ms: int = field(int32, "3+", ignorable=True)
    topics: Sequence[OffsetCommitResponse.OffsetCommitResponseTopic] = field(
        array_of("OffsetCommitResponseTopic"), "0+"
    )

    class OffsetCommitResponseTopic(Struct):
        name: str = field(string, "0-9", ignorable=True)
        topic_id: Uuid = field(uuid, "10+", ignorable=True)
        partitions: Sequence[OffsetCommitResponse.OffsetCommitResponsePartition] = field(
            array_of("OffsetCommitResponsePartition"), "0+"
        )

    class OffsetCommitResponsePartition(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
