# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int16, int64


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    """SnapshotHeaderRecord, version 0, always flexible."""

    version: int = field(int16, "0+")
    last_contained_log_timestamp: int = field(int64, "0+")
