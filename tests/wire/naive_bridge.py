"""Between the twin's dicts (`naive.py`) and the messages of `barnabas.wire`.

A field of the one is the field of the other at the same place of the declaration; names are not
compared, since the strangers under `tests/compat` judge bytes, and the generated classes are read
by people.
"""

from typing import cast
from uuid import UUID

from barnabas.wire.messages import message_class
from barnabas.wire.structs import ArrayOf, Message, Struct, StructOf
from tests.wire import naive
from tests.wire.naive import Field, Twin, Value


def to_message(twin: Twin, version: int, plain: naive.Struct) -> Message:
    """Make the typed message that a dict describes."""
    return cast(Message, to_struct(twin.fields, message_class(twin.name), version, plain))


def to_struct(
    fields: tuple[Field, ...], struct: type[Struct], version: int, plain: naive.Struct
) -> Struct:
    """Make one struct of a message; what the dict leaves out keeps its default."""
    values: dict[str, object] = {}
    for field, attribute in zip(fields, struct.FIELDS, strict=True):
        if field.key not in plain:
            continue
        value = plain[field.key]
        if field.type == "struct" and value is not None:
            inner = struct_of(struct, attribute)
            if isinstance(value, list):
                parts = cast(list[naive.Struct], value)
                values[attribute] = [to_struct(field.fields, inner, version, one) for one in parts]
            else:
                whole = cast(naive.Struct, value)
                values[attribute] = to_struct(field.fields, inner, version, whole)
        elif field.type == "uuid":
            values[attribute] = (
                [one.bytes for one in cast(list[UUID], value)]
                if isinstance(value, list)
                else cast(UUID, value).bytes
            )
        else:
            values[attribute] = value
    if naive.UNKNOWN in plain:
        pairs = cast(list[tuple[int, bytes]], plain[naive.UNKNOWN])
        values["unknown_tagged_fields"] = tuple((tag, data) for tag, data in pairs)
    return struct(**values)


def from_message(twin: Twin, version: int, message: Message) -> naive.Struct:
    """Make the dict that describes a typed message, as the twin would have read it."""
    return from_struct(twin.fields, version, message)


def from_struct(fields: tuple[Field, ...], version: int, struct: Struct) -> naive.Struct:
    """Make the dict of one struct."""
    plain: naive.Struct = {}
    for field, attribute in zip(fields, type(struct).FIELDS, strict=True):
        if version not in field.versions:
            continue
        value = from_value(field, version, getattr(struct, attribute))
        if version not in field.tagged or value != naive.default_of(field, version):
            plain[field.key] = value
    if struct.unknown_tagged_fields:
        plain[naive.UNKNOWN] = [[tag, bytes(data)] for tag, data in struct.unknown_tagged_fields]
    return plain


def from_value(field: Field, version: int, value: object) -> Value:
    """Make what the twin holds for one value."""
    match value:
        case Struct():
            return from_struct(field.fields, version, value)
        case list() | tuple():
            return [from_value(field, version, one) for one in value]
        case bytes() if field.type == "uuid":
            return UUID(bytes=value)
        case memoryview():
            return bytes(value)
        case _:
            return cast(Value, value)


def struct_of(struct: type[Struct], attribute: str) -> type[Struct]:
    """Find the class of a field that holds a struct, or an array of them."""
    kind = struct.FIELDS[attribute].kind
    element = kind.element if isinstance(kind, ArrayOf) else kind
    assert isinstance(element, StructOf)
    return cast(type[Struct], getattr(struct.MESSAGE, element.name))
