# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int16, string


class FeatureLevelRecord(Message, key=12, versions="0", flexible="0+"):
    """Metadata record 12, version 0, always flexible."""

    name: str = field(string, "0+")
    feature_level: int = field(int16, "0+")
