# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    boolean,
    field,
    int16,
    int32,
    octets,
    string,
)


class DescribeGroupsRequest(Request, key=15, versions="0-6", flexible="5+"):
    """DescribeGroups (API 15), versions 0-6, flexible from 5."""

    groups: Sequence[str] = field(array_of(string), "0+")
    include_authorized_operations: bool = field(boolean, "3+")


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+"):
    """DescribeGroups (API 15), versions 0-6, flexible from 5."""

    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    groups: Sequence[DescribeGroupsResponse.DescribedGroup] = field(
        array_of("DescribedGroup"), "0+"
    )

    class DescribedGroup(Struct):
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "6+", default=None, nullable="6+")
        group_id: str = field(string, "0+")
        group_state: str = field(string, "0+")
        protocol_type: str = field(string, "0+")
        protocol_data: str = field(string, "0+")
        members: Sequence[DescribeGroupsResponse.DescribedGroupMember] = field(
            array_of("DescribedGroupMember"), "0+"
        )
        authorized_operations: int = field(int32, "3+", default=-2147483648)

    class DescribedGroupMember(Struct):
        member_id: str = field(string, "0+")
        group_instance_id: str | None = field(
            string, "4+", default=None, nullable="4+", ignorable=True
        )
        client_id: str = field(string, "0+")
        client_host: str = field(string, "0+")
        member_metadata: bytes = field(octets, "0+")
        member_assignment: bytes = field(octets, "0+")
