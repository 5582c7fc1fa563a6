# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
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
    uuid,
)


class UpdateMetadataRequest(Request, key=6, versions="0-8", flexible="6+"):
    """UpdateMetadata (API 6), versions 0-8, flexible from 6; Kafka 4.3 has dropped it."""

    controller_id: int = field(int32, "0+")
    is_kraft_controller: bool = field(boolean, "8+")
    type: int = field(int8, "8+", tag=0, tagged="8+")
    controller_epoch: int = field(int32, "0+")
    broker_epoch: int = field(int64, "5+", default=-1, ignorable=True)
    ungrouped_partition_states: Sequence[UpdateMetadataRequest.UpdateMetadataPartitionState] = (
        field(array_of("UpdateMetadataPartitionState"), "0-4")
    )
    topic_states: Sequence[UpdateMetadataRequest.UpdateMetadataTopicState] = field(
        array_of("UpdateMetadataTopicState"), "5+"
    )
    live_brokers: Sequence[UpdateMetadataRequest.UpdateMetadataBroker] = field(
        array_of("UpdateMetadataBroker"), "0+"
    )

    class UpdateMetadataPartitionState(Struct):
        topic_name: str = field(string, "0-4", ignorable=True)
        partition_index: int = field(int32, "0+")
        controller_epoch: int = field(int32, "0+")
        leader: int = field(int32, "0+")
        leader_epoch: int = field(int32, "0+")
        isr: Sequence[int] = field(array_of(int32), "0+")
        zk_version: int = field(int32, "0+")
        replicas: Sequence[int] = field(array_of(int32), "0+")
        offline_replicas: Sequence[int] = field(array_of(int32), "4+", ignorable=True)

    class UpdateMetadataTopicState(Struct):
        topic_name: str = field(string, "5+")
        topic_id: Uuid = field(uuid, "7+", ignorable=True)
        partition_states: Sequence[UpdateMetadataRequest.UpdateMetadataPartitionState] = field(
            array_of("UpdateMetadataPartitionState"), "5+"
        )

    class UpdateMetadataBroker(Struct):
        id: int = field(int32, "0+")
        v0_host: str = field(string, "0", ignorable=True)
        v0_port: int = field(int32, "0", ignorable=True)
        endpoints: Sequence[UpdateMetadataRequest.UpdateMetadataEndpoint] = field(
            array_of("UpdateMetadataEndpoint"), "1+", ignorable=True
        )
        rack: str | None = field(string, "2+", nullable="2+", ignorable=True)

    class UpdateMetadataEndpoint(Struct):
        port: int = field(int32, "1+")
        host: str = field(string, "1+")
        listener: str = field(string, "3+", ignorable=True)
        security_protocol: int = field(int16, "1+")


class UpdateMetadataResponse(Response, key=6, versions="0-8", flexible="6+"):
    """UpdateMetadata (API 6), versions 0-8, flexible from 6; Kafka 4.3 has dropped it."""

    error_code: int = field(int16, "0+")
