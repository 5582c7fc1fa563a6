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
    float64,
    int8,
    int16,
    int32,
    string,
)


class DescribeClientQuotasRequest(Request, key=48, versions="0-1", flexible="1+"):
    """DescribeClientQuotas (API 48), versions 0-1, flexible from 1."""

    components: Sequence[DescribeClientQuotasRequest.ComponentData] = field(
        array_of("ComponentData"), "0+"
    )
    strict: bool = field(boolean, "0+")

    class ComponentData(Struct):
        entity_type: str = field(string, "0+")
        match_type: int = field(int8, "0+")
        match: str | None = field(string, "0+", nullable="0+")


class DescribeClientQuotasResponse(Response, key=48, versions="0-1", flexible="1+"):
    """DescribeClientQuotas (API 48), versions 0-1, flexible from 1."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    error_message: str | None = field(string, "0+", nullable="0+")
    entries: Sequence[DescribeClientQuotasResponse.EntryData] | None = field(
        array_of("EntryData"), "0+", nullable="0+"
    )

    class EntryData(Struct):
        entity: Sequence[DescribeClientQuotasResponse.EntityData] = field(
            array_of("EntityData"), "0+"
        )
        values: Sequence[DescribeClientQuotasResponse.ValueData] = field(
            array_of("ValueData"), "0+"
        )

    class EntityData(Struct):
        entity_type: str = field(string, "0+")
        entity_name: str | None = field(string, "0+", nullable="0+")

    class ValueData(Struct):
        key: str = field(string, "0+")
        value: float = field(float64, "0+")
