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
    struct_of,
    uuid,
)


class ShareAcknowledgeRequest(Request, key=79, versions="0-2", flexible="0+"):
    """ShareAcknowledge (API 79), versions 0-2, always flexible; Kafka 4.3 serves 1-2."""

    group_id: str | None = field(string, "0+", default=None, nullable="0+")
    member_id: str | None = field(string, "0+", nullable="0+")
    share_session_epoch: int = field(int32, "0+")
    is_renew_ack: bool = field(boolean, "2+")
    topics: Sequence[ShareAcknowledgeRequest.AcknowledgeTopic] = field(
        array_of("AcknowledgeTopic"), "0+"
    )

    class AcknowledgeTopic(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[ShareAcknowledgeRequest.AcknowledgePartition] = field(
            array_of("AcknowledgePartition"), "0+"
        )

    class AcknowledgePartition(Struct):
        partition_index: int = field(int32, "0+")
        acknowledgement_batches: Sequence[ShareAcknowledgeRequest.AcknowledgementBatch] = field(
            array_of("AcknowledgementBatch"), "0+"
        )

    class AcknowledgementBatch(Struct):
        first_offset: int = field(int64, "0+")
        last_offset: int = field(int64, "0+")
        acknowledge_types: Sequence[int] = field(array_of(int8), "0+")


class ShareAcknowledgeResponse(Response, key=79, versions="0-2", flexible="0+"):
    """ShareAcknowledge (API 79), versions 0-2, always flexible; Kafka 4.3 serves 1-2."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", default=None, nullable="0+")
    acquisition_lock_timeout_ms: int = field(int32, "2+", ignorable=True)
    responses: Sequence[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = field(
        array_of("ShareAcknowledgeTopicResponse"), "0+"
    )
    node_endpoints: Sequence[ShareAcknowledgeResponse.NodeEndpoint] = field(
        array_of("NodeEndpoint"), "0+"
    )

    class ShareAcknowledgeTopicResponse(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[ShareAcknowledgeResponse.PartitionData] = field(
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
        current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch = field(
            struct_of("LeaderIdAndEpoch"), "0+"
        )

    class LeaderIdAndEpoch(Struct):
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
