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
    int16,
    int32,
    string,
    uuid,
)


class MetadataRequest(Request, key=3, versions="0-13", flexible="9+"):
    """Metadata (API 3), versions 0-13, flexible from 9."""

    topics: Sequence[MetadataRequest.MetadataRequestTopic] | None = field(
        array_of("MetadataRequestTopic"), "0+", nullable="1+"
    )
    allow_auto_topic_creation: bool = field(boolean, "4+", default=True)
    include_cluster_authorized_operations: bool = field(boolean, "8-10")
    include_topic_authorized_operations: bool = field(boolean, "8+")

    class MetadataRequestTopic(Struct):
        topic_id: Uuid = field(uuid, "10+", ignorable=True)
        name: str | None = field(string, "0+", nullable="10+")


class MetadataResponse(Response, key=3, versions="0-13", flexible="9+"):
    """Metadata (API 3), versions 0-13, flexible from 9."""

    throttle_time_ms: int = field(int32, "3+", ignorable=True)
    brokers: Sequence[MetadataResponse.MetadataResponseBroker] = field(
        array_of("MetadataResponseBroker"), "0+"
    )
    cluster_id: str | None = field(string, "2+", default=None, nullable="2+", ignorable=True)
    controller_id: int = field(int32, "1+", default=-1, ignorable=True)
    topics: Sequence[MetadataResponse.MetadataResponseTopic] = field(
        array_of("MetadataResponseTopic"), "0+"
    )
    cluster_authorized_operations: int = field(int32, "8-10", default=-2147483648)
    error_code: int = field(int16, "13+", ignorable=True)

    class MetadataResponseBroker(Struct):
        node_id: int = field(int32, "0+")
        host: str = field(string, "0+")
        port: int = field(int32, "0+")
        rack: str | None = field(string, "1+", default=None, nullable="1+", ignorable=True)

    class MetadataResponseTopic(Struct):
        error_code: int = field(int16, "0+")
        name: str | None = field(string, "0+", nullable="12+")
        topic_id: Uuid = field(uuid, "10+", ignorable=True)
        is_internal: bool = field(boolean, "1+", ignorable=True)
        partitions: Sequence[MetadataResponse.MetadataResponsePartition] = field(
            array_of("MetadataResponsePartition"), "0+"
        )
        topic_authorized_operations: int = field(int32, "8+", default=-2147483648)

    class MetadataResponsePartition(Struct):
        error_code: int = field(int16, "0+")
        partition_index: int = field(int32, "0+")
        leader_id: int = field(int32, "0+")
        leader_epoch: int = field(int32, "7+", default=-1, ignorable=True)
        replica_nodes: Sequence[int] = field(array_of(int32), "0+")
        isr_nodes: Sequence[int] = field(array_of(int32), "0+")
        offline_replicas: Sequence[int] = field(array_of(int32), "5+", ignorable=True)
