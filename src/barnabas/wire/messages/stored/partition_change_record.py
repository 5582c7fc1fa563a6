# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, array_of, field, int8, int32, uuid


class PartitionChangeRecord(Message, key=5, versions="0-2", flexible="0+"):
    """Metadata record 5, versions 0-2, always flexible."""

    partition_id: int = field(int32, "0+", default=-1)
    topic_id: Uuid = field(uuid, "0+")
    isr: Sequence[int] | None = field(
        array_of(int32), "0+", default=None, nullable="0+", tag=0, tagged="0+"
    )
    leader: int = field(int32, "0+", default=-2, tag=1, tagged="0+")
    replicas: Sequence[int] | None = field(
        array_of(int32), "0+", default=None, nullable="0+", tag=2, tagged="0+"
    )
    removing_replicas: Sequence[int] | None = field(
        array_of(int32), "0+", default=None, nullable="0+", tag=3, tagged="0+"
    )
    adding_replicas: Sequence[int] | None = field(
        array_of(int32), "0+", default=None, nullable="0+", tag=4, tagged="0+"
    )
    leader_recovery_state: int = field(int8, "0+", default=-1, tag=5, tagged="0+")
    directories: Sequence[Uuid] | None = field(
        array_of(uuid), "1+", default=None, nullable="1+", tag=8, tagged="1+"
    )
    eligible_leader_replicas: Sequence[int] | None = field(
        array_of(int32), "2+", default=None, nullable="2+", tag=6, tagged="2+"
    )
    last_known_elr: Sequence[int] | None = field(
        array_of(int32), "2+", default=None, nullable="2+", tag=7, tagged="2+"
    )
