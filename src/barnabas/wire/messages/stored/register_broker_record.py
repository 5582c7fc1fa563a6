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
    int64,
    string,
    uint16,
    uuid,
)


class RegisterBrokerRecord(Message, key=0, versions="0-4", flexible="0+"):
    """Metadata record 0, versions 0-4, always flexible."""

    broker_id: int = field(int32, "0+")
    is_migrating_zk_broker: bool = field(boolean, "2+")
    incarnation_id: Uuid = field(uuid, "0+")
    broker_epoch: int = field(int64, "0+")
    end_points: Sequence[RegisterBrokerRecord.BrokerEndpoint] = field(
        array_of("BrokerEndpoint"), "0+"
    )
    features: Sequence[RegisterBrokerRecord.BrokerFeature] = field(array_of("BrokerFeature"), "0+")
    rack: str | None = field(string, "0+", nullable="0+")
    fenced: bool = field(boolean, "0+", default=True)
    in_controlled_shutdown: bool = field(boolean, "1+")
    log_dirs: Sequence[Uuid] = field(array_of(uuid), "3+", tag=0, tagged="3+")
    cordoned_log_dirs: Sequence[Uuid] | None = field(
        array_of(uuid), "4+", default=None, nullable="4+", tag=1, tagged="4+"
    )

    class BrokerEndpoint(Struct):
        name: str = field(string, "0+")
        host: str = field(string, "0+")
        port: int = field(uint16, "0+")
        security_protocol: int = field(int16, "0+")

    class BrokerFeature(Struct):
        name: str = field(string, "0+")
        min_supported_version: int = field(int16, "0+")
        max_supported_version: int = field(int16, "0+")
