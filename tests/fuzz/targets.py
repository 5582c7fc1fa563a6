"""What is fed with bad input, and what must hold whatever it is.

A target takes bytes and says whether they were good. It lets nothing but `ProtocolError` pass for
a refusal: any other exception is a finding. What was good is written again and must read as the
same value.
"""

import tracemalloc
from collections.abc import Callable
from functools import cache

from barnabas.model.errors import ProtocolError
from barnabas.wire import codec
from barnabas.wire.messages import message_class
from barnabas.wire.structs import Message
from tests.wire.naive import names, twin

Target = Callable[[bytes], bool]

# What a decoded message may weigh. The dearest byte is that of an empty struct in an array: an
# object with a slot for each of its fields, and its place in the array.
OBJECT_BYTES = 600
FIXED_BYTES = 16_384


@cache
def layouts() -> tuple[tuple[type[Message], int], ...]:
    """List every message in every version, in an order that stays."""
    return tuple(
        (message_class(name), version) for name in names() for version in twin(name).versions.all()
    )


def message(data: bytes) -> bool:
    """Read a message: two bytes say which one in which version, the rest is its body."""
    message_type, version = layouts()[int.from_bytes(data[:2]) % len(layouts())]
    return body(message_type, version, data[2:])


def body(message_type: type[Message], version: int, data: bytes) -> bool:
    """Read one message; if it can be read, write it and read that."""
    try:
        value = codec.decode(message_type, version, memoryview(data))
    except ProtocolError:
        return False
    written = codec.encode(value, version)
    again = codec.decode(message_type, version, written)
    # A float that is not a number differs from itself, so its bytes have to do.
    assert again == value or codec.encode(again, version) == written, (again, value)
    return True


def weight_bytes(target: Target, data: bytes) -> int:
    """Measure the memory that a target takes at most for this input."""
    tracemalloc.start()
    try:
        target(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def allowance_bytes(data: bytes) -> int:
    """Say how much memory this input may take."""
    return FIXED_BYTES + OBJECT_BYTES * len(data)
