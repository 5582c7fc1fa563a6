# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, string


class AbortTransactionRecord(Message, key=25, versions="0", flexible="0+"):
    """Metadata record 25, version 0, always flexible."""

    reason: str | None = field(string, "0+", default=None, nullable="0+", tag=0, tagged="0+")
