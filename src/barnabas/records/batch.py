"""A record batch as it lies in a buffer: 61 bytes of header, and records that stay bytes.

    base offset i64 | length i32 | leader epoch i32 | magic i8 | crc u32 |       bytes 0 to 20
    attributes i16 | last offset delta i32 | base timestamp i64 | max timestamp i64 |   21 to 42
    producer id i64 | producer epoch i16 | base sequence i32 | record count i32 |       43 to 60
    records …

(Kafka's magic 2, KIP-98; ``DefaultRecordBatch`` fixes it.)  The unit of the data plane is the
batch.  What a broker must know to store, replicate, deduplicate and serve a batch is in the
header, so the header is one ``struct`` call and the records behind it are never looked at here.

The checksum covers bytes 21 to the end.  What a leader assigns on append, the base offset and its
epoch, lies before them on purpose: ``assigned`` stamps a batch by replacing 16 bytes, and the rest
goes to the disk as it came from the network.  Only a topic with ``LogAppendTime`` changes covered
bytes, and pays for a second checksum.

Buffers that were received must not be written to (another reply may still be going out from
them), so ``assigned`` returns parts for a gathering write; ``assign`` writes in place where the
bytes are ours.

Nothing here knows whose fault a bad batch is: it raises ``CorruptBatch``.  From a client that
becomes the code ``CORRUPT_MESSAGE`` (see ``validation``), from a disk the end of the log.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas.records.checksum import Buffer, crc32c

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = HEADER.size
assert HEADER_BYTES == 61

LOG_OVERHEAD_BYTES: Final = 12
"""Base offset and length, which ``length`` does not count.  Older formats begin with them too."""

LEGACY_OVERHEAD_BYTES: Final = 14
"""The least that ``length`` can be in any format: magic 0, no key, no value."""

MAGIC_AT: Final = 16
CHECKED_FROM: Final = 21
"""Where the bytes begin that the checksum covers."""

MAGIC: Final = 2

CODEC_BITS: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40
"""Attribute bits; 7 to 15 are unused, and stay what they are until a broker writes new ones."""

KNOWN_BITS: Final = CODEC_BITS | LOG_APPEND_TIME | TRANSACTIONAL | CONTROL | DELETE_HORIZON

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1

SEQUENCE_MODULUS: Final = 1 << 31
"""Sequence numbers go from 2147483647 on to 0."""

PREFIX: Final = struct.Struct(">qii")
"""Base offset, length, leader epoch: what is not covered, before the magic."""

COVERED: Final = struct.Struct(">hiqqqhii")
"""The rest of the header, which the checksum covers."""

CRC: Final = struct.Struct(">I")


class CorruptBatch(Exception):  # noqa: N818 -- says what it is, as Refused and CorruptLog do
    """Bytes that cannot be a record batch: size, magic, checksum or content are wrong."""


class OldFormat(Exception):  # noqa: N818 -- as above
    """A message of magic 0 or 1, which ``legacy`` reads.

    Not a ``CorruptBatch``: a log that meets one must not take it for damage and cut it off.
    """


class BatchHeader(NamedTuple):
    """The header of one batch, as it was read.

    A named tuple rather than a value because it is made for every batch of every request: a third
    of a microsecond against two.
    """

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """How many bytes the batch takes, header and all."""
        return LOG_OVERHEAD_BYTES + self.length

    @property
    def last_offset(self) -> int:
        """The offset of the last record, also where compaction has since removed it."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The first offset behind this batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """The number of the compression codec; 5 to 7 belong to nobody yet."""
        return self.attributes & CODEC_BITS

    @property
    def is_log_append_time(self) -> bool:
        """Whether every record has the time of its append, which is ``max_timestamp``."""
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def is_transactional(self) -> bool:
        """Whether the batch takes part in its producer's transaction."""
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        """Whether the records are for brokers and not for applications (see ``control``)."""
        return self.attributes & CONTROL != 0

    @property
    def has_producer_id(self) -> bool:
        """Whether an idempotent producer sent this."""
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, or NO_SEQUENCE."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % SEQUENCE_MODULUS

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers in this batch may go, once compaction has set it (KIP-534).

        It is kept in the place of the base timestamp; the deltas of the records are rewritten to
        start from there, so reading timestamps needs no distinction.
        """
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


def header_at(data: Buffer, position: int = 0) -> BatchHeader:
    """Read the header of the batch that begins at a position.

    The batch itself may reach beyond the data; ``size_bytes`` says how far.  Raises
    ``CorruptBatch`` where no batch can begin like this, and ``OldFormat`` where one of magic 0 or 1
    does.
    """
    if len(data) - position < HEADER_BYTES:
        pass_on_old_format(data, position)
        raise CorruptBatch(
            f"{max(0, len(data) - position)} bytes at position {position}: "
            f"a batch header takes {HEADER_BYTES}"
        )
    header = BatchHeader._make(HEADER.unpack_from(data, position))
    if header.magic != MAGIC:
        pass_on_old_format(data, position)
        raise CorruptBatch(f"magic {header.magic} at position {position}, expected {MAGIC}")
    if header.length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
        raise CorruptBatch(
            f"length {header.length} at position {position}: "
            f"the rest of a header alone takes {HEADER_BYTES - LOG_OVERHEAD_BYTES}"
        )
    return header


def batches(data: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of every whole batch, in order.

    Ends before a batch that the data cuts short, as a fetch response may: whoever must not
    accept that compares where the last batch ended with the length of the data.
    """
    end = len(data)
    unpack, make = HEADER.unpack_from, tuple.__new__
    while end - position >= HEADER_BYTES:
        header = make(BatchHeader, unpack(data, position))
        if header.magic != MAGIC or header.length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
            header_at(data, position)  # says what is wrong
        following = position + LOG_OVERHEAD_BYTES + header.length
        if following > end:
            return
        yield position, header
        position = following
    if position < end:
        pass_on_old_format(data, position)


def pass_on_old_format(data: Buffer, position: int) -> None:
    """Raise ``OldFormat`` if a message of magic 0 or 1 may begin here.

    It may be shorter than our header.  Zeros are no message: they are space that was reserved and
    never written, and the length would have to be more than nothing.
    """
    if len(data) - position <= MAGIC_AT or data[position + MAGIC_AT] >= MAGIC:
        return
    length = int.from_bytes(data[position + 8 : position + LOG_OVERHEAD_BYTES], signed=True)
    if length >= LEGACY_OVERHEAD_BYTES:
        raise OldFormat(f"a message of magic {data[position + MAGIC_AT]} at position {position}")


def verify(data: Buffer, position: int, header: BatchHeader) -> None:
    """Raise ``CorruptBatch`` unless the bytes are all there and match their checksum."""
    end = position + LOG_OVERHEAD_BYTES + header.length
    if end > len(data):
        raise CorruptBatch(
            f"batch at offset {header.base_offset}: {len(data) - position} of "
            f"{header.size_bytes} bytes are there"
        )
    view = data if type(data) is memoryview else memoryview(data)
    crc = crc32c(view[position + CHECKED_FROM : end])
    if crc != header.crc:
        raise CorruptBatch(
            f"batch at offset {header.base_offset}, {header.size_bytes} bytes: "
            f"checksum {crc:#010x}, stored {header.crc:#010x}"
        )


def assigned(
    data: memoryview,
    position: int,
    header: BatchHeader,
    base_offset: int,
    leader_epoch: int,
    append_ms: int | None = None,
) -> tuple[bytes, memoryview]:
    """Return the batch as a leader stores it, in two parts, without touching the data.

    ``append_ms`` is given for topics with ``message.timestamp.type=LogAppendTime``.
    """
    end = position + LOG_OVERHEAD_BYTES + header.length
    if append_ms is None and not header.attributes & LOG_APPEND_TIME:
        front = PREFIX.pack(base_offset, header.length, leader_epoch)
        return front, data[position + MAGIC_AT : end]
    rest = data[position + HEADER_BYTES : end]
    return stamped(header, rest, base_offset, leader_epoch, append_ms), rest


def stamped(
    header: BatchHeader,
    rest: Buffer,
    base_offset: int,
    leader_epoch: int,
    append_ms: int | None,
) -> bytes:
    """Return a whole new header for records that keep their bytes but change their time."""
    attributes, max_timestamp = header.attributes & KNOWN_BITS, header.max_timestamp
    if append_ms is None:
        attributes &= ~LOG_APPEND_TIME
    else:
        attributes, max_timestamp = attributes | LOG_APPEND_TIME, append_ms
    covered = COVERED.pack(
        attributes, header.last_offset_delta, header.base_timestamp, max_timestamp, *header[9:]
    )
    prefix = PREFIX.pack(base_offset, header.length, leader_epoch)
    crc = crc32c(rest, crc32c(covered))
    return b"".join((prefix, bytes((header.magic,)), CRC.pack(crc), covered))


def assign(
    data: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int
) -> None:
    """Set base offset and leader epoch of a batch in a buffer that is ours to write."""
    header = header_at(data, position)
    PREFIX.pack_into(data, position, base_offset, header.length, leader_epoch)
