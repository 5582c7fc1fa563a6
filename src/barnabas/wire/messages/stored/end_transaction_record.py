# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message


class EndTransactionRecord(Message, key=24, versions="0", flexible="0+"):
    """Metadata record 24, version 0, always flexible."""
