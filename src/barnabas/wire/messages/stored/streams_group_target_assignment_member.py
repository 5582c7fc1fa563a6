# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, Struct, array_of, field, int32, string


class StreamsGroupTargetAssignmentMemberKey(Message, key=21, versions="0"):
    """Key of coordinator record 21, version 0, never flexible."""

    group_id: str = field(string, "0")
    member_id: str = field(string, "0")


class StreamsGroupTargetAssignmentMemberValue(Message, key=21, versions="0", flexible="0+"):
    """Value of coordinator record 21, version 0, always flexible."""

    active_tasks: Sequence[StreamsGroupTargetAssignmentMemberValue.TaskIds] = field(
        array_of("TaskIds"), "0+"
    )
    standby_tasks: Sequence[StreamsGroupTargetAssignmentMemberValue.TaskIds] = field(
        array_of("TaskIds"), "0+"
    )
    warmup_tasks: Sequence[StreamsGroupTargetAssignmentMemberValue.TaskIds] = field(
        array_of("TaskIds"), "0+"
    )

    class TaskIds(Struct):
        subtopology_id: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
