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
    int16,
    int32,
    string,
    struct_of,
    uuid,
)


class DescribeTopicPartitionsRequest(Request, key=75, versions="0", flexible="0+"):
    """DescribeTopicPartitions (API 75), version 0, always flexible."""

    topics: Sequence[DescribeTopicPartitionsRequest.TopicRequest] = field(
        array_of("TopicRequest"), "0+"
    )
    response_partition_limit: int = field(int32, "0+", default=2000)
    cursor: DescribeTopicPartitionsRequest.Cursor | None = field(
        struct_of("Cursor"), "0+", default=None, nullable="0+"
    )

    class TopicRequest(Struct):
        name: str = field(string, "0+")

    class Cursor(Struct):
        topic_name: str = field(string, "0+")
        partition_index: int = field(int32, "0+")


class DescribeTopicPartitionsResponse(Response, key=75, versions="0", flexible="0+"):
    """DescribeTopicPartitions (API 75), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+", ignorable=True)
    topics: Sequence[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] = field(
        array_of("DescribeTopicPartitionsResponseTopic"), "0+"
    )
    next_cursor: DescribeTopicPartitionsResponse.Cursor | None = field(
        struct_of("Cursor"), "0+", default=None, nullable="0+"
    )

    class DescribeTopicPartitionsResponseTopic(Struct):
        error_code: int = field(int16, "0+")
        name: str | None = field(string, "0+", nullable="0+")
        topic_id: Uuid = field(uuid, "0+", ignorable=True)
        is_internal: bool = field(boolean, "0+", ignorable=True)
        partitions: Sequence[
            DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition
        ] = field(array_of("DescribeTopicPartitionsResponsePartition"), "0+")
        topic_authorized_operations: int = field(int32, "0+", default=-2147483648)

    class Cursor(Struct):
        topic_name: str = field(string, "0+")
        partition_index: int = field(int32, "0+")

    class DescribeTopicPartitionsResponsePartition(Struct):
        error_code: int = field(int16, "0+")
        partition_index: int = field(int32, "0+")
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+", default=-1, ignorable=True)
        replica_nodes: Sequence[int] = field(array_of(int32), "0+")
        isr_nodes: Sequence[int] = field(array_of(int32), "0+")
        eligible_leader_replicas: Sequence[int] | None = field(
            array_of(int32), "0+", default=None, nullable="0+"
        )
        last_known_elr: Sequence[int] | None = field(
            array_of(int32), "0+", default=None, nullable="0+"
        )
        offline_replicas: Sequence[int] = field(array_of(int32), "0+", ignorable=True)
