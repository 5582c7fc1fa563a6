# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Request, Response, Struct, array_of, field, int16, int32, string


class DeleteGroupsRequest(Request, key=42, versions="0-2", flexible="2+"):
    """DeleteGroups (API 42), versions 0-2, flexible from 2."""

    groups_names: Sequence[str] = field(array_of(string), "0+")


class DeleteGroupsResponse(Response, key=42, versions="0-2", flexible="2+"):
    """DeleteGroups (API 42), versions 0-2, flexible from 2."""

    throttle_time_ms: int = field(int32, "0+")
    results: Sequence[DeleteGroupsResponse.DeletableGroupResult] = field(
        array_of("DeletableGroupResult"), "0+"
    )

    class DeletableGroupResult(Struct):
        group_id: str = field(string, "0+")
        error_code: int = field(int16, "0+")
