# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.primitives import Buffer
from barnabas.wire.structs import Message, Struct, array_of, field, int32, string, view


class ConsumerProtocolAssignment(Message, versions="0-3"):
    """ConsumerProtocolAssignment, versions 0-3, never flexible."""

    assigned_partitions: Sequence[ConsumerProtocolAssignment.TopicPartition] = field(
        array_of("TopicPartition"), "0+"
    )
    user_data: Buffer | None = field(view, "0+", default=None, nullable="0+")

    class TopicPartition(Struct):
        topic: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
