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


class DescribeDelegationTokenRequest(Request, key=41, versions="0-3", flexible="2+"):
    """DescribeDelegationToken (API 41), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    owners: Sequence[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None = field(
        array_of("DescribeDelegationTokenOwner"), "0+", nullable="0+"
    )

    class DescribeDelegationTokenOwner(Struct):
        principal_type: str = field(string, "0+")
        principal_name: str = field(string, "0+")


class DescribeDelegationTokenResponse(Response, key=41, versions="0-3", flexible="2+"):
    """DescribeDelegationToken (API 41), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    error_code: int = field(int16, "0+")
    tokens: Sequence[DescribeDelegationTokenResponse.DescribedDelegationToken] = field(
        array_of("DescribedDelegationToken"), "0+"
    )
    throttle_time_ms: int = field(int32, "0+")

    class DescribedDelegationToken(Struct):
        principal_type: str = field(string, "0+")
        principal_name: str = field(string, "0+")
        token_requester_principal_type: str = field(string, "3+")
        token_requester_principal_name: str = field(string, "3+")
        issue_timestamp: int = field(int64, "0+")
        expiry_timestamp: int = field(int64, "0+")
        max_timestamp: int = field(int64, "0+")
        token_id: str = field(string, "0+")
        hmac: bytes = field(octets, "0+")
        renewers: Sequence[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer] = field(
            array_of("DescribedDelegationTokenRenewer"), "0+"
        )

    class DescribedDelegationTokenRenewer(Struct):
        principal_type: str = field(string, "0+")
        principal_name: str = field(string, "0+")
