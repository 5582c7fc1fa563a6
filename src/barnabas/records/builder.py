"""Making batches: for clients, coordinators, the quorum's log, compaction and tests.

A new batch is described by a header in which what follows from the records is still to be filled
in: ``BLANK._replace(producer_id=7, producer_epoch=0, base_sequence=3)`` is a batch of an idempotent
producer, ``attributes`` says codec, transaction, control and the like, and a header that was read
is a batch to be written again with fewer records.  ``built`` fills in length, checksum, count,
timestamps and the last offset.

What compaction relies on:

- The last offset never shrinks below the header's, so removing records leaves the offsets a batch
  covers as they were, and ``last_sequence`` with them.
- With the delete horizon's bit set, the base timestamp of the header is the horizon and stays.
- With ``LogAppendTime`` the max timestamp of the header is the time of all records and stays.
- ``emptied`` makes the batch of no records that keeps a live producer's last sequence.

``recoded`` changes the codec and nothing else.
"""

from collections.abc import Iterable
from typing import Final

from barnabas.records.batch import (
    CODEC_BITS,
    COVERED,
    CRC,
    DELETE_HORIZON,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    PREFIX,
    BatchHeader,
)
from barnabas.records.checksum import Buffer, crc32c
from barnabas.records.compression import Codec, compress, decompress
from barnabas.records.record import DECOMPRESSED_BYTES_MAX, Record, encoded

BLANK: Final = BatchHeader(
    base_offset=0,
    length=0,
    leader_epoch=NO_LEADER_EPOCH,
    magic=MAGIC,
    crc=0,
    attributes=0,
    last_offset_delta=-1,
    base_timestamp=NO_TIMESTAMP,
    max_timestamp=NO_TIMESTAMP,
    producer_id=NO_PRODUCER_ID,
    producer_epoch=NO_PRODUCER_EPOCH,
    base_sequence=NO_SEQUENCE,
    record_count=0,
)
"""The batch of nobody in particular, uncompressed, at offset 0."""


def built(header: BatchHeader, entries: Iterable[Record], level: int | None = None) -> bytes:
    """Return a batch of these records; their offsets are absolute and at or above the base."""
    horizon = header.attributes & DELETE_HORIZON
    body, count, base_timestamp, largest, last = encoded(
        entries, header.base_offset, header.base_timestamp if horizon else None
    )
    assert count, "a batch of no records is made by emptied()"
    codec = Codec(header.attributes & CODEC_BITS)
    return joined(
        header._replace(
            last_offset_delta=max(header.last_offset_delta, last - header.base_offset),
            base_timestamp=base_timestamp,
            max_timestamp=header.max_timestamp if header.is_log_append_time else largest,
            record_count=count,
        ),
        compress(codec, body, level) if codec else body,
    )


def emptied(header: BatchHeader) -> bytes:
    """Return a batch that has lost all its records but keeps its place, producer and last sequence.

    Neither codec nor delete horizon has a meaning any more; Kafka drops both.
    """
    return joined(
        header._replace(
            attributes=header.attributes & ~(CODEC_BITS | DELETE_HORIZON),
            base_timestamp=NO_TIMESTAMP,
            record_count=0,
        ),
        b"",
    )


def recoded(
    data: Buffer,
    position: int,
    header: BatchHeader,
    codec: Codec,
    level: int | None = None,
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX,
) -> bytes:
    """Return a batch with its records in another codec, for topics whose ``compression.type`` asks.

    The records are not looked at: compressed or not, they are the same bytes.  The batch may grow,
    so a leader compares it with ``max.message.bytes`` once more.
    """
    packed = memoryview(data)[position + HEADER_BYTES : position + header.size_bytes]
    body = bytes(decompress(header.codec, packed, decompressed_bytes_max))
    attributes = header.attributes & ~CODEC_BITS | codec
    return joined(header._replace(attributes=attributes), compress(codec, body, level))


def joined(header: BatchHeader, body: bytes) -> bytes:
    """Return header and body as a batch, with length and checksum filled in."""
    length = HEADER_BYTES - LOG_OVERHEAD_BYTES + len(body)
    covered = COVERED.pack(*header[5:])
    return b"".join(
        (
            PREFIX.pack(header.base_offset, length, header.leader_epoch),
            bytes((header.magic,)),
            CRC.pack(crc32c(body, crc32c(covered))),
            covered,
            body,
        )
    )
