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


class AddPartitionsToTxnRequest(Request, key=24, versions="0-5", flexible="3+"):
    """AddPartitionsToTxn (API 24), versions 0-5, flexible from 3."""

    transactions: Sequence[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = field(
        array_of("AddPartitionsToTxnTransaction"), "4+"
    )
    v3_and_below_transactional_id: str = field(string, "0-3")
    v3_and_below_producer_id: int = field(int64, "0-3")
    v3_and_below_producer_epoch: int = field(int16, "0-3")
    v3_and_below_topics: Sequence[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = field(
        array_of("AddPartitionsToTxnTopic"), "0-3"
    )

    class AddPartitionsToTxnTransaction(Struct):
        transactional_id: str = field(string, "4+")
        producer_id: int = field(int64, "4+")
        producer_epoch: int = field(int16, "4+")
        verify_only: bool = field(boolean, "4+")
        topics: Sequence[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = field(
            array_of("AddPartitionsToTxnTopic"), "4+"
        )

    class AddPartitionsToTxnTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")


class AddPartitionsToTxnResponse(Response, key=24, versions="0-5", flexible="3+"):
    """AddPartitionsToTxn (API 24), versions 0-5, flexible from 3."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "4+", ignorable=True)
    results_by_transaction: Sequence[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = field(
        array_of("AddPartitionsToTxnResult"), "4+"
    )
    results_by_topic_v3_and_below: Sequence[
        AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    ] = field(array_of("AddPartitionsToTxnTopicResult"), "0-3")

    class AddPartitionsToTxnResult(Struct):
        transactional_id: str = field(string, "4+")
        topic_results: Sequence[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = field(
            array_of("AddPartitionsToTxnTopicResult"), "4+"
        )

    class AddPartitionsToTxnTopicResult(Struct):
        name: str = field(string, "0+")
        results_by_partition: Sequence[
            AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
        ] = field(array_of("AddPartitionsToTxnPartitionResult"), "0+")

    class AddPartitionsToTxnPartitionResult(Struct):
        partition_index: int = field(int32, "0+")
        partition_error_code: int = field(int16, "0+")
