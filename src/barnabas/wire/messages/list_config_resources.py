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


class ListConfigResourcesRequest(Request, key=74, versions="0-1", flexible="0+"):
    """ListConfigResources (API 74), versions 0-1, always flexible."""

    resource_types: Sequence[int] = field(array_of(int8), "1+")


class ListConfigResourcesResponse(Response, key=74, versions="0-1", flexible="0+"):
    """ListConfigResources (API 74), versions 0-1, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    config_resources: Sequence[ListConfigResourcesResponse.ConfigResource] = field(
        array_of("ConfigResource"), "0+"
    )

    class ConfigResource(Struct):
        resource_name: str = field(string, "0+")
        resource_type: int = field(int8, "1+", default=16, ignorable=True)
