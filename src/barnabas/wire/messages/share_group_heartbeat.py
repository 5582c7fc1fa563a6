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
    struct_of,
    uuid,
)


class ShareGroupHeartbeatRequest(Request, key=76, versions="0-1", flexible="0+"):
    """ShareGroupHeartbeat (API 76), versions 0-1, always flexible; Kafka 4.3 serves 1."""

    group_id: str = field(string, "0+")
    member_id: str = field(string, "0+")
    member_epoch: int = field(int32, "0+")
    rack_id: str | None = field(string, "0+", default=None, nullable="0+")
    subscribed_topic_names: Sequence[str] | None = field(
        array_of(string), "0+", default=None, nullable="0+"
    )


class ShareGroupHeartbeatResponse(Response, key=76, versions="0-1", flexible="0+"):
    """ShareGroupHeartbeat (API 76), versions 0-1, always flexible; Kafka 4.3 serves 1."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", default=None, nullable="0+")
    member_id: str | None = field(string, "0+", default=None, nullable="0+")
    member_epoch: int = field(int32, "0+")
    heartbeat_interval_ms: int = field(int32, "0+")
    assignment: ShareGroupHeartbeatResponse.Assignment | None = field(
        struct_of("Assignment"), "0+", default=None, nullable="0+"
    )

    class Assignment(Struct):
        topic_partitions: Sequence[ShareGroupHeartbeatResponse.TopicPartitions] = field(
            array_of("TopicPartitions"), "0+"
        )

    class TopicPartitions(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
