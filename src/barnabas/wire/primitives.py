"""The small change of the protocol: varints, lengths, tags that nobody knows.

The compiled codec does the common case inline (a length below 128 is one byte) and calls here for
the rest.  Everything that reads raises ``BadBytesError``, ``IndexError`` or ``struct.error`` on
bytes that cannot be; the compiled function around it makes a ``ProtocolError`` of them and adds
which message it was.

A reader never allocates by a length it was told: a length is first compared with the bytes that
are there.
"""

from collections.abc import Callable, Sequence
from struct import Struct as Packer
from typing import Any, Final

from barnabas.model.errors import LocalProtocolError

Buffer = bytes | bytearray | memoryview
"""What can be read: at most one of them copies when sliced."""


class BadBytesError(ValueError):
    """Bytes that no correct peer sends; the text says why."""


def read_uvarint(buf: Buffer, pos: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits; return it and the position behind it."""
    byte = buf[pos]
    pos += 1
    if byte < 128:
        return byte, pos
    value = byte & 127
    for shift in (7, 14, 21, 28):
        byte = buf[pos]
        pos += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value > 0xFFFFFFFF:
                raise BadBytesError(f"varint {value} is wider than 32 bits")
            return value, pos
    raise BadBytesError("varint is longer than five bytes")


def long_length(buf: Buffer, pos: int, ahead: int) -> tuple[int, int]:
    """Read a compact length of several bytes, whose first the caller found at ``pos + ahead - 1``.

    Return the length (still one too large, as on the wire) and a position that is as far behind
    as ``pos`` was, so that the caller's offsets stay right.
    """
    value, after = read_uvarint(buf, pos + ahead - 1)
    if value - 1 > len(buf) - after:
        raise BadBytesError(f"length {value - 1} where {len(buf) - after} bytes are left")
    return value, after - ahead


def check_count(buf: Buffer, pos: int, count: int) -> None:
    """Refuse an array of more elements than there are bytes left; each takes one at least."""
    if count > len(buf) - pos:
        raise BadBytesError(f"array of {count} where {len(buf) - pos} bytes are left")


def read_unknown_tags(buf: Buffer, pos: int, count: int, struct: Any) -> int:  # noqa: ANN401 -- any struct
    """Keep the tags of a struct that has none of its own."""
    if count > 127:
        count, pos = read_uvarint(buf, pos - 1)
    seen: set[int] = set()
    unknown = []
    for _ in range(count):
        tag, pos, stop = read_tag(buf, pos, seen)
        unknown.append((tag, bytes(buf[pos:stop])))
        pos = stop
    struct.unknown_tagged_fields = tuple(unknown)
    return pos


def read_tag(buf: Buffer, pos: int, seen: set[int]) -> tuple[int, int, int]:
    """Read the head of a tagged field; return its tag, where it starts, and where it ends.

    Kafka reads tags in any order and so do we; a tag that comes twice has no meaning and could
    not be sent on (KIP-482 has them ascending).
    """
    tag, pos = read_uvarint(buf, pos)
    if tag in seen:
        raise BadBytesError(f"tag {tag} comes twice")
    seen.add(tag)
    size, pos = read_uvarint(buf, pos)
    if size > len(buf) - pos:
        raise BadBytesError(f"tag {tag} of {size} bytes where {len(buf) - pos} are left")
    return tag, pos, pos + size


def uvarint(value: int) -> bytes:
    """Write an unsigned varint."""
    if value < 128:
        return SMALL[value]
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag_section(tags: Sequence[tuple[int, bytes]]) -> bytes:
    """Write a struct's tagged fields, in the order of their tags."""
    parts = [uvarint(len(tags))]
    last = -1
    for tag, data in sorted(tags, key=lambda tag: tag[0]):
        if tag == last:
            raise LocalProtocolError(f"two tagged fields have the tag {tag}")
        last = tag
        parts += (uvarint(tag), uvarint(len(data)), data)
    return b"".join(parts)


SMALL: Final = tuple(bytes((value,)) for value in range(128))
"""The varints of one byte."""


class Repeated(dict[int, Callable[..., Any]]):
    """Packs or unpacks n of a scalar at once: ``Repeated("i", "pack")[n]``.

    A cache of a pure function.  Large counts are made anew each time, so that it stays small.
    """

    KEPT = 256

    def __init__(self, code: str, action: str) -> None:
        super().__init__()
        self.code = code
        self.action = action

    def __missing__(self, count: int) -> Callable[..., Any]:
        packer = Packer(f">{self.code * count}" if "s" in self.code else f">{count}{self.code}")
        made: Callable[..., Any] = getattr(packer, self.action)
        if count < self.KEPT:
            self[count] = made
        return made
