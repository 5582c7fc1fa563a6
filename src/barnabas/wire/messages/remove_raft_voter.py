# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Request, Response, field, int16, int32, string, uuid


class RemoveRaftVoterRequest(Request, key=81, versions="0", flexible="0+"):
    """RemoveRaftVoter (API 81), version 0, always flexible."""

    cluster_id: str | None = field(string, "0+", nullable="0+")
    voter_id: int = field(int32, "0+")
    voter_directory_id: Uuid = field(uuid, "0+")


class RemoveRaftVoterResponse(Response, key=81, versions="0", flexible="0+"):
    """RemoveRaftVoter (API 81), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+", ignorable=True)
