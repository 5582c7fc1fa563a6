"""Messages as plain data, for people and for JSON: what a dump prints and a tool pipes on.

Only the fields that the version carries are shown, under their Python names.  Ids appear as Kafka
writes them (base64, URL-safe, no padding), bytes as base64, tags that nobody knows as pairs.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import TypeAlias

from barnabas.model.ids import Uuid, uuid_text
from barnabas.wire.layout import Layout
from barnabas.wire.structs import ArrayOf, Kind, Message, Struct, uuid

Plain: TypeAlias = "Mapping[str, Plain] | list[Plain] | str | int | float | bool | None"


def plain(message: Message, version: int) -> dict[str, Plain]:
    """Return what a message says at a version."""
    return plain_struct(message, version)


def plain_struct(struct: Struct, version: int) -> dict[str, Plain]:
    """Return the fields that this version carries, in the order of the declaration."""
    layout = Layout(type(struct), version)
    shown = {
        name: plain_value(getattr(struct, name), declared.kind, version)
        for name, declared in struct.FIELDS.items()
        if name not in layout.absent
    }
    if struct.unknown_tagged_fields:
        shown["unknown_tagged_fields"] = [
            [tag, b64encode(data).decode()] for tag, data in struct.unknown_tagged_fields
        ]
    return shown


def plain_value(value: object, kind: Kind, version: int) -> Plain:
    """Return one value; its kind tells an id from other bytes."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Struct():
            return plain_struct(value, version)
        case list() | tuple():
            assert isinstance(kind, ArrayOf)
            return [plain_value(element, kind.element, version) for element in value]
        case bytes() if kind is uuid:
            return uuid_text(Uuid(value))
        case bytes() | bytearray() | memoryview():
            return b64encode(value).decode()
        case _:
            raise AssertionError(f"{type(value).__name__} is no value of a message")
