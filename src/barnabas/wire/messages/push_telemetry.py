# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.model.ids import Uuid
from barnabas.wire.primitives import Buffer
from barnabas.wire.structs import Request, Response, boolean, field, int8, int16, int32, uuid, view


class PushTelemetryRequest(Request, key=72, versions="0", flexible="0+"):
    """PushTelemetry (API 72), version 0, always flexible."""

    client_instance_id: Uuid = field(uuid, "0+")
    subscription_id: int = field(int32, "0+")
    terminating: bool = field(boolean, "0+")
    compression_type: int = field(int8, "0+")
    metrics: Buffer = field(view, "0+")


class PushTelemetryResponse(Response, key=72, versions="0", flexible="0+"):
    """PushTelemetry (API 72), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
