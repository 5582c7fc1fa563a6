"""Every message of Kafka's protocol, one class each for all its versions.

An API's module holds its request and its response (``fetch``: ``FetchRequest``,
``FetchResponse``); ``headers`` holds what stands before them; ``stored`` what is written to logs
and files or travels inside other messages.  The modules are made by
``tools/generate_messages.py`` and import nothing but ``structs``; a process loads those it uses.
"""

from importlib import import_module
from typing import Any

from barnabas.wire.messages.index import MODULES
from barnabas.wire.structs import Message


def message_names() -> list[str]:
    """List the schema name of every message."""
    return list(MODULES)


def message_class(name: str) -> type[Message]:
    """Return the class of a message by its schema name, loading its module if need be."""
    if name not in MODULES:
        raise KeyError(f"Kafka has no message {name!r}")
    module: Any = import_module(f"{__name__}.{MODULES[name]}")
    found: type[Message] = getattr(module, name)
    return found
