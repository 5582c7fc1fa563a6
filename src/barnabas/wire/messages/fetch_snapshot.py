# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.primitives import Buffer
from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    batches,
    field,
    int16,
    int32,
    int64,
    string,
    struct_of,
    uint16,
    uuid,
)


class FetchSnapshotRequest(Request, key=59, versions="0-1", flexible="0+"):
    """FetchSnapshot (API 59), versions 0-1, always flexible."""

    cluster_id: str | None = field(string, "0+", default=None, nullable="0+", tag=0, tagged="0+")
    replica_id: int = field(int32, "0+", default=-1)
    max_bytes: int = field(int32, "0+", default=2147483647)
    topics: Sequence[FetchSnapshotRequest.TopicSnapshot] = field(array_of("TopicSnapshot"), "0+")

    class TopicSnapshot(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[FetchSnapshotRequest.PartitionSnapshot] = field(
            array_of("PartitionSnapshot"), "0+"
        )

    class PartitionSnapshot(Struct):
        partition: int = field(int32, "0+")
        current_leader_epoch: int = field(int32, "0+")
        snapshot_id: FetchSnapshotRequest.SnapshotId = field(struct_of("SnapshotId"), "0+")
        position: int = field(int64, "0+")
        replica_directory_id: Uuid = field(uuid, "1+", tag=0, tagged="1+", ignorable=True)

    class SnapshotId(Struct):
        end_offset: int = field(int64, "0+")
        epoch: int = field(int32, "0+")


class FetchSnapshotResponse(Response, key=59, versions="0-1", flexible="0+"):
    """FetchSnapshot (API 59), versions 0-1, always flexible."""

    throttle_time_ms: int = field(int32, "0+", ignorable=True)
    error_code: int = field(int16, "0+")
    topics: Sequence[FetchSnapshotResponse.TopicSnapshot] = field(array_of("TopicSnapshot"), "0+")
    node_endpoints: Sequence[FetchSnapshotResponse.NodeEndpoint] = field(
        array_of("NodeEndpoint"), "1+", tag=0, tagged="1+"
    )

    class TopicSnapshot(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[FetchSnapshotResponse.PartitionSnapshot] = field(
            array_of("PartitionSnapshot"), "0+"
        )

    class NodeEndpoint(Struct):
        node_id: int = field(int32, "1+")
        host: str = field(string, "1+")
        port: int = field(uint16, "1+")

    class PartitionSnapshot(Struct):
        index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        snapshot_id: FetchSnapshotResponse.SnapshotId = field(struct_of("SnapshotId"), "0+")
        current_leader: FetchSnapshotResponse.LeaderIdAndEpoch = field(
            struct_of("LeaderIdAndEpoch"), "0+", tag=0, tagged="0+"
        )
        size: int = field(int64, "0+")
        position: int = field(int64, "0+")
        unaligned_records: Buffer | None = field(batches, "0+")

    class SnapshotId(Struct):
        end_offset: int = field(int64, "0+")
        epoch: int = field(int32, "0+")

    class LeaderIdAndEpoch(Struct):
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
