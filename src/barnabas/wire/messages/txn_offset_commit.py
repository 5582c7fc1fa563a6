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


class TxnOffsetCommitRequest(Request, key=28, versions="0-5", flexible="3+"):
    """TxnOffsetCommit (API 28), versions 0-5, flexible from 3."""

    transactional_id: str = field(string, "0+")
    group_id: str = field(string, "0+")
    producer_id: int = field(int64, "0+")
    producer_epoch: int = field(int16, "0+")
    generation_id: int = field(int32, "3+", default=-1)
    member_id: str = field(string, "3+")
    group_instance_id: str | None = field(string, "3+", default=None, nullable="3+")
    topics: Sequence[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = field(
        array_of("TxnOffsetCommitRequestTopic"), "0+"
    )

    class TxnOffsetCommitRequestTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] = field(
            array_of("TxnOffsetCommitRequestPartition"), "0+"
        )

    class TxnOffsetCommitRequestPartition(Struct):
        partition_index: int = field(int32, "0+")
        committed_offset: int = field(int64, "0+")
        committed_leader_epoch: int = field(int32, "2+", default=-1, ignorable=True)
        committed_metadata: str | None = field(string, "0+", nullable="0+")


class TxnOffsetCommitResponse(Response, key=28, versions="0-5", flexible="3+"):
    """TxnOffsetCommit (API 28), versions 0-5, flexible from 3."""

    throttle_time_ms: int = field(int32, "0+")
    topics: Sequence[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = field(
        array_of("TxnOffsetCommitResponseTopic"), "0+"
    )

    class TxnOffsetCommitResponseTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] = field(
            array_of("TxnOffsetCommitResponsePartition"), "0+"
        )

    class TxnOffsetCommitResponsePartition(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
