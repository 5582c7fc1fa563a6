# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, string


class BeginTransactionRecord(Message, key=23, versions="0", flexible="0+"):
    """Metadata record 23, version 0, always flexible."""

    name: str | None = field(string, "0+", default=None, nullable="0+", tag=0, tagged="0+")
