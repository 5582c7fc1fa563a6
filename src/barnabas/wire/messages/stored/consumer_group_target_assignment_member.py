# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, Struct, array_of, field, int32, string, uuid


class ConsumerGroupTargetAssignmentMemberKey(Message, key=7, versions="0"):
    """Key of coordinator record 7, version 0, never flexible."""

    group_id: str = field(string, "0")
    member_id: str = field(string, "0")


class ConsumerGroupTargetAssignmentMemberValue(Message, key=7, versions="0", flexible="0+"):
    """Value of coordinator record 7, version 0, always flexible."""

    topic_partitions: Sequence[ConsumerGroupTargetAssignmentMemberValue.TopicPartition] = field(
        array_of("TopicPartition"), "0+"
    )

    class TopicPartition(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
