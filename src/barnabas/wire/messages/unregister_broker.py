# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Request, Response, field, int16, int32, string


class UnregisterBrokerRequest(Request, key=64, versions="0", flexible="0+"):
    """UnregisterBroker (API 64), version 0, always flexible."""

    broker_id: int = field(int32, "0+")


class UnregisterBrokerResponse(Response, key=64, versions="0", flexible="0+"):
    """UnregisterBroker (API 64), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+")
