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
    int8,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class AlterPartitionRequest(Request, key=56, versions="0-3", flexible="0+"):
    """AlterPartition (API 56), versions 0-3, always flexible; Kafka 4.3 serves 2-3."""

    broker_id: int = field(int32, "0+")
    broker_epoch: int = field(int64, "0+", default=-1)
    topics: Sequence[AlterPartitionRequest.TopicData] = field(array_of("TopicData"), "0+")

    class TopicData(Struct):
        topic_name: str = field(string, "0-1", ignorable=True)
        topic_id: Uuid = field(uuid, "2+", ignorable=True)
        partitions: Sequence[AlterPartitionRequest.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
        new_isr: Sequence[int] = field(array_of(int32), "0-2")
        new_isr_with_epochs: Sequence[AlterPartitionRequest.BrokerState] = field(
            array_of("BrokerState"), "3+"
        )
        leader_recovery_state: int = field(int8, "1+")
        partition_epoch: int = field(int32, "0+")

    class BrokerState(Struct):
        broker_id: int = field(int32, "3+")
        broker_epoch: int = field(int64, "3+", default=-1)


class AlterPartitionResponse(Response, key=56, versions="0-3", flexible="0+"):
    """AlterPartition (API 56), versions 0-3, always flexible; Kafka 4.3 serves 2-3."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    topics: Sequence[AlterPartitionResponse.TopicData] = field(array_of("TopicData"), "0+")

    class TopicData(Struct):
        topic_name: str = field(string, "0-1", ignorable=True)
        topic_id: Uuid = field(uuid, "2+", ignorable=True)
        partitions: Sequence[AlterPartitionResponse.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
        isr: Sequence[int] = field(array_of(int32), "0+")
        leader_recovery_state: int = field(int8, "1+", ignorable=True)
        partition_epoch: int = field(int32, "0+")
