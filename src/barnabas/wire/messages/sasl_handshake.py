# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Request, Response, array_of, field, int16, string


class SaslHandshakeRequest(Request, key=17, versions="0-1"):
    """SaslHandshake (API 17), versions 0-1, never flexible."""

    mechanism: str = field(string, "0+")


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    """SaslHandshake (API 17), versions 0-1, never flexible."""

    error_code: int = field(int16, "0+")
    mechanisms: Sequence[str] = field(array_of(string), "0+")
