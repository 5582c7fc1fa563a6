# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, Struct, array_of, field, int16, int32, uuid


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    """LeaderChangeMessage, versions 0-1, always flexible."""

    version: int = field(int16, "0+")
    leader_id: int = field(int32, "0+")
    voters: Sequence[LeaderChangeMessage.Voter] = field(array_of("Voter"), "0+")
    granting_voters: Sequence[LeaderChangeMessage.Voter] = field(array_of("Voter"), "0+")

    class Voter(Struct):
        voter_id: int = field(int32, "0+")
        voter_directory_id: Uuid = field(uuid, "1+")
