# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Request, Response, Struct, array_of, field, int16, int32, string


class ListPartitionReassignmentsRequest(Request, key=46, versions="0", flexible="0+"):
    """ListPartitionReassignments (API 46), version 0, always flexible."""

    timeout_ms: int = field(int32, "0+", default=60000)
    topics: Sequence[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = (
        field(array_of("ListPartitionReassignmentsTopics"), "0+", default=None, nullable="0+")
    )

    class ListPartitionReassignmentsTopics(Struct):
        name: str = field(string, "0+")
        partition_indexes: Sequence[int] = field(array_of(int32), "0+")


class ListPartitionReassignmentsResponse(Response, key=46, versions="0", flexible="0+"):
    """ListPartitionReassignments (API 46), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+")
    topics: Sequence[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = field(
        array_of("OngoingTopicReassignment"), "0+"
    )

    class OngoingTopicReassignment(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] = (
            field(array_of("OngoingPartitionReassignment"), "0+")
        )

    class OngoingPartitionReassignment(Struct):
        partition_index: int = field(int32, "0+")
        replicas: Sequence[int] = field(array_of(int32), "0+")
        adding_replicas: Sequence[int] = field(array_of(int32), "0+")
        removing_replicas: Sequence[int] = field(array_of(int32), "0+")
