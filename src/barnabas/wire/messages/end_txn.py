# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Request, Response, boolean, field, int16, int32, int64, string


class EndTxnRequest(Request, key=26, versions="0-5", flexible="3+"):
    """EndTxn (API 26), versions 0-5, flexible from 3."""

    transactional_id: str = field(string, "0+")
    producer_id: int = field(int64, "0+")
    producer_epoch: int = field(int16, "0+")
    committed: bool = field(boolean, "0+")


class EndTxnResponse(Response, key=26, versions="0-5", flexible="3+"):
    """EndTxn (API 26), versions 0-5, flexible from 3."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    producer_id: int = field(int64, "5+", default=-1, ignorable=True)
    producer_epoch: int = field(int16, "5+", default=-1, ignorable=True)
