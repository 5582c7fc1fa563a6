# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import (
    Request,
    Response,
    array_of,
    boolean,
    field,
    int16,
    int32,
    int64,
    uuid,
)


class BrokerHeartbeatRequest(Request, key=63, versions="0-2", flexible="0+"):
    """BrokerHeartbeat (API 63), versions 0-2, always flexible."""

    broker_id: int = field(int32, "0+")
    broker_epoch: int = field(int64, "0+", default=-1)
    current_metadata_offset: int = field(int64, "0+")
    want_fence: bool = field(boolean, "0+")
    want_shut_down: bool = field(boolean, "0+")
    offline_log_dirs: Sequence[Uuid] = field(array_of(uuid), "1+", tag=0, tagged="1+")
    cordoned_log_dirs: Sequence[Uuid] | None = field(
        array_of(uuid), "2+", default=None, nullable="2+", tag=1, tagged="2+"
    )


class BrokerHeartbeatResponse(Response, key=63, versions="0-2", flexible="0+"):
    """BrokerHeartbeat (API 63), versions 0-2, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    is_caught_up: bool = field(boolean, "0+")
    is_fenced: bool = field(boolean, "0+", default=True)
    should_shut_down: bool = field(boolean, "0+")
