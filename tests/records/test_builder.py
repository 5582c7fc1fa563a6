"""Making batches: golden bytes, what compaction keeps, what is filled in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import header_at, verify
from barnabas.records.builder import BLANK, built, emptied, recoded
from barnabas.records.compression import Codec, TooManyBytes
from barnabas.records.record import Record, records


def test_a_batch_has_the_bytes_of_the_format() -> None:
    header = BLANK._replace(
        base_offset=42,
        leader_epoch=3,
        attributes=0x10,
        producer_id=7,
        producer_epoch=2,
        base_sequence=5,
    )
    data = built(header, [Record(42, 1000, b"k", b"v"), Record(43, 1001, None, b"")])
    assert data.hex(" ", 4) == bytes.fromhex(
        "000000000000002a 00000041 00000003 02 f421336e"
        "0010 00000001 00000000000003e8 00000000000003e9"
        "0000000000000007 0002 00000005 00000002"
        "10 00 00 00 02 6b 02 76 00"
        "0c 00 02 02 01 00 00"
    ).hex(" ", 4)
    verify(data, 0, header_at(data))


def test_what_follows_from_the_records_is_filled_in() -> None:
    times = [500, 900, 700]
    data = built(BLANK, [Record(offset, time) for offset, time in enumerate(times)])
    header = header_at(data)
    assert (header.base_timestamp, header.max_timestamp) == (500, 900)
    assert (header.record_count, header.last_offset_delta) == (3, 2)
    assert header.size_bytes == len(data)
    assert [record.timestamp for record in records(data, 0, header)] == times


def test_a_batch_that_lost_records_keeps_its_offsets_and_sequences() -> None:
    full = built(
        BLANK._replace(base_offset=10, producer_id=1, producer_epoch=0, base_sequence=0),
        [Record(offset, 100 + offset, b"key") for offset in range(10, 15)],
    )
    kept = [record for record in records(full, 0, header_at(full)) if record.offset in (11, 13)]
    header = header_at(built(header_at(full), kept))
    assert (header.base_offset, header.last_offset, header.last_sequence) == (10, 14, 4)
    assert header.record_count == 2
    assert (header.base_timestamp, header.max_timestamp) == (111, 113)


def test_an_emptied_batch_keeps_place_producer_and_sequence() -> None:
    full = header_at(
        built(
            BLANK._replace(
                base_offset=10,
                leader_epoch=4,
                attributes=Codec.GZIP | 0x10,
                producer_id=1,
                producer_epoch=0,
                base_sequence=2**31 - 1,
            ),
            [Record(10, 100), Record(11, 101)],
        )
    )
    data = emptied(full)
    header = header_at(data)
    verify(data, 0, header)
    assert len(data) == 61
    assert header == full._replace(
        length=49, crc=header.crc, attributes=0x10, base_timestamp=-1, record_count=0
    )
    assert header.last_sequence == 0
    assert not list(records(data, 0, header))


def test_a_delete_horizon_takes_the_place_of_the_base_timestamp() -> None:
    header = BLANK._replace(attributes=0x40, base_timestamp=5_000)
    data = built(header, [Record(0, 4_000, b"k"), Record(1, 6_000, b"k")])
    assert header_at(data).delete_horizon_ms == 5_000
    assert [record.timestamp for record in records(data, 0, header_at(data))] == [4_000, 6_000]
    assert header_at(emptied(header_at(data))).delete_horizon_ms is None


def test_append_time_stays_the_time_of_the_batch() -> None:
    header = BLANK._replace(attributes=0x08, max_timestamp=9_000)
    data = built(header, [Record(0, 4_000), Record(1, 6_000)])
    assert header_at(data).max_timestamp == 9_000
    assert [record.timestamp for record in records(data, 0, header_at(data))] == [9_000, 9_000]


def test_a_batch_of_no_records_is_not_built_by_accident() -> None:
    with pytest.raises(AssertionError, match="emptied"):
        built(BLANK, [])


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_a_level_reaches_the_codec(codec: Codec) -> None:
    entries = [Record(n, n, None, b"%d" % (n * n % 977)) for n in range(2_000)]
    quick = built(BLANK._replace(attributes=codec), entries, level=1)
    thorough = built(BLANK._replace(attributes=codec), entries, level=9)
    assert len(thorough) < len(quick)
    assert list(records(quick, 0, header_at(quick))) == list(
        records(thorough, 0, header_at(thorough))
    )


@pytest.mark.parametrize("target", Codec)
@pytest.mark.parametrize("source", Codec)
def test_another_codec_holds_the_same_records(source: Codec, target: Codec) -> None:
    entries = [Record(n, n, b"key", b"value %d" % n, ((b"h", None),)) for n in range(50)]
    header = BLANK._replace(attributes=source | 0x10, producer_id=3, base_sequence=0)
    data = b"before" + built(header, entries) + b"behind"
    other = recoded(data, 6, header_at(data, 6), target)
    verify(other, 0, header_at(other))
    assert header_at(other).codec == target
    assert header_at(other).is_transactional
    assert list(records(other, 0, header_at(other))) == entries
    assert recoded(other, 0, header_at(other), Codec.NONE) == built(
        header._replace(attributes=0x10), entries
    )


def test_another_codec_is_not_a_way_around_the_bound() -> None:
    bomb = built(BLANK._replace(attributes=Codec.ZSTD), [Record(0, 0, None, bytes(100_000))])
    with pytest.raises(TooManyBytes):
        recoded(bomb, 0, header_at(bomb), Codec.NONE, decompressed_bytes_max=100_000)


@given(st.integers(0, 2**62), st.integers(-1, 2**31 - 1), st.integers(0, 0x7F0))
def test_fields_of_the_header_come_through(offset: int, epoch: int, attributes: int) -> None:
    header = BLANK._replace(
        base_offset=offset, leader_epoch=epoch, attributes=attributes & ~7, base_timestamp=0
    )
    data = built(header, [Record(offset, 0)])
    read = header_at(data)
    verify(data, 0, read)
    assert (read.base_offset, read.leader_epoch) == (offset, epoch)
    assert read.attributes == attributes & ~7
