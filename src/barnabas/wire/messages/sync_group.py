# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    field,
    int16,
    int32,
    octets,
    string,
)


class SyncGroupRequest(Request, key=14, versions="0-5", flexible="4+"):
    """SyncGroup (API 14), versions 0-5, flexible from 4."""

    group_id: str = field(string, "0+")
    generation_id: int = field(int32, "0+")
    member_id: str = field(string, "0+")
    group_instance_id: str | None = field(string, "3+", default=None, nullable="3+")
    protocol_type: str | None = field(string, "5+", default=None, nullable="5+", ignorable=True)
    protocol_name: str | None = field(string, "5+", default=None, nullable="5+", ignorable=True)
    assignments: Sequence[SyncGroupRequest.SyncGroupRequestAssignment] = field(
        array_of("SyncGroupRequestAssignment"), "0+"
    )

    class SyncGroupRequestAssignment(Struct):
        member_id: str = field(string, "0+")
        assignment: bytes = field(octets, "0+")


class SyncGroupResponse(Response, key=14, versions="0-5", flexible="4+"):
    """SyncGroup (API 14), versions 0-5, flexible from 4."""

    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    error_code: int = field(int16, "0+")
    protocol_type: str | None = field(string, "5+", default=None, nullable="5+", ignorable=True)
    protocol_name: str | None = field(string, "5+", default=None, nullable="5+", ignorable=True)
    assignment: bytes = field(octets, "0+")
