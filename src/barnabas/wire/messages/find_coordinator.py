# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    field,
    int8,
    int16,
    int32,
    string,
)


class FindCoordinatorRequest(Request, key=10, versions="0-6", flexible="3+"):
    """FindCoordinator (API 10), versions 0-6, flexible from 3."""

    key: str = field(string, "0-3")
    key_type: int = field(int8, "1+")
    coordinator_keys: Sequence[str] = field(array_of(string), "4+")


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+"):
    """FindCoordinator (API 10), versions 0-6, flexible from 3."""

    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    error_code: int = field(int16, "0-3")
    error_message: str | None = field(string, "1-3", nullable="1-3", ignorable=True)
    node_id: int = field(int32, "0-3")
    host: str = field(string, "0-3")
    port: int = field(int32, "0-3")
    coordinators: Sequence[FindCoordinatorResponse.Coordinator] = field(
        array_of("Coordinator"), "4+"
    )

    class Coordinator(Struct):
        key: str = field(string, "4+")
        node_id: int = field(int32, "4+")
        host: str = field(string, "4+")
        port: int = field(int32, "4+")
        error_code: int = field(int16, "4+")
        error_message: str | None = field(string, "4+", nullable="4+", ignorable=True)
