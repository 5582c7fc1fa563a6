# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    boolean,
    field,
    int8,
    int16,
    int32,
    string,
)


class AlterConfigsRequest(Request, key=33, versions="0-2", flexible="2+"):
    """AlterConfigs (API 33), versions 0-2, flexible from 2."""

    resources: Sequence[AlterConfigsRequest.AlterConfigsResource] = field(
        array_of("AlterConfigsResource"), "0+"
    )
    validate_only: bool = field(boolean, "0+")

    class AlterConfigsResource(Struct):
        resource_type: int = field(int8, "0+")
        resource_name: str = field(string, "0+")
        configs: Sequence[AlterConfigsRequest.AlterableConfig] = field(
            array_of("AlterableConfig"), "0+"
        )

    class AlterableConfig(Struct):
        name: str = field(string, "0+")
        value: str | None = field(string, "0+", nullable="0+")


class AlterConfigsResponse(Response, key=33, versions="0-2", flexible="2+"):
    """AlterConfigs (API 33), versions 0-2, flexible from 2."""

    throttle_time_ms: int = field(int32, "0+")
    responses: Sequence[AlterConfigsResponse.AlterConfigsResourceResponse] = field(
        array_of("AlterConfigsResourceResponse"), "0+"
    )

    class AlterConfigsResourceResponse(Struct):
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
        resource_type: int = field(int8, "0+")
        resource_name: str = field(string, "0+")
