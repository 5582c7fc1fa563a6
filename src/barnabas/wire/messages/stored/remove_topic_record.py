# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, field, uuid


class RemoveTopicRecord(Message, key=9, versions="0", flexible="0+"):
    """Metadata record 9, version 0, always flexible."""

    topic_id: Uuid = field(uuid, "0+")
