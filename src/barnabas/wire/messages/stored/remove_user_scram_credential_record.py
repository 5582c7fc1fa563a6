# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int8, string


class RemoveUserScramCredentialRecord(Message, key=22, versions="0", flexible="0+"):
    """Metadata record 22, version 0, always flexible."""

    name: str = field(string, "0+")
    mechanism: int = field(int8, "0+")
