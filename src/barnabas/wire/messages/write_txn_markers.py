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
    int64,
    string,
)


class WriteTxnMarkersRequest(Request, key=27, versions="0-2", flexible="1+"):
    """WriteTxnMarkers (API 27), versions 0-2, flexible from 1; Kafka 4.3 serves 1-2."""

    markers: Sequence[WriteTxnMarkersRequest.WritableTxnMarker] = field(
        array_of("WritableTxnMarker"), "0+"
    )

    class WritableTxnMarker(Struct):
        producer_id: int = field(int64, "0+")
        producer_epoch: int = field(int16, "0+")
        transaction_result: bool = field(boolean, "0+")
        topics: Sequence[WriteTxnMarkersRequest.WritableTxnMarkerTopic] = field(
            array_of("WritableTxnMarkerTopic"), "0+"
        )
        coordinator_epoch: int = field(int32, "0+")
        transaction_version: int = field(int8, "2+", ignorable=True)

    class WritableTxnMarkerTopic(Struct):
        name: str = field(string, "0+")
        partition_indexes: Sequence[int] = field(array_of(int32), "0+")


class WriteTxnMarkersResponse(Response, key=27, versions="0-2", flexible="1+"):
    """WriteTxnMarkers (API 27), versions 0-2, flexible from 1; Kafka 4.3 serves 1-2."""

    markers: Sequence[WriteTxnMarkersResponse.WritableTxnMarkerResult] = field(
        array_of("WritableTxnMarkerResult"), "0+"
    )

    class WritableTxnMarkerResult(Struct):
        producer_id: int = field(int64, "0+")
        topics: Sequence[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult] = field(
            array_of("WritableTxnMarkerTopicResult"), "0+"
        )

    class WritableTxnMarkerTopicResult(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult] = field(
            array_of("WritableTxnMarkerPartitionResult"), "0+"
        )

    class WritableTxnMarkerPartitionResult(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
