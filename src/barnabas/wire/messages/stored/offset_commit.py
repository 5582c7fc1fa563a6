# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.model.ids import Uuid
from barnabas.wire.structs import Message, field, int32, int64, string, uuid


class OffsetCommitKey(Message, key=1, versions="0"):
    """Key of coordinator record 1, version 0, never flexible."""

    group: str = field(string, "0")
    topic: str = field(string, "0")
    partition: int = field(int32, "0")


class OffsetCommitValue(Message, key=1, versions="0-4", flexible="4+"):
    """Value of coordinator record 1, versions 0-4, flexible from 4."""

    offset: int = field(int64, "0+")
    leader_epoch: int = field(int32, "3+", default=-1, ignorable=True)
    metadata: str = field(string, "0+")
    commit_timestamp: int = field(int64, "0+")
    expire_timestamp: int = field(int64, "1", default=-1, ignorable=True)
    topic_id: Uuid = field(uuid, "4+", tag=0, tagged="4+", ignorable=True)
