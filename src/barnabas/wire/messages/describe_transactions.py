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


class DescribeTransactionsRequest(Request, key=65, versions="0", flexible="0+"):
    """DescribeTransactions (API 65), version 0, always flexible."""

    transactional_ids: Sequence[str] = field(array_of(string), "0+")


class DescribeTransactionsResponse(Response, key=65, versions="0", flexible="0+"):
    """DescribeTransactions (API 65), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    transaction_states: Sequence[DescribeTransactionsResponse.TransactionState] = field(
        array_of("TransactionState"), "0+"
    )

    class TransactionState(Struct):
        error_code: int = field(int16, "0+")
        transactional_id: str = field(string, "0+")
        transaction_state: str = field(string, "0+")
        transaction_timeout_ms: int = field(int32, "0+")
        transaction_start_time_ms: int = field(int64, "0+")
        producer_id: int = field(int64, "0+")
        producer_epoch: int = field(int16, "0+")
        topics: Sequence[DescribeTransactionsResponse.TopicData] = field(
            array_of("TopicData"), "0+"
        )

    class TopicData(Struct):
        topic: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")
