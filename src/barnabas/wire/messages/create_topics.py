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
    string,
    uuid,
)


class CreateTopicsRequest(Request, key=19, versions="0-7", flexible="5+"):
    """CreateTopics (API 19), versions 0-7, flexible from 5; Kafka 4.3 serves 2-7."""

    topics: Sequence[CreateTopicsRequest.CreatableTopic] = field(array_of("CreatableTopic"), "0+")
    timeout_ms: int = field(int32, "0+", default=60000)
    validate_only: bool = field(boolean, "1+")

    class CreatableTopic(Struct):
        name: str = field(string, "0+")
        num_partitions: int = field(int32, "0+")
        replication_factor: int = field(int16, "0+")
        assignments: Sequence[CreateTopicsRequest.CreatableReplicaAssignment] = field(
            array_of("CreatableReplicaAssignment"), "0+"
        )
        configs: Sequence[CreateTopicsRequest.CreatableTopicConfig] = field(
            array_of("CreatableTopicConfig"), "0+"
        )

    class CreatableReplicaAssignment(Struct):
        partition_index: int = field(int32, "0+")
        broker_ids: Sequence[int] = field(array_of(int32), "0+")

    class CreatableTopicConfig(Struct):
        name: str = field(string, "0+")
        value: str | None = field(string, "0+", nullable="0+")


class CreateTopicsResponse(Response, key=19, versions="0-7", flexible="5+"):
    """CreateTopics (API 19), versions 0-7, flexible from 5; Kafka 4.3 serves 2-7."""

    throttle_time_ms: int = field(int32, "2+", ignorable=True)
    topics: Sequence[CreateTopicsResponse.CreatableTopicResult] = field(
        array_of("CreatableTopicResult"), "0+"
    )

    class CreatableTopicResult(Struct):
        name: str = field(string, "0+")
        topic_id: Uuid = field(uuid, "7+", ignorable=True)
        error_code: int = field(int16, "0+")
        error_message: str | None = field(string, "1+", nullable="1+", ignorable=True)
        topic_config_error_code: int = field(int16, "5+", tag=0, tagged="5+", ignorable=True)
        num_partitions: int = field(int32, "5+", default=-1, ignorable=True)
        replication_factor: int = field(int16, "5+", default=-1, ignorable=True)
        configs: Sequence[CreateTopicsResponse.CreatableTopicConfigs] | None = field(
            array_of("CreatableTopicConfigs"), "5+", nullable="5+", ignorable=True
        )

    class CreatableTopicConfigs(Struct):
        name: str = field(string, "5+")
        value: str | None = field(string, "5+", nullable="5+")
        read_only: bool = field(boolean, "5+")
        config_source: int = field(int8, "5+", default=-1, ignorable=True)
        is_sensitive: bool = field(boolean, "5+")
