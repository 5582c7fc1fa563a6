# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, Struct, array_of, field, int32, string, struct_of, uint16


class StreamsGroupMemberMetadataKey(Message, key=19, versions="0"):
    """Key of coordinator record 19, version 0, never flexible."""

    group_id: str = field(string, "0")
    member_id: str = field(string, "0")


class StreamsGroupMemberMetadataValue(Message, key=19, versions="0", flexible="0+"):
    """Value of coordinator record 19, version 0, always flexible."""

    instance_id: str | None = field(string, "0+", nullable="0+")
    rack_id: str | None = field(string, "0+", nullable="0+")
    client_id: str = field(string, "0+")
    client_host: str = field(string, "0+")
    rebalance_timeout_ms: int = field(int32, "0+", default=-1)
    topology_epoch: int = field(int32, "0+")
    process_id: str = field(string, "0+")
    user_endpoint: StreamsGroupMemberMetadataValue.Endpoint | None = field(
        struct_of("Endpoint"), "0+", default=None, nullable="0+"
    )
    client_tags: Sequence[StreamsGroupMemberMetadataValue.KeyValue] = field(
        array_of("KeyValue"), "0+"
    )

    class Endpoint(Struct):
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")

    class KeyValue(Struct):
        key: str = field(string, "0+")
        value: str = field(string, "0+")
