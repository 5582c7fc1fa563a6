# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, field, string, uuid


class TopicRecord(Message, key=2, versions="0", flexible="0+"):
    """Metadata record 2, version 0, always flexible."""

    name: str = field(string, "0+")
    topic_id: Uuid = field(uuid, "0+")
