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
    int16,
    int32,
    string,
)


class AlterClientQuotasRequest(Request, key=49, versions="0-1", flexible="1+"):
    """AlterClientQuotas (API 49), versions 0-1, flexible from 1."""

    entries: Sequence[AlterClientQuotasRequest.EntryData] = field(array_of("EntryData"), "0+")
    validate_only: bool = field(boolean, "0+")

    class EntryData(Struct):
        entity: Sequence[AlterClientQuotasRequest.EntityData] = field(array_of("EntityData"), "0+")
        ops: Sequence[AlterClientQuotasRequest.OpData] = field(array_of("OpData"), "0+")

    class EntityData(Struct):
        entity_type: str = field(string, "0+")
        entity_name: str | None = field(string, "0+", nullable="0+")

    class OpData(Struct):
        key: str = field(string, "0+")
        value: float = field(float64, "0+")
        remove: bool = field(boolean, "0+")


class AlterClientQuotasResponse(Response, key=49, versions="0-1", flexible="1+"):
    """AlterClientQuotas (API 49), versions 0-1, flexible from 1."""

    throttle_time_ms: int = field(int32, "0+")
    entries: Sequence[AlterClientQuotasResponse.EntryData] = field(array_of("EntryData"), "0+")

    class EntryData(Struct):
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", nullable="0+")
        entity: Sequence[AlterClientQuotasResponse.EntityData] = field(array_of("EntityData"), "0+")

    class EntityData(Struct):
        entity_type: str = field(string, "0+")
        entity_name: str | None = field(string, "0+", nullable="0+")
