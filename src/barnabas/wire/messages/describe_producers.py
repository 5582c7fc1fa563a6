# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    field,
    int16,
    int32,
    int64,
    string,
)


class DescribeProducersRequest(Request, key=61, versions="0", flexible="0+"):
    """DescribeProducers (API 61), version 0, always flexible."""

    topics: Sequence[DescribeProducersRequest.TopicRequest] = field(array_of("TopicRequest"), "0+")

    class TopicRequest(Struct):
        name: str = field(string, "0+")
        partition_indexes: Sequence[int] = field(array_of(int32), "0+")


class DescribeProducersResponse(Response, key=61, versions="0", flexible="0+"):
    """DescribeProducers (API 61), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    topics: Sequence[DescribeProducersResponse.TopicResponse] = field(
        array_of("TopicResponse"), "0+"
    )

    class TopicResponse(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[DescribeProducersResponse.PartitionResponse] = field(
            array_of("PartitionResponse"), "0+"
        )

    class PartitionResponse(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "0+", default=None, nullable="0+")
        active_producers: Sequence[DescribeProducersResponse.ProducerState] = field(
            array_of("ProducerState"), "0+"
        )

    class ProducerState(Struct):
        producer_id: int = field(int64, "0+")
        producer_epoch: int = field(int32, "0+")
        last_sequence: int = field(int32, "0+", default=-1)
        last_timestamp: int = field(int64, "0+", default=-1)
        coordinator_epoch: int = field(int32, "0+")
        current_txn_start_offset: int = field(int64, "0+", default=-1)
