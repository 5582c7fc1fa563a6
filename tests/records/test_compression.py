"""The four codecs: Kafka's framings, foreign framings, bounds, and damage."""

import gzip
import sys
import zlib

import cramjam
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.compression import (
    LZ4_HEADER,
    SNAPPY_HEADER,
    Codec,
    InvalidRecord,
    TooManyBytes,
    UnsupportedCodec,
    blocks_package,
    compress,
    decompress,
    zstd_package,
)

PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
PLENTY = 1 << 24

texts = st.binary(max_size=300) | st.builds(
    lambda piece, times: piece * times, st.binary(min_size=1, max_size=20), st.integers(1, 20_000)
)


@pytest.mark.parametrize("codec", Codec)
@given(data=texts)
def test_every_codec_gives_back_what_it_was_given(codec: Codec, data: bytes) -> None:
    packed = compress(codec, data)
    assert bytes(decompress(codec, packed, PLENTY)) == data
    assert bytes(decompress(codec, memoryview(packed), len(data))) == data


@pytest.mark.parametrize("codec", PACKED)
@given(data=texts.filter(bool))
def test_one_byte_more_than_allowed_is_too_many(codec: Codec, data: bytes) -> None:
    with pytest.raises(TooManyBytes):
        decompress(codec, compress(codec, data), len(data) - 1)


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_stopped_at_the_bound(codec: Codec) -> None:
    bomb = compress(codec, bytes(1 << 24))
    assert len(bomb) < 1 << 20
    with pytest.raises(TooManyBytes, match=f"{codec.name.lower()}: "):
        decompress(codec, bomb, 1 << 16)


def test_a_snappy_block_that_claims_four_gigabytes_reserves_nothing() -> None:
    with pytest.raises(TooManyBytes, match="4294967295 bytes, allowed are 1000"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f", 1000)


def test_a_zstd_frame_that_claims_a_terabyte_reserves_nothing() -> None:
    claim = b"\x28\xb5\x2f\xfd\xc0" + b"\x38" + (1 << 40).to_bytes(8, "little")
    with pytest.raises(InvalidRecord):
        decompress(Codec.ZSTD, claim + b"\x09\x00\x00!", 1000)


@pytest.mark.parametrize("codec", PACKED)
@given(data=texts.filter(bool), cut=st.integers(1, 10))
def test_what_is_cut_short_is_invalid(codec: Codec, data: bytes, cut: int) -> None:
    packed = compress(codec, data)
    kept = packed[: max(9, len(packed) - cut)]
    if codec is Codec.SNAPPY and len(kept) <= len(SNAPPY_HEADER):
        kept = packed[:17]
    with pytest.raises(InvalidRecord):
        decompress(codec, kept, PLENTY)


@pytest.mark.parametrize("codec", PACKED)
@given(data=texts, where=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_damage_is_noticed_or_gives_other_bytes_but_nothing_else(
    codec: Codec, data: bytes, where: int, bit: int
) -> None:
    packed = bytearray(compress(codec, data))
    packed[where % len(packed)] ^= 1 << bit
    try:
        got = decompress(codec, packed, PLENTY)
    except (InvalidRecord, TooManyBytes):
        got = b""
    assert len(got) <= PLENTY


@pytest.mark.parametrize("codec", PACKED)
@given(data=st.binary(max_size=100))
def test_bytes_that_were_never_compressed_are_invalid_or_bytes(codec: Codec, data: bytes) -> None:
    try:
        got = decompress(codec, data, 1000)
    except (InvalidRecord, TooManyBytes):
        got = b""
    assert len(got) <= 1000


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_nobody_has_defined_are_unsupported(codec: int) -> None:
    with pytest.raises(UnsupportedCodec, match=f"codec {codec}"):
        decompress(codec, b"", 1)


@pytest.mark.parametrize("codec", [Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_missing_package_is_named(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    package = "backports.zstd" if codec is Codec.ZSTD else "cramjam"
    blocks_package.cache_clear()
    zstd_package.cache_clear()
    monkeypatch.setitem(sys.modules, "cramjam", None)
    monkeypatch.delattr("backports.zstd")
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    with pytest.raises(UnsupportedCodec, match=package):
        compress(codec, b"x")


# --- Framings, by hand and by strangers -----------------------------------------------------


def test_snappy_is_framed_as_snappy_java_does() -> None:
    data = bytes(range(256)) * 300
    packed = compress(Codec.SNAPPY, data)
    first = bytes(cramjam.snappy.compress_raw(data[: 32 * 1024]))
    assert packed.startswith(bytes.fromhex("82534e4150505900 00000001 00000001"))
    assert packed[16:20] == len(first).to_bytes(4, "big")
    assert packed[20 : 20 + len(first)] == first


def test_snappy_without_framing_is_read_as_librdkafka_sends_it() -> None:
    bare = bytes(cramjam.snappy.compress_raw(b"hello" * 100))
    assert bytes(decompress(Codec.SNAPPY, bare, 500)) == b"hello" * 100


def test_snappy_streams_behind_one_another_are_one() -> None:
    both = compress(Codec.SNAPPY, b"one") + compress(Codec.SNAPPY, b"two")
    assert bytes(decompress(Codec.SNAPPY, both, 6)) == b"onetwo"


def test_a_snappy_block_longer_than_what_is_there_is_invalid() -> None:
    for size in (0, -1, 5, 2**31 - 1):
        framed = SNAPPY_HEADER + size.to_bytes(4, "big", signed=True) + b"\x03\x08ab"
        with pytest.raises(InvalidRecord, match=f"a block of {size} bytes where 4 are left"):
            decompress(Codec.SNAPPY, framed, 100)


def test_gzip_members_behind_one_another_are_one() -> None:
    both = gzip.compress(b"one") + gzip.compress(b"two")
    assert decompress(Codec.GZIP, both, 6) == b"onetwo"
    with pytest.raises(TooManyBytes):
        decompress(Codec.GZIP, both, 5)


def test_what_is_no_member_behind_a_gzip_member_is_passed_over() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"one") + bytes(8), 3) == b"one"
    with pytest.raises(InvalidRecord):
        decompress(Codec.GZIP, gzip.compress(b"one") + b"\x1f\x8b\x08", 3)
    with pytest.raises(InvalidRecord):
        decompress(Codec.GZIP, bytes(30), 3)


def test_gzip_is_what_gzip_reads() -> None:
    assert gzip.decompress(compress(Codec.GZIP, b"hello", 9)) == b"hello"


def test_zstd_frames_behind_one_another_are_one() -> None:
    both = zstd.compress(b"one") + zstd.compress(b"two")
    assert decompress(Codec.ZSTD, both, 6) == b"onetwo"
    with pytest.raises(TooManyBytes):
        decompress(Codec.ZSTD, both, 5)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_a_thousand_empty_members_are_enough(codec: Codec) -> None:
    member = compress(codec, b"")
    assert decompress(codec, member * 1_000, 0) == b""
    with pytest.raises(InvalidRecord, match="more than 1000"):
        decompress(codec, member * 1_001, 0)


def test_zstd_without_a_declared_size_is_read_as_java_streams_it() -> None:
    packer = zstd.ZstdCompressor()
    streamed = packer.compress(b"hello" * 1000) + packer.flush()
    assert decompress(Codec.ZSTD, streamed, 5000) == b"hello" * 1000
    assert len(compress(Codec.ZSTD, b"hello" * 1000, 19)) < 100


@given(texts.filter(bool))
def test_no_lz4_block_is_mistaken_for_a_size(data: bytes) -> None:
    # The package reads a block's first bytes as a size unless one is put before it.
    block = bytes(cramjam.lz4.compress_block(data[: 64 * 1024], store_size=False))
    frame = LZ4_HEADER + len(block).to_bytes(4, "little") + block + bytes(4)
    assert decompress(Codec.LZ4, frame, PLENTY) == data[: 64 * 1024]


def test_an_lz4_frame_is_written_by_hand_the_same() -> None:
    # Too short to shrink, so stored: the highest bit of its size is set.
    assert compress(Codec.LZ4, b"abc") == bytes.fromhex(
        "04224d18 60 40 82 03000080 616263 00000000"
    )
    # Four zeros behind a literal zero, as the block format has it.
    block = bytes.fromhex("4000000000")
    frame = LZ4_HEADER + b"\x05\0\0\0" + block + bytes(4)
    assert decompress(Codec.LZ4, frame, 4) == bytes(4)


def test_an_lz4_frame_is_what_another_implementation_reads_and_writes() -> None:
    data = b"some text that repeats, some text that repeats" * 5000
    assert bytes(cramjam.lz4.decompress(compress(Codec.LZ4, data))) == data


def test_lz4_frames_with_checksums_and_sizes_are_read() -> None:
    body = b"\x03\0\0\x80abc"
    checked = b"\x04\x22\x4d\x18\x70\x40\x00" + body + b"????" + bytes(4) + b"!!!!"
    sized = b"\x04\x22\x4d\x18\x68\x40" + (3).to_bytes(8, "little") + b"\x00" + body + bytes(4)
    assert decompress(Codec.LZ4, checked, 3) == b"abc"
    assert decompress(Codec.LZ4, sized, 3) == b"abc"


@pytest.mark.parametrize("descriptor", ["4040", "2040", "6030", "6080", "6140", "a040"])
def test_lz4_frames_that_kafka_refuses_are_refused(descriptor: str) -> None:
    frame = b"\x04\x22\x4d\x18" + bytes.fromhex(descriptor) + b"\x82" + bytes(4)
    with pytest.raises(InvalidRecord, match="which Kafka refuses"):
        decompress(Codec.LZ4, frame, 10)


def test_an_lz4_block_beyond_its_frame_is_invalid() -> None:
    for word in (5, 65_537, 0x7FFFFFFF, 0x80000005, 0xFFFFFFFF):
        frame = LZ4_HEADER + word.to_bytes(4, "little") + b"abcd"
        with pytest.raises(InvalidRecord, match="where 4 are left"):
            decompress(Codec.LZ4, frame, 1 << 20)
    with pytest.raises(InvalidRecord, match="no end mark"):
        decompress(Codec.LZ4, LZ4_HEADER, 1 << 20)
    with pytest.raises(InvalidRecord, match="not a frame"):
        decompress(Codec.LZ4, zlib.compress(b"x" * 100), 1 << 20)
