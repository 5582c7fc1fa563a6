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
    string,
    uint16,
    uuid,
)


class BeginQuorumEpochRequest(Request, key=53, versions="0-1", flexible="1+"):
    """BeginQuorumEpoch (API 53), versions 0-1, flexible from 1."""

    cluster_id: str | None = field(string, "0+", default=None, nullable="0+")
    voter_id: int = field(int32, "1+", default=-1, ignorable=True)
    topics: Sequence[BeginQuorumEpochRequest.TopicData] = field(array_of("TopicData"), "0+")
    leader_endpoints: Sequence[BeginQuorumEpochRequest.LeaderEndpoint] = field(
        array_of("LeaderEndpoint"), "1+", ignorable=True
    )

    class TopicData(Struct):
        topic_name: str = field(string, "0+")
        partitions: Sequence[BeginQuorumEpochRequest.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class LeaderEndpoint(Struct):
        name: str = field(string, "1+")
        host: str = field(string, "1+")
        port: int = field(uint16, "1+")

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        voter_directory_id: Uuid = field(uuid, "1+", ignorable=True)
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")


class BeginQuorumEpochResponse(Response, key=53, versions="0-1", flexible="1+"):
    """BeginQuorumEpoch (API 53), versions 0-1, flexible from 1."""

    error_code: int = field(int16, "0+")
    topics: Sequence[BeginQuorumEpochResponse.TopicData] = field(array_of("TopicData"), "0+")
    node_endpoints: Sequence[BeginQuorumEpochResponse.NodeEndpoint] = field(
        array_of("NodeEndpoint"), "1+", tag=0, tagged="1+"
    )

    class TopicData(Struct):
        topic_name: str = field(string, "0+")
        partitions: Sequence[BeginQuorumEpochResponse.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class NodeEndpoint(Struct):
        node_id: int = field(int32, "1+")
        host: str = field(string, "1+")
        port: int = field(uint16, "1+")

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
