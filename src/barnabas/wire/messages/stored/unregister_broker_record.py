# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int32, int64


class UnregisterBrokerRecord(Message, key=1, versions="0", flexible="0+"):
    """Metadata record 1, version 0, always flexible."""

    broker_id: int = field(int32, "0+")
    broker_epoch: int = field(int64, "0+")
