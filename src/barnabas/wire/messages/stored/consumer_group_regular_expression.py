# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, array_of, field, int64, string


class ConsumerGroupRegularExpressionKey(Message, key=16, versions="0"):
    """Key of coordinator record 16, version 0, never flexible."""

    group_id: str = field(string, "0")
    regular_expression: str = field(string, "0")


class ConsumerGroupRegularExpressionValue(Message, key=16, versions="0", flexible="0+"):
    """Value of coordinator record 16, version 0, always flexible."""

    topics: Sequence[str] = field(array_of(string), "0+")
    version: int = field(int64, "0+")
    timestamp: int = field(int64, "0+")
