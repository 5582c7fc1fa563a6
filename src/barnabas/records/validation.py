"""What a leader demands of a batch before it appends it, in Kafka's order and with Kafka's codes.

Three steps, of which only the last looks at records:

``received``   the records field of a produce request holds exactly one batch of magic 2
               (Kafka's ``ProduceRequest.validateRecords``)
``admitted``   header and checksum (``UnifiedLog.analyzeAndValidateRecords``,
               ``LogValidator.validateBatch``), and the third step where the topic asks for it
``inspected``  each record has a key, a timestamp within bounds, the next offset
               (``LogValidator.validateRecord``)

Kafka walks every record of every batch that it appends as a leader.  We do so only where a record
alone can tell: on compacted topics, which need keys, and where ``message.timestamp.before.max.ms``
is set, since a header has no smallest timestamp.  Elsewhere the header is believed, which its
producer also wrote; what that gives up is in docs/decisions/0009.

A refusal changes nothing and is final, except CORRUPT_MESSAGE, after which clients try again: the
bytes may have been damaged on the way.  What was made wrong (the checksum is right) is
INVALID_RECORD.  A batch too large when decompressed is MESSAGE_TOO_LARGE, because producers answer
that by splitting the batch.

Magic 0 and 1 never come this far: they need Produce below version 3, which Kafka 4 does not serve
(KIP-896), and UNSUPPORTED_FOR_MESSAGE_FORMAT went with them, as every batch can be idempotent and
transactional.
"""

from typing import Final

from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.value import value
from barnabas.records.batch import (
    CODEC_BITS,
    CONTROL,
    HEADER,
    HEADER_BYTES,
    LEGACY_OVERHEAD_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_AT,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    OldFormat,
    verify,
)
from barnabas.records.compression import Codec, InvalidRecord, TooManyBytes, UnsupportedCodec
from barnabas.records.record import records

ZSTD_SINCE_PRODUCE: Final = 7
"""KIP-110: who speaks an older version of Produce must not assume that others can read zstd."""

LAST_CODEC: Final = int(Codec.ZSTD)

SHOWN_ERRORS_MAX: Final = 3

INSPECTED_BYTES_MAX: Final = 16 * 1024 * 1024
"""What a batch may grow to where its records are looked at.  A record takes seven bytes or more and
a microsecond, and while they are looked at nothing else is done; reading what was once accepted has
a higher bound."""


@value
class Rules:
    """What a topic's configs demand of its records; Kafka's defaults."""

    batch_bytes_max: int = 1024 * 1024 + LOG_OVERHEAD_BYTES
    compacted: bool = False
    log_append_time: bool = False
    before_ms_max: int | None = None
    after_ms_max: int = 3_600_000
    decompressed_bytes_max: int = INSPECTED_BYTES_MAX


class RefusedRecords(Refused):
    """A batch refused for some of its records; ``errors`` says which (index) and why (KIP-467)."""

    def __init__(self, code: ErrorCode, why: str, errors: tuple[tuple[int, str], ...]) -> None:
        super().__init__(code, why)
        self.errors = errors


def received(data: memoryview, version: int) -> BatchHeader:
    """Return the header of the one batch that a produce request of a version has for a partition.

    Bytes behind it that are no whole batch are not looked at; the header says what to append.
    """
    header = sole(data) or first(data)
    if version < ZSTD_SINCE_PRODUCE and header.codec == Codec.ZSTD:
        raise Refused(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"zstd needs Produce version {ZSTD_SINCE_PRODUCE}, the request has {version}",
        )
    if header.size_bytes < len(data) and whole(data, header.size_bytes):
        raise Refused(ErrorCode.INVALID_RECORD, "more than one record batch for a partition")
    return header


def sole(data: memoryview) -> BatchHeader | None:
    """Return the header if the data is one batch of magic 2 and nothing else, as nearly always."""
    if len(data) < HEADER_BYTES:
        return None
    header = BatchHeader._make(HEADER.unpack_from(data))
    exact = header.length == len(data) - LOG_OVERHEAD_BYTES and header.magic == MAGIC
    return header if exact else None


def first(data: memoryview) -> BatchHeader:
    """Return the header of the first batch, or refuse the lot."""
    if not whole(data, 0):
        raise Refused(ErrorCode.INVALID_RECORD, f"no record batch in {len(data)} bytes")
    if data[MAGIC_AT] != MAGIC:
        raise Refused(ErrorCode.INVALID_RECORD, f"a batch of magic {data[MAGIC_AT]}, expected 2")
    return BatchHeader._make(HEADER.unpack_from(data))


def whole(data: memoryview, position: int) -> bool:
    """Tell whether a batch of any format lies at a position; refuse what looks like none."""
    left = len(data) - position
    if left < LOG_OVERHEAD_BYTES:
        return False
    length = int.from_bytes(data[position + 8 : position + LOG_OVERHEAD_BYTES], signed=True)
    if length < LEGACY_OVERHEAD_BYTES:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"a batch of length {length}")
    if left <= MAGIC_AT:
        return False
    if data[position + MAGIC_AT] > MAGIC:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"a batch of magic {data[position + MAGIC_AT]}")
    if left < LOG_OVERHEAD_BYTES + length:
        return False
    if data[position + MAGIC_AT] == MAGIC and length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"a batch of magic 2 and length {length}")
    return True


def admitted(
    data: memoryview,
    position: int,
    header: BatchHeader,
    rules: Rules,
    wall_ms: int,
    from_client: bool = True,
) -> None:
    """Refuse a batch that a leader must not append.

    Coordinators and the quorum append through the same gate, but may write control records and
    many offsets in one batch.
    """
    # Taken apart once: every batch that is produced passes here, and little else is done to it.
    base, length, _, _, _, attributes, delta, first_ms, youngest_ms, producer, _, number, count = (
        header
    )
    if from_client and base != 0:
        raise Refused(ErrorCode.INVALID_RECORD, f"the base offset is {base}, expected 0")
    if LOG_OVERHEAD_BYTES + length > rules.batch_bytes_max:
        raise Refused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {header.size_bytes} bytes, max.message.bytes is {rules.batch_bytes_max}",
        )
    try:
        verify(data, position, header)
    except CorruptBatch as error:
        raise refused(error) from error
    if attributes & CODEC_BITS > LAST_CODEC:
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"codec {header.codec} is unknown")
    if from_client:
        numbered = producer < 0 or number >= 0
        if not 0 < count == delta + 1 or attributes & CONTROL or not numbered:
            refuse_what_clients_must_not(header)
    if rules.compacted or (rules.before_ms_max is not None and not rules.log_append_time):
        inspected(data, position, header, rules, wall_ms)
        return
    newest_ms = max(first_ms, youngest_ms)
    if newest_ms - wall_ms > rules.after_ms_max or rules.log_append_time:
        complaint = untimely(newest_ms, header, rules, wall_ms)
        if complaint:
            raise RefusedRecords(ErrorCode.INVALID_TIMESTAMP, complaint, ((0, complaint),))


def refuse_what_clients_must_not(header: BatchHeader) -> None:
    """Say in what a client's header contradicts itself, or claims what is the broker's."""
    found = ""
    if header.last_offset_delta < 0:
        found = f"the last offset delta is {header.last_offset_delta}"
    elif header.record_count <= 0:
        found = f"the record count is {header.record_count}"
    elif header.record_count != header.last_offset_delta + 1:
        found = f"{header.record_count} records take {header.last_offset_delta + 1} offsets"
    elif header.is_control:
        found = "clients must not write control records"
    elif header.has_producer_id and header.base_sequence < 0:
        found = f"producer {header.producer_id} sent sequence {header.base_sequence}"
    if found:
        raise Refused(ErrorCode.INVALID_RECORD, found)


def inspected(
    data: memoryview, position: int, header: BatchHeader, rules: Rules, wall_ms: int
) -> None:
    """Refuse a batch that has a record its topic must not hold, naming all such records."""
    errors: list[tuple[int, str]] = []
    code = ErrorCode.INVALID_RECORD
    try:
        entries = records(data, position, header, rules.decompressed_bytes_max)
        for index, record in enumerate(entries):
            if rules.compacted and record.key is None:
                errors.append((index, "a compacted topic takes no record without a key"))
            elif complaint := untimely(record.timestamp, header, rules, wall_ms):
                code = ErrorCode.INVALID_TIMESTAMP
                errors.append((index, complaint))
            elif record.offset != header.base_offset + index:
                delta = record.offset - header.base_offset
                errors.append((index, f"the offset delta is {delta}, expected {index}"))
    except (CorruptBatch, UnsupportedCodec) as error:
        raise refused(error) from error
    if errors:
        shown = "; ".join(f"record {index}: {why}" for index, why in errors[:SHOWN_ERRORS_MAX])
        raise RefusedRecords(code, f"{len(errors)} records refused: {shown}", tuple(errors))


def untimely(timestamp: int, header: BatchHeader, rules: Rules, wall_ms: int) -> str:
    """Say what is wrong with a timestamp; nothing if it is within bounds or need not be."""
    if rules.log_append_time:
        # The broker's clock is the only one, and only a broker may say so.
        return "a producer must not claim LogAppendTime" if header.is_log_append_time else ""
    if timestamp == NO_TIMESTAMP:
        return ""
    before = rules.before_ms_max
    if timestamp - wall_ms > rules.after_ms_max:
        return (
            f"the timestamp {timestamp} is {timestamp - wall_ms} ms ahead, "
            f"message.timestamp.after.max.ms is {rules.after_ms_max}"
        )
    if before is not None and wall_ms - timestamp > before:
        return (
            f"the timestamp {timestamp} is {wall_ms - timestamp} ms old, "
            f"message.timestamp.before.max.ms is {before}"
        )
    return ""


def refused(error: CorruptBatch | OldFormat | UnsupportedCodec) -> Refused:
    """Return what to tell a client about bytes it sent."""
    match error:
        case TooManyBytes():
            return Refused(ErrorCode.MESSAGE_TOO_LARGE, str(error))
        case InvalidRecord() | OldFormat():
            return Refused(ErrorCode.INVALID_RECORD, str(error))
        case CorruptBatch():
            return Refused(ErrorCode.CORRUPT_MESSAGE, str(error))
        case UnsupportedCodec():
            return Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, str(error))
