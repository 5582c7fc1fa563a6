# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, Struct, array_of, field, int32, int64, string


class StreamsGroupMetadataKey(Message, key=17, versions="0"):
    """Key of coordinator record 17, version 0, never flexible."""

    group_id: str = field(string, "0")


class StreamsGroupMetadataValue(Message, key=17, versions="0", flexible="0+"):
    """Value of coordinator record 17, version 0, always flexible."""

    epoch: int = field(int32, "0+")
    metadata_hash: int = field(int64, "0+")
    validated_topology_epoch: int = field(int32, "0+", default=-1, tag=0, tagged="0+")
    last_assignment_configs: Sequence[StreamsGroupMetadataValue.LastAssignmentConfig] | None = (
        field(array_of("LastAssignmentConfig"), "0+", nullable="0+", tag=1, tagged="0+")
    )

    class LastAssignmentConfig(Struct):
        key: str = field(string, "0+")
        value: str = field(string, "0+")
