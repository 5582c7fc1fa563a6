# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class LeaderAndIsrRequest(Request, key=4, versions="0-7", flexible="4+"):
    """LeaderAndIsr (API 4), versions 0-7, flexible from 4; Kafka 4.3 has dropped it."""

    controller_id: int = field(int32, "0+")
    is_kraft_controller: bool = field(boolean, "7+")
    controller_epoch: int = field(int32, "0+")
    broker_epoch: int = field(int64, "2+", default=-1, ignorable=True)
    type: int = field(int8, "5+")
    ungrouped_partition_states: Sequence[LeaderAndIsrRequest.LeaderAndIsrPartitionState] = field(
        array_of("LeaderAndIsrPartitionState"), "0-1"
    )
    topic_states: Sequence[LeaderAndIsrRequest.LeaderAndIsrTopicState] = field(
        array_of("LeaderAndIsrTopicState"), "2+"
    )
    live_leaders: Sequence[LeaderAndIsrRequest.LeaderAndIsrLiveLeader] = field(
        array_of("LeaderAndIsrLiveLeader"), "0+"
    )

    class LeaderAndIsrPartitionState(Struct):
        topic_name: str = field(string, "0-1", ignorable=True)
        partition_index: int = field(int32, "0+")
        controller_epoch: int = field(int32, "0+")
        leader: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
        isr: Sequence[int] = field(array_of(int32), "0+")
        partition_epoch: int = field(int32, "0+")
        replicas: Sequence[int] = field(array_of(int32), "0+")
        adding_replicas: Sequence[int] = field(array_of(int32), "3+", ignorable=True)
        removing_replicas: Sequence[int] = field(array_of(int32), "3+", ignorable=True)
        is_new: bool = field(boolean, "1+", ignorable=True)
        leader_recovery_state: int = field(int8, "6+")

    class LeaderAndIsrTopicState(Struct):
        topic_name: str = field(string, "2+")
        topic_id: Uuid = field(uuid, "5+", ignorable=True)
        partition_states: Sequence[LeaderAndIsrRequest.LeaderAndIsrPartitionState] = field(
            array_of("LeaderAndIsrPartitionState"), "2+"
        )

    class LeaderAndIsrLiveLeader(Struct):
        broker_id: int = field(int32, "0+")
        host_name: str = field(string, "0+")
        port: int = field(int32, "0+")


class LeaderAndIsrResponse(Response, key=4, versions="0-7", flexible="4+"):
    """LeaderAndIsr (API 4), versions 0-7, flexible from 4; Kafka 4.3 has dropped it."""

    error_code: int = field(int16, "0+")
    partition_errors: Sequence[LeaderAndIsrResponse.LeaderAndIsrPartitionError] = field(
        array_of("LeaderAndIsrPartitionError"), "0-4"
    )
    topics: Sequence[LeaderAndIsrResponse.LeaderAndIsrTopicError] = field(
        array_of("LeaderAndIsrTopicError"), "5+"
    )

    class LeaderAndIsrPartitionError(Struct):
        topic_name: str = field(string, "0-4", ignorable=True)
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")

    class LeaderAndIsrTopicError(Struct):
        topic_id: Uuid = field(uuid, "5+")
        partition_errors: Sequence[LeaderAndIsrResponse.LeaderAndIsrPartitionError] = field(
            array_of("LeaderAndIsrPartitionError"), "5+"
        )
