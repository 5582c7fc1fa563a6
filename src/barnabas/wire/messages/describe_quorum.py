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
    uint16,
    uuid,
)


class DescribeQuorumRequest(Request, key=55, versions="0-2", flexible="0+"):
    """DescribeQuorum (API 55), versions 0-2, always flexible."""

    topics: Sequence[DescribeQuorumRequest.TopicData] = field(array_of("TopicData"), "0+")

    class TopicData(Struct):
        topic_name: str = field(string, "0+")
        partitions: Sequence[DescribeQuorumRequest.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")


class DescribeQuorumResponse(Response, key=55, versions="0-2", flexible="0+"):
    """DescribeQuorum (API 55), versions 0-2, always flexible."""

    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "2+", nullable="2+", ignorable=True)
    topics: Sequence[DescribeQuorumResponse.TopicData] = field(array_of("TopicData"), "0+")
    nodes: Sequence[DescribeQuorumResponse.Node] = field(array_of("Node"), "2+")

    class TopicData(Struct):
        topic_name: str = field(string, "0+")
        partitions: Sequence[DescribeQuorumResponse.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class Node(Struct):
        node_id: int = field(int32, "2+")
        listeners: Sequence[DescribeQuorumResponse.Listener] = field(array_of("Listener"), "2+")

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "2+", nullable="2+", ignorable=True)
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
        high_watermark: int = field(int64, "0+")
        current_voters: Sequence[DescribeQuorumResponse.ReplicaState] = field(
            array_of("ReplicaState"), "0+"
        )
        observers: Sequence[DescribeQuorumResponse.ReplicaState] = field(
            array_of("ReplicaState"), "0+"
        )

    class Listener(Struct):
        name: str = field(string, "2+")
        host: str = field(string, "2+")
        port: int = field(uint16, "2+")

    class ReplicaState(Struct):
        replica_id: int = field(int32, "0+")
        replica_directory_id: Uuid = field(uuid, "2+")
        log_end_offset: int = field(int64, "0+")
        last_fetch_timestamp: int = field(int64, "1+", default=-1, ignorable=True)
        last_caught_up_timestamp: int = field(int64, "1+", default=-1, ignorable=True)
