# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, Struct, array_of, field, int32, octets, string, struct_of


class ConsumerGroupMemberMetadataKey(Message, key=5, versions="0"):
    """Key of coordinator record 5, version 0, never flexible."""

    group_id: str = field(string, "0")
    member_id: str = field(string, "0")


class ConsumerGroupMemberMetadataValue(Message, key=5, versions="0", flexible="0+"):
    """Value of coordinator record 5, version 0, always flexible."""

    instance_id: str | None = field(string, "0+", nullable="0+")
    rack_id: str | None = field(string, "0+", nullable="0+")
    client_id: str = field(string, "0+")
    client_host: str = field(string, "0+")
    subscribed_topic_names: Sequence[str] = field(array_of(string), "0+")
    subscribed_topic_regex: str | None = field(string, "0+", nullable="0+")
    rebalance_timeout_ms: int = field(int32, "0+", default=-1)
    server_assignor: str | None = field(string, "0+", nullable="0+")
    classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None = field(
        struct_of("ClassicMemberMetadata"), "0+", nullable="0+", tag=0, tagged="0+"
    )

    class ClassicMemberMetadata(Struct):
        session_timeout_ms: int = field(int32, "0+")
        supported_protocols: Sequence[ConsumerGroupMemberMetadataValue.ClassicProtocol] = field(
            array_of("ClassicProtocol"), "0+"
        )

    class ClassicProtocol(Struct):
        name: str = field(string, "0+")
        metadata: bytes = field(octets, "0+")
