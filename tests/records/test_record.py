"""Records inside a batch: by hand, against a naive twin, and with every length a lie."""

from collections.abc import Callable, Iterable, Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import HEADER_BYTES, BatchHeader, header_at
from barnabas.records.builder import BLANK, built
from barnabas.records.checksum import Buffer
from barnabas.records.compression import Codec, InvalidRecord, TooManyBytes, UnsupportedCodec
from barnabas.records.record import (
    Record,
    encoded,
    keys_in,
    parsed,
    records,
    signed,
    values_in,
    varint,
)

HEADER = BLANK._replace(base_offset=100, base_timestamp=1000, max_timestamp=9000, record_count=1)

# length 18, no attributes, timestamp delta 1, offset delta 2, key "k", value null,
# headers "h" → "x" and "n" → null
BY_HAND = bytes.fromhex("1c 00 02 04 02 6b 01 04 02 68 02 78 02 6e 01")

sizes = st.binary(max_size=200) | st.builds(bytes, st.integers(0, 9000))
entries = st.builds(
    Record,
    offset=st.integers(0, 2**31 - 1),
    timestamp=st.integers(0, 2**62) | st.integers(0, 10_000),
    key=st.none() | sizes,
    value=st.none() | sizes,
    headers=st.lists(st.tuples(st.binary(max_size=100), st.none() | sizes), max_size=3).map(tuple),
)


def naive(body: bytes, header: BatchHeader) -> Iterator[Record]:
    """Read records the plain way, a call for each number."""
    at = 0

    def number() -> int:
        nonlocal at
        shift = got = 0
        while True:
            got |= (body[at] & 127) << shift
            shift += 7
            at += 1
            if body[at - 1] < 128:
                return got // 2 if got % 2 == 0 else -(got // 2) - 1

    def octets() -> bytes | None:
        nonlocal at
        size = number()
        if size < 0:
            return None
        at += size
        return body[at - size : at]

    for _ in range(header.record_count):
        size = number()
        end = at + size
        at += 1
        timestamp = header.base_timestamp + number()
        offset = header.base_offset + number()
        key, value = octets(), octets()
        extra = tuple((octets() or b"", octets()) for _ in range(number()))
        assert at == end
        if header.is_log_append_time:
            timestamp = header.max_timestamp
        yield Record(offset, timestamp, key, value, extra)
    assert at == len(body)


def naively_written(entries: Iterable[Record], base_offset: int, base_timestamp: int) -> bytes:
    """Write records the plain way, a call for each number."""

    def number(value: int) -> bytes:
        left = value * 2 if value >= 0 else -value * 2 - 1
        octets = []
        while left >= 128:
            octets.append(left % 128 + 128)
            left //= 128
        return bytes([*octets, left])

    def sized(part: Buffer | None) -> bytes:
        return number(-1) if part is None else number(len(part)) + bytes(part)

    body = b""
    for entry in entries:
        record = b"\0" + number(entry.timestamp - base_timestamp)
        record += number(entry.offset - base_offset) + sized(entry.key) + sized(entry.value)
        record += number(len(entry.headers))
        record += b"".join(sized(key) + sized(value) for key, value in entry.headers)
        body += number(len(record)) + record
    return body


def any_record(random: Random) -> Record:
    """Draw a record whose numbers lie on both sides of every length that a varint can have."""

    def number() -> int:
        return random.choice([0, 1, 1 << random.randrange(32), (1 << random.randrange(32)) - 1])

    def octets() -> bytes | None:
        size = random.choice([0, 1, 62, 63, 64, 65, 4095, 4096, 8191, 8192])
        return random.choice([None, bytes(size), random.randbytes(random.randrange(20))])

    headers = tuple(
        (random.randbytes(random.choice([0, 5, 70])), octets())
        for _ in range(random.choice([0, 0, 0, 1, 2, 64]))
    )
    return Record(
        number() >> 1, number() * random.choice([1, -1, 2**30]), octets(), octets(), headers
    )


@pytest.mark.slow
def test_ten_thousand_records_are_written_and_read_as_the_naive_way_does() -> None:
    random = Random("ten thousand records")
    for _ in range(500):
        batch = [any_record(random) for _ in range(20)]
        body, count, base_timestamp, largest, last = encoded(batch, 0, None)
        assert body == naively_written(batch, 0, batch[0].timestamp)
        assert (count, base_timestamp, last) == (20, batch[0].timestamp, batch[-1].offset)
        assert largest == max(-1, *(one.timestamp for one in batch))
        header = BLANK._replace(base_timestamp=base_timestamp, record_count=count)
        assert list(parsed(body, header)) == list(naive(body, header)) == batch
        keys = list(keys_in(body, header))
        found = [(offset, key, is_null) for offset, key, is_null, _ in keys]
        assert found == [(one.offset, one.key, one.value is None) for one in batch]
        assert values_in(body, header) == [one.value or b"" for one in batch]
        ends = [0, *(end for *_, end in keys)]
        for one, begin, end in zip(batch, ends, ends[1:], strict=False):
            alone = header._replace(record_count=1)
            assert list(parsed(body[begin:end], alone)) == [one]


def plain(record: Record) -> Record:
    """Return the record with bytes where it has views."""

    def octets(part: Buffer | None) -> bytes | None:
        return None if part is None else bytes(part)

    headers = tuple((key, octets(value)) for key, value in record.headers)
    return record._replace(key=octets(record.key), value=octets(record.value), headers=headers)


def test_a_record_is_read_as_it_was_written_by_hand() -> None:
    (record,) = parsed(BY_HAND, HEADER)
    assert record == Record(102, 1001, b"k", None, ((b"h", b"x"), (b"n", None)))


def test_parts_are_views_of_a_view_and_copy_nothing() -> None:
    (record,) = parsed(memoryview(BY_HAND), HEADER)
    assert isinstance(record.key, memoryview)
    assert record.key.obj is BY_HAND


def test_append_time_is_the_time_of_every_record() -> None:
    for time in (9000, 0, -1):
        header = HEADER._replace(attributes=8, max_timestamp=time)
        assert [record.timestamp for record in parsed(BY_HAND, header)] == [time]


@given(st.lists(entries, min_size=1, max_size=20), st.sampled_from([0, 8]))
def test_the_fast_reader_agrees_with_the_naive_one(batch: list[Record], attributes: int) -> None:
    data = built(BLANK._replace(attributes=attributes, max_timestamp=77), batch)
    header = header_at(data)
    fast = [plain(record) for record in records(data, 0, header)]
    assert fast == list(naive(data[HEADER_BYTES:], header))
    assert len(fast) == len(batch)


@pytest.mark.parametrize("codec", Codec)
@given(batch=st.lists(entries, min_size=1, max_size=20))
def test_what_was_built_is_read(codec: Codec, batch: list[Record]) -> None:
    data = b"before" + built(BLANK._replace(attributes=codec), batch) + b"behind"
    header = header_at(data, 6)
    assert [plain(record) for record in records(data, 6, header)] == batch


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_read_as_they_were_written(number: int) -> None:
    octets = varint(number)
    assert signed(octets, 0, 10) == (number, len(octets))
    if -(2**31) <= number < 2**31:
        assert signed(octets, 0, 5) == (number, len(octets))
    else:
        assert len(octets) >= 5


def test_numbers_have_the_bytes_of_the_protocol() -> None:
    assert [varint(n).hex() for n in (0, -1, 1, -2, 63, -64, 64, 300)] == [
        "00", "01", "02", "03", "7e", "7f", "8001", "d804",
    ]  # fmt: skip
    assert varint(2**31 - 1).hex() == "feffffff0f"
    assert varint(-(2**31)).hex() == "ffffffff0f"


def test_a_number_that_never_ends_is_invalid() -> None:
    with pytest.raises(InvalidRecord, match="more than 5 bytes"):
        signed(b"\xff" * 20, 0, 5)
    with pytest.raises(InvalidRecord, match="more than 10 bytes"):
        signed(b"\xff" * 20, 0, 10)
    with pytest.raises(InvalidRecord, match="more than 5 bytes"):
        list(parsed(b"\xff" * 20, HEADER))


def test_a_body_that_is_cut_anywhere_is_invalid() -> None:
    for cut in range(len(BY_HAND)):
        with pytest.raises(InvalidRecord):
            list(parsed(BY_HAND[:cut], HEADER))
        with pytest.raises(InvalidRecord):
            list(keys_in(BY_HAND[:cut], HEADER))
        with pytest.raises(InvalidRecord):
            values_in(BY_HAND[:cut], HEADER)


def test_a_count_that_lies_is_invalid() -> None:
    with pytest.raises(InvalidRecord, match="end early"):
        list(parsed(BY_HAND, HEADER._replace(record_count=2)))
    with pytest.raises(InvalidRecord, match="15 bytes behind the last record"):
        list(parsed(BY_HAND * 2, HEADER))
    with pytest.raises(InvalidRecord, match="end early"):
        list(keys_in(BY_HAND, HEADER._replace(record_count=2)))
    with pytest.raises(InvalidRecord, match="15 bytes behind the last record"):
        list(keys_in(BY_HAND * 2, HEADER))
    with pytest.raises(InvalidRecord, match="end early"):
        values_in(BY_HAND, HEADER._replace(record_count=2))
    with pytest.raises(InvalidRecord, match="15 bytes behind the last record"):
        values_in(BY_HAND * 2, HEADER)
    with pytest.raises(InvalidRecord, match="-1 records"):
        records(BY_HAND, 0, HEADER._replace(record_count=-1))
    assert not list(records(BY_HAND, 0, HEADER._replace(record_count=0)))


def test_lengths_that_do_not_add_up_are_invalid() -> None:
    for position, wrong in [
        (0, 0x1A),
        (0, 0x1E),
        (0, 0x1B),
        (4, 4),
        (6, 2),
        (7, 2),
        (7, 6),
        (8, 1),
    ]:
        lie = bytearray(BY_HAND)
        lie[position] = wrong
        with pytest.raises(InvalidRecord):
            list(parsed(lie, HEADER))
        with pytest.raises(InvalidRecord):
            values_in(lie, HEADER)


def test_a_header_count_is_not_believed() -> None:
    for count in ("ffffffff0f", "feffffff0f"):
        body = bytes.fromhex("14 00 00 00 01 01" + count)
        with pytest.raises(InvalidRecord, match="headers"):
            list(parsed(body, HEADER))


@given(st.binary(max_size=60), st.integers(0, 5))
def test_any_bytes_are_records_or_invalid(body: bytes, count: int) -> None:
    try:
        found = len(list(parsed(body, HEADER._replace(record_count=count))))
    except InvalidRecord:
        found = count
    assert found == count


def values_or_nothing(read: Callable[[], Iterable[Buffer | None]]) -> list[bytes] | None:
    """Return the values that are read; None if they are invalid."""
    try:
        return [bytes(value or b"") for value in read()]
    except InvalidRecord:
        return None


@given(st.binary(max_size=60), st.integers(0, 5))
def test_any_bytes_have_the_same_values_if_only_those_are_read(body: bytes, count: int) -> None:
    header = HEADER._replace(record_count=count)
    whole = values_or_nothing(lambda: (record.value for record in parsed(body, header)))
    assert values_or_nothing(lambda: values_in(body, header)) == whole


@given(st.lists(entries, min_size=1, max_size=5), st.integers(0, 10**6), st.integers(0, 255))
def test_any_changed_byte_gives_the_same_values_if_only_those_are_read(
    batch: list[Record], where: int, octet: int
) -> None:
    data = bytearray(built(BLANK, batch))
    header = header_at(data)
    data[HEADER_BYTES + where % (len(data) - HEADER_BYTES)] = octet
    body = bytes(data[HEADER_BYTES:])
    whole = values_or_nothing(lambda: (record.value for record in parsed(body, header)))
    assert values_or_nothing(lambda: values_in(body, header)) == whole


@given(st.lists(entries, min_size=1, max_size=5), st.integers(0, 10**6), st.integers(0, 255))
def test_any_changed_byte_gives_records_or_invalid(
    batch: list[Record], where: int, octet: int
) -> None:
    data = bytearray(built(BLANK, batch))
    header = header_at(data)
    data[HEADER_BYTES + where % (len(data) - HEADER_BYTES)] = octet
    try:
        found = [(one.offset, one.key, one.value is None) for one in records(data, 0, header)]
    except InvalidRecord:
        found = None
    try:
        keys = [(*rest,) for *rest, _ in keys_in(bytes(data[HEADER_BYTES:]), header)]
    except InvalidRecord:
        # What compaction does not accept, no reader does.
        assert found is None
    else:
        assert len(keys) == len(batch)
        assert found is None or found == keys


def test_records_beyond_the_bound_are_not_unpacked() -> None:
    data = built(BLANK._replace(attributes=Codec.ZSTD), [Record(0, 0, None, bytes(100_000))])
    with pytest.raises(TooManyBytes):
        records(data, 0, header_at(data), 100_000)
    assert len(list(records(data, 0, header_at(data), 100_100))) == 1


def test_an_unknown_codec_is_said_to_be_unsupported() -> None:
    data = built(BLANK, [Record(0)])
    header = header_at(data)._replace(attributes=5)
    with pytest.raises(UnsupportedCodec):
        records(data, 0, header)
