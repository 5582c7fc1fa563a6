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


class ControllerRegistrationRequest(Request, key=70, versions="0", flexible="0+"):
    """ControllerRegistration (API 70), version 0, always flexible."""

    controller_id: int = field(int32, "0+")
    incarnation_id: Uuid = field(uuid, "0+")
    zk_migration_ready: bool = field(boolean, "0+")
    listeners: Sequence[ControllerRegistrationRequest.Listener] = field(array_of("Listener"), "0+")
    features: Sequence[ControllerRegistrationRequest.Feature] = field(array_of("Feature"), "0+")

    class Listener(Struct):
        name: str = field(string, "0+")
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")
        security_protocol: int = field(int16, "0+")

    class Feature(Struct):
        name: str = field(string, "0+")
        min_supported_version: int = field(int16, "0+")
        max_supported_version: int = field(int16, "0+")


class ControllerRegistrationResponse(Response, key=70, versions="0", flexible="0+"):
    """ControllerRegistration (API 70), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+")
