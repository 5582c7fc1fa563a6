# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    field,
    int16,
    int32,
    int64,
    octets,
    string,
)


class CreateDelegationTokenRequest(Request, key=38, versions="0-3", flexible="2+"):
    """CreateDelegationToken (API 38), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    owner_principal_type: str | None = field(string, "3+", nullable="3+")
    owner_principal_name: str | None = field(string, "3+", nullable="3+")
    renewers: Sequence[CreateDelegationTokenRequest.CreatableRenewers] = field(
        array_of("CreatableRenewers"), "0+"
    )
    max_lifetime_ms: int = field(int64, "0+")

    class CreatableRenewers(Struct):
        principal_type: str = field(string, "0+")
        principal_name: str = field(string, "0+")


class CreateDelegationTokenResponse(Response, key=38, versions="0-3", flexible="2+"):
    """CreateDelegationToken (API 38), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    error_code: int = field(int16, "0+")
    principal_type: str = field(string, "0+")
    principal_name: str = field(string, "0+")
    token_requester_principal_type: str = field(string, "3+")
    token_requester_principal_name: str = field(string, "3+")
    issue_timestamp_ms: int = field(int64, "0+")
    expiry_timestamp_ms: int = field(int64, "0+")
    max_timestamp_ms: int = field(int64, "0+")
    token_id: str = field(string, "0+")
    hmac: bytes = field(octets, "0+")
    throttle_time_ms: int = field(int32, "0+")
