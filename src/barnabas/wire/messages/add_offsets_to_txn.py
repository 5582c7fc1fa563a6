# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Request, Response, field, int16, int32, int64, string


class AddOffsetsToTxnRequest(Request, key=25, versions="0-4", flexible="3+"):
    """AddOffsetsToTxn (API 25), versions 0-4, flexible from 3."""

    transactional_id: str = field(string, "0+")
    producer_id: int = field(int64, "0+")
    producer_epoch: int = field(int16, "0+")
    group_id: str = field(string, "0+")


class AddOffsetsToTxnResponse(Response, key=25, versions="0-4", flexible="3+"):
    """AddOffsetsToTxn (API 25), versions 0-4, flexible from 3."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
