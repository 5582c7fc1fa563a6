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
    string,
    struct_of,
    uuid,
)


class ConsumerGroupDescribeRequest(Request, key=69, versions="0-1", flexible="0+"):
    """ConsumerGroupDescribe (API 69), versions 0-1, always flexible."""

    group_ids: Sequence[str] = field(array_of(string), "0+")
    include_authorized_operations: bool = field(boolean, "0+")


class ConsumerGroupDescribeResponse(Response, key=69, versions="0-1", flexible="0+"):
    """ConsumerGroupDescribe (API 69), versions 0-1, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    groups: Sequence[ConsumerGroupDescribeResponse.DescribedGroup] = field(
        array_of("DescribedGroup"), "0+"
    )

    class DescribedGroup(Struct):
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
        group_id: str = field(string, "0+")
        group_state: str = field(string, "0+")
        group_epoch: int = field(int32, "0+")
        assignment_epoch: int = field(int32, "0+")
        assignor_name: str = field(string, "0+")
        members: Sequence[ConsumerGroupDescribeResponse.Member] = field(array_of("Member"), "0+")
        authorized_operations: int = field(int32, "0+", default=-2147483648)

    class Member(Struct):
        member_id: str = field(string, "0+")
        instance_id: str | None = field(string, "0+", default=None, nullable="0+")
        rack_id: str | None = field(string, "0+", default=None, nullable="0+")
        member_epoch: int = field(int32, "0+")
        client_id: str = field(string, "0+")
        client_host: str = field(string, "0+")
        subscribed_topic_names: Sequence[str] = field(array_of(string), "0+")
        subscribed_topic_regex: str | None = field(string, "0+", default=None, nullable="0+")
        assignment: ConsumerGroupDescribeResponse.Assignment = field(struct_of("Assignment"), "0+")
        target_assignment: ConsumerGroupDescribeResponse.Assignment = field(
            struct_of("Assignment"), "0+"
        )
        member_type: int = field(int8, "1+", default=-1, ignorable=True)

    class Assignment(Struct):
        topic_partitions: Sequence[ConsumerGroupDescribeResponse.TopicPartitions] = field(
            array_of("TopicPartitions"), "0+"
        )

    class TopicPartitions(Struct):
        topic_id: Uuid = field(uuid, "0+")
        topic_name: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
