# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import (
    Message,
    Struct,
    array_of,
    boolean,
    field,
    int16,
    int32,
    string,
    uint16,
    uuid,
)


class RegisterControllerRecord(Message, key=27, versions="0", flexible="0+"):
    """Metadata record 27, version 0, always flexible."""

    controller_id: int = field(int32, "0+")
    incarnation_id: Uuid = field(uuid, "0+")
    zk_migration_ready: bool = field(boolean, "0+")
    end_points: Sequence[RegisterControllerRecord.ControllerEndpoint] = field(
        array_of("ControllerEndpoint"), "0+"
    )
    features: Sequence[RegisterControllerRecord.ControllerFeature] = field(
        array_of("ControllerFeature"), "0+"
    )

    class ControllerEndpoint(Struct):
        name: str = field(string, "0+")
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")
        security_protocol: int = field(int16, "0+")

    class ControllerFeature(Struct):
        name: str = field(string, "0+")
        min_supported_version: int = field(int16, "0+")
        max_supported_version: int = field(int16, "0+")
