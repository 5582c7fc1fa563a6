# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Request, Response, field, int16, int64, octets, string


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    """SaslAuthenticate (API 36), versions 0-2, flexible from 2."""

    auth_bytes: bytes = field(octets, "0+")


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    """SaslAuthenticate (API 36), versions 0-2, flexible from 2."""

    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+")
    auth_bytes: bytes = field(octets, "0+")
    session_lifetime_ms: int = field(int64, "1+", ignorable=True)
