# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    boolean,
    field,
    int16,
    int32,
    string,
)


class AlterPartitionReassignmentsRequest(Request, key=45, versions="0-1", flexible="0+"):
    """AlterPartitionReassignments (API 45), versions 0-1, always flexible."""

    timeout_ms: int = field(int32, "0+", default=60000)
    allow_replication_factor_change: bool = field(boolean, "1+", default=True)
    topics: Sequence[AlterPartitionReassignmentsRequest.ReassignableTopic] = field(
        array_of("ReassignableTopic"), "0+"
    )

    class ReassignableTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[AlterPartitionReassignmentsRequest.ReassignablePartition] = field(
            array_of("ReassignablePartition"), "0+"
        )

    class ReassignablePartition(Struct):
        partition_index: int = field(int32, "0+")
        replicas: Sequence[int] | None = field(array_of(int32), "0+", default=None, nullable="0+")


class AlterPartitionReassignmentsResponse(Response, key=45, versions="0-1", flexible="0+"):
    """AlterPartitionReassignments (API 45), versions 0-1, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    allow_replication_factor_change: bool = field(boolean, "1+", default=True, ignorable=True)
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+")
    responses: Sequence[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] = field(
        array_of("ReassignableTopicResponse"), "0+"
    )

    class ReassignableTopicResponse(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse] = (
            field(array_of("ReassignablePartitionResponse"), "0+")
        )

    class ReassignablePartitionResponse(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
