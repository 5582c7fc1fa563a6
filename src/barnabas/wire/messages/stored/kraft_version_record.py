# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int16


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    """KRaftVersionRecord, version 0, always flexible."""

    version: int = field(int16, "0+")
    kraft_version: int = field(int16, "0+")
