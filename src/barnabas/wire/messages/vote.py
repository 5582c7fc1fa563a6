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
    int64,
    string,
    uint16,
    uuid,
)


class VoteRequest(Request, key=52, versions="0-2", flexible="0+"):
    """Vote (API 52), versions 0-2, always flexible."""

    cluster_id: str | None = field(string, "0+", default=None, nullable="0+")
    voter_id: int = field(int32, "1+", default=-1, ignorable=True)
    topics: Sequence[VoteRequest.TopicData] = field(array_of("TopicData"), "0+")

    class TopicData(Struct):
        topic_name: str = field(string, "0+")
        partitions: Sequence[VoteRequest.PartitionData] = field(array_of("PartitionData"), "0+")

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        replica_epoch: int = field(int32, "0+")
        replica_id: int = field(int32, "0+")
        replica_directory_id: Uuid = field(uuid, "1+", ignorable=True)
        voter_directory_id: Uuid = field(uuid, "1+", ignorable=True)
        last_offset_epoch: int = field(int32, "0+")
        last_offset: int = field(int64, "0+")
        pre_vote: bool = field(boolean, "2+")


class VoteResponse(Response, key=52, versions="0-2", flexible="0+"):
    """Vote (API 52), versions 0-2, always flexible."""

    error_code: int = field(int16, "0+")
    topics: Sequence[VoteResponse.TopicData] = field(array_of("TopicData"), "0+")
    node_endpoints: Sequence[VoteResponse.NodeEndpoint] = field(
        array_of("NodeEndpoint"), "1+", tag=0, tagged="1+"
    )

    class TopicData(Struct):
        topic_name: str = field(string, "0+")
        partitions: Sequence[VoteResponse.PartitionData] = field(array_of("PartitionData"), "0+")

    class NodeEndpoint(Struct):
        node_id: int = field(int32, "1+")
        host: str = field(string, "1+")
        port: int = field(uint16, "1+")

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
        vote_granted: bool = field(boolean, "0+")
