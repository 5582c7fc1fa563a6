# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.primitives import Buffer
from barnabas.wire.structs import Request, Response, field, int16, octets, view


class EnvelopeRequest(Request, key=58, versions="0", flexible="0+"):
    """Envelope (API 58), version 0, always flexible."""

    request_data: Buffer = field(view, "0+")
    request_principal: bytes | None = field(octets, "0+", nullable="0+")
    client_host_address: bytes = field(octets, "0+")


class EnvelopeResponse(Response, key=58, versions="0", flexible="0+"):
    """Envelope (API 58), version 0, always flexible."""

    response_data: Buffer | None = field(view, "0+", default=None, nullable="0+")
    error_code: int = field(int16, "0+")
