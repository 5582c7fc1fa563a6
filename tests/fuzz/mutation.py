"""How a good message is broken: a few of the ways in which bytes go wrong, drawn from a seed."""

from collections.abc import Callable
from random import Random
from typing import Final

# Lengths and counts that lie, as they stand on the wire: int8 to int64, and varints.
LIES: Final = (
    b"\x00", b"\x01", b"\x02", b"\x7f", b"\x80", b"\xff",
    b"\x7f\xff", b"\x80\x00", b"\xff\xff", b"\x00\x00",
    b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x01\x00\x00",
    b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x1f", b"\x80" * 5,
    b"\xff\x7f", b"\x80\x01", b"\x81\x00", b"\xff\xff\xff\xff\xff\xff\xff\xff",
)  # fmt: skip

NOT_UTF_8: Final = (b"\xc0\x80", b"\xed\xa0\x80", b"\xf5", b"\xe2\x82", b"\xff")


def mutate(data: bytes, other: bytes, random: Random) -> bytes:
    """Break `data` in one to three ways; `other` is what it may be spliced with."""
    broken = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        random.choice(WAYS)(broken, other, random)
    return bytes(broken)


def place(data: bytearray, random: Random) -> int:
    return int(random.random() * (len(data) + 1))


def flip_a_bit(data: bytearray, _other: bytes, random: Random) -> None:
    if data:
        data[int(random.random() * len(data))] ^= 1 << int(random.random() * 8)


def overwrite_with_a_lie(data: bytearray, _other: bytes, random: Random) -> None:
    lie, at = random.choice(LIES), place(data, random)
    data[at : at + len(lie)] = lie


def insert_a_lie(data: bytearray, _other: bytes, random: Random) -> None:
    at = place(data, random)
    data[at:at] = random.choice(LIES)


def overwrite_with_what_is_no_text(data: bytearray, _other: bytes, random: Random) -> None:
    text, at = random.choice(NOT_UTF_8), place(data, random)
    data[at : at + len(text)] = text


def overwrite_with_noise(data: bytearray, _other: bytes, random: Random) -> None:
    size, at = random.choice((1, 1, 2, 4, 9)), place(data, random)
    data[at : at + size] = random.randbytes(size)


def truncate(data: bytearray, _other: bytes, random: Random) -> None:
    del data[place(data, random) :]


def remove(data: bytearray, _other: bytes, random: Random) -> None:
    at = place(data, random)
    del data[at : at + random.choice((1, 2, 4, 16))]


def repeat(data: bytearray, _other: bytes, random: Random) -> None:
    at = place(data, random)
    data[at:at] = data[at : at + random.choice((1, 2, 4, 16))]


def append(data: bytearray, _other: bytes, random: Random) -> None:
    data += random.randbytes(random.choice((1, 2, 8)))


def splice(data: bytearray, other: bytes, random: Random) -> None:
    data[place(data, random) :] = other[int(random.random() * len(other)) :]


WAYS: Final[tuple[Callable[[bytearray, bytes, Random], None], ...]] = (
    flip_a_bit,
    overwrite_with_a_lie,
    insert_a_lie,
    overwrite_with_what_is_no_text,
    overwrite_with_noise,
    truncate,
    remove,
    repeat,
    append,
    splice,
)
