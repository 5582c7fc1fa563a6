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
    int64,
    string,
    uint16,
    uuid,
)


class BrokerRegistrationRequest(Request, key=62, versions="0-4", flexible="0+"):
    """BrokerRegistration (API 62), versions 0-4, always flexible."""

    broker_id: int = field(int32, "0+")
    cluster_id: str = field(string, "0+")
    incarnation_id: Uuid = field(uuid, "0+")
    listeners: Sequence[BrokerRegistrationRequest.Listener] = field(array_of("Listener"), "0+")
    features: Sequence[BrokerRegistrationRequest.Feature] = field(array_of("Feature"), "0+")
    rack: str | None = field(string, "0+", nullable="0+")
    is_migrating_zk_broker: bool = field(boolean, "1+")
    log_dirs: Sequence[Uuid] = field(array_of(uuid), "2+", ignorable=True)
    previous_broker_epoch: int = field(int64, "3+", default=-1, ignorable=True)

    class Listener(Struct):
        name: str = field(string, "0+")
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")
        security_protocol: int = field(int16, "0+")

    class Feature(Struct):
        name: str = field(string, "0+")
        min_supported_version: int = field(int16, "0+")
        max_supported_version: int = field(int16, "0+")


class BrokerRegistrationResponse(Response, key=62, versions="0-4", flexible="0+"):
    """BrokerRegistration (API 62), versions 0-4, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    broker_epoch: int = field(int64, "0+", default=-1)
