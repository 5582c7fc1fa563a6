# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int16


class ControlRecordTypeSchema(Message, versions="0"):
    """ControlRecordTypeSchema, version 0, never flexible."""

    type: int = field(int16, "0+")
