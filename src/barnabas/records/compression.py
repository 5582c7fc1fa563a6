"""Kafka's four codecs, at Kafka's framing, and never more bytes than allowed.

The records of a batch are compressed as one blob behind an uncompressed header; the codec's number
is in the header's attributes.  A broker stores and serves that blob as it came.  It looks inside
only for compacted topics, for bounds on old timestamps, and where a topic's ``compression.type``
asks for another codec than the producer's; clients and tools look inside always.

    1  gzip     zlib of the standard library; several members may follow one another
    2  snappy   the framing of snappy-java: a header of 16 bytes, then blocks of 32 KiB, each
                behind its length; librdkafka sends one bare block instead, and both are read
    3  lz4      the LZ4 frame format with independent blocks of 64 KiB; frames are taken apart
                here and only blocks go to the package
    4  zstd     one or more zstd frames

A blob of a kilobyte can claim to hold a gigabyte.  ``decompress`` is told how many bytes are
allowed, stops when there are more, and raises ``TooManyBytes``; what a blob says about its own size
is checked before a byte is reserved for it.

The packages (``cramjam`` for blocks of snappy and lz4, ``backports.zstd``, which is the standard
library's ``compression.zstd`` from 3.14 on) are imported on first use, so a broker that never looks
inside never pays for them.  This module is their one door; why these: docs/decisions/0008.
"""

import struct
import sys
import zlib
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Final

from barnabas.records.batch import CorruptBatch
from barnabas.records.checksum import Buffer

if TYPE_CHECKING:
    from types import ModuleType


class Codec(IntEnum):
    """The number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


DEFAULT_LEVELS: Final = {Codec.GZIP: 6, Codec.ZSTD: 3}
"""Snappy has no levels.  Kafka's for lz4 choose between a fast compressor, its default, and slower
ones; we have the fast one."""

MEMBERS_MAX: Final = 1_000
"""Gzip members or zstd frames in one blob.  Everybody writes one; each costs a copy of the rest, so
a megabyte of empty ones would cost seconds."""

GZIP_MAGIC: Final = b"\x1f\x8b"

SNAPPY_MAGIC: Final = b"\x82SNAPPY\0"
SNAPPY_HEADER: Final = SNAPPY_MAGIC + struct.pack(">ii", 1, 1)
SNAPPY_BLOCK_BYTES: Final = 32 * 1024

LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
# Version 1, independent blocks, no checksums, no content size; blocks of 64 KiB; and the second
# byte of the xxHash32 of those two.
LZ4_HEADER: Final = LZ4_MAGIC + b"\x60\x40\x82"
LZ4_BLOCK_BYTES: Final = 64 * 1024
LZ4_STORED: Final = 1 << 31
LZ4_EXPANSION_MAX: Final = 255
"""A byte of an lz4 block stands for at most so many."""

ZLIB_GZIP: Final = 31
"""What zlib calls a gzip header and trailer around a window of 32 KiB."""

INT: Final = struct.Struct(">i")
SIZE: Final = struct.Struct("<I")


class InvalidRecord(CorruptBatch):
    """The inside of a batch is wrong though its checksum is right: it was made so."""


class TooManyBytes(CorruptBatch):
    """The records of a batch take more bytes than allowed when decompressed."""


class UnsupportedCodec(Exception):  # noqa: N818 -- says what it is, as its neighbours do
    """Nobody knows this codec, or the package that does is not installed."""


def compress(codec: Codec, data: bytes, level: int | None = None) -> bytes:
    """Compress the records of a batch."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            chosen = DEFAULT_LEVELS[codec] if level is None else level
            packer = zlib.compressobj(chosen, zlib.DEFLATED, ZLIB_GZIP)
            return packer.compress(data) + packer.flush()
        case Codec.SNAPPY:
            return snappy_framed(data)
        case Codec.LZ4:
            return lz4_framed(data)
        case Codec.ZSTD:
            chosen = DEFAULT_LEVELS[codec] if level is None else level
            packed: bytes = zstd_package().compress(data, chosen)
            return packed


def decompress(codec: int, data: Buffer, bytes_max: int) -> Buffer:
    """Return what was compressed, at most ``bytes_max`` bytes of it or ``TooManyBytes``.

    Raises ``InvalidRecord`` if the codec cannot make sense of the data.
    """
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            return gunzipped(data, bytes_max)
        case Codec.SNAPPY:
            return unsnapped(memoryview(data), bytes_max)
        case Codec.LZ4:
            return lz4_unframed(memoryview(data), bytes_max)
        case Codec.ZSTD:
            return unzstd(data, bytes_max)
        case _:
            raise UnsupportedCodec(f"codec {codec}: Kafka knows 0 to 4")


# --- gzip -----------------------------------------------------------------------------------


def gunzipped(data: Buffer, bytes_max: int) -> bytes:
    """Decompress the members of a gzip file one after another.

    What follows and is no member is passed over, as Java does.
    """
    parts: list[bytes] = []
    rest = data
    allowed = bytes_max
    for _ in range(MEMBERS_MAX):
        unpacker = zlib.decompressobj(ZLIB_GZIP)
        try:
            # One more than allowed, to tell "just enough" from "too many"; zero means no limit.
            part = unpacker.decompress(rest, allowed + 1)
        except zlib.error as error:
            raise InvalidRecord(f"gzip: {error}") from error
        if len(part) > allowed:
            raise TooManyBytes(f"gzip: more than {bytes_max} bytes")
        if not unpacker.eof:
            raise InvalidRecord("gzip: ends early")
        parts.append(part)
        allowed -= len(part)
        rest = unpacker.unused_data
        if not rest.startswith(GZIP_MAGIC):
            return parts[0] if len(parts) == 1 else b"".join(parts)
    raise InvalidRecord(f"gzip: more than {MEMBERS_MAX} members")


# --- snappy ---------------------------------------------------------------------------------


def snappy_framed(data: bytes) -> bytes:
    """Compress in blocks of snappy-java's size, each behind its length."""
    package = blocks_package()
    view = memoryview(data)
    parts: list[Buffer] = [SNAPPY_HEADER]
    for at in range(0, len(view), SNAPPY_BLOCK_BYTES):
        block = package.snappy.compress_raw(view[at : at + SNAPPY_BLOCK_BYTES])
        parts += (INT.pack(len(block)), block)
    return b"".join(parts)


def unsnapped(data: memoryview, bytes_max: int) -> memoryview:
    """Decompress a bare block, or blocks behind a header of snappy-java."""
    blocks = snappy_blocks(data) if bytes(data[:8]) == SNAPPY_MAGIC else [data]
    package = blocks_package()
    try:
        sizes = [package.snappy.decompress_raw_len(block) for block in blocks]
        total = sum(sizes)
        if total > bytes_max:
            raise TooManyBytes(f"snappy: {total} bytes, allowed are {bytes_max}")
        if len(blocks) == 1:
            return memoryview(package.snappy.decompress_raw(blocks[0]))
        unpacked = memoryview(bytearray(total))
        at = 0
        for block, size in zip(blocks, sizes, strict=True):
            package.snappy.decompress_raw_into(block, unpacked[at : at + size])
            at += size
    except package.DecompressionError as error:
        raise InvalidRecord(str(error)) from error
    return unpacked


def snappy_blocks(data: memoryview) -> list[memoryview]:
    """Cut snappy-java's framing into blocks; concatenated streams repeat the header."""
    blocks = []
    at, end = 0, len(data)
    while at < end:
        if bytes(data[at : at + 8]) == SNAPPY_MAGIC:
            at += len(SNAPPY_HEADER)
            continue
        if end - at < INT.size:
            raise InvalidRecord("snappy: a block's length is cut short")
        (size,) = INT.unpack_from(data, at)
        at += INT.size
        if not 0 < size <= end - at:
            raise InvalidRecord(f"snappy: a block of {size} bytes where {end - at} are left")
        blocks.append(data[at : at + size])
        at += size
    return blocks


# --- lz4 ------------------------------------------------------------------------------------


def lz4_framed(data: bytes) -> bytes:
    """Compress into an LZ4 frame as Kafka writes it; a block that would grow is stored."""
    package = blocks_package()
    view = memoryview(data)
    parts: list[Buffer] = [LZ4_HEADER]
    for at in range(0, len(view), LZ4_BLOCK_BYTES):
        plain = view[at : at + LZ4_BLOCK_BYTES]
        block = package.lz4.compress_block(plain, store_size=False)
        if len(block) < len(plain):
            parts += (SIZE.pack(len(block)), block)
        else:
            parts += (SIZE.pack(len(plain) | LZ4_STORED), plain)
    parts.append(bytes(SIZE.size))
    return b"".join(parts)


def lz4_unframed(data: memoryview, bytes_max: int) -> Buffer:
    """Decompress the blocks of an LZ4 frame.

    The header's checksum is not looked at: the batch has one over everything, and clients from
    before magic 1 computed this one wrongly (KIP-57).
    """
    block_bytes_max, checksum_bytes, at = lz4_header(data)
    package = blocks_package()
    parts: list[memoryview] = []
    allowed = bytes_max
    while True:
        if len(data) - at < SIZE.size:
            raise InvalidRecord("lz4: the frame has no end mark")
        (word,) = SIZE.unpack_from(data, at)
        at += SIZE.size
        if word == 0:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        size = word & ~LZ4_STORED
        if size > min(block_bytes_max, len(data) - at):
            raise InvalidRecord(f"lz4: a block of {size} bytes where {len(data) - at} are left")
        part = data[at : at + size]
        at += size + checksum_bytes
        if not word & LZ4_STORED:
            most = min(block_bytes_max, size * LZ4_EXPANSION_MAX)
            # The package insists on a size before the block.  It takes it for the room there is,
            # and returns the size in truth; without one it may mistake the block's first bytes.
            try:
                part = memoryview(package.lz4.decompress_block(SIZE.pack(most) + part))
            except package.DecompressionError as error:
                raise InvalidRecord(f"lz4: {error}") from error
        allowed -= len(part)
        if allowed < 0:
            raise TooManyBytes(f"lz4: more than {bytes_max} bytes")
        parts.append(part)


def lz4_header(data: memoryview) -> tuple[int, int, int]:
    """Read a frame header: the largest block, the size of its checksum, where blocks begin."""
    if len(data) < len(LZ4_HEADER) or bytes(data[:4]) != LZ4_MAGIC:
        raise InvalidRecord("lz4: not a frame")
    flags, block = data[4], data[5]
    version, independent, block_checksum = flags >> 6, flags & 0x20, flags & 0x10
    content_size, dictionary, size_code = flags & 0x08, flags & 0x01, block >> 4
    if version != 1 or not independent or dictionary or not 4 <= size_code <= 7:
        raise InvalidRecord(f"lz4: a frame of flags {flags:#04x} {block:#04x}, which Kafka refuses")
    begin = len(LZ4_HEADER) + (8 if content_size else 0)
    return 1 << (8 + 2 * size_code), 4 if block_checksum else 0, begin


# --- zstd -----------------------------------------------------------------------------------


def unzstd(data: Buffer, bytes_max: int) -> bytes:
    """Decompress zstd frames one after another.

    A frame reserves its window (128 MiB at most) but touches only what it writes.
    """
    package = zstd_package()
    parts: list[bytes] = []
    rest = data
    allowed = bytes_max
    for _ in range(MEMBERS_MAX):
        unpacker = package.ZstdDecompressor()
        try:
            part: bytes = unpacker.decompress(rest, allowed + 1)
        except package.ZstdError as error:
            raise InvalidRecord(f"zstd: {error}") from error
        if len(part) > allowed:
            raise TooManyBytes(f"zstd: more than {bytes_max} bytes")
        if not unpacker.eof:
            raise InvalidRecord("zstd: ends early")
        parts.append(part)
        allowed -= len(part)
        rest = unpacker.unused_data
        if not rest:
            return parts[0] if len(parts) == 1 else b"".join(parts)
    raise InvalidRecord(f"zstd: more than {MEMBERS_MAX} frames")


# --- The packages ---------------------------------------------------------------------------


@cache
def blocks_package() -> "ModuleType":
    """Import the package for blocks of snappy and lz4."""
    try:
        import cramjam  # noqa: PLC0415 -- only those who look inside pay for it
    except ImportError as error:
        raise UnsupportedCodec("snappy and lz4 need the package 'cramjam'") from error
    package: ModuleType = cramjam
    return package


@cache
def zstd_package() -> "ModuleType":
    """Import zstd, which the standard library has from Python 3.14 on."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd  # noqa: PLC0415 -- as above
        else:
            from backports import zstd  # noqa: PLC0415 -- as above
    except ImportError as error:
        raise UnsupportedCodec("zstd needs the package 'backports.zstd'") from error
    package: ModuleType = zstd
    return package
