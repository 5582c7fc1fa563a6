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
    int16,
    int32,
    int64,
    string,
    struct_of,
    uint16,
)


class StreamsGroupDescribeRequest(Request, key=89, versions="0", flexible="0+"):
    """StreamsGroupDescribe (API 89), version 0, always flexible."""

    group_ids: Sequence[str] = field(array_of(string), "0+")
    include_authorized_operations: bool = field(boolean, "0+")


class StreamsGroupDescribeResponse(Response, key=89, versions="0", flexible="0+"):
    """StreamsGroupDescribe (API 89), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    groups: Sequence[StreamsGroupDescribeResponse.DescribedGroup] = field(
        array_of("DescribedGroup"), "0+"
    )

    class DescribedGroup(Struct):
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
        group_id: str = field(string, "0+")
        group_state: str = field(string, "0+")
        group_epoch: int = field(int32, "0+")
        assignment_epoch: int = field(int32, "0+")
        topology: StreamsGroupDescribeResponse.Topology | None = field(
            struct_of("Topology"), "0+", default=None, nullable="0+"
        )
        members: Sequence[StreamsGroupDescribeResponse.Member] = field(array_of("Member"), "0+")
        authorized_operations: int = field(int32, "0+", default=-2147483648)

    class Topology(Struct):
        epoch: int = field(int32, "0+")
        subtopologies: Sequence[StreamsGroupDescribeResponse.Subtopology] | None = field(
            array_of("Subtopology"), "0+", default=None, nullable="0+"
        )

    class Member(Struct):
        member_id: str = field(string, "0+")
        member_epoch: int = field(int32, "0+")
        instance_id: str | None = field(string, "0+", default=None, nullable="0+")
        rack_id: str | None = field(string, "0+", default=None, nullable="0+")
        client_id: str = field(string, "0+")
        client_host: str = field(string, "0+")
        topology_epoch: int = field(int32, "0+")
        process_id: str = field(string, "0+")
        user_endpoint: StreamsGroupDescribeResponse.Endpoint | None = field(
            struct_of("Endpoint"), "0+", default=None, nullable="0+"
        )
        client_tags: Sequence[StreamsGroupDescribeResponse.KeyValue] = field(
            array_of("KeyValue"), "0+"
        )
        task_offsets: Sequence[StreamsGroupDescribeResponse.TaskOffset] = field(
            array_of("TaskOffset"), "0+"
        )
        task_end_offsets: Sequence[StreamsGroupDescribeResponse.TaskOffset] = field(
            array_of("TaskOffset"), "0+"
        )
        assignment: StreamsGroupDescribeResponse.Assignment = field(struct_of("Assignment"), "0+")
        target_assignment: StreamsGroupDescribeResponse.Assignment = field(
            struct_of("Assignment"), "0+"
        )
        is_classic: bool = field(boolean, "0+")

    class Subtopology(Struct):
        subtopology_id: str = field(string, "0+")
        source_topics: Sequence[str] = field(array_of(string), "0+")
        repartition_sink_topics: Sequence[str] = field(array_of(string), "0+")
        state_changelog_topics: Sequence[StreamsGroupDescribeResponse.TopicInfo] = field(
            array_of("TopicInfo"), "0+"
        )
        repartition_source_topics: Sequence[StreamsGroupDescribeResponse.TopicInfo] = field(
            array_of("TopicInfo"), "0+"
        )

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

    class Assignment(Struct):
        active_tasks: Sequence[StreamsGroupDescribeResponse.TaskIds] = field(
            array_of("TaskIds"), "0+"
        )
        standby_tasks: Sequence[StreamsGroupDescribeResponse.TaskIds] = field(
            array_of("TaskIds"), "0+"
        )
        warmup_tasks: Sequence[StreamsGroupDescribeResponse.TaskIds] = field(
            array_of("TaskIds"), "0+"
        )

    class TopicInfo(Struct):
        name: str = field(string, "0+")
        partitions: int = field(int32, "0+")
        replication_factor: int = field(int16, "0+")
        topic_configs: Sequence[StreamsGroupDescribeResponse.KeyValue] = field(
            array_of("KeyValue"), "0+"
        )

    class TaskIds(Struct):
        subtopology_id: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
