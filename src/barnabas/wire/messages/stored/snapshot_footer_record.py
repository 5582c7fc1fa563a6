# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int16


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    """SnapshotFooterRecord, version 0, always flexible."""

    version: int = field(int16, "0+")
