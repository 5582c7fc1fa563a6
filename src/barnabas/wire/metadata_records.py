"""Records of the metadata log, to bytes and back (KIP-631).

    frame version uvarint | API key uvarint | version uvarint | message

The frame version is 1 and has never been another; API key and version are those of the message,
``FeatureLevelRecord`` and its like in ``messages.stored``.  A record has no key and no headers.

Kafka's AbstractApiMessageSerde.java fixes it: a number does not exceed a signed int16, and bytes
behind the message are an error, so a record that was cut or glued is not taken for another.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from barnabas.model.errors import RemoteProtocolError
from barnabas.wire import codec
from barnabas.wire.messages import message_class, message_names
from barnabas.wire.primitives import BadBytesError, Buffer, read_uvarint, uvarint
from barnabas.wire.structs import Message

FRAME_VERSION: Final = 1
NUMBER_MAX: Final = 0x7FFF


def encode_record(message: Message, version: int) -> bytes:
    """Write a record's value."""
    assert message.API_KEY >= 0, f"{type(message).__name__} is no record of the metadata log"
    head = (uvarint(FRAME_VERSION), uvarint(message.API_KEY), uvarint(version))
    return b"".join((*head, codec.encode(message, version)))


def decode_record(data: Buffer) -> tuple[Message, int]:
    """Read a record's value; return the message and its version."""
    key, version, at = read_frame(data)
    name = record_names().get(key)
    if name is None:
        raise RemoteProtocolError(f"a metadata record of type {key}, which nobody knows")
    message = message_class(name)
    known = codec.versions(message)
    if version not in known:
        raise RemoteProtocolError(
            f"{name} of version {version}; known are {known.start} to {known.stop - 1}"
        )
    return codec.decode(message, version, data[at:]), version


def read_frame(data: Buffer) -> tuple[int, int, int]:
    """Return API key and version of a record, and where its message begins."""
    try:
        frame, at = read_uvarint(data, 0)
        if frame != FRAME_VERSION:
            raise RemoteProtocolError(f"a metadata record in frame version {frame}")
        key, at = read_uvarint(data, at)
        version, at = read_uvarint(data, at)
    except (BadBytesError, IndexError) as error:
        raise RemoteProtocolError(f"a metadata record of {len(data)} bytes: {error}") from error
    if max(key, version) > NUMBER_MAX:
        raise RemoteProtocolError(f"a metadata record of type {key} and version {version}")
    return key, version, at


@cache
def record_names() -> Mapping[int, str]:
    """Return the metadata records there are, by API key.

    Every message has to be loaded to know its number, so this is done when it is first asked.
    """
    keys = {
        name: message_class(name).API_KEY for name in message_names() if name.endswith("Record")
    }
    return {key: name for name, key in keys.items() if key >= 0}
