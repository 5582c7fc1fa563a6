# Made by tools/generate_messages.py from wire/schema; change that and run it again.

from __future__ import annotations

from barnabas.wire.structs import Message, boolean, field, string


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    """DefaultPrincipalData, version 0, always flexible."""

    type: str = field(string, "0+")
    name: str = field(string, "0+")
    token_authenticated: bool = field(boolean, "0+")
