# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int8, string


class ConfigRecord(Message, key=4, versions="0", flexible="0+"):
    """Metadata record 4, version 0, always flexible."""

    resource_type: int = field(int8, "0+")
    resource_name: str = field(string, "0+")
    name: str = field(string, "0+")
    value: str | None = field(string, "0+", nullable="0+")
