# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, field, uuid


class RemoveAccessControlEntryRecord(Message, key=19, versions="0", flexible="0+"):
    """Metadata record 19, version 0, always flexible."""

    id: Uuid = field(uuid, "0+")
