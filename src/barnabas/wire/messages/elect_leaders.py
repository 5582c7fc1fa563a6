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
    string,
)


class ElectLeadersRequest(Request, key=43, versions="0-2", flexible="2+"):
    """ElectLeaders (API 43), versions 0-2, flexible from 2."""

    election_type: int = field(int8, "1+")
    topic_partitions: Sequence[ElectLeadersRequest.TopicPartitions] | None = field(
        array_of("TopicPartitions"), "0+", nullable="0+"
    )
    timeout_ms: int = field(int32, "0+", default=60000)

    class TopicPartitions(Struct):
        topic: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")


class ElectLeadersResponse(Response, key=43, versions="0-2", flexible="2+"):
    """ElectLeaders (API 43), versions 0-2, flexible from 2."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "1+")
    replica_election_results: Sequence[ElectLeadersResponse.ReplicaElectionResult] = field(
        array_of("ReplicaElectionResult"), "0+"
    )

    class ReplicaElectionResult(Struct):
        topic: str = field(string, "0+")
        partition_result: Sequence[ElectLeadersResponse.PartitionResult] = field(
            array_of("PartitionResult"), "0+"
        )

    class PartitionResult(Struct):
        partition_id: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
