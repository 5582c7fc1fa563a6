# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int32, int64


class ProducerIdsRecord(Message, key=15, versions="0", flexible="0+"):
    """Metadata record 15, version 0, always flexible."""

    broker_id: int = field(int32, "0+")
    broker_epoch: int = field(int64, "0+", default=-1)
    next_producer_id: int = field(int64, "0+")
