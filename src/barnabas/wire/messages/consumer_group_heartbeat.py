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


class ConsumerGroupHeartbeatRequest(Request, key=68, versions="0-1", flexible="0+"):
    """ConsumerGroupHeartbeat (API 68), versions 0-1, always flexible."""

    group_id: str = field(string, "0+")
    member_id: str = field(string, "0+")
    member_epoch: int = field(int32, "0+")
    instance_id: str | None = field(string, "0+", default=None, nullable="0+")
    rack_id: str | None = field(string, "0+", default=None, nullable="0+")
    rebalance_timeout_ms: int = field(int32, "0+", default=-1)
    subscribed_topic_names: Sequence[str] | None = field(
        array_of(string), "0+", default=None, nullable="0+"
    )
    subscribed_topic_regex: str | None = field(string, "1+", default=None, nullable="1+")
    server_assignor: str | None = field(string, "0+", default=None, nullable="0+")
    topic_partitions: Sequence[ConsumerGroupHeartbeatRequest.TopicPartitions] | None = field(
        array_of("TopicPartitions"), "0+", default=None, nullable="0+"
    )

    class TopicPartitions(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")


class ConsumerGroupHeartbeatResponse(Response, key=68, versions="0-1", flexible="0+"):
    """ConsumerGroupHeartbeat (API 68), versions 0-1, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", default=None, nullable="0+")
    member_id: str | None = field(string, "0+", default=None, nullable="0+")
    member_epoch: int = field(int32, "0+")
    heartbeat_interval_ms: int = field(int32, "0+")
    assignment: ConsumerGroupHeartbeatResponse.Assignment | None = field(
        struct_of("Assignment"), "0+", default=None, nullable="0+"
    )

    class Assignment(Struct):
        topic_partitions: Sequence[ConsumerGroupHeartbeatResponse.TopicPartitions] = field(
            array_of("TopicPartitions"), "0+"
        )

    class TopicPartitions(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
