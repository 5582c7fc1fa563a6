# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message


class NoOpRecord(Message, key=20, versions="0", flexible="0+"):
    """Metadata record 20, version 0, always flexible."""
