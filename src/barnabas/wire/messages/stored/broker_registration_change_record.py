# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, array_of, field, int8, int32, int64, uuid


class BrokerRegistrationChangeRecord(Message, key=17, versions="0-3", flexible="0+"):
    """Metadata record 17, versions 0-3, always flexible."""

    broker_id: int = field(int32, "0+")
    broker_epoch: int = field(int64, "0+")
    fenced: int = field(int8, "0+", tag=0, tagged="0+")
    in_controlled_shutdown: int = field(int8, "1+", tag=1, tagged="1+")
    log_dirs: Sequence[Uuid] = field(array_of(uuid), "2+", tag=2, tagged="2+")
    cordoned_log_dirs: Sequence[Uuid] | None = field(
        array_of(uuid), "3+", default=None, nullable="3+", tag=3, tagged="3+"
    )
