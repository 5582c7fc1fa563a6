"""What is fed with bad input, and what must hold whatever it is.

`anything` takes any bytes and says whether they were good. It lets nothing but `ProtocolError`
pass for a refusal: any other exception is a finding. The first byte chooses what is fed:

- `message`: a decoder; two bytes choose the message and its version, the rest is its body. What is
  good is written again and must read as the same value.
- `server`: a server's connection; one byte chooses where the stream is cut, the rest is the stream.
  In pieces it must mean the same as in one, and every request can be answered.
- `client`: a client's connection that has asked a few things; the same for what a server answers.
"""

import struct
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from random import Random
from typing import Final, Protocol, TypeVar, cast

from barnabas.model.errors import ProtocolError, RemoteProtocolError
from barnabas.wire import codec
from barnabas.wire.apis import APIS, ServedApis, response_class
from barnabas.wire.connection import (
    ClientConnection,
    IncomingRequest,
    IncomingResponse,
    ServerConnection,
)
from barnabas.wire.messages import message_class
from barnabas.wire.structs import Message, Request
from tests.wire.naive import names, twin

Target = Callable[[bytes], bool]
Incoming = TypeVar("Incoming", IncomingRequest, IncomingResponse)

FIRST_OF_SERVER: Final = 0xC0
FIRST_OF_CLIENT: Final = 0xE0

# What a message may take for each of its bytes: when it is read; when it is also written, which
# gathers small parts, and read again; and what may come on top. The dearest bytes are those of
# small structs in an array: an object with a slot for each field, and its place.
READ_BYTES_PER_BYTE: Final = 64
BYTES_PER_BYTE: Final = 320
BYTES_BESIDES: Final = 65_536
FRAME_BYTES_MAX: Final = 1 << 20

ASKED: Final = (
    ("ApiVersions", 3),
    ("Metadata", 12),
    ("Fetch", 16),
    ("Produce", 9),
    ("ListGroups", 2),
)
"""What the client of `client` has asked, in this order."""


def anything(data: bytes) -> bool:
    """Feed whatever the first byte chooses."""
    first = data[0] if data else 0
    if first < FIRST_OF_SERVER:
        return message(data[1:])
    return server(data[1:]) if first < FIRST_OF_CLIENT else client(data[1:])


# Messages


@cache
def layouts() -> tuple[tuple[type[Message], int], ...]:
    """List every message in every version, in an order that stays."""
    return tuple(
        (message_class(name), version) for name in names() for version in twin(name).versions.all()
    )


def message(data: bytes) -> bool:
    """Read a message; if it can be read, write it and read that."""
    message_type, version = layouts()[int.from_bytes(data[:2]) % len(layouts())]
    try:
        value = codec.decode(message_type, version, memoryview(data)[2:])
    except ProtocolError:
        return False
    written = codec.encode(value, version)
    again = codec.decode(message_type, version, written)
    # A float that is not a number differs from itself, so its bytes have to do.
    assert again == value or codec.encode(again, version) == written, (again, value)
    return True


# Connections


@cache
def served() -> ServedApis:
    """Serve all that a broker may serve."""
    return ServedApis("broker", [api.key for api in APIS.values() if "broker" in api.listeners])


def server(data: bytes) -> bool:
    """Show a server a stream, in one piece and in several; answer what it takes for requests."""
    random, stream = Random(data[0] if data else 0), data[1:]
    whole, in_pieces = (ServerConnection(served(), FRAME_BYTES_MAX) for _ in "12")
    taken, refusal = receive(whole, [stream])
    assert said(taken, refusal) == said(*receive(in_pieces, cut(stream, random)))

    due = [request.correlation_id for request in whole.unanswered]
    for request in random.sample(taken, len(taken)):
        whole.reply(request, response_class(request.api.key)())
    assert correlation_ids(b"".join(whole.to_send())) == due
    return refusal is None


def client(data: bytes) -> bool:
    """Show a client, in one piece and in several, what answers its questions."""
    random, stream = Random(data[0] if data else 0), data[1:]
    taken, refusal = receive(asking(), [stream])
    assert said(taken, refusal) == said(*receive(asking(), cut(stream, random)))
    return refusal is None


def asking() -> ClientConnection:
    """Connect a client that has asked."""
    connection = ClientConnection("fuzz", FRAME_BYTES_MAX)
    for name, version in ASKED:
        connection.send(cast(Request, message_class(f"{name}Request")()), version)
    return connection


class End(Protocol[Incoming]):
    """Either end of a connection."""

    wanted_bytes: int

    def receive(
        self, data: memoryview
    ) -> tuple[int, list[Incoming], RemoteProtocolError | None]: ...


def receive(
    end: End[Incoming], pieces: Iterable[bytes]
) -> tuple[list[Incoming], RemoteProtocolError | None]:
    """Show an end a stream as a transport does: what it did not take is shown again, with more."""
    taken: list[Incoming] = []
    left = b""
    for piece in pieces:
        left += piece
        consumed, incoming, refusal = end.receive(memoryview(left))
        taken += incoming
        if refusal is not None:
            return taken, refusal
        left = left[consumed:]
        assert len(left) < end.wanted_bytes <= 4 + FRAME_BYTES_MAX
    return taken, None


def cut(stream: bytes, random: Random) -> list[bytes]:
    """Cut a stream in up to six pieces, some of them at its head, where the sizes are."""
    at = [int(random.random() * (len(stream) + 1)) for _ in range(3)]
    at += [random.choice((1, 3, 4, 5, 8, 14)) for _ in range(2)]
    places = [0, *sorted(min(place, len(stream)) for place in at), len(stream)]
    return [stream[start:stop] for start, stop in pairwise(places)]


def said(
    taken: Sequence[IncomingRequest | IncomingResponse], refusal: RemoteProtocolError | None
) -> object:
    """Tell what a stream meant, such that it can be compared."""
    messages = [
        (one.api.key, one.version, one.correlation_id, codec.encode(one.message, one.version))
        for one in taken
    ]
    return messages, str(refusal)


def correlation_ids(stream: bytes) -> list[int]:
    """Find the correlation ids of the answers in a stream."""
    found = []
    while stream:
        size, correlation_id = struct.unpack_from(">ii", stream)
        found.append(correlation_id)
        stream = stream[4 + size :]
    return found


def weight_bytes(target: Callable[[bytes], object], data: bytes) -> int:
    """Measure the memory that a target takes at most for this input."""
    tracemalloc.start()
    try:
        target(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def allowance_bytes(data: bytes) -> int:
    """Say how much memory this input may take."""
    return BYTES_BESIDES + BYTES_PER_BYTE * len(data)
