# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, field, int8, int32, octets, string


class UserScramCredentialRecord(Message, key=11, versions="0", flexible="0+"):
    """Metadata record 11, version 0, always flexible."""

    name: str = field(string, "0+")
    mechanism: int = field(int8, "0+")
    salt: bytes = field(octets, "0+")
    stored_key: bytes = field(octets, "0+")
    server_key: bytes = field(octets, "0+")
    iterations: int = field(int32, "0+")
