# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    field,
    int8,
    int16,
    int32,
    string,
)


class DescribeUserScramCredentialsRequest(Request, key=50, versions="0", flexible="0+"):
    """DescribeUserScramCredentials (API 50), version 0, always flexible."""

    users: Sequence[DescribeUserScramCredentialsRequest.UserName] | None = field(
        array_of("UserName"), "0+", nullable="0+"
    )

    class UserName(Struct):
        name: str = field(string, "0+")


class DescribeUserScramCredentialsResponse(Response, key=50, versions="0", flexible="0+"):
    """DescribeUserScramCredentials (API 50), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+")
    results: Sequence[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult] = (
        field(array_of("DescribeUserScramCredentialsResult"), "0+")
    )

    class DescribeUserScramCredentialsResult(Struct):
        user: str = field(string, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
        credential_infos: Sequence[DescribeUserScramCredentialsResponse.CredentialInfo] = field(
            array_of("CredentialInfo"), "0+"
        )

    class CredentialInfo(Struct):
        mechanism: int = field(int8, "0+")
        iterations: int = field(int32, "0+")
