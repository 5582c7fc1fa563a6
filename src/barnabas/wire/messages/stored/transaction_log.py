# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Message,
    Struct,
    array_of,
    field,
    int8,
    int16,
    int32,
    int64,
    string,
)


class TransactionLogKey(Message, key=0, versions="0"):
    """Key of coordinator record 0, version 0, never flexible."""

    transactional_id: str = field(string, "0")


class TransactionLogValue(Message, key=0, versions="0-1", flexible="1+"):
    """Value of coordinator record 0, versions 0-1, flexible from 1."""

    producer_id: int = field(int64, "0+")
    previous_producer_id: int = field(int64, "1+", default=-1, tag=0, tagged="1+")
    next_producer_id: int = field(int64, "1+", default=-1, tag=1, tagged="1+")
    producer_epoch: int = field(int16, "0+")
    next_producer_epoch: int = field(int16, "1+", default=-1, tag=3, tagged="1+")
    transaction_timeout_ms: int = field(int32, "0+")
    transaction_status: int = field(int8, "0+")
    transaction_partitions: Sequence[TransactionLogValue.PartitionsSchema] | None = field(
        array_of("PartitionsSchema"), "0+", nullable="0+"
    )
    transaction_last_update_timestamp_ms: int = field(int64, "0+")
    transaction_start_timestamp_ms: int = field(int64, "0+")
    client_transaction_version: int = field(int16, "1+", tag=2, tagged="1+")

    class PartitionsSchema(Struct):
        topic: str = field(string, "0+")
        partition_ids: Sequence[int] = field(array_of(int32), "0+")
