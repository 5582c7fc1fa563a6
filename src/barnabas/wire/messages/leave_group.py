# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Request, Response, Struct, array_of, field, int16, int32, string


class LeaveGroupRequest(Request, key=13, versions="0-5", flexible="4+"):
    """LeaveGroup (API 13), versions 0-5, flexible from 4."""

    group_id: str = field(string, "0+")
    member_id: str = field(string, "0-2")
    members: Sequence[LeaveGroupRequest.MemberIdentity] = field(array_of("MemberIdentity"), "3+")

    class MemberIdentity(Struct):
        member_id: str = field(string, "3+")
        group_instance_id: str | None = field(string, "3+", default=None, nullable="3+")
        reason: str | None = field(string, "5+", default=None, nullable="5+", ignorable=True)


class LeaveGroupResponse(Response, key=13, versions="0-5", flexible="4+"):
    """LeaveGroup (API 13), versions 0-5, flexible from 4."""

    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    error_code: int = field(int16, "0+")
    members: Sequence[LeaveGroupResponse.MemberResponse] = field(array_of("MemberResponse"), "3+")

    class MemberResponse(Struct):
        member_id: str = field(string, "3+")
        group_instance_id: str | None = field(string, "3+", nullable="3+")
        error_code: int = field(int16, "3+")
