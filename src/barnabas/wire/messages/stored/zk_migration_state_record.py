# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int8


class ZkMigrationStateRecord(Message, key=21, versions="0", flexible="0+"):
    """Metadata record 21, version 0, always flexible."""

    zk_migration_state: int = field(int8, "0+")
