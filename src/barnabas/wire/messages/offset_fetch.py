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
    int64,
    string,
    uuid,
)


class OffsetFetchRequest(Request, key=9, versions="0-10", flexible="6+"):
    """OffsetFetch (API 9), versions 0-10, flexible from 6; Kafka 4.3 serves 1-10."""

    group_id: str = field(string, "0-7")
    topics: Sequence[OffsetFetchRequest.OffsetFetchRequestTopic] | None = field(
        array_of("OffsetFetchRequestTopic"), "0-7", nullable="2-7"
    )
    groups: Sequence[OffsetFetchRequest.OffsetFetchRequestGroup] = field(
        array_of("OffsetFetchRequestGroup"), "8+"
    )
    require_stable: bool = field(boolean, "7+")

    class OffsetFetchRequestTopic(Struct):
        name: str = field(string, "0-7")
        partition_indexes: Sequence[int] = field(array_of(int32), "0-7")

    class OffsetFetchRequestGroup(Struct):
        group_id: str = field(string, "8+")
        member_id: str | None = field(string, "9+", default=None, nullable="9+", ignorable=True)
        member_epoch: int = field(int32, "9+", default=-1, ignorable=True)
        topics: Sequence[OffsetFetchRequest.OffsetFetchRequestTopics] | None = field(
            array_of("OffsetFetchRequestTopics"), "8+", nullable="8+"
        )

    class OffsetFetchRequestTopics(Struct):
        name: str = field(string, "8-9", ignorable=True)
        topic_id: Uuid = field(uuid, "10+", ignorable=True)
        partition_indexes: Sequence[int] = field(array_of(int32), "8+")


class OffsetFetchResponse(Response, key=9, versions="0-10", flexible="6+"):
    """OffsetFetch (API 9), versions 0-10, flexible from 6; Kafka 4.3 serves 1-10."""

    throttle_time_ms: int = field(int32, "3+", ignorable=True)
    topics: Sequence[OffsetFetchResponse.OffsetFetchResponseTopic] = field(
        array_of("OffsetFetchResponseTopic"), "0-7"
    )
    error_code: int = field(int16, "2-7", ignorable=True)
    groups: Sequence[OffsetFetchResponse.OffsetFetchResponseGroup] = field(
        array_of("OffsetFetchResponseGroup"), "8+"
    )

    class OffsetFetchResponseTopic(Struct):
        name: str = field(string, "0-7")
        partitions: Sequence[OffsetFetchResponse.OffsetFetchResponsePartition] = field(
            array_of("OffsetFetchResponsePartition"), "0-7"
        )

    class OffsetFetchResponseGroup(Struct):
        group_id: str = field(string, "8+")
        topics: Sequence[OffsetFetchResponse.OffsetFetchResponseTopics] = field(
            array_of("OffsetFetchResponseTopics"), "8+"
        )
        error_code: int = field(int16, "8+")

    class OffsetFetchResponsePartition(Struct):
        partition_index: int = field(int32, "0-7")
        committed_offset: int = field(int64, "0-7")
        committed_leader_epoch: int = field(int32, "5-7", default=-1, ignorable=True)
        metadata: str | None = field(string, "0-7", nullable="0-7")
        error_code: int = field(int16, "0-7")

    class OffsetFetchResponseTopics(Struct):
        name: str = field(string, "8-9", ignorable=True)
        topic_id: Uuid = field(uuid, "10+", ignorable=True)
        partitions: Sequence[OffsetFetchResponse.OffsetFetchResponsePartitions] = field(
            array_of("OffsetFetchResponsePartitions"), "8+"
        )

    class OffsetFetchResponsePartitions(Struct):
        partition_index: int = field(int32, "8+")
        committed_offset: int = field(int64, "8+")
        committed_leader_epoch: int = field(int32, "8+", default=-1, ignorable=True)
        metadata: str | None = field(string, "8+", nullable="8+")
        error_code: int = field(int16, "8+")
