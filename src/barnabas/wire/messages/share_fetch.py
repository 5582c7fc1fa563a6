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
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    string,
    struct_of,
    uuid,
)


class ShareFetchRequest(Request, key=78, versions="0-2", flexible="0+"):
    """ShareFetch (API 78), versions 0-2, always flexible; Kafka 4.3 serves 1-2."""

    group_id: str | None = field(string, "0+", default=None, nullable="0+")
    member_id: str | None = field(string, "0+", nullable="0+")
    share_session_epoch: int = field(int32, "0+")
    max_wait_ms: int = field(int32, "0+")
    min_bytes: int = field(int32, "0+")
    max_bytes: int = field(int32, "0+", default=2147483647)
    max_records: int = field(int32, "1+")
    batch_size: int = field(int32, "1+")
    share_acquire_mode: int = field(int8, "2+", ignorable=True)
    is_renew_ack: bool = field(boolean, "2+")
    topics: Sequence[ShareFetchRequest.FetchTopic] = field(array_of("FetchTopic"), "0+")
    forgotten_topics_data: Sequence[ShareFetchRequest.ForgottenTopic] = field(
        array_of("ForgottenTopic"), "0+"
    )

    class FetchTopic(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[ShareFetchRequest.FetchPartition] = field(
            array_of("FetchPartition"), "0+"
        )

    class ForgottenTopic(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")

    class FetchPartition(Struct):
        partition_index: int = field(int32, "0+")
        partition_max_bytes: int = field(int32, "0")
        acknowledgement_batches: Sequence[ShareFetchRequest.AcknowledgementBatch] = field(
            array_of("AcknowledgementBatch"), "0+"
        )

    class AcknowledgementBatch(Struct):
        first_offset: int = field(int64, "0+")
        last_offset: int = field(int64, "0+")
        acknowledge_types: Sequence[int] = field(array_of(int8), "0+")


class ShareFetchResponse(Response, key=78, versions="0-2", flexible="0+"):
    """ShareFetch (API 78), versions 0-2, always flexible; Kafka 4.3 serves 1-2."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", default=None, nullable="0+")
    acquisition_lock_timeout_ms: int = field(int32, "1+")
    responses: Sequence[ShareFetchResponse.ShareFetchableTopicResponse] = field(
        array_of("ShareFetchableTopicResponse"), "0+"
    )
    node_endpoints: Sequence[ShareFetchResponse.NodeEndpoint] = field(
        array_of("NodeEndpoint"), "0+"
    )

    class ShareFetchableTopicResponse(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[ShareFetchResponse.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class NodeEndpoint(Struct):
        node_id: int = field(int32, "0+")
        host: str = field(string, "0+")
        port: int = field(int32, "0+")
        rack: str | None = field(string, "0+", default=None, nullable="0+")

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
        acknowledge_error_code: int = field(int16, "0+")
        acknowledge_error_message: str | None = field(string, "0+", default=None, nullable="0+")
        current_leader: ShareFetchResponse.LeaderIdAndEpoch = field(
            struct_of("LeaderIdAndEpoch"), "0+"
        )
        records: Buffer | None = field(batches, "0+", nullable="0")
        acquired_records: Sequence[ShareFetchResponse.AcquiredRecords] = field(
            array_of("AcquiredRecords"), "0+"
        )

    class LeaderIdAndEpoch(Struct):
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")

    class AcquiredRecords(Struct):
        first_offset: int = field(int64, "0+")
        last_offset: int = field(int64, "0+")
        delivery_count: int = field(int16, "0+")
