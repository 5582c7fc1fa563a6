"""Magic 0 and 1: what Kafka wrote before 0.11, still readable where old segments lie.

    offset i64 | length i32 | crc u32 | magic i8 | attributes i8 | timestamp i64 (magic 1 only) |
    key length i32 | key | value length i32 | value

There are no batches: a message is a record, or a wrapper whose value holds compressed messages.
A wrapper's offset is that of its last message.  Inside, magic 0 has absolute offsets; magic 1
relative ones that count to the wrapper's (KIP-31), except where librdkafka left the wrapper at 0.
With ``LogAppendTime`` the wrapper's timestamp holds for all inside (KIP-32).

What this is for: Kafka 4 cannot be sent this (Produce begins at version 3), does not convert to
it (Fetch begins at version 4) and writes it nowhere, but a log that a 0.10 broker began and a 3.x
broker carried into KRaft may still hold it, and Kafka 4 serves such segments as they are.  So do
we: messages are read here, and never written.

A message shows itself as the header of a batch, so that a log treats all formats alike; finding
the first offset and the count of a wrapper means decompressing it.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import Final

from barnabas.records.batch import (
    LOG_OVERHEAD_BYTES,
    MAGIC_AT,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
)
from barnabas.records.checksum import Buffer
from barnabas.records.compression import Codec, InvalidRecord, decompress
from barnabas.records.record import DECOMPRESSED_BYTES_MAX, Record

FRONT: Final = struct.Struct(">qiIbb")
"""Offset, length, checksum, magic, attributes."""

TIMESTAMP: Final = struct.Struct(">q")
SIZE: Final = struct.Struct(">i")
OVERHEAD_BYTES: Final = {0: 14, 1: 22}
"""The length of a message without key and value."""


def header_at(
    data: Buffer, position: int = 0, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> BatchHeader:
    """Read the message that begins at a position as the header of a batch.

    Unlike a batch of magic 2, the message must be there as a whole.
    """
    offset, length, crc, magic, attributes, timestamp = front_at(data, position)
    header = BatchHeader(
        base_offset=offset,
        length=length,
        leader_epoch=NO_LEADER_EPOCH,
        magic=magic,
        crc=crc,
        attributes=attributes,
        last_offset_delta=0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        record_count=1,
    )
    if not header.codec:
        return header
    inside = list(unwrapped(data, position, header, decompressed_bytes_max))
    return header._replace(
        base_offset=inside[0].offset,
        last_offset_delta=inside[-1].offset - inside[0].offset,
        record_count=len(inside),
    )


def front_at(data: Buffer, position: int) -> tuple[int, int, int, int, int, int]:
    """Read offset, length, checksum, magic, attributes and timestamp of a whole message."""
    left = len(data) - position
    if left < LOG_OVERHEAD_BYTES + OVERHEAD_BYTES[0]:
        raise CorruptBatch(f"{max(0, left)} bytes at position {position} are no message")
    offset, length, crc, magic, attributes = FRONT.unpack_from(data, position)
    if magic not in OVERHEAD_BYTES:
        raise CorruptBatch(f"magic {magic} at position {position}, expected 0 or 1")
    if not OVERHEAD_BYTES[magic] <= length <= left - LOG_OVERHEAD_BYTES:
        raise CorruptBatch(
            f"length {length} at position {position}, where a message takes "
            f"{OVERHEAD_BYTES[magic]} and {left - LOG_OVERHEAD_BYTES} are left"
        )
    timestamp = NO_TIMESTAMP
    if magic:
        (timestamp,) = TIMESTAMP.unpack_from(data, position + FRONT.size)
    return offset, length, crc, magic, attributes, timestamp


def verify(data: Buffer, position: int, header: BatchHeader) -> None:
    """Raise ``CorruptBatch`` unless a whole message matches its checksum, an ordinary CRC-32."""
    covered = memoryview(data)[position + MAGIC_AT : position + header.size_bytes]
    crc = zlib.crc32(covered)
    if crc != header.crc:
        raise CorruptBatch(
            f"message at offset {header.last_offset}: checksum {crc:#010x}, "
            f"stored {header.crc:#010x}"
        )


def records(
    data: Buffer,
    position: int,
    header: BatchHeader,
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX,
) -> Iterator[Record]:
    """Yield the message at a position, or those that it wraps, as records."""
    if header.codec:
        return unwrapped(data, position, header, decompressed_bytes_max)
    key, content = key_and_value(data, position, header.magic, header.size_bytes)
    return iter((Record(header.base_offset, header.base_timestamp, key, content),))


def key_and_value(
    data: Buffer, position: int, magic: int, size_bytes: int
) -> tuple[Buffer | None, Buffer | None]:
    """Cut key and value out of a message."""
    at = position + FRONT.size + (TIMESTAMP.size if magic else 0)
    end = position + size_bytes
    fields: list[Buffer | None] = []
    for _ in range(2):
        if end - at < SIZE.size:
            raise InvalidRecord("a message ends within the length of its key or value")
        (size,) = SIZE.unpack_from(data, at)
        at += SIZE.size
        if size > end - at:
            raise InvalidRecord(f"a key or value of {size} bytes where {end - at} are left")
        fields.append(None if size < 0 else data[at : at + size])
        at += max(0, size)
    if at != end:
        raise InvalidRecord(f"{end - at} bytes behind the value of a message")
    return fields[0], fields[1]


def unwrapped(
    data: Buffer, position: int, header: BatchHeader, decompressed_bytes_max: int
) -> Iterator[Record]:
    """Yield the messages in a wrapper, at their absolute offsets."""
    (wrapper_offset,) = TIMESTAMP.unpack_from(data, position)
    _, content = key_and_value(data, position, header.magic, header.size_bytes)
    if content is None or header.codec > Codec.LZ4:
        raise InvalidRecord(f"a wrapper at offset {wrapper_offset} without anything to unwrap")
    body = memoryview(decompress(header.codec, content, decompressed_bytes_max))
    inside = []
    at = 0
    while len(body) - at >= LOG_OVERHEAD_BYTES:
        (length,) = SIZE.unpack_from(body, at + 8)
        if length > len(body) - at - LOG_OVERHEAD_BYTES:
            # Producers of old cut what did not fit into their buffer.
            break
        offset, length, _, magic, attributes, timestamp = front_at(body, at)
        if attributes & 7:
            raise InvalidRecord(f"a wrapper within a wrapper at offset {wrapper_offset}")
        key, content = key_and_value(body, at, magic, LOG_OVERHEAD_BYTES + length)
        if magic and header.is_log_append_time:
            timestamp = header.max_timestamp
        inside.append(Record(offset, timestamp, key, content))
        at += LOG_OVERHEAD_BYTES + length
    if not inside:
        raise InvalidRecord(f"an empty wrapper at offset {wrapper_offset}")
    shift = 0
    if header.magic and wrapper_offset:
        shift = wrapper_offset - inside[-1].offset
        if shift < 0:
            raise InvalidRecord(
                f"a wrapper at offset {wrapper_offset} holds relative offset {inside[-1].offset}"
            )
    return iter([record._replace(offset=record.offset + shift) for record in inside])
