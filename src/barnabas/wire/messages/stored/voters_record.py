# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import (
    Message,
    Struct,
    array_of,
    field,
    int16,
    int32,
    string,
    struct_of,
    uint16,
    uuid,
)


class VotersRecord(Message, versions="0", flexible="0+"):
    """VotersRecord, version 0, always flexible."""

    version: int = field(int16, "0+")
    voters: Sequence[VotersRecord.Voter] = field(array_of("Voter"), "0+")

    class Voter(Struct):
        voter_id: int = field(int32, "0+")
        voter_directory_id: Uuid = field(uuid, "0+")
        endpoints: Sequence[VotersRecord.Endpoint] = field(array_of("Endpoint"), "0+")
        kraft_version_feature: VotersRecord.KRaftVersionFeature = field(
            struct_of("KRaftVersionFeature"), "0+"
        )

    class Endpoint(Struct):
        name: str = field(string, "0+")
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")

    class KRaftVersionFeature(Struct):
        min_supported_version: int = field(int16, "0+")
        max_supported_version: int = field(int16, "0+")
