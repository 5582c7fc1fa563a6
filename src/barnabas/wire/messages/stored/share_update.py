# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import (
    Message,
    Struct,
    array_of,
    field,
    int8,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class ShareUpdateKey(Message, key=1, versions="0"):
    """Key of coordinator record 1, version 0, never flexible."""

    group_id: str = field(string, "0")
    topic_id: Uuid = field(uuid, "0")
    partition: int = field(int32, "0")


class ShareUpdateValue(Message, key=1, versions="0", flexible="0+"):
    """Value of coordinator record 1, version 0, always flexible."""

    snapshot_epoch: int = field(int32, "0+")
    leader_epoch: int = field(int32, "0+")
    start_offset: int = field(int64, "0+")
    delivery_complete_count: int = field(int32, "0+", default=-1, tag=0, tagged="0+")
    state_batches: Sequence[ShareUpdateValue.StateBatch] = field(array_of("StateBatch"), "0+")

    class StateBatch(Struct):
        first_offset: int = field(int64, "0+")
        last_offset: int = field(int64, "0+")
        delivery_state: int = field(int8, "0+")
        delivery_count: int = field(int16, "0+")
