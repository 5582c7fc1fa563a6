# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, array_of, field, string


class ShareGroupMemberMetadataKey(Message, key=10, versions="0"):
    """Key of coordinator record 10, version 0, never flexible."""

    group_id: str = field(string, "0")
    member_id: str = field(string, "0")


class ShareGroupMemberMetadataValue(Message, key=10, versions="0", flexible="0+"):
    """Value of coordinator record 10, version 0, always flexible."""

    rack_id: str | None = field(string, "0+", nullable="0+")
    client_id: str = field(string, "0+")
    client_host: str = field(string, "0+")
    subscribed_topic_names: Sequence[str] = field(array_of(string), "0+")
