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
    int64,
    string,
)


class DescribeLogDirsRequest(Request, key=35, versions="0-5", flexible="2+"):
    """DescribeLogDirs (API 35), versions 0-5, flexible from 2; Kafka 4.3 serves 1-5."""

    topics: Sequence[DescribeLogDirsRequest.DescribableLogDirTopic] | None = field(
        array_of("DescribableLogDirTopic"), "0+", nullable="0+"
    )

    class DescribableLogDirTopic(Struct):
        topic: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")


class DescribeLogDirsResponse(Response, key=35, versions="0-5", flexible="2+"):
    """DescribeLogDirs (API 35), versions 0-5, flexible from 2; Kafka 4.3 serves 1-5."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "3+", ignorable=True)
    results: Sequence[DescribeLogDirsResponse.DescribeLogDirsResult] = field(
        array_of("DescribeLogDirsResult"), "0+"
    )

    class DescribeLogDirsResult(Struct):
        error_code: int = field(int16, "0+")
        log_dir: str = field(string, "0+")
        topics: Sequence[DescribeLogDirsResponse.DescribeLogDirsTopic] = field(
            array_of("DescribeLogDirsTopic"), "0+"
        )
        total_bytes: int = field(int64, "4+", default=-1, ignorable=True)
        usable_bytes: int = field(int64, "4+", default=-1, ignorable=True)
        is_cordoned: bool = field(boolean, "5+", ignorable=True)

    class DescribeLogDirsTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[DescribeLogDirsResponse.DescribeLogDirsPartition] = field(
            array_of("DescribeLogDirsPartition"), "0+"
        )

    class DescribeLogDirsPartition(Struct):
        partition_index: int = field(int32, "0+")
        partition_size: int = field(int64, "0+")
        offset_lag: int = field(int64, "0+")
        is_future_key: bool = field(boolean, "0+")
