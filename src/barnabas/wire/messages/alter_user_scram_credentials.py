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
    octets,
    string,
)


class AlterUserScramCredentialsRequest(Request, key=51, versions="0", flexible="0+"):
    """AlterUserScramCredentials (API 51), version 0, always flexible."""

    deletions: Sequence[AlterUserScramCredentialsRequest.ScramCredentialDeletion] = field(
        array_of("ScramCredentialDeletion"), "0+"
    )
    upsertions: Sequence[AlterUserScramCredentialsRequest.ScramCredentialUpsertion] = field(
        array_of("ScramCredentialUpsertion"), "0+"
    )

    class ScramCredentialDeletion(Struct):
        name: str = field(string, "0+")
        mechanism: int = field(int8, "0+")

    class ScramCredentialUpsertion(Struct):
        name: str = field(string, "0+")
        mechanism: int = field(int8, "0+")
        iterations: int = field(int32, "0+")
        salt: bytes = field(octets, "0+")
        salted_password: bytes = field(octets, "0+")


class AlterUserScramCredentialsResponse(Response, key=51, versions="0", flexible="0+"):
    """AlterUserScramCredentials (API 51), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    results: Sequence[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult] = field(
        array_of("AlterUserScramCredentialsResult"), "0+"
    )

    class AlterUserScramCredentialsResult(Struct):
        user: str = field(string, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
