# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, Struct, array_of, field, int32, int64, string, uuid


class QuorumStateData(Message, versions="0-1", flexible="0+"):
    """QuorumStateData, versions 0-1, always flexible."""

    cluster_id: str = field(string, "0")
    leader_id: int = field(int32, "0+", default=-1)
    leader_epoch: int = field(int32, "0+", default=-1)
    voted_id: int = field(int32, "0+", default=-1)
    voted_directory_id: Uuid = field(uuid, "1+")
    applied_offset: int = field(int64, "0")
    current_voters: Sequence[QuorumStateData.Voter] | None = field(
        array_of("Voter"), "0", nullable="0"
    )

    class Voter(Struct):
        voter_id: int = field(int32, "0")
