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
    int8,
    int16,
    int32,
    string,
    uuid,
)


class GetTelemetrySubscriptionsRequest(Request, key=71, versions="0", flexible="0+"):
    """GetTelemetrySubscriptions (API 71), version 0, always flexible."""

    client_instance_id: Uuid = field(uuid, "0+")


class GetTelemetrySubscriptionsResponse(Response, key=71, versions="0", flexible="0+"):
    """GetTelemetrySubscriptions (API 71), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    client_instance_id: Uuid = field(uuid, "0+")
    subscription_id: int = field(int32, "0+")
    accepted_compression_types: Sequence[int] = field(array_of(int8), "0+")
    push_interval_ms: int = field(int32, "0+")
    telemetry_max_bytes: int = field(int32, "0+")
    delta_temporality: bool = field(boolean, "0+")
    requested_metrics: Sequence[str] = field(array_of(string), "0+")
