# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int16, int32, string


class RequestHeader(Message, versions="0-2", flexible="2+"):
    """RequestHeader, versions 0-2, flexible from 2; Kafka 4.3 serves 1-2."""

    request_api_key: int = field(int16, "0+")
    request_api_version: int = field(int16, "0+")
    correlation_id: int = field(int32, "0+")
    client_id: str | None = field(string, "1+", nullable="1+", flexible="none")


class ResponseHeader(Message, versions="0-1", flexible="1+"):
    """ResponseHeader, versions 0-1, flexible from 1."""

    correlation_id: int = field(int32, "0+")
