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
    int8,
    int16,
    int32,
    int64,
    string,
    struct_of,
    uuid,
)


class FetchRequest(Request, key=1, versions="0-18", flexible="12+"):
    """Fetch (API 1), versions 0-18, flexible from 12; Kafka 4.3 serves 4-18."""

    cluster_id: str | None = field(
        string, "12+", default=None, nullable="12+", tag=0, tagged="12+", ignorable=True
    )
    replica_id: int = field(int32, "0-14", default=-1)
    replica_state: FetchRequest.ReplicaState = field(
        struct_of("ReplicaState"), "15+", tag=1, tagged="15+"
    )
    max_wait_ms: int = field(int32, "0+")
    min_bytes: int = field(int32, "0+")
    max_bytes: int = field(int32, "3+", default=2147483647, ignorable=True)
    isolation_level: int = field(int8, "4+", ignorable=True)
    session_id: int = field(int32, "7+", ignorable=True)
    session_epoch: int = field(int32, "7+", default=-1, ignorable=True)
    topics: Sequence[FetchRequest.FetchTopic] = field(array_of("FetchTopic"), "0+")
    forgotten_topics_data: Sequence[FetchRequest.ForgottenTopic] = field(
        array_of("ForgottenTopic"), "7+"
    )
    rack_id: str = field(string, "11+", ignorable=True)

    class ReplicaState(Struct):
        replica_id: int = field(int32, "15+", default=-1)
        replica_epoch: int = field(int64, "15+", default=-1)

    class FetchTopic(Struct):
        topic: str = field(string, "0-12", ignorable=True)
        topic_id: Uuid = field(uuid, "13+", ignorable=True)
        partitions: Sequence[FetchRequest.FetchPartition] = field(array_of("FetchPartition"), "0+")

    class ForgottenTopic(Struct):
        topic: str = field(string, "7-12", ignorable=True)
        topic_id: Uuid = field(uuid, "13+", ignorable=True)
        partitions: Sequence[int] = field(array_of(int32), "7+")

    class FetchPartition(Struct):
        partition: int = field(int32, "0+")
        current_leader_epoch: int = field(int32, "9+", default=-1, ignorable=True)
        fetch_offset: int = field(int64, "0+")
        last_fetched_epoch: int = field(int32, "12+", default=-1)
        log_start_offset: int = field(int64, "5+", default=-1, ignorable=True)
        partition_max_bytes: int = field(int32, "0+")
        replica_directory_id: Uuid = field(uuid, "17+", tag=0, tagged="17+", ignorable=True)
        high_watermark: int = field(
            int64, "18+", default=9223372036854775807, tag=1, tagged="18+", ignorable=True
        )


class FetchResponse(Response, key=1, versions="0-18", flexible="12+"):
    """Fetch (API 1), versions 0-18, flexible from 12; Kafka 4.3 serves 4-18."""

    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    error_code: int = field(int16, "7+", ignorable=True)
    session_id: int = field(int32, "7+")
    responses: Sequence[FetchResponse.FetchableTopicResponse] = field(
        array_of("FetchableTopicResponse"), "0+"
    )
    node_endpoints: Sequence[FetchResponse.NodeEndpoint] = field(
        array_of("NodeEndpoint"), "16+", tag=0, tagged="16+"
    )

    class FetchableTopicResponse(Struct):
        topic: str = field(string, "0-12", ignorable=True)
        topic_id: Uuid = field(uuid, "13+", ignorable=True)
        partitions: Sequence[FetchResponse.PartitionData] = field(array_of("PartitionData"), "0+")

    class NodeEndpoint(Struct):
        node_id: int = field(int32, "16+")
        host: str = field(string, "16+")
        port: int = field(int32, "16+")
        rack: str | None = field(string, "16+", default=None, nullable="16+")

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        high_watermark: int = field(int64, "0+")
        last_stable_offset: int = field(int64, "4+", default=-1, ignorable=True)
        log_start_offset: int = field(int64, "5+", default=-1, ignorable=True)
        diverging_epoch: FetchResponse.EpochEndOffset = field(
            struct_of("EpochEndOffset"), "12+", tag=0, tagged="12+"
        )
        current_leader: FetchResponse.LeaderIdAndEpoch = field(
            struct_of("LeaderIdAndEpoch"), "12+", tag=1, tagged="12+"
        )
        snapshot_id: FetchResponse.SnapshotId = field(
            struct_of("SnapshotId"), "12+", tag=2, tagged="12+"
        )
        aborted_transactions: Sequence[FetchResponse.AbortedTransaction] | None = field(
            array_of("AbortedTransaction"), "4+", nullable="4+", ignorable=True
        )
        preferred_read_replica: int = field(int32, "11+", default=-1)
        records: Buffer | None = field(batches, "0+", nullable="0+")

    class EpochEndOffset(Struct):
        epoch: int = field(int32, "12+", default=-1)
        end_offset: int = field(int64, "12+", default=-1)

    class LeaderIdAndEpoch(Struct):
        leader_id: int = field(int32, "12+", default=-1)
        leader_epoch: int = field(int32, "12+", default=-1)

    class SnapshotId(Struct):
        end_offset: int = field(int64, "0+", default=-1)
        epoch: int = field(int32, "0+", default=-1)

    class AbortedTransaction(Struct):
        producer_id: int = field(int64, "4+")
        first_offset: int = field(int64, "4+")
