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


class DescribeConfigsRequest(Request, key=32, versions="0-4", flexible="4+"):
    """DescribeConfigs (API 32), versions 0-4, flexible from 4; Kafka 4.3 serves 1-4."""

    resources: Sequence[DescribeConfigsRequest.DescribeConfigsResource] = field(
        array_of("DescribeConfigsResource"), "0+"
    )
    include_synonyms: bool = field(boolean, "1+")
    include_documentation: bool = field(boolean, "3+")

    class DescribeConfigsResource(Struct):
        resource_type: int = field(int8, "0+")
        resource_name: str = field(string, "0+")
        configuration_keys: Sequence[str] | None = field(array_of(string), "0+", nullable="0+")


class DescribeConfigsResponse(Response, key=32, versions="0-4", flexible="4+"):
    """DescribeConfigs (API 32), versions 0-4, flexible from 4; Kafka 4.3 serves 1-4."""

    throttle_time_ms: int = field(int32, "0+")
    results: Sequence[DescribeConfigsResponse.DescribeConfigsResult] = field(
        array_of("DescribeConfigsResult"), "0+"
    )

    class DescribeConfigsResult(Struct):
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
        resource_type: int = field(int8, "0+")
        resource_name: str = field(string, "0+")
        configs: Sequence[DescribeConfigsResponse.DescribeConfigsResourceResult] = field(
            array_of("DescribeConfigsResourceResult"), "0+"
        )

    class DescribeConfigsResourceResult(Struct):
        name: str = field(string, "0+")
        value: str | None = field(string, "0+", nullable="0+")
        read_only: bool = field(boolean, "0+")
        is_default: bool = field(boolean, "0")
        config_source: int = field(int8, "1+", default=-1, ignorable=True)
        is_sensitive: bool = field(boolean, "0+")
        synonyms: Sequence[DescribeConfigsResponse.DescribeConfigsSynonym] = field(
            array_of("DescribeConfigsSynonym"), "1+", ignorable=True
        )
        config_type: int = field(int8, "3+", ignorable=True)
        documentation: str | None = field(string, "3+", nullable="3+", ignorable=True)

    class DescribeConfigsSynonym(Struct):
        name: str = field(string, "1+")
        value: str | None = field(string, "1+", nullable="0+")
        source: int = field(int8, "1+")
