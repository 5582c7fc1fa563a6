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


class JoinGroupRequest(Request, key=11, versions="0-9", flexible="6+"):
    """JoinGroup (API 11), versions 0-9, flexible from 6."""

    group_id: str = field(string, "0+")
    session_timeout_ms: int = field(int32, "0+")
    rebalance_timeout_ms: int = field(int32, "1+", default=-1, ignorable=True)
    member_id: str = field(string, "0+")
    group_instance_id: str | None = field(string, "5+", default=None, nullable="5+")
    protocol_type: str = field(string, "0+")
    protocols: Sequence[JoinGroupRequest.JoinGroupRequestProtocol] = field(
        array_of("JoinGroupRequestProtocol"), "0+"
    )
    reason: str | None = field(string, "8+", default=None, nullable="8+", ignorable=True)

    class JoinGroupRequestProtocol(Struct):
        name: str = field(string, "0+")
        metadata: bytes = field(octets, "0+")


class JoinGroupResponse(Response, key=11, versions="0-9", flexible="6+"):
    """JoinGroup (API 11), versions 0-9, flexible from 6."""

    throttle_time_ms: int = field(int32, "2+", ignorable=True)
    error_code: int = field(int16, "0+")
    generation_id: int = field(int32, "0+", default=-1)
    protocol_type: str | None = field(string, "7+", default=None, nullable="7+", ignorable=True)
    protocol_name: str | None = field(string, "0+", nullable="7+")
    leader: str = field(string, "0+")
    skip_assignment: bool = field(boolean, "9+")
    member_id: str = field(string, "0+")
    members: Sequence[JoinGroupResponse.JoinGroupResponseMember] = field(
        array_of("JoinGroupResponseMember"), "0+"
    )

    class JoinGroupResponseMember(Struct):
        member_id: str = field(string, "0+")
        group_instance_id: str | None = field(
            string, "5+", default=None, nullable="5+", ignorable=True
        )
        metadata: bytes = field(octets, "0+")
