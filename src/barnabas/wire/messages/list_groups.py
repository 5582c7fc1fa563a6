# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Request, Response, Struct, array_of, field, int16, int32, string


class ListGroupsRequest(Request, key=16, versions="0-5", flexible="3+"):
    """ListGroups (API 16), versions 0-5, flexible from 3."""

    states_filter: Sequence[str] = field(array_of(string), "4+")
    types_filter: Sequence[str] = field(array_of(string), "5+")


class ListGroupsResponse(Response, key=16, versions="0-5", flexible="3+"):
    """ListGroups (API 16), versions 0-5, flexible from 3."""

    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    error_code: int = field(int16, "0+")
    groups: Sequence[ListGroupsResponse.ListedGroup] = field(array_of("ListedGroup"), "0+")

    class ListedGroup(Struct):
        group_id: str = field(string, "0+")
        protocol_type: str = field(string, "0+")
        group_state: str = field(string, "4+", ignorable=True)
        group_type: str = field(string, "5+", ignorable=True)
