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


class CreateAclsRequest(Request, key=30, versions="0-3", flexible="2+"):
    """CreateAcls (API 30), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    creations: Sequence[CreateAclsRequest.AclCreation] = field(array_of("AclCreation"), "0+")

    class AclCreation(Struct):
        resource_type: int = field(int8, "0+")
        resource_name: str = field(string, "0+")
        resource_pattern_type: int = field(int8, "1+", default=3)
        principal: str = field(string, "0+")
        host: str = field(string, "0+")
        operation: int = field(int8, "0+")
        permission_type: int = field(int8, "0+")


class CreateAclsResponse(Response, key=30, versions="0-3", flexible="2+"):
    """CreateAcls (API 30), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    throttle_time_ms: int = field(int32, "0+")
    results: Sequence[CreateAclsResponse.AclCreationResult] = field(
        array_of("AclCreationResult"), "0+"
    )

    class AclCreationResult(Struct):
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
