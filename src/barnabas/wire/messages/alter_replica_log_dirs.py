# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Request, Response, Struct, array_of, field, int16, int32, string


class AlterReplicaLogDirsRequest(Request, key=34, versions="0-2", flexible="2+"):
    """AlterReplicaLogDirs (API 34), versions 0-2, flexible from 2; Kafka 4.3 serves 1-2."""

    dirs: Sequence[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = field(
        array_of("AlterReplicaLogDir"), "0+"
    )

    class AlterReplicaLogDir(Struct):
        path: str = field(string, "0+")
        topics: Sequence[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = field(
            array_of("AlterReplicaLogDirTopic"), "0+"
        )

    class AlterReplicaLogDirTopic(Struct):
        name: str = field(string, "0+")
        partitions: Sequence[int] = field(array_of(int32), "0+")


class AlterReplicaLogDirsResponse(Response, key=34, versions="0-2", flexible="2+"):
    """AlterReplicaLogDirs (API 34), versions 0-2, flexible from 2; Kafka 4.3 serves 1-2."""

    throttle_time_ms: int = field(int32, "0+")
    results: Sequence[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = field(
        array_of("AlterReplicaLogDirTopicResult"), "0+"
    )

    class AlterReplicaLogDirTopicResult(Struct):
        topic_name: str = field(string, "0+")
        partitions: Sequence[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = field(
            array_of("AlterReplicaLogDirPartitionResult"), "0+"
        )

    class AlterReplicaLogDirPartitionResult(Struct):
        partition_index: int = field(int32, "0+")
        error_code: int = field(int16, "0+")
