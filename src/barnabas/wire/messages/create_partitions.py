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
    int16,
    int32,
    string,
)


class CreatePartitionsRequest(Request, key=37, versions="0-3", flexible="2+"):
    """CreatePartitions (API 37), versions 0-3, flexible from 2."""

    topics: Sequence[CreatePartitionsRequest.CreatePartitionsTopic] = field(
        array_of("CreatePartitionsTopic"), "0+"
    )
    timeout_ms: int = field(int32, "0+")
    validate_only: bool = field(boolean, "0+")

    class CreatePartitionsTopic(Struct):
        name: str = field(string, "0+")
        count: int = field(int32, "0+")
        assignments: Sequence[CreatePartitionsRequest.CreatePartitionsAssignment] | None = field(
            array_of("CreatePartitionsAssignment"), "0+", nullable="0+"
        )

    class CreatePartitionsAssignment(Struct):
        broker_ids: Sequence[int] = field(array_of(int32), "0+")


class CreatePartitionsResponse(Response, key=37, versions="0-3", flexible="2+"):
    """CreatePartitions (API 37), versions 0-3, flexible from 2."""

    throttle_time_ms: int = field(int32, "0+")
    results: Sequence[CreatePartitionsResponse.CreatePartitionsTopicResult] = field(
        array_of("CreatePartitionsTopicResult"), "0+"
    )

    class CreatePartitionsTopicResult(Struct):
        name: str = field(string, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
