# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    field,
    int16,
    int32,
    int64,
    string,
)


class ControlledShutdownRequest(Request, key=7, versions="0-3", flexible="3+"):
    """ControlledShutdown (API 7), versions 0-3, flexible from 3; Kafka 4.3 has dropped it."""

    broker_id: int = field(int32, "0+")
    broker_epoch: int = field(int64, "2+", default=-1, ignorable=True)


class ControlledShutdownResponse(Response, key=7, versions="0-3", flexible="3+"):
    """ControlledShutdown (API 7), versions 0-3, flexible from 3; Kafka 4.3 has dropped it."""

    error_code: int = field(int16, "0+")
    remaining_partitions: Sequence[ControlledShutdownResponse.RemainingPartition] = field(
        array_of("RemainingPartition"), "0+"
    )

    class RemainingPartition(Struct):
        topic_name: str = field(string, "0+")
        partition_index: int = field(int32, "0+")
