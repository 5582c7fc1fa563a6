# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import (
    Request,
    Response,
    Struct,
    array_of,
    field,
    int16,
    int32,
    int64,
    uuid,
)


class AssignReplicasToDirsRequest(Request, key=73, versions="0", flexible="0+"):
    """AssignReplicasToDirs (API 73), version 0, always flexible."""

    broker_id: int = field(int32, "0+")
    broker_epoch: int = field(int64, "0+", default=-1)
    directories: Sequence[AssignReplicasToDirsRequest.DirectoryData] = field(
        array_of("DirectoryData"), "0+"
    )

    class DirectoryData(Struct):
        id: Uuid = field(uuid, "0+")
        topics: Sequence[AssignReplicasToDirsRequest.TopicData] = field(array_of("TopicData"), "0+")

    class TopicData(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[AssignReplicasToDirsRequest.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")


class AssignReplicasToDirsResponse(Response, key=73, versions="0", flexible="0+"):
    """AssignReplicasToDirs (API 73), version 0, always flexible."""

    throttle_time_ms: int = field(int32, "0+")
    error_code: int = field(int16, "0+")
    directories: Sequence[AssignReplicasToDirsResponse.DirectoryData] = field(
        array_of("DirectoryData"), "0+"
    )

    class DirectoryData(Struct):
        id: Uuid = field(uuid, "0+")
        topics: Sequence[AssignReplicasToDirsResponse.TopicData] = field(
            array_of("TopicData"), "0+"
        )

    class TopicData(Struct):
        topic_id: Uuid = field(uuid, "0+")
        partitions: Sequence[AssignReplicasToDirsResponse.PartitionData] = field(
            array_of("PartitionData"), "0+"
        )

    class PartitionData(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
