# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.primitives import Buffer
from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    batches,
    field,
    int16,
    int32,
    int64,
    string,
    struct_of,
    uuid,
)


class ProduceRequest(Request, key=0, versions="0-13", flexible="9+"):
    """Produce (API 0), versions 0-13, flexible from 9; Kafka 4.3 serves 3-13."""

    transactional_id: str | None = field(string, "3+", default=None, nullable="3+")
    acks: int = field(int16, "0+")
    timeout_ms: int = field(int32, "0+")
    topic_data: Sequence[ProduceRequest.TopicProduceData] = field(
        array_of("TopicProduceData"), "0+"
    )

    class TopicProduceData(Struct):
        name: str = field(string, "0-12", ignorable=True)
        topic_id: Uuid = field(uuid, "13+", ignorable=True)
        partition_data: Sequence[ProduceRequest.PartitionProduceData] = field(
            array_of("PartitionProduceData"), "0+"
        )

    class PartitionProduceData(Struct):
        index: int = field(int32, "0+")
        records: Buffer | None = field(batches, "0+", nullable="0+")


class ProduceResponse(Response, key=0, versions="0-13", flexible="9+"):
    """Produce (API 0), versions 0-13, flexible from 9; Kafka 4.3 serves 3-13."""

    responses: Sequence[ProduceResponse.TopicProduceResponse] = field(
        array_of("TopicProduceResponse"), "0+"
    )
    throttle_time_ms: int = field(int32, "1+", ignorable=True)
    node_endpoints: Sequence[ProduceResponse.NodeEndpoint] = field(
        array_of("NodeEndpoint"), "10+", tag=0, tagged="10+"
    )

    class TopicProduceResponse(Struct):
        name: str = field(string, "0-12", ignorable=True)
        topic_id: Uuid = field(uuid, "13+", ignorable=True)
        partition_responses: Sequence[ProduceResponse.PartitionProduceResponse] = field(
            array_of("PartitionProduceResponse"), "0+"
        )

    class NodeEndpoint(Struct):
        node_id: int = field(int32, "10+")
        host: str = field(string, "10+")
        port: int = field(int32, "10+")
        rack: str | None = field(string, "10+", default=None, nullable="10+")

    class PartitionProduceResponse(Struct):
        index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
        base_offset: int = field(int64, "0+")
        log_append_time_ms: int = field(int64, "2+", default=-1, ignorable=True)
        log_start_offset: int = field(int64, "5+", default=-1, ignorable=True)
        record_errors: Sequence[ProduceResponse.BatchIndexAndErrorMessage] = field(
            array_of("BatchIndexAndErrorMessage"), "8+", ignorable=True
        )
        error_message: str | None = field(string, "8+", default=None, nullable="8+", ignorable=True)
        current_leader: ProduceResponse.LeaderIdAndEpoch = field(
            struct_of("LeaderIdAndEpoch"), "10+", tag=0, tagged="10+"
        )

    class BatchIndexAndErrorMessage(Struct):
        batch_index: int = field(int32, "8+")
        batch_index_error_message: str | None = field(string, "8+", default=None, nullable="8+")

    class LeaderIdAndEpoch(Struct):
        leader_id: int = field(int32, "10+", default=-1)
        leader_epoch: int = field(int32, "10+", default=-1)
