# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, Struct, array_of, field, int8, int32, string, uuid


class ShareGroupCurrentMemberAssignmentKey(Message, key=14, versions="0"):
    """Key of coordinator record 14, version 0, never flexible."""

    group_id: str = field(string, "0")
    member_id: str = field(string, "0")


class ShareGroupCurrentMemberAssignmentValue(Message, key=14, versions="0", flexible="0+"):
    """Value of coordinator record 14, version 0, always flexible."""

    member_epoch: int = field(int32, "0+")
    previous_member_epoch: int = field(int32, "0+")
    state: int = field(int8, "0+")
    assigned_partitions: Sequence[ShareGroupCurrentMemberAssignmentValue.TopicPartitions] = field(
        array_of("TopicPartitions"), "0+"
    )

    class TopicPartitions(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
