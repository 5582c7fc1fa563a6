# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, Struct, array_of, boolean, field, float64, string


class ClientQuotaRecord(Message, key=14, versions="0", flexible="0+"):
    """Metadata record 14, version 0, always flexible."""

    entity: Sequence[ClientQuotaRecord.EntityData] = field(array_of("EntityData"), "0+")
    key: str = field(string, "0+")
    value: float = field(float64, "0+")
    remove: bool = field(boolean, "0+")

    class EntityData(Struct):
        entity_type: str = field(string, "0+")
        entity_name: str | None = field(string, "0+", nullable="0+")
