# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Request, Response, boolean, field, int16, int32, int64, string


class InitProducerIdRequest(Request, key=22, versions="0-6", flexible="2+"):
    """InitProducerId (API 22), versions 0-6, flexible from 2."""

    transactional_id: str | None = field(string, "0+", nullable="0+")
    transaction_timeout_ms: int = field(int32, "0+")
    producer_id: int = field(int64, "3+", default=-1)
    producer_epoch: int = field(int16, "3+", default=-1)
    enable2_pc: bool = field(boolean, "6+")
    keep_prepared_txn: bool = field(boolean, "6+")


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+"):
    """InitProducerId (API 22), versions 0-6, flexible from 2."""

    throttle_time_ms: int = field(int32, "0+", ignorable=True)
    error_code: int = field(int16, "0+")
    producer_id: int = field(int64, "0+", default=-1)
    producer_epoch: int = field(int16, "0+")
    ongoing_txn_producer_id: int = field(int64, "6+", default=-1)
    ongoing_txn_producer_epoch: int = field(int16, "6+", default=-1)
