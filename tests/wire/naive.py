"""A deliberately simple codec for every Kafka message: the twin that judges `barnabas.wire`.

It reads the schema files and walks them field by field, with an `if` for each rule of the wire
format and no thought of speed; it shares no line with the codec it judges. Where both agree on
thousands of random messages, and Apache Kafka's own classes agree with both (`tests/compat`), the
wire is right.

A message is a dict in the form of Kafka's generated `*JsonConverter`s:

- keys are the schema's names with a small first letter, in schema order;
- only the fields of the version at hand are there; a tagged field is there only when its value
  differs from its default, since otherwise it is not on the wire either;
- `bytes` and `records` are bytes, a `uuid` is a `UUID`; `as_json` turns both into Kafka's text;
- tagged fields nobody knows stand under `UNKNOWN` as `[tag, bytes]` pairs, in order of tag.

`twin(name)` is the twin of one message: `encode` and `decode` are the codec, `instance` draws a
random message, rich in edge values, and `printed` is what Kafka's converter makes of a message.
"""

import base64
import json
import math
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias, cast
from uuid import UUID

SCHEMAS: Final = Path(__file__).parents[2] / "src" / "barnabas" / "wire" / "schema"
UNKNOWN: Final = "_unknownTaggedFields"
LENGTHS: Final = {"string": ">h", "bytes": ">i", "records": ">i"}
"""What says how long it is, and how an inflexible version writes that."""

Value: TypeAlias = "bool | int | float | str | bytes | UUID | list[Value] | dict[str, Value] | None"
Struct: TypeAlias = "dict[str, Value]"
Schema: TypeAlias = dict[str, Any]
"""A schema file as `json` reads it; the one place here that trusts what it finds."""

INTEGERS: Final = {
    "int8": (-(2**7), 2**7 - 1, ">b"),
    "int16": (-(2**15), 2**15 - 1, ">h"),
    "uint16": (0, 2**16 - 1, ">H"),
    "int32": (-(2**31), 2**31 - 1, ">i"),
    "uint32": (0, 2**32 - 1, ">I"),
    "int64": (-(2**63), 2**63 - 1, ">q"),
}


@dataclass(frozen=True)
class Versions:
    """A range of versions as the schemas write it: `3`, `0-4`, `2+`, `none`."""

    first: int
    last: int

    @staticmethod
    def parse(text: str) -> "Versions":
        if text == "none":
            return Versions(0, -1)
        if text.endswith("+"):
            return Versions(int(text[:-1]), 2**15 - 1)
        first, _, last = text.partition("-")
        return Versions(int(first), int(last or first))

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def all(self) -> range:
        return range(self.first, self.last + 1)


@dataclass(frozen=True)
class Field:
    """One line of a schema; `fields` are those of the struct it holds, if it holds one."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int
    tagged: Versions
    default: str | None
    ignorable: bool
    never_flexible: bool
    fields: "tuple[Field, ...]"

    @property
    def key(self) -> str:
        return self.name[0].lower() + self.name[1:]


@dataclass(frozen=True)
class Twin:
    """One message in all its versions."""

    name: str
    type: str
    api_key: int | None
    versions: Versions
    served: Versions
    """What Kafka itself still serves; fewer than `versions` in many cases."""
    flexible: Versions
    fields: tuple[Field, ...]

    def encode(self, version: int, message: Struct) -> bytes:
        """Write a message as Kafka would."""
        return write_struct(self.fields, version, version in self.flexible, message)

    def decode(self, version: int, data: bytes) -> Struct:
        """Read a message that fills `data`."""
        reader = Reader(data, version in self.flexible)
        message = read_struct(self.fields, version, reader)
        if reader.position != len(data):
            raise ValueError(f"{len(data) - reader.position} bytes are left of a {self.name}")
        return message

    def instance(
        self, version: int, random: Random, *, unknown: bool = False, plain: float = 0
    ) -> Struct:
        """Draw a message.

        With `unknown`, it may carry tagged fields nobody knows; `plain` is the share of fields that
        shall keep their defaults.
        """
        taste = Taste(random, unknown and version in self.flexible, plain)
        return draw_struct(self.fields, version, taste, 0)

    def printed(self, message: Struct) -> str:
        """Write a message as Kafka's converter does, which leaves some things out."""
        return as_json(print_struct(self.fields, message))


@cache
def twin(name: str) -> Twin:
    """Load the message of this name."""
    return read_schema(json.loads((SCHEMAS / f"{name}.json").read_text()))


def read_schema(schema: Schema) -> Twin:
    """Understand a schema file, ours or Kafka's own."""
    commons = {one["name"]: one["fields"] for one in schema.get("commonStructs", [])}

    def field(raw: Schema) -> Field:
        element = raw["type"].removeprefix("[]")
        return Field(
            name=raw["name"],
            type="struct" if element[0].isupper() else element,
            is_array=raw["type"] != element,
            versions=Versions.parse(str(raw.get("versions", raw.get("taggedVersions")))),
            nullable=Versions.parse(raw.get("nullableVersions", "none")),
            tag=int(raw.get("tag", -1)),
            tagged=Versions.parse(raw.get("taggedVersions", "none")),
            # A null that is not quoted is Kafka's way to say nothing.
            default=None if raw.get("default") is None else str(raw["default"]),
            ignorable=bool(raw.get("ignorable", False)),
            never_flexible=raw.get("flexibleVersions") == "none",
            fields=tuple(map(field, raw.get("fields", commons.get(element, [])))),
        )

    valid = schema["validVersions"]
    return Twin(
        name=schema["name"],
        type=schema["type"],
        api_key=schema.get("apiKey"),
        versions=Versions.parse(valid),
        served=Versions.parse(str(schema.get("servedVersions", valid))),
        flexible=Versions.parse(schema.get("flexibleVersions", "none")),
        fields=tuple(map(field, schema["fields"])),
    )


@cache
def names() -> tuple[str, ...]:
    """Name every message there is a schema for."""
    return tuple(sorted(path.stem for path in SCHEMAS.glob("*.json")))


# Defaults


def default_of(field: Field, version: int) -> Value:
    """Say what a field holds that nobody set."""
    if field.default == "null":
        return None
    if field.is_array:
        return []
    if field.type == "struct":
        plain = (inner for inner in field.fields if version in inner.versions)
        return {
            inner.key: default_of(inner, version) for inner in plain if version not in inner.tagged
        }
    match field.type:
        case "string":
            return field.default or ""
        case "bytes" | "records":
            return b""
        case "uuid":
            return UUID(int=0)
        case "bool":
            return (field.default or "").lower() == "true"
        case "float64":
            return float(field.default or 0)
        case _:
            return int(field.default or "0", 0)


# Writing


def write_struct(fields: tuple[Field, ...], version: int, flexible: bool, message: Struct) -> bytes:
    """Write the fields in order, and behind them the tagged ones in the order of their tags."""
    out = b""
    tagged: list[tuple[int, bytes]] = []
    for field in fields:
        if version not in field.versions:
            continue
        if version not in field.tagged:
            out += write_field(field, version, flexible, message[field.key])
        elif field.key in message and message[field.key] != default_of(field, version):
            data = write_field(field, version, flexible, message[field.key])
            tagged.append((field.tag, data))
    for tag, data in cast(list[tuple[int, bytes]], message.get(UNKNOWN, [])):
        tagged.append((tag, data))
    if flexible:
        out += write_uvarint(len(tagged))
        for tag, data in sorted(tagged):
            out += write_uvarint(tag) + write_uvarint(len(data)) + data
    elif tagged:
        raise ValueError("this version has no tagged fields")
    return out


def write_field(field: Field, version: int, flexible: bool, value: Value) -> bytes:
    """Write a field: null, an array, or one value."""
    flexible = flexible and not field.never_flexible
    if value is None and version not in field.nullable:
        raise ValueError(f"{field.name} is not nullable in version {version}")
    match value:
        case None if field.type == "struct" and not field.is_array:
            # A tagged struct says by a varint whether it is there (0 or 1), others by -1 or 1.
            return b"\x00" if version in field.tagged else b"\xff"
        case None:
            return write_length(length_layout(field), -1, flexible)
        case list():
            count = write_length(">i", len(value), flexible)
            return count + b"".join(write_one(field, version, flexible, one) for one in value)
        case dict() if version in field.nullable:
            return b"\x01" + write_one(field, version, flexible, value)
        case _:
            return write_one(field, version, flexible, value)


def write_one(field: Field, version: int, flexible: bool, value: Value) -> bytes:
    """Write one value, which may be an element of an array."""
    match field.type, value:
        case "struct", dict():
            return write_struct(field.fields, version, flexible, value)
        case "string", str():
            text = value.encode()
            return write_length(">h", len(text), flexible) + text
        case "bytes" | "records", bytes():
            return write_length(">i", len(value), flexible) + value
        case "uuid", UUID():
            return value.bytes
        case "bool", bool():
            return b"\x01" if value else b"\x00"
        case "float64", float():
            return struct.pack(">d", value)
        case integer, int():
            return struct.pack(INTEGERS[integer][2], value)
        case _:
            raise ValueError(f"{field.name} is of type {field.type}, not {value!r}")


def length_layout(field: Field) -> str:
    """Say how an inflexible version writes the length of a field."""
    return ">h" if field.type == "string" and not field.is_array else ">i"


def write_length(layout: str, length: int, flexible: bool) -> bytes:
    """Write a length or a count, of which -1 means null."""
    return write_uvarint(length + 1) if flexible else struct.pack(layout, length)


def write_uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# Reading


class Reader:
    """Bytes and how far we have read them."""

    def __init__(self, data: bytes, flexible: bool) -> None:
        self.data = data
        self.flexible = flexible
        self.position = 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.position + count > len(self.data):
            raise ValueError(f"{count} bytes asked for at {self.position} of {len(self.data)}")
        self.position += count
        return self.data[self.position - count : self.position]

    def number(self, layout: str) -> int:
        value: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return value

    def length(self, layout: str, flexible: bool) -> int:
        """Read a length or a count, of which -1 means null."""
        return self.uvarint() - 1 if flexible else self.number(layout)

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7


def read_struct(fields: tuple[Field, ...], version: int, reader: Reader) -> Struct:
    """Read the fields in order, and then whatever tagged ones there are."""
    message: Struct = {}
    tagged: dict[int, Field] = {}
    for field in fields:
        if version in field.tagged:
            tagged[field.tag] = field
        elif version in field.versions:
            message[field.key] = read_field(field, version, reader)
    if not reader.flexible:
        return message
    unknown: list[Value] = []
    for _ in range(reader.uvarint()):
        tag, size = reader.uvarint(), reader.uvarint()
        if tag not in tagged:
            unknown.append([tag, reader.take(size)])
            continue
        end = reader.position + size
        value = read_field(tagged[tag], version, reader)
        if reader.position != end:
            raise ValueError(f"tag {tag} ends at {reader.position}, not at {end}")
        if value != default_of(tagged[tag], version):
            message[tagged[tag].key] = value
    if unknown:
        message[UNKNOWN] = unknown
    return message


def read_field(field: Field, version: int, reader: Reader) -> Value:
    """Read a field: null, an array, or one value."""
    flexible = reader.flexible and not field.never_flexible
    if not field.is_array and field.type not in LENGTHS:
        if field.type == "struct" and version in field.nullable:
            there = reader.uvarint() if version in field.tagged else reader.number(">b") + 1
            if not there:
                return None
        return read_one(field, version, reader, 0)
    length = reader.length(length_layout(field), flexible)
    if length < 0:
        if version not in field.nullable:
            raise ValueError(f"{field.name} is null in version {version}")
        return None
    if not field.is_array:
        return read_one(field, version, reader, length)
    elements: list[Value] = []
    for _ in range(length):
        size = reader.length(LENGTHS[field.type], flexible) if field.type in LENGTHS else 0
        elements.append(read_one(field, version, reader, size))
    return elements


def read_one(field: Field, version: int, reader: Reader, size: int) -> Value:
    """Read one value; `size` is how long it is, if it says so."""
    match field.type:
        case "struct":
            return read_struct(field.fields, version, reader)
        case "string":
            return reader.take(size).decode()
        case "bytes" | "records":
            return reader.take(size)
        case "uuid":
            return UUID(bytes=reader.take(16))
        case "bool":
            return reader.take(1) != b"\x00"
        case "float64":
            value: float = struct.unpack(">d", reader.take(8))[0]
            return value
        case integer:
            return reader.number(INTEGERS[integer][2])


# Random messages


@dataclass(frozen=True)
class Taste:
    """What kind of messages to draw, and from what."""

    random: Random
    unknown: bool
    plain: float


def draw_struct(fields: tuple[Field, ...], version: int, taste: Taste, depth: int) -> Struct:
    """Draw the fields of a struct, and now and then tags that nobody knows."""
    message: Struct = {}
    random = taste.random
    for field in fields:
        if version not in field.versions:
            continue
        if version in field.tagged and random.random() < 0.5:
            continue
        value = draw_field(field, version, taste, depth)
        if version not in field.tagged or value != default_of(field, version):
            message[field.key] = value
    if taste.unknown and random.random() < 0.3:
        # Kafka refuses a tag that it knows from another version; the last tag of all is reserved.
        tags = {random.choice([0, 1, 5, 127, 128, 10_000, 2**31 - 2]) for _ in range(2)}
        tags -= {field.tag for field in fields}
        if tags:
            message[UNKNOWN] = [
                [tag, random.randbytes(random.choice([0, 1, 130]))] for tag in sorted(tags)
            ]
    return message


def draw_field(field: Field, version: int, taste: Taste, depth: int) -> Value:
    """Draw a field: its default, null, an array, or one value."""
    random = taste.random
    if random.random() < taste.plain:
        return default_of(field, version)
    if version in field.nullable and random.random() < 0.25:
        return None
    if not field.is_array:
        return draw_one(field, version, taste, depth)
    most = 3 if depth < 2 else 2
    return [draw_one(field, version, taste, depth + 1) for _ in range(random.randint(0, most))]


TEXTS: Final = ("", "a", "topic-1", "ключ", "日本語", "🦜", "\x00", "x" * 126, "x" * 127, "y" * 300)


def draw_one(field: Field, version: int, taste: Taste, depth: int) -> Value:
    """Draw one value, as often as not one from the edge."""
    random = taste.random
    match field.type:
        case "struct":
            return draw_struct(field.fields, version, taste, depth)
        case "string":
            return random.choice(TEXTS)
        case "bytes":
            return random.randbytes(random.choice([0, 1, 7, 126, 127, 128, 300]))
        case "records":
            return random.randbytes(random.choice([0, 1, 61, 127, 300]))
        case "uuid":
            return UUID(int=random.choice([0, 1, 2**128 - 1, random.getrandbits(128)]))
        case "bool":
            return random.random() < 0.5
        case "float64":
            return random.choice([0.0, -1.5, 1e300, 5e-324, random.random()])
        case integer:
            least, most, _ = INTEGERS[integer]
            edges = [least, most, 0, 1, most // 2, random.randint(least, most)]
            return random.choice([*edges, -1] if least < 0 else edges)


# Kafka's JSON


def as_json(message: Struct) -> str:
    """Write a message as Kafka's converters do: bytes in base64, a uuid in its URL-safe kind."""
    return json.dumps(message, default=json_of, ensure_ascii=True)


def json_of(value: object) -> str:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case UUID():
            return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
        case _:
            raise TypeError(f"{value!r} is no value of a message")


def print_struct(fields: tuple[Field, ...], message: Struct) -> Struct:
    """Leave out tags nobody knows, and the content of records; name what is no number."""
    return {
        field.key: print_value(field, message[field.key])
        for field in fields
        if field.key in message
    }


def print_value(field: Field, value: Value) -> Value:
    match field.type, value:
        case "struct", dict():
            return print_struct(field.fields, value)
        case "struct", list():
            return [print_value(field, one) for one in value]
        case "records", bytes():
            return b""
        case "float64", float() if not math.isfinite(value):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        case _:
            return value
