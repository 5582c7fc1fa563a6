# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int32, int64


class FenceBrokerRecord(Message, key=7, versions="0", flexible="0+"):
    """Metadata record 7, version 0, always flexible."""

    id: int = field(int32, "0+")
    epoch: int = field(int64, "0+")
