# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Request, Response, field, int16, int32, string


class HeartbeatRequest(Request, key=12, versions="0-4", flexible="4+"):
    """Heartbeat (API 12), versions 0-4, flexible from 4."""

    group_id: str = field(string, "0+")
    generation_id: int = field(int32, "0+")
    member_id: str = field(string, "0+")
    group_instance_id: str | None = field(string, "3+", default=None, nullable="3+")


class HeartbeatResponse(Response, key=12, versions="0-4", flexible="4+"):
    """Heartbeat (API 12), versions 0-4, flexible from 4."""

    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    error_code: int = field(int16, "0+")
