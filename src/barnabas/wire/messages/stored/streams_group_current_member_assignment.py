# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, Struct, array_of, field, int8, int32, string


class StreamsGroupCurrentMemberAssignmentKey(Message, key=22, versions="0"):
    """Key of coordinator record 22, version 0, never flexible."""

    group_id: str = field(string, "0")
    member_id: str = field(string, "0")


class StreamsGroupCurrentMemberAssignmentValue(Message, key=22, versions="0", flexible="0+"):
    """Value of coordinator record 22, version 0, always flexible."""

    member_epoch: int = field(int32, "0+")
    previous_member_epoch: int = field(int32, "0+")
    state: int = field(int8, "0+")
    active_tasks: Sequence[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = field(
        array_of("TaskIds"), "0+"
    )
    standby_tasks: Sequence[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = field(
        array_of("TaskIds"), "0+"
    )
    warmup_tasks: Sequence[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = field(
        array_of("TaskIds"), "0+"
    )
    active_tasks_pending_revocation: Sequence[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = (
        field(array_of("TaskIds"), "0+")
    )
    standby_tasks_pending_revocation: Sequence[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = (
        field(array_of("TaskIds"), "0+")
    )
    warmup_tasks_pending_revocation: Sequence[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = (
        field(array_of("TaskIds"), "0+")
    )

    class TaskIds(Struct):
        subtopology_id: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
        assignment_epochs: Sequence[int] | None = field(
            array_of(int32), "0+", nullable="0+", tag=0, tagged="0+"
        )
