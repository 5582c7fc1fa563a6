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


class DescribeAclsRequest(Request, key=29, versions="0-3", flexible="2+"):
    """DescribeAcls (API 29), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    resource_type_filter: int = field(int8, "0+")
    resource_name_filter: str | None = field(string, "0+", nullable="0+")
    pattern_type_filter: int = field(int8, "1+", default=3)
    principal_filter: str | None = field(string, "0+", nullable="0+")
    host_filter: str | None = field(string, "0+", nullable="0+")
    operation: int = field(int8, "0+")
    permission_type: int = field(int8, "0+")


class DescribeAclsResponse(Response, key=29, versions="0-3", flexible="2+"):
    """DescribeAcls (API 29), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+")
    resources: Sequence[DescribeAclsResponse.DescribeAclsResource] = field(
        array_of("DescribeAclsResource"), "0+"
    )

    class DescribeAclsResource(Struct):
        resource_type: int = field(int8, "0+")
        resource_name: str = field(string, "0+")
        pattern_type: int = field(int8, "1+", default=3)
        acls: Sequence[DescribeAclsResponse.AclDescription] = field(
            array_of("AclDescription"), "0+"
        )

    class AclDescription(Struct):
        principal: str = field(string, "0+")
        host: str = field(string, "0+")
        operation: int = field(int8, "0+")
        permission_type: int = field(int8, "0+")
