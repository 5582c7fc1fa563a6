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
from barnabas.wire.decoding import Decoder
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
    if len(data) > 2 and data[0] == FRAME_VERSION and data[1] < 128 and data[2] < 128:
        # All there have been so far: a node that starts reads millions of them.
        key, version, at = data[1], data[2], 3
    else:
        key, version, at = read_frame(data)
    message = record_classes().get(key)
    if message is None:
        raise RemoteProtocolError(f"a metadata record of type {key}, which nobody knows")
    try:
        read = message.decoders[version]
    except KeyError:
        read = first_decoder(message, version)
    record, end = read(data, at)
    if end != len(data):
        raise RemoteProtocolError(
            f"{message.__name__} v{version}: ends after {end} of {len(data)} bytes"
        )
    return record, version


def first_decoder(message: type[Message], version: int) -> Decoder:
    """Return what reads a version of a record that was not read before."""
    known = codec.versions(message)
    if version not in known:
        raise RemoteProtocolError(
            f"{message.__name__} of version {version}; known are {known.start} to {known.stop - 1}"
        )
    return codec.decoder(message, version)


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
def record_classes() -> Mapping[int, type[Message]]:
    """Return the metadata records there are, by API key.

    Every message has to be loaded to know its number, so this is done when it is first asked.
    """
    found = [message_class(name) for name in message_names() if name.endswith("Record")]
    return {message.API_KEY: message for message in found if message.API_KEY >= 0}


def record_names() -> Mapping[int, str]:
    """Return the names of the metadata records there are, by API key."""
    return {key: message.__name__ for key, message in record_classes().items()}
