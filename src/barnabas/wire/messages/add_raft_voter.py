# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    boolean,
    field,
    int16,
    int32,
    string,
    uint16,
    uuid,
)


class AddRaftVoterRequest(Request, key=80, versions="0-1", flexible="0+"):
    """AddRaftVoter (API 80), versions 0-1, always flexible."""

    cluster_id: str | None = field(string, "0+", nullable="0+")
    timeout_ms: int = field(int32, "0+")
    voter_id: int = field(int32, "0+")
    voter_directory_id: Uuid = field(uuid, "0+")
    listeners: Sequence[AddRaftVoterRequest.Listener] = field(array_of("Listener"), "0+")
    ack_when_committed: bool = field(boolean, "1+", default=True)

    class Listener(Struct):
        name: str = field(string, "0+")
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")


class AddRaftVoterResponse(Response, key=80, versions="0-1", flexible="0+"):
    """AddRaftVoter (API 80), versions 0-1, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+", ignorable=True)
