# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from collections.abc import Sequence

from barnabas.wire.structs import Message, array_of, field, int64, string


class DelegationTokenRecord(Message, key=10, versions="0", flexible="0+"):
    """Metadata record 10, version 0, always flexible."""

    owner: str = field(string, "0+")
    requester: str = field(string, "0+")
    renewers: Sequence[str] = field(array_of(string), "0+")
    issue_timestamp: int = field(int64, "0+")
    max_timestamp: int = field(int64, "0+")
    expiration_timestamp: int = field(int64, "0+")
    token_id: str = field(string, "0+")
