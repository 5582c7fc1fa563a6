# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int32


class EndTxnMarker(Message, versions="0"):
    """EndTxnMarker, version 0, never flexible."""

    coordinator_epoch: int = field(int32, "0+")
