# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Request, Response, field, int16, int32, int64


class AllocateProducerIdsRequest(Request, key=67, versions="0", flexible="0+"):
    """AllocateProducerIds (API 67), version 0, always flexible."""

    broker_id: int = field(int32, "0+")
    broker_epoch: int = field(int64, "0+", default=-1)


class AllocateProducerIdsResponse(Response, key=67, versions="0", flexible="0+"):
    """AllocateProducerIds (API 67), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    producer_id_start: int = field(int64, "0+")
    producer_id_len: int = field(int32, "0+")
