# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Request, Response, field, int16, int32, int64, octets


class RenewDelegationTokenRequest(Request, key=39, versions="0-2", flexible="2+"):
    """RenewDelegationToken (API 39), versions 0-2, flexible from 2; Kafka 4.3 serves 1-2."""

    hmac: bytes = field(octets, "0+")
    renew_period_ms: int = field(int64, "0+")


class RenewDelegationTokenResponse(Response, key=39, versions="0-2", flexible="2+"):
    """RenewDelegationToken (API 39), versions 0-2, flexible from 2; Kafka 4.3 serves 1-2."""

    error_code: int = field(int16, "0+")
    expiry_timestamp_ms: int = field(int64, "0+")
    throttle_time_ms: int = field(int32, "0+")
