# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int32, int64, string


class ConsumerGroupMetadataKey(Message, key=3, versions="0"):
    """Key of coordinator record 3, version 0, never flexible."""

    group_id: str = field(string, "0")


class ConsumerGroupMetadataValue(Message, key=3, versions="0", flexible="0+"):
    """Value of coordinator record 3, version 0, always flexible."""

    epoch: int = field(int32, "0+")
    metadata_hash: int = field(int64, "0+", tag=0, tagged="0+")
