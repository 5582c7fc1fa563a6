"""What records of Kafka's own topics say, as plain JSON values in Kafka's spelling.

Which topic a file belongs to is told by its directory, and that tells who wrote the records:

    __cluster_metadata     the quorum      frame version, type, version, message; no keys
    __consumer_offsets     groups          key: type i16, message; value: version i16, message
    __transaction_state    transactions    the same
    __share_group_state    share groups    the same

Control records, which any topic may hold, are read too.  The shape of what is returned is that of
Kafka's DumpLogSegments.java and its generated JSON converters: fields a version does not have and
tags that say nothing are left out, bytes are base64, ids are Kafka's url-safe base64.

A record that cannot be read is shown as its bytes, with the reason, since a tool that stops at the
first odd record is of no use to whoever looks for it.
"""

import base64
import math
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Final, TypeAlias

from barnabas.model.errors import ProtocolError
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.value import value
from barnabas.records.checksum import Buffer
from barnabas.records.compression import InvalidRecord
from barnabas.records.control import ControlType, control_type, end_marker
from barnabas.records.record import Record
from barnabas.wire import codec
from barnabas.wire.layout import Layout, valid_versions
from barnabas.wire.messages import message_class, message_names
from barnabas.wire.metadata_records import read_frame, record_names
from barnabas.wire.structs import ArrayOf, Kind, Message, Scalar, Struct, alike, defaults_of

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


class Contents(Enum):
    """Who wrote the records of a topic, and so how to read them."""

    ANY = "anybody"
    METADATA = "the quorum"
    GROUPS = "group coordinators"
    TRANSACTIONS = "transaction coordinators"
    SHARE_GROUPS = "share coordinators"


TOPICS: Final = {
    "__cluster_metadata": Contents.METADATA,
    "__consumer_offsets": Contents.GROUPS,
    "__transaction_state": Contents.TRANSACTIONS,
    "__share_group_state": Contents.SHARE_GROUPS,
}

CONTROL_MESSAGES: Final = {
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}


@value
class Told:
    """What a record says: its key and payload if they could be read, or why not."""

    key: Json = None
    payload: Json = None
    failure: str | None = None


def tell(record: Record, contents: Contents) -> Told:
    """Read a record that is no control record."""
    try:
        match contents:
            case Contents.ANY:
                return Told(shown(record.key), shown(record.value))
            case Contents.METADATA:
                return Told(None, metadata(record))
            case Contents.GROUPS | Contents.TRANSACTIONS | Contents.SHARE_GROUPS:
                return coordinator_record(record, stored(contents))
    except (ProtocolError, InvalidRecord, IndexError) as error:
        return Told(shown(record.key), shown(record.value), str(error))


def tell_control(record: Record) -> Told:
    """Read a control record."""
    try:
        kind = control_type(record)
        if kind is None:
            return Told(shown(record.key), shown(record.value), "a type that nobody knows")
        marker = end_marker(record)
        if marker is not None:
            return Told(kind.name, {"coordinatorEpoch": marker.coordinator_epoch})
        content = record.value or b""
        # All of these begin with a field that says their version.
        version = int.from_bytes(content[:2], signed=True)
        name = CONTROL_MESSAGES[kind]
        return Told(kind.name, as_json(decoded(name, version, content), version))
    except (ProtocolError, InvalidRecord) as error:
        return Told(shown(record.key), shown(record.value), str(error))


def shown(data: Buffer | None) -> Json:
    """Return bytes as text if they are text, else as base64 that says what it is."""
    if data is None:
        return None
    try:
        text = bytes(data).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
    return text if text.isprintable() else {"base64": base64.b64encode(data).decode()}


def decoded(name: str, version: int, data: Buffer) -> Message:
    """Read a message by name; what is behind it is ignored, as Kafka does here."""
    cls = message_class(name)
    if version not in valid_versions(cls):
        raise InvalidRecord(f"{name} of version {version}, known are {cls.VERSIONS}")
    message, _ = codec.decoder(cls, version)(data, 0)
    assert isinstance(message, cls)
    return message


# --- The quorum's records -------------------------------------------------------------------


def metadata(record: Record) -> Json:
    """Read a record of the cluster's metadata."""
    if record.value is None:
        raise InvalidRecord("a metadata record without a value")
    data = bytes(record.value)
    kind, version, at = read_frame(data)
    name = record_names().get(kind)
    if name is None:
        raise InvalidRecord(f"a metadata record of type {kind}")
    message = decoded(name, version, data[at:])
    return {"type": constant(name), "version": version, "data": as_json(message, version)}


def constant(name: str) -> str:
    """Spell the name of a message as Kafka's enumeration of metadata records does."""
    return "".join(f"_{c}" if c.isupper() and at else c.upper() for at, c in enumerate(name))


# --- Coordinators' records ------------------------------------------------------------------


def coordinator_record(record: Record, known: Mapping[int, str]) -> Told:
    """Read a record of a group's, transaction's or share group's coordinator."""
    if record.key is None:
        raise InvalidRecord("a coordinator's record without a key")
    kind = int.from_bytes(record.key[:2], signed=True)
    name = known.get(kind)
    if name is None:
        raise InvalidRecord(f"a coordinator's record of type {kind}")
    key = as_json(decoded(f"{name}Key", 0, record.key[2:]), 0)
    told: Json = "<DELETE>"
    if record.value is not None:
        version = int.from_bytes(record.value[:2], signed=True)
        message = decoded(f"{name}Value", version, record.value[2:])
        told = {"version": str(version), "data": as_json(message, version)}
        if name == "GroupMetadata":
            tell_members(told["data"])
    return Told({"type": str(kind), "data": key}, told)


def tell_members(group: Json) -> None:
    """Read what the members of a classic consumer group have told each other, in place."""
    if not isinstance(group, dict) or group["protocolType"] != "consumer":
        return
    members = group["members"]
    assert isinstance(members, list)
    for member in members:
        assert isinstance(member, dict)
        for field in ("subscription", "assignment"):
            content = member[field]
            assert isinstance(content, str)
            data = base64.b64decode(content)
            version = int.from_bytes(data[:2], signed=True)
            try:
                message = decoded(f"ConsumerProtocol{field.title()}", version, data[2:])
            except (ProtocolError, InvalidRecord, IndexError):
                # An assignor may put in here what it likes; then the bytes stay as they are.
                continue
            member[field] = as_json(message, version)


# --- Messages as JSON -----------------------------------------------------------------------


def as_json(message: Struct, version: int) -> Json:
    """Return a message as Kafka's converters print that version of it."""
    layout = Layout(type(message), version)
    defaults = defaults_of(type(message))
    told: dict[str, Json] = {
        camel(carried.name): field_json(carried.kind, getattr(message, carried.name), version)
        for carried in layout.in_place
    }
    for carried in layout.tagged:
        held = getattr(message, carried.name)
        if not alike(held, defaults[carried.name]):
            told[camel(carried.name)] = field_json(carried.kind, held, version)
    return told


def field_json(kind: Kind, held: object, version: int) -> Json:
    """Return what a field holds."""
    match kind, held:
        case ArrayOf(element=element), (list() | tuple()):
            return [field_json(element, one, version) for one in held]
        case _, Struct():
            return as_json(held, version)
        case Scalar(name="uuid"), bytes():
            return uuid_text(Uuid(held))
        case _, (bytes() | bytearray() | memoryview()):
            return base64.b64encode(held).decode()
        case _, float() if not math.isfinite(held):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(held, "NaN")
        case _, (None | bool() | int() | float() | str()):
            return held
        case _:
            raise AssertionError(f"{held!r} is nothing that a message holds")


def camel(name: str) -> str:
    """Spell the name of a field as Kafka does: ``topic_id`` is ``topicId``."""
    first, *rest = name.split("_")
    if first == "kraft":
        first = "kRaft"
    return first + "".join(word.capitalize() for word in rest)


@cache
def stored(contents: Contents) -> Mapping[int, str]:
    """Return the messages of coordinators by the number that stands before them, without Value.

    Every message has to be loaded to know its number, so this is done when it is first asked.
    """
    found = {}
    for name in message_names():
        number = message_class(name).API_KEY if name.endswith("Value") else -1
        stem = name.removesuffix("Value")
        if number >= 0 and WRITERS.get(stem, Contents.GROUPS) is contents:
            found[number] = stem
    return found


WRITERS: Final = {
    "TransactionLog": Contents.TRANSACTIONS,
    "ShareSnapshot": Contents.SHARE_GROUPS,
    "ShareUpdate": Contents.SHARE_GROUPS,
}
"""Who writes the records of a coordinator that is not the groups'."""
