# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, Struct, array_of, field, int32, int64, octets, string


class GroupMetadataKey(Message, key=2, versions="0"):
    """Key of coordinator record 2, version 0, never flexible."""

    group: str = field(string, "0")


class GroupMetadataValue(Message, key=2, versions="0-4", flexible="4+"):
    """Value of coordinator record 2, versions 0-4, flexible from 4."""

    protocol_type: str = field(string, "0+")
    generation: int = field(int32, "0+")
    protocol: str | None = field(string, "0+", nullable="0+")
    leader: str | None = field(string, "0+", nullable="0+")
    current_state_timestamp: int = field(int64, "2+", default=-1, ignorable=True)
    members: Sequence[GroupMetadataValue.MemberMetadata] = field(array_of("MemberMetadata"), "0+")

    class MemberMetadata(Struct):
        member_id: str = field(string, "0+")
        group_instance_id: str | None = field(
            string, "3+", default=None, nullable="3+", ignorable=True
        )
        client_id: str = field(string, "0+")
        client_host: str = field(string, "0+")
        rebalance_timeout: int = field(int32, "1+", default=-1, ignorable=True)
        session_timeout: int = field(int32, "0+")
        subscription: bytes = field(octets, "0+")
        assignment: bytes = field(octets, "0+")
