"""Messages of magic 0 and 1: by hand, wrapped, relative, and damaged."""

import gzip
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records import legacy
from barnabas.records.batch import CorruptBatch, OldFormat, header_at
from barnabas.records.compression import Codec, InvalidRecord, compress
from barnabas.records.record import Record


def message(
    magic: int,
    offset: int,
    key: bytes | None,
    content: bytes | None,
    time: int = 0,
    attributes: int = 0,
) -> bytes:
    """Write a message as Kafka 0.9 (magic 0) or 0.10 (magic 1) did."""

    def sized(part: bytes | None) -> bytes:
        return b"\xff" * 4 if part is None else len(part).to_bytes(4, "big") + part

    covered = bytes((magic, attributes)) + (time.to_bytes(8, "big") if magic else b"")
    covered += sized(key) + sized(content)
    body = zlib.crc32(covered).to_bytes(4, "big") + covered
    return offset.to_bytes(8, "big") + len(body).to_bytes(4, "big") + body


def wrapper(
    magic: int,
    offset: int,
    inside: Iterable[bytes],
    codec: Codec = Codec.GZIP,
    time: int = 0,
    bits: int = 0,
) -> bytes:
    """Write a wrapper around messages."""
    return message(magic, offset, None, compress(codec, b"".join(inside)), time, codec | bits)


def read(data: bytes) -> list[Record]:
    """Return the records of the message that data begins with, views made bytes."""
    header = legacy.header_at(data)
    legacy.verify(data, 0, header)
    return [
        record._replace(
            key=None if record.key is None else bytes(record.key),
            value=None if record.value is None else bytes(record.value),
        )
        for record in legacy.records(data, 0, header)
    ]


def test_a_message_of_magic_0_is_read_as_it_was_written_by_hand() -> None:
    data = bytes.fromhex("0000000000000007 00000010 1fecd70a 00 00 00000001 6b 00000001 76")
    assert data == message(0, 7, b"k", b"v")
    header = legacy.header_at(data)
    assert (header.magic, header.base_offset, header.last_offset) == (0, 7, 7)
    assert (header.size_bytes, header.record_count, header.max_timestamp) == (28, 1, -1)
    assert (header.producer_id, header.leader_epoch, header.base_sequence) == (-1, -1, -1)
    assert read(data) == [Record(7, -1, b"k", b"v")]


def test_a_message_of_magic_1_has_a_timestamp() -> None:
    data = b"before" + message(1, 7, None, b"v", 1234) + b"behind"
    header = legacy.header_at(data, 6)
    assert (header.base_timestamp, header.max_timestamp) == (1234, 1234)
    assert list(legacy.records(data, 6, header)) == [Record(7, 1234, None, b"v")]
    legacy.verify(data, 6, header)


def test_nothing_and_null_are_told_apart_in_the_smallest_messages() -> None:
    for magic, size in ((0, 26), (1, 34)):
        for key, content in ((None, None), (b"", b""), (None, b""), (b"", None)):
            data = message(magic, 7, key, content, 9)
            assert len(data) == size
            assert read(data) == [Record(7, 9 if magic else -1, key, content)]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_wrapped_messages_get_their_absolute_offsets(magic: int, codec: Codec) -> None:
    first = 0 if magic else 20
    inside = [message(magic, first + n, b"k%d" % n, None, 100 + n) for n in range(3)]
    data = wrapper(magic, 22, inside, codec, 102)
    header = legacy.header_at(data)
    assert (header.base_offset, header.last_offset, header.record_count) == (20, 22, 3)
    times = [100, 101, 102] if magic else [-1, -1, -1]
    assert read(data) == [Record(20 + n, times[n], b"k%d" % n) for n in range(3)]


def test_compaction_leaves_gaps_that_count_from_the_wrapper() -> None:
    inside = [message(1, offset, b"k", b"v", 5) for offset in (0, 3)]
    assert [record.offset for record in read(wrapper(1, 13, inside))] == [10, 13]


def test_a_wrapper_at_offset_zero_has_absolute_offsets_inside() -> None:
    inside = [message(1, offset, b"k", b"v", 5) for offset in (0, 1, 2)]
    assert [record.offset for record in read(wrapper(1, 0, inside))] == [0, 1, 2]


def test_append_time_of_a_wrapper_holds_for_all_inside() -> None:
    inside = [message(1, offset, b"k", b"v", 5) for offset in (0, 1)]
    assert [record.timestamp for record in read(wrapper(1, 1, inside, time=99, bits=8))] == [99, 99]
    assert [record.timestamp for record in read(wrapper(1, 1, inside, time=99))] == [5, 5]


def test_a_last_message_that_was_cut_inside_its_wrapper_is_passed_over() -> None:
    whole = message(0, 4, None, b"v")
    for cut in (1, 11, 12, 20):
        assert [record.offset for record in read(wrapper(0, 4, [whole, whole[:cut]]))] == [4]


def test_wrappers_that_cannot_be_are_invalid() -> None:
    inside = message(1, 5, None, b"v")
    for data, why in [
        (message(1, 1, None, None, 0, 1), "without anything"),
        (wrapper(1, 1, [inside], Codec.ZSTD), "without anything"),
        (wrapper(1, 1, []), "an empty wrapper"),
        (wrapper(1, 4, [inside]), "holds relative offset 5"),
        (wrapper(1, 9, [wrapper(1, 5, [inside])]), "a wrapper within a wrapper"),
        (message(1, 1, None, gzip.compress(b"x" * 9)[:-1], 0, 1), "gzip"),
    ]:
        with pytest.raises(InvalidRecord, match=why):
            legacy.header_at(data)


def test_damage_is_noticed_wherever_the_checksum_reaches() -> None:
    good = message(1, 7, b"key", b"value", 1234)
    for position in range(len(good)):
        bad = bytearray(good)
        bad[position] ^= 0x40
        covered = position >= 8
        try:
            legacy.verify(bad, 0, legacy.header_at(bad))
            noticed = False
        except CorruptBatch:
            noticed = True
        assert noticed is covered, position


def test_a_message_that_is_not_all_there_is_corrupt() -> None:
    good = message(1, 7, b"key", b"value", 1234)
    for cut in range(len(good)):
        with pytest.raises(CorruptBatch):
            legacy.header_at(good[:cut])
        with pytest.raises(CorruptBatch):
            legacy.header_at(bytes(100) + good[:cut], 100)
    with pytest.raises(CorruptBatch, match="magic 2"):
        legacy.header_at(good[:16] + b"\x02" + good[17:])


def test_lengths_of_key_and_value_are_not_believed() -> None:
    good = message(0, 7, b"key", b"value")
    for position, octet in [(18, 0x7F), (21, 4), (21, 2), (25, 0x7F), (28, 4), (28, 6)]:
        bad = bytearray(good)
        bad[position] = octet
        with pytest.raises(InvalidRecord):
            list(legacy.records(bad, 0, legacy.header_at(bad)))


def test_a_key_that_leaves_no_room_for_a_value_is_not_read_on_into_the_next_message() -> None:
    good = message(0, 7, b"key", b"value")
    greedy = good[:21] + b"\x0a" + good[22:]
    with pytest.raises(InvalidRecord, match="ends within the length"):
        list(legacy.records(greedy + good, 0, legacy.header_at(greedy + good)))


def test_the_reader_of_batches_points_here() -> None:
    for magic in (0, 1):
        with pytest.raises(OldFormat):
            header_at(message(magic, 7, None, b"v" * 100))


@given(st.binary(max_size=80), st.integers(0, 1), st.integers(0, 15))
def test_any_bytes_are_records_or_corrupt(noise: bytes, magic: int, attributes: int) -> None:
    data = message(magic, 3, None, noise, 5, attributes)
    try:
        count = len(read(data))
    except CorruptBatch:
        count = 1
    assert count >= 1
