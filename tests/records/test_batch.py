"""The header of a batch: golden bytes, walking, checking, stamping."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import (
    HEADER_BYTES,
    NO_SEQUENCE,
    BatchHeader,
    CorruptBatch,
    OldFormat,
    assign,
    assigned,
    batches,
    header_at,
    verify,
)
from barnabas.records.builder import joined
from barnabas.records.checksum import crc32c

# One record, key "k", value "v", timestamp 1000, by the idempotent producer 7: written by hand.
RECORDS = bytes.fromhex("10 00 00 00 02 6b 02 76 00")
COVERED = bytes.fromhex(
    "0010"  # attributes: transactional
    "00000000"  # last offset delta
    "00000000000003e8 00000000000003e8"  # base and max timestamp
    "0000000000000007 0002 00000005"  # producer id and epoch, base sequence
    "00000001"  # record count
)
GOLDEN = (
    bytes.fromhex("000000000000002a 0000003a 00000003 02")
    + crc32c(COVERED + RECORDS).to_bytes(4, "big")
    + COVERED
    + RECORDS
)


def test_a_header_is_read_field_by_field() -> None:
    header = header_at(GOLDEN)
    assert header == BatchHeader(
        base_offset=42,
        length=58,
        leader_epoch=3,
        magic=2,
        crc=crc32c(GOLDEN[21:]),
        attributes=0x10,
        last_offset_delta=0,
        base_timestamp=1000,
        max_timestamp=1000,
        producer_id=7,
        producer_epoch=2,
        base_sequence=5,
        record_count=1,
    )
    assert header.size_bytes == len(GOLDEN) == 70
    assert header.last_offset == 42
    assert header.next_offset == 43
    assert header.last_sequence == 5
    assert header.is_transactional
    assert header.has_producer_id
    assert not header.is_control
    assert not header.is_log_append_time
    assert header.codec == 0
    assert header.delete_horizon_ms is None


def test_attribute_bits_are_told_apart() -> None:
    plain = header_at(GOLDEN)._replace(attributes=0)
    assert plain._replace(attributes=3).codec == 3
    assert plain._replace(attributes=8).is_log_append_time
    assert plain._replace(attributes=16).is_transactional
    assert not plain._replace(attributes=0x6F).is_transactional
    assert plain._replace(attributes=32).is_control
    assert plain._replace(attributes=64).delete_horizon_ms == 1000
    assert plain._replace(attributes=0x7F80).codec == 0


def test_offsets_count_from_the_base() -> None:
    header = header_at(GOLDEN)._replace(last_offset_delta=3)
    assert (header.last_offset, header.next_offset) == (45, 46)


def test_a_batch_may_be_a_header_alone() -> None:
    alone = joined(header_at(GOLDEN)._replace(record_count=0), b"")
    assert len(alone) == HEADER_BYTES
    assert header_at(alone).size_bytes == HEADER_BYTES
    assert [position for position, _ in batches(alone * 2)] == [0, 61]
    verify(alone, 0, header_at(alone))


def test_sequences_go_on_at_zero_behind_the_largest() -> None:
    header = header_at(GOLDEN)._replace(base_sequence=2**31 - 2, last_offset_delta=3)
    assert header.last_sequence == 1
    assert header._replace(base_sequence=NO_SEQUENCE).last_sequence == NO_SEQUENCE
    assert not header._replace(producer_id=-1).has_producer_id


def test_walking_finds_every_whole_batch_and_stops_before_a_cut_one() -> None:
    data = GOLDEN * 3
    assert [position for position, _ in batches(data)] == [0, 70, 140]
    assert [position for position, _ in batches(data, 70)] == [70, 140]
    for cut in range(len(data)):
        assert [position for position, _ in batches(data[:cut])] == [0, 70, 140][: cut // 70]


def test_a_length_that_cannot_hold_a_header_is_corrupt() -> None:
    for length in (48, 0, -1, -(2**31)):
        data = GOLDEN[:8] + length.to_bytes(4, "big", signed=True) + GOLDEN[12:]
        with pytest.raises(CorruptBatch, match=f"length {length} at position 0"):
            header_at(data)
        with pytest.raises(CorruptBatch, match=f"length {length}"):
            list(batches(data))


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_format_is_not_taken_for_damage(magic: int) -> None:
    data = GOLDEN[:16] + magic.to_bytes(1, "big") + GOLDEN[17:]
    with pytest.raises(OldFormat, match=f"magic {magic} at position 0"):
        header_at(data)
    # A message of old may be shorter than our header.
    short = GOLDEN + data[:8] + (22).to_bytes(4, "big") + data[12:34]
    with pytest.raises(OldFormat, match=f"magic {magic} at position 70"):
        list(batches(short))
    with pytest.raises(OldFormat):
        header_at(short, 70)
    smallest = data[:8] + (14).to_bytes(4, "big") + data[12:26]
    with pytest.raises(OldFormat):
        header_at(smallest)
    with pytest.raises(CorruptBatch):
        header_at(smallest[:11] + b"\x0d" + smallest[12:])


def test_zeros_are_neither_a_batch_nor_an_old_one() -> None:
    for size in (16, 17, 60):
        assert [position for position, _ in batches(GOLDEN + bytes(size))] == [0]
        with pytest.raises(CorruptBatch):
            header_at(bytes(size))
    with pytest.raises(CorruptBatch, match="magic 0 at position 70"):
        list(batches(GOLDEN + bytes(61)))


@pytest.mark.parametrize("magic", [3, -1])
def test_another_magic_is_not_taken_for_a_batch(magic: int) -> None:
    data = GOLDEN[:16] + magic.to_bytes(1, "big", signed=True) + GOLDEN[17:]
    with pytest.raises(CorruptBatch, match=f"magic {magic} at position 0"):
        header_at(data)


def test_a_header_that_is_cut_short_is_corrupt() -> None:
    for cut in range(HEADER_BYTES):
        with pytest.raises(CorruptBatch, match=f"{cut} bytes at position 0"):
            header_at(GOLDEN[:cut])
    with pytest.raises(CorruptBatch, match="0 bytes at position 100"):
        header_at(GOLDEN, 100)


def test_every_flipped_bit_is_noticed_except_in_what_a_leader_assigns() -> None:
    for position in range(len(GOLDEN)):
        for bit in range(8):
            damaged = bytearray(GOLDEN)
            damaged[position] ^= 1 << bit
            assigned_by_leader = position < 8 or 12 <= position < 16
            try:
                verify(damaged, 0, header_at(damaged))
                noticed = False
            except (CorruptBatch, OldFormat):
                noticed = True
            # A length is not covered either, but it decides what the checksum runs over.
            assert noticed is not assigned_by_leader, (position, bit)


def test_a_batch_that_is_not_all_there_does_not_verify() -> None:
    header = header_at(GOLDEN)
    verify(GOLDEN, 0, header)
    verify(memoryview(b"x" + GOLDEN + b"y"), 1, header)
    with pytest.raises(CorruptBatch, match="69 of 70 bytes are there"):
        verify(GOLDEN[:-1], 0, header)


offsets = st.integers(0, 2**62)
epochs = st.integers(0, 2**31 - 1)


@given(offsets, epochs)
def test_stamping_gives_the_same_bytes_in_parts_and_in_place(offset: int, epoch: int) -> None:
    received = memoryview(b"before" + GOLDEN + b"behind")
    front, rest = assigned(received, 6, header_at(received, 6), offset, epoch)
    stored = front + rest
    assert rest.obj is received.obj
    assert len(front) == 16

    header = header_at(stored)
    assert header == header_at(GOLDEN)._replace(base_offset=offset, leader_epoch=epoch)
    verify(stored, 0, header)

    ours = bytearray(received)
    assign(ours, 6, offset, epoch)
    assert ours == b"before" + stored + b"behind"


@given(offsets, epochs, st.integers(0, 2**62))
def test_append_time_changes_the_header_and_its_checksum_alone(
    offset: int, epoch: int, now: int
) -> None:
    received = memoryview(GOLDEN)
    front, rest = assigned(received, 0, header_at(received), offset, epoch, now)
    assert rest == GOLDEN[HEADER_BYTES:]
    stored = front + rest
    header = header_at(stored)
    verify(stored, 0, header)
    assert header == header_at(GOLDEN)._replace(
        base_offset=offset,
        leader_epoch=epoch,
        attributes=0x18,
        max_timestamp=now,
        crc=header.crc,
    )


def test_unknown_attributes_are_dropped_with_the_first_known_one_that_changes() -> None:
    received = memoryview(joined(header_at(GOLDEN)._replace(attributes=-1 & ~0x28), RECORDS))
    header = header_at(received)
    untouched = b"".join(assigned(received, 0, header, 42, 3))
    assert header_at(untouched).attributes == -1 & ~0x28
    stamped = b"".join(assigned(received, 0, header, 42, 3, 1000))
    assert header_at(stamped).attributes == 0x5F


def test_a_producer_that_claims_append_time_is_stored_with_its_own_time() -> None:
    received = memoryview(GOLDEN)
    claimed = b"".join(assigned(received, 0, header_at(received), 42, 3, 1000))
    assert header_at(claimed).is_log_append_time
    stored = b"".join(assigned(memoryview(claimed), 0, header_at(claimed), 42, 3))
    assert stored == GOLDEN
