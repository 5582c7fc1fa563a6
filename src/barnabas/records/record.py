"""The records inside a batch, for those who need them: clients, compaction, coordinators, tools.

    length varint | attributes i8 | timestamp delta varlong | offset delta varint |
    key length varint | key | value length varint | value |
    header count varint | (key length varint | key | value length varint | value) …

Varints are zigzag; a negative length is null.  Keys and values are slices of the body, so they are
views if the body is a view and cost no copy; what outlives the buffer must be copied by whoever
keeps it.  Compressed batches are decompressed whole, within a bound.

Deltas count from the header's base offset and base timestamp; with ``LogAppendTime`` every record
has the header's max timestamp, whatever its delta says.

Everything is checked that can be: a count that lies, lengths that do not add up, bytes left over.
What is found is ``InvalidRecord``, since the checksum has been right.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from barnabas.records.batch import HEADER_BYTES, NO_TIMESTAMP, BatchHeader
from barnabas.records.checksum import Buffer
from barnabas.records.compression import InvalidRecord, decompress

RecordHeader: TypeAlias = tuple[bytes, Buffer | None]

DECOMPRESSED_BYTES_MAX: Final = 128 * 1024 * 1024
"""What a batch may grow to unless the caller says otherwise: a hundred times the largest batch
that Kafka takes by default."""

VARINT_BYTES_MAX: Final = 5
VARLONG_BYTES_MAX: Final = 10


class Record(NamedTuple):
    """One record, read or to be written."""

    offset: int
    timestamp: int = NO_TIMESTAMP
    key: Buffer | None = None
    value: Buffer | None = None
    headers: tuple[RecordHeader, ...] = ()


def records(
    data: Buffer,
    position: int,
    header: BatchHeader,
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX,
) -> Iterator[Record]:
    """Yield the records of the batch at a position of the data, whose checksum has been verified.

    Raises ``InvalidRecord`` where they are not as the header says, ``TooManyBytes`` if they take
    more than is allowed, ``UnsupportedCodec``.
    """
    return parsed(body_of(data, position, header, decompressed_bytes_max), header)


def body_of(
    data: Buffer,
    position: int,
    header: BatchHeader,
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX,
) -> Buffer:
    """Return the records of a batch as they lie one after another, decompressed."""
    packed = memoryview(data)[position + HEADER_BYTES : position + header.size_bytes]
    if header.record_count < 0:
        raise InvalidRecord(f"a batch of {header.record_count} records")
    if header.record_count == 0:
        return b""
    if header.codec:
        return decompress(header.codec, packed, decompressed_bytes_max)
    return packed


def keys_in(body: bytes, header: BatchHeader) -> Iterator[tuple[int, bytes | None, bool, int]]:
    """Yield of every record the offset, the key, whether the value is null, and where it ends.

    For compaction, which has to know this of all records and more of few: twice as fast as
    ``parsed``, because behind the key a record is only checked to be as long as it says.
    """
    base_offset, at, limit = header.base_offset, 0, len(body)
    try:
        for _ in range(header.record_count):
            size = body[at]
            at += 1
            if size > 127:
                if (more := body[at]) < 128:
                    size, at = size & 127 | more << 7, at + 1
                else:
                    size, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            end = at + (size >> 1)
            if size & 1 or end > limit:
                raise InvalidRecord(f"a record of {zigzag(size)} bytes where {limit - at} are left")
            at += 1  # attributes, of which none is used
            while body[at] > 127:
                at += 1
            number = body[at + 1]
            at += 2
            if number > 127:
                if (more := body[at]) < 128:
                    number, at = number & 127 | more << 7, at + 1
                else:
                    number, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            offset = base_offset + (number >> 1 ^ -(number & 1))
            number = body[at]
            at += 1
            if number > 127:
                number, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            key = None
            if not number & 1:
                begin = at
                at += number >> 1
                key = body[begin:at]
            if at >= end:
                raise InvalidRecord(f"a record's key ends at {at}, its length says {end}")
            # The lowest bit is the sign, and there is one negative length.
            yield offset, key, body[at] & 1 == 1, end
            at = end
    except IndexError as error:
        raise InvalidRecord(f"the records end early, at {limit}") from error
    if at != limit:
        raise InvalidRecord(f"{limit - at} bytes behind the last record")


def values_in(body: Buffer, header: BatchHeader) -> list[Buffer]:
    """Return the values alone, for those who fold a log; what has none counts as empty.

    Half the price of ``parsed``, of which it checks everything; times and offsets are passed over.
    """
    values: list[Buffer] = []
    at, limit = 0, len(body)
    try:
        for _ in range(header.record_count):
            size = body[at]
            at += 1
            if size > 127:
                if (more := body[at]) < 128:
                    size, at = size & 127 | more << 7, at + 1
                else:
                    size, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            end = at + (size >> 1)
            if size & 1 or end > limit:
                raise InvalidRecord(f"a record of {zigzag(size)} bytes where {limit - at} are left")
            at += 1  # attributes, of which none is used
            if body[at] < 128:
                at += 1
            else:
                at = unsigned(body, at, VARLONG_BYTES_MAX)[1]
            if body[at] < 128:
                at += 1
            elif body[at + 1] < 128:
                at += 2
            else:
                at = unsigned(body, at, VARINT_BYTES_MAX)[1]
            number = body[at]
            at += 1
            if number > 127:
                number, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            if not number & 1:
                at += number >> 1
            number = body[at]
            at += 1
            if number > 127:
                if (more := body[at]) < 128:
                    number, at = number & 127 | more << 7, at + 1
                else:
                    number, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            if number & 1:
                values.append(b"")
            else:
                begin = at
                at += number >> 1
                values.append(body[begin:at])
            at = headers_at(body, at)[1] if body[at] else at + 1
            if at != end:
                raise InvalidRecord(f"a record's parts end at {at}, its length says {end}")
    except IndexError as error:
        raise InvalidRecord(f"the records end early, at {limit}") from error
    if at != limit:
        raise InvalidRecord(f"{limit - at} bytes behind the last record")
    return values


def parsed(body: Buffer, header: BatchHeader) -> Iterator[Record]:
    """Yield the records of a body.

    Nearly all varints here take one or two bytes, so those are read in line and the rest by a
    call; that, and making the tuple directly, is three times as fast as the plain way, which the
    tests keep as a twin.
    """
    make = tuple.__new__
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time, own_time = header.max_timestamp, not header.is_log_append_time
    at, limit = 0, len(body)
    try:
        for _ in range(header.record_count):
            size = body[at]
            at += 1
            if size > 127:
                if (more := body[at]) < 128:
                    size, at = size & 127 | more << 7, at + 1
                else:
                    size, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            end = at + (size >> 1)
            if size & 1 or end > limit:
                raise InvalidRecord(f"a record of {zigzag(size)} bytes where {limit - at} are left")
            at += 1  # attributes, of which none is used
            number = body[at]
            at += 1
            if number > 127:
                if (more := body[at]) < 128:
                    number, at = number & 127 | more << 7, at + 1
                else:
                    number, at = unsigned(body, at - 1, VARLONG_BYTES_MAX)
            timestamp = base_timestamp + (number >> 1 ^ -(number & 1)) if own_time else append_time
            number = body[at]
            at += 1
            if number > 127:
                if (more := body[at]) < 128:
                    number, at = number & 127 | more << 7, at + 1
                else:
                    number, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            offset = base_offset + (number >> 1 ^ -(number & 1))
            number = body[at]
            at += 1
            if number > 127:
                number, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            key = None
            if not number & 1:
                begin = at
                at += number >> 1
                key = body[begin:at]
            number = body[at]
            at += 1
            if number > 127:
                if (more := body[at]) < 128:
                    number, at = number & 127 | more << 7, at + 1
                else:
                    number, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
            value = None
            if not number & 1:
                begin = at
                at += number >> 1
                value = body[begin:at]
            headers, at = headers_at(body, at) if body[at] else ((), at + 1)
            if at != end:
                raise InvalidRecord(f"a record's parts end at {at}, its length says {end}")
            yield make(Record, (offset, timestamp, key, value, headers))
    except IndexError as error:
        raise InvalidRecord(f"the records end early, at {limit}") from error
    if at != limit:
        raise InvalidRecord(f"{limit - at} bytes behind the last record")


def headers_at(body: Buffer, at: int) -> tuple[tuple[RecordHeader, ...], int]:
    """Read the headers of a record; return them and where they end."""
    count, at = signed(body, at, VARINT_BYTES_MAX)
    if not 0 <= count <= len(body) - at:
        raise InvalidRecord(f"a record with {count} headers")
    headers: list[RecordHeader] = []
    for _ in range(count):
        number = body[at]
        at += 1
        if number > 127:
            number, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
        if number & 1:
            raise InvalidRecord(f"a header with a key of {zigzag(number)} bytes")
        begin = at
        at += number >> 1
        key = bytes(body[begin:at])
        number = body[at]
        at += 1
        if number > 127:
            number, at = unsigned(body, at - 1, VARINT_BYTES_MAX)
        value = None
        if not number & 1:
            begin = at
            at += number >> 1
            value = body[begin:at]
        headers.append((key, value))
    return tuple(headers), at


def unsigned(body: Buffer, at: int, bytes_max: int) -> tuple[int, int]:
    """Read a varint as it is stored; return it and where it ends.

    Bits beyond the 32 or 64 of the number fall off, as they do in Kafka.
    """
    number = shift = 0
    for position in range(at, at + bytes_max):
        octet = body[position]
        number |= (octet & 0x7F) << shift
        if octet < 0x80:
            mask = 0xFFFFFFFF if bytes_max == VARINT_BYTES_MAX else 0xFFFFFFFFFFFFFFFF
            return number & mask, position + 1
        shift += 7
    raise InvalidRecord(f"a number of more than {bytes_max} bytes at {at}")


def signed(body: Buffer, at: int, bytes_max: int) -> tuple[int, int]:
    """Read a zigzag varint; return it and where it ends."""
    number, at = unsigned(body, at, bytes_max)
    return zigzag(number), at


def zigzag(number: int) -> int:
    """Return the signed number behind an unsigned one: 0, 1, 2, 3 stand for 0, -1, 1, -2."""
    return number >> 1 ^ -(number & 1)


def varint(number: int) -> bytes:
    """Write a signed number as a zigzag varint."""
    number = number << 1 if number >= 0 else (-number << 1) - 1
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)


SMALL: Final = tuple(varint(number) for number in range(4096))
"""The varints of small numbers, ready made: deltas, lengths."""

NULL: Final = varint(-1)


def encoded(
    entries: Iterable[Record], base_offset: int, base_timestamp: int | None
) -> tuple[bytes, int, int, int, int]:
    """Write records as a body.

    Returns the body, the number of records, the base timestamp (the first record's, unless it is
    given), the largest timestamp and the last offset.
    """
    small, ready, null = SMALL, len(SMALL), NULL
    empty: Buffer = b""
    parts: list[Buffer] = []
    count, largest, last = 0, NO_TIMESTAMP, base_offset - 1
    for last, timestamp, key, value, headers in entries:
        if base_timestamp is None:
            base_timestamp = timestamp
        largest = max(largest, timestamp)
        number = timestamp - base_timestamp
        stamp = small[number] if 0 <= number < ready else varint(number)
        number = last - base_offset
        place = small[number] if 0 <= number < ready else varint(number)
        extra = encoded_headers(headers) if headers else b"\0"
        total = 1 + len(stamp) + len(place) + len(extra)
        if key is None:
            key_size, key_bytes = null, empty
            total += 1
        else:
            number = len(key)
            key_size, key_bytes = small[number] if number < ready else varint(number), key
            total += len(key_size) + number
        if value is None:
            value_size, value_bytes = null, empty
            total += 1
        else:
            number = len(value)
            value_size, value_bytes = small[number] if number < ready else varint(number), value
            total += len(value_size) + number
        size = small[total] if total < ready else varint(total)
        parts += (size, b"\0", stamp, place, key_size, key_bytes, value_size, value_bytes, extra)
        count += 1
    first = NO_TIMESTAMP if base_timestamp is None else base_timestamp
    return b"".join(parts), count, first, largest, last


def encoded_headers(headers: tuple[RecordHeader, ...]) -> bytes:
    """Write the headers of a record."""
    small, ready = SMALL, len(SMALL)
    parts: list[Buffer] = [varint(len(headers))]
    for key, value in headers:
        number = len(key)
        parts += (small[number] if number < ready else varint(number), key)
        if value is None:
            parts.append(NULL)
        else:
            number = len(value)
            parts += (small[number] if number < ready else varint(number), value)
    return b"".join(parts)
