# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, field, int8, string, uuid


class AccessControlEntryRecord(Message, key=18, versions="0", flexible="0+"):
    """Metadata record 18, version 0, always flexible."""

    id: Uuid = field(uuid, "0+")
    resource_type: int = field(int8, "0+")
    resource_name: str = field(string, "0+")
    pattern_type: int = field(int8, "0+")
    principal: str = field(string, "0+")
    host: str = field(string, "0+")
    operation: int = field(int8, "0+")
    permission_type: int = field(int8, "0+")
