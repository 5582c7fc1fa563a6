# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, string


class RemoveDelegationTokenRecord(Message, key=26, versions="0", flexible="0+"):
    """Metadata record 26, version 0, always flexible."""

    token_id: str = field(string, "0+")
