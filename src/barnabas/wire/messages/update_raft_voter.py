# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    field,
    int16,
    int32,
    string,
    struct_of,
    uint16,
    uuid,
)


class UpdateRaftVoterRequest(Request, key=82, versions="0", flexible="0+"):
    """UpdateRaftVoter (API 82), version 0, always flexible."""

    cluster_id: str | None = field(string, "0+", nullable="0+")
    current_leader_epoch: int = field(int32, "0+")
    voter_id: int = field(int32, "0+")
    voter_directory_id: Uuid = field(uuid, "0+")
    listeners: Sequence[UpdateRaftVoterRequest.Listener] = field(array_of("Listener"), "0+")
    kraft_version_feature: UpdateRaftVoterRequest.KRaftVersionFeature = field(
        struct_of("KRaftVersionFeature"), "0+"
    )

    class Listener(Struct):
        name: str = field(string, "0+")
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")

    class KRaftVersionFeature(Struct):
        min_supported_version: int = field(int16, "0+")
        max_supported_version: int = field(int16, "0+")


class UpdateRaftVoterResponse(Response, key=82, versions="0", flexible="0+"):
    """UpdateRaftVoter (API 82), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    current_leader: UpdateRaftVoterResponse.CurrentLeader = field(
        struct_of("CurrentLeader"), "0+", tag=0, tagged="0+"
    )

    class CurrentLeader(Struct):
        leader_id: int = field(int32, "0+", default=-1)
        leader_epoch: int = field(int32, "0+", default=-1)
        host: str = field(string, "0+")
        port: int = field(int32, "0+")
