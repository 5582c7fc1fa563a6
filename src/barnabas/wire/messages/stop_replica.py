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
    int64,
    string,
)


class StopReplicaRequest(Request, key=5, versions="0-4", flexible="2+"):
    """StopReplica (API 5), versions 0-4, flexible from 2; Kafka 4.3 has dropped it."""

    controller_id: int = field(int32, "0+")
    is_kraft_controller: bool = field(boolean, "4+")
    controller_epoch: int = field(int32, "0+")
    broker_epoch: int = field(int64, "1+", default=-1, ignorable=True)
    delete_partitions: bool = field(boolean, "0-2")
    ungrouped_partitions: Sequence[StopReplicaRequest.StopReplicaPartitionV0] = field(
        array_of("StopReplicaPartitionV0"), "0"
    )
    topics: Sequence[StopReplicaRequest.StopReplicaTopicV1] = field(
        array_of("StopReplicaTopicV1"), "1-2"
    )
    topic_states: Sequence[StopReplicaRequest.StopReplicaTopicState] = field(
        array_of("StopReplicaTopicState"), "3+"
    )

    class StopReplicaPartitionV0(Struct):
        topic_name: str = field(string, "0")
        partition_index: int = field(int32, "0")

    class StopReplicaTopicV1(Struct):
        name: str = field(string, "1-2")
        partition_indexes: Sequence[int] = field(array_of(int32), "1-2")

    class StopReplicaTopicState(Struct):
        topic_name: str = field(string, "3+")
        partition_states: Sequence[StopReplicaRequest.StopReplicaPartitionState] = field(
            array_of("StopReplicaPartitionState"), "3+"
        )

    class StopReplicaPartitionState(Struct):
        partition_index: int = field(int32, "3+")
        leader_epoch: int = field(int32, "3+", default=-1)
        delete_partition: bool = field(boolean, "3+")


class StopReplicaResponse(Response, key=5, versions="0-4", flexible="2+"):
    """StopReplica (API 5), versions 0-4, flexible from 2; Kafka 4.3 has dropped it."""

    error_code: int = field(int16, "0+")
    partition_errors: Sequence[StopReplicaResponse.StopReplicaPartitionError] = field(
        array_of("StopReplicaPartitionError"), "0+"
    )

    class StopReplicaPartitionError(Struct):
        topic_name: str = field(string, "0+")
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
