# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, string


class ClearElrRecord(Message, key=28, versions="0", flexible="0+"):
    """Metadata record 28, version 0, always flexible."""

    topic_name: str = field(string, "0+")
