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


class ListTransactionsRequest(Request, key=66, versions="0-2", flexible="0+"):
    """ListTransactions (API 66), versions 0-2, always flexible."""

    state_filters: Sequence[str] = field(array_of(string), "0+")
    producer_id_filters: Sequence[int] = field(array_of(int64), "0+")
    duration_filter: int = field(int64, "1+", default=-1)
    transactional_id_pattern: str | None = field(string, "2+", default=None, nullable="2+")


class ListTransactionsResponse(Response, key=66, versions="0-2", flexible="0+"):
    """ListTransactions (API 66), versions 0-2, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    unknown_state_filters: Sequence[str] = field(array_of(string), "0+")
    transaction_states: Sequence[ListTransactionsResponse.TransactionState] = field(
        array_of("TransactionState"), "0+"
    )

    class TransactionState(Struct):
        transactional_id: str = field(string, "0+")
        producer_id: int = field(int64, "0+")
        transaction_state: str = field(string, "0+")
