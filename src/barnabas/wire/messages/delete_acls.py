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


class DeleteAclsRequest(Request, key=31, versions="0-3", flexible="2+"):
    """DeleteAcls (API 31), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    filters: Sequence[DeleteAclsRequest.DeleteAclsFilter] = field(
        array_of("DeleteAclsFilter"), "0+"
    )

    class DeleteAclsFilter(Struct):
        resource_type_filter: int = field(int8, "0+")
        resource_name_filter: str | None = field(string, "0+", nullable="0+")
        pattern_type_filter: int = field(int8, "1+", default=3)
        principal_filter: str | None = field(string, "0+", nullable="0+")
        host_filter: str | None = field(string, "0+", nullable="0+")
        operation: int = field(int8, "0+")
        permission_type: int = field(int8, "0+")


class DeleteAclsResponse(Response, key=31, versions="0-3", flexible="2+"):
    """DeleteAcls (API 31), versions 0-3, flexible from 2; Kafka 4.3 serves 1-3."""

    throttle_time_ms: int = field(int32, "0+")
    filter_results: Sequence[DeleteAclsResponse.DeleteAclsFilterResult] = field(
        array_of("DeleteAclsFilterResult"), "0+"
    )

    class DeleteAclsFilterResult(Struct):
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
        matching_acls: Sequence[DeleteAclsResponse.DeleteAclsMatchingAcl] = field(
            array_of("DeleteAclsMatchingAcl"), "0+"
        )

    class DeleteAclsMatchingAcl(Struct):
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
        resource_type: int = field(int8, "0+")
        resource_name: str = field(string, "0+")
        pattern_type: int = field(int8, "1+", default=3)
        principal: str = field(string, "0+")
        host: str = field(string, "0+")
        operation: int = field(int8, "0+")
        permission_type: int = field(int8, "0+")
