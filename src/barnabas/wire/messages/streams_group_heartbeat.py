# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

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
    uint16,
)


class StreamsGroupHeartbeatRequest(Request, key=88, versions="0", flexible="0+"):
    """StreamsGroupHeartbeat (API 88), version 0, always flexible."""

    group_id: str = field(string, "0+")
    member_id: str = field(string, "0+")
    member_epoch: int = field(int32, "0+")
    endpoint_information_epoch: int = field(int32, "0+")
    instance_id: str | None = field(string, "0+", default=None, nullable="0+")
    rack_id: str | None = field(string, "0+", default=None, nullable="0+")
    rebalance_timeout_ms: int = field(int32, "0+", default=-1)
    topology: StreamsGroupHeartbeatRequest.Topology | None = field(
        struct_of("Topology"), "0+", default=None, nullable="0+"
    )
    active_tasks: Sequence[StreamsGroupHeartbeatRequest.TaskIds] | None = field(
        array_of("TaskIds"), "0+", default=None, nullable="0+"
    )
    standby_tasks: Sequence[StreamsGroupHeartbeatRequest.TaskIds] | None = field(
        array_of("TaskIds"), "0+", default=None, nullable="0+"
    )
    warmup_tasks: Sequence[StreamsGroupHeartbeatRequest.TaskIds] | None = field(
        array_of("TaskIds"), "0+", default=None, nullable="0+"
    )
    process_id: str | None = field(string, "0+", default=None, nullable="0+")
    user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None = field(
        struct_of("Endpoint"), "0+", default=None, nullable="0+"
    )
    client_tags: Sequence[StreamsGroupHeartbeatRequest.KeyValue] | None = field(
        array_of("KeyValue"), "0+", default=None, nullable="0+"
    )
    task_offsets: Sequence[StreamsGroupHeartbeatRequest.TaskOffset] | None = field(
        array_of("TaskOffset"), "0+", default=None, nullable="0+"
    )
    task_end_offsets: Sequence[StreamsGroupHeartbeatRequest.TaskOffset] | None = field(
        array_of("TaskOffset"), "0+", default=None, nullable="0+"
    )
    shutdown_application: bool = field(boolean, "0+")

    class Topology(Struct):
        epoch: int = field(int32, "0+")
        subtopologies: Sequence[StreamsGroupHeartbeatRequest.Subtopology] = field(
            array_of("Subtopology"), "0+"
        )

    class TaskIds(Struct):
        subtopology_id: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")

    class Endpoint(Struct):
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")

    class KeyValue(Struct):
        key: str = field(string, "0+")
        value: str = field(string, "0+")

    class TaskOffset(Struct):
        subtopology_id: str = field(string, "0+")
        partition: int = field(int32, "0+")
        offset: int = field(int64, "0+")

    class Subtopology(Struct):
        subtopology_id: str = field(string, "0+")
        source_topics: Sequence[str] = field(array_of(string), "0+")
        source_topic_regex: Sequence[str] = field(array_of(string), "0+")
        state_changelog_topics: Sequence[StreamsGroupHeartbeatRequest.TopicInfo] = field(
            array_of("TopicInfo"), "0+"
        )
        repartition_sink_topics: Sequence[str] = field(array_of(string), "0+")
        repartition_source_topics: Sequence[StreamsGroupHeartbeatRequest.TopicInfo] = field(
            array_of("TopicInfo"), "0+"
        )
        copartition_groups: Sequence[StreamsGroupHeartbeatRequest.CopartitionGroup] = field(
            array_of("CopartitionGroup"), "0+"
        )

    class TopicInfo(Struct):
        name: str = field(string, "0+")
        partitions: int = field(int32, "0+")
        replication_factor: int = field(int16, "0+")
        topic_configs: Sequence[StreamsGroupHeartbeatRequest.KeyValue] = field(
            array_of("KeyValue"), "0+"
        )

    class CopartitionGroup(Struct):
        source_topics: Sequence[int] = field(array_of(int16), "0+")
        source_topic_regex: Sequence[int] = field(array_of(int16), "0+")
        repartition_source_topics: Sequence[int] = field(array_of(int16), "0+")


class StreamsGroupHeartbeatResponse(Response, key=88, versions="0", flexible="0+"):
    """StreamsGroupHeartbeat (API 88), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", default=None, nullable="0+")
    member_id: str = field(string, "0+")
    member_epoch: int = field(int32, "0+")
    heartbeat_interval_ms: int = field(int32, "0+")
    acceptable_recovery_lag: int = field(int32, "0+")
    task_offset_interval_ms: int = field(int32, "0+")
    status: Sequence[StreamsGroupHeartbeatResponse.Status] | None = field(
        array_of("Status"), "0+", nullable="0+"
    )
    active_tasks: Sequence[StreamsGroupHeartbeatResponse.TaskIds] | None = field(
        array_of("TaskIds"), "0+", default=None, nullable="0+"
    )
    standby_tasks: Sequence[StreamsGroupHeartbeatResponse.TaskIds] | None = field(
        array_of("TaskIds"), "0+", default=None, nullable="0+"
    )
    warmup_tasks: Sequence[StreamsGroupHeartbeatResponse.TaskIds] | None = field(
        array_of("TaskIds"), "0+", default=None, nullable="0+"
    )
    endpoint_information_epoch: int = field(int32, "0+")
    partitions_by_user_endpoint: (
        Sequence[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None
    ) = field(array_of("EndpointToPartitions"), "0+", default=None, nullable="0+")

    class Status(Struct):
        status_code: int = field(int8, "0+")
        status_detail: str = field(string, "0+")

    class TaskIds(Struct):
        subtopology_id: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")

    class EndpointToPartitions(Struct):
        user_endpoint: StreamsGroupHeartbeatResponse.Endpoint = field(struct_of("Endpoint"), "0+")
        active_partitions: Sequence[StreamsGroupHeartbeatResponse.TopicPartition] = field(
            array_of("TopicPartition"), "0+"
        )
        standby_partitions: Sequence[StreamsGroupHeartbeatResponse.TopicPartition] = field(
            array_of("TopicPartition"), "0+"
        )

    class Endpoint(Struct):
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")

    class TopicPartition(Struct):
        topic: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
