"""Frames: a size of four bytes, a header, a body.

::

    request    size  api key  version  correlation id  client id  [tags]  body
    response   size  correlation id  [tags]  body

The header of a request is read here by hand and not by ``messages.headers``: it is the same few
bytes for every request of every API, and its client id keeps the old length of two bytes even
where the header has tags.  The header *messages* remain the description of these bytes, and the
tests compare.
"""

from struct import Struct as Packer
from struct import error as StructError  # noqa: N812 -- a class, spelled as one
from typing import Any, Final

from barnabas.model.errors import RemoteProtocolError
from barnabas.wire.apis import (
    APIS,
    Api,
    ApiKey,
    request_header_version,
    response_header_version,
)
from barnabas.wire.codec import encoder
from barnabas.wire.layout import may_be_large
from barnabas.wire.primitives import BadBytesError, Buffer, read_tag, read_uvarint
from barnabas.wire.structs import Message, Request, Response

SIZE_BYTES: Final = 4

REQUEST_BYTES_MIN: Final = 8
"""A ControlledShutdown 0: API key, version, correlation id, and nothing else."""

RESPONSE_BYTES_MIN: Final = 4
"""A correlation id; some answers have nothing else to say."""

FRAME_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's ``socket.request.max.bytes``: what a listener takes if nobody said otherwise."""

FIXED: Final = Packer(">hhi")
LENGTH: Final = Packer(">h")
SIZE: Final = Packer(">i")
RESPONSE: Final = Packer(">ii")


def split(
    data: memoryview, frame_bytes_max: int, least_bytes: int
) -> tuple[list[memoryview], int, int, RemoteProtocolError | None]:
    """Cut bytes into whole frames.

    Return the frames without their sizes, how many bytes they take, how many bytes there must be
    for the next one, and what is wrong with it if something is.
    """
    frames: list[memoryview] = []
    pos, end = 0, len(data)
    wanted = SIZE_BYTES
    while pos + SIZE_BYTES <= end:
        (size,) = SIZE.unpack_from(data, pos)
        if not least_bytes <= size <= frame_bytes_max:
            why = f"frame of {size} bytes; {least_bytes} to {frame_bytes_max} are taken"
            return frames, pos, 0, RemoteProtocolError(why)
        start, stop = pos + SIZE_BYTES, pos + SIZE_BYTES + size
        if stop > end:
            wanted = stop - pos
            break
        frames.append(data[start:stop])
        pos = stop
    return frames, pos, wanted, None


def read_request_header(frame: Buffer) -> tuple[Api, int, int, str, int]:
    """Read the header of a request.

    Return the API, the version, the correlation id, the client id (none counts as an empty one,
    as for Kafka), and where the body starts.

    A version that nobody serves is no error yet: ApiVersions has an answer to it.
    """
    if len(frame) < REQUEST_BYTES_MIN:
        raise RemoteProtocolError(f"request of {len(frame)} bytes: too short for a header")
    key, version, correlation_id = FIXED.unpack_from(frame)
    try:
        api = APIS[key]
    except KeyError:
        raise RemoteProtocolError(f"there is no API {key}") from None
    client_id = ""
    pos = FIXED.size
    try:
        if version or key != ApiKey.CONTROLLED_SHUTDOWN:
            (length,) = LENGTH.unpack_from(frame, pos)
            pos += 2
            if length > 0:
                client_id = str(frame[pos : pos + length], "utf-8")
                pos += length
                if pos > len(frame):
                    raise BadBytesError(f"client id of {length} bytes reaches beyond the frame")
            elif length < -1:
                raise BadBytesError(f"client id of {length} bytes")
            if version in api.flexible:
                # No tag is known here, so there is nothing to keep.
                tags = frame[pos]
                pos += 1
                if tags:
                    pos = skip_tags(frame, pos - 1)
    except (IndexError, ValueError, StructError) as why:
        raise RemoteProtocolError(f"header of {api.name} v{version}: {why}") from why
    return api, version, correlation_id, client_id, pos


def skip_tags(frame: Buffer, pos: int) -> int:
    """Step over tagged fields."""
    count, pos = read_uvarint(frame, pos)
    seen: set[int] = set()
    for _ in range(count):
        _, _, pos = read_tag(frame, pos, seen)
    return pos


def read_response_header(frame: Buffer, api: Api, version: int) -> tuple[int, int]:
    """Read the header of a response; return its correlation id and where the body starts."""
    try:
        (correlation_id,) = SIZE.unpack_from(frame)
        pos = SIZE.size
        if response_header_version(api.key, version):
            pos = skip_tags(frame, pos)
    except (IndexError, ValueError, StructError) as why:
        raise RemoteProtocolError(f"header of an answer to {api.name} v{version}: {why}") from why
    return correlation_id, pos


def request_frame(
    request: Request, version: int, correlation_id: int, client_id: str | None
) -> list[Any]:
    """Write a request as a whole frame, in parts to be sent one after the other."""
    key = request.API_KEY
    header = request_header_version(key, version)
    parts: list[Any] = [b""]
    if header == 0:
        head = FIXED.pack(key, version, correlation_id)
    else:
        name = b"" if client_id is None else client_id.encode()
        length = -1 if client_id is None else len(name)
        head = FIXED.pack(key, version, correlation_id) + LENGTH.pack(length) + name
        if header == 2:
            head += b"\0"
    encoder(type(request), version)(request, parts)
    parts[0] = SIZE.pack(len(head) + sum(map(len, parts))) + head
    return gathered(type(request), parts)


def response_frame(response: Response, version: int, correlation_id: int) -> list[Any]:
    """Write a response as a whole frame, in parts to be sent one after the other."""
    parts: list[Any] = [b""]
    header = response_header_version(response.API_KEY, version)
    encoder(type(response), version)(response, parts)
    size = 4 + header + sum(map(len, parts))
    parts[0] = RESPONSE.pack(size, correlation_id) + (b"\0" if header else b"")
    return gathered(type(response), parts)


PART_BYTES_MIN: Final = 4096
"""Parts below this are joined with their neighbours: copying them costs less than an iovec."""


def gathered(message: type[Message], parts: list[Any]) -> list[Any]:
    """Join small neighbours; keep what is large, and what is not bytes, as it is."""
    if not may_be_large(message):
        return [b"".join(parts)]
    out: list[Any] = []
    small: list[Any] = []
    for part in parts:
        if len(part) < PART_BYTES_MIN and isinstance(part, bytes | bytearray | memoryview):
            small.append(part)
            continue
        if small:
            out.append(b"".join(small))
            small = []
        out.append(part)
    if small:
        out.append(b"".join(small))
    return out
