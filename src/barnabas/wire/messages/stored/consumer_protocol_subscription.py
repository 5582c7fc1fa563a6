# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.primitives import Buffer
from barnabas.wire.structs import Message, Struct, array_of, field, int32, string, view


class ConsumerProtocolSubscription(Message, versions="0-3"):
    """ConsumerProtocolSubscription, versions 0-3, never flexible."""

    topics: Sequence[str] = field(array_of(string), "0+")
    user_data: Buffer | None = field(view, "0+", default=None, nullable="0+")
    owned_partitions: Sequence[ConsumerProtocolSubscription.TopicPartition] = field(
        array_of("TopicPartition"), "1+", ignorable=True
    )
    generation_id: int = field(int32, "2+", default=-1, ignorable=True)
    rack_id: str | None = field(string, "3+", default=None, nullable="3+", ignorable=True)

    class TopicPartition(Struct):
        topic: str = field(string, "1+")
        partitions: Sequence[int] = field(array_of(int32), "1+")
