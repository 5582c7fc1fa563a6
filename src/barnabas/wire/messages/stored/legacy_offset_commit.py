# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int32, int64, string


class LegacyOffsetCommitKey(Message, key=0, versions="0"):
    """Key of coordinator record 0, version 0, never flexible."""

    group: str = field(string, "0")
    topic: str = field(string, "0")
    partition: int = field(int32, "0")


class LegacyOffsetCommitValue(Message, key=0, versions="0"):
    """Value of coordinator record 0, version 0, never flexible."""

    offset: int = field(int64, "0")
    metadata: str = field(string, "0")
    commit_timestamp: int = field(int64, "0")
