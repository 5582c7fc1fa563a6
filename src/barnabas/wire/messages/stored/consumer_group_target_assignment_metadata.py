# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int32, int64, string


class ConsumerGroupTargetAssignmentMetadataKey(Message, key=6, versions="0"):
    """Key of coordinator record 6, version 0, never flexible."""

    group_id: str = field(string, "0")


class ConsumerGroupTargetAssignmentMetadataValue(Message, key=6, versions="0", flexible="0+"):
    """Value of coordinator record 6, version 0, always flexible."""

    assignment_epoch: int = field(int32, "0+")
    assignment_timestamp: int = field(int64, "0+", tag=0, tagged="0+", ignorable=True)
