"""What a leader refuses: Kafka's code for each, and in Kafka's order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.errors import ErrorCode, Refused
from barnabas.records.batch import BatchHeader, header_at
from barnabas.records.builder import BLANK, built, joined
from barnabas.records.compression import Codec
from barnabas.records.control import EndMarker, end_marker_batch
from barnabas.records.record import Record
from barnabas.records.validation import RefusedRecords, Rules, admitted, received

NOW = 1_700_000_000_000
HOUR = 3_600_000
GOOD = built(BLANK, [Record(0, NOW, b"k", b"v"), Record(1, NOW, b"l", b"w")])


def batch(*entries: Record, **fields: int) -> memoryview:
    """Return a batch with some fields of its header replaced and the checksum made right."""
    data = built(BLANK._replace(attributes=fields.get("attributes", 0)), entries)
    return memoryview(joined(header_at(data)._replace(**fields), data[61:]))


def answer(data: memoryview | bytes, rules: Rules | None = None, version: int = 9) -> str:
    """Return the code that a producer gets for a records field, or NONE."""
    view = memoryview(data)
    try:
        admitted(view, 0, received(view, version), rules or Rules(), NOW)
    except Refused as refusal:
        return refusal.code.name
    return "NONE"


def test_a_good_batch_is_taken() -> None:
    assert answer(GOOD) == "NONE"
    assert received(memoryview(GOOD), 3) == header_at(GOOD)


def test_rules_are_kafkas_defaults_unless_a_topic_says_otherwise() -> None:
    assert Rules().batch_bytes_max == 1_048_588
    assert Rules().after_ms_max == HOUR


def test_an_idempotent_producer_begins_at_sequence_zero() -> None:
    assert answer(batch(Record(0, NOW), producer_id=7, producer_epoch=0, base_sequence=0)) == "NONE"


def test_records_are_believed_where_nothing_asks_for_them() -> None:
    rubbish = joined(header_at(GOOD), bytes(20))
    assert answer(rubbish) == "NONE"
    assert answer(rubbish, Rules(log_append_time=True, before_ms_max=0)) == "NONE"
    assert answer(rubbish, Rules(before_ms_max=NOW)) == "INVALID_RECORD"


@pytest.mark.parametrize("codec", Codec)
def test_every_codec_is_taken_with_and_without_looking_inside(codec: Codec) -> None:
    data = batch(Record(0, NOW, b"k"), Record(1, NOW, b"l"), attributes=int(codec))
    assert answer(data) == "NONE"
    assert answer(data, Rules(compacted=True, before_ms_max=0)) == "NONE"


# --- The field of the request ---------------------------------------------------------------


def test_no_batch_or_a_cut_one_is_an_invalid_record() -> None:
    for cut in range(len(GOOD)):
        assert answer(GOOD[:cut]) == "INVALID_RECORD", cut


def test_two_batches_are_an_invalid_record_but_a_cut_second_one_is_not_seen() -> None:
    assert answer(GOOD + GOOD) == "INVALID_RECORD"
    assert answer(GOOD + GOOD[:-1]) == "NONE"
    assert answer(GOOD + GOOD[:11]) == "NONE"


def test_a_second_batch_that_cannot_be_is_corrupt() -> None:
    assert answer(GOOD + bytes(12)) == "CORRUPT_MESSAGE"


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_an_invalid_record(magic: int) -> None:
    assert answer(GOOD[:16] + bytes([magic]) + GOOD[17:]) == "INVALID_RECORD"


def test_the_smallest_message_of_old_is_an_invalid_record_and_a_smaller_one_corrupt() -> None:
    smallest = bytes(8) + (14).to_bytes(4, "big") + bytes(14)
    assert answer(smallest) == "INVALID_RECORD"
    assert answer(bytes(8) + (13).to_bytes(4, "big") + bytes(14)) == "CORRUPT_MESSAGE"


def test_a_header_alone_has_no_records_and_is_invalid() -> None:
    alone = joined(header_at(GOOD)._replace(record_count=0, last_offset_delta=0), b"")
    assert answer(alone) == "INVALID_RECORD"
    assert answer(alone + b"behind") == "INVALID_RECORD"


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_unknown_formats_are_corrupt(magic: int) -> None:
    assert answer(GOOD[:16] + bytes([magic]) + GOOD[17:]) == "CORRUPT_MESSAGE"


@pytest.mark.parametrize("length", [13, 14, 48, 0, -1, -(2**31)])
def test_lengths_that_cannot_be_are_corrupt(length: int) -> None:
    data = GOOD[:8] + length.to_bytes(4, "big", signed=True) + GOOD[12:]
    assert answer(data) == "CORRUPT_MESSAGE"


def test_zstd_needs_a_producer_that_knows_it() -> None:
    data = batch(Record(0, NOW), attributes=int(Codec.ZSTD))
    assert answer(data, version=6) == "UNSUPPORTED_COMPRESSION_TYPE"
    assert answer(data, version=7) == "NONE"


# --- The header -----------------------------------------------------------------------------


def test_a_wrong_checksum_is_corrupt() -> None:
    assert answer(GOOD[:-1] + b"\x01") == "CORRUPT_MESSAGE"


def test_a_batch_above_the_limit_is_too_large_even_if_it_is_corrupt() -> None:
    exactly = Rules(batch_bytes_max=len(GOOD))
    assert answer(GOOD, exactly) == "NONE"
    assert answer(GOOD, Rules(batch_bytes_max=len(GOOD) - 1)) == "MESSAGE_TOO_LARGE"
    assert answer(GOOD[:-1] + b"\x01", Rules(batch_bytes_max=1)) == "MESSAGE_TOO_LARGE"


REFUSED: dict[str, dict[str, int]] = {
    "a base offset of its own": {"base_offset": 1},
    "a negative last offset": {"last_offset_delta": -1},
    "an overflown last offset": {"last_offset_delta": -(2**31)},
    "no records": {"record_count": 0},
    "fewer than no records": {"record_count": -1},
    "fewer records than offsets": {"last_offset_delta": 2},
    "more records than offsets": {"record_count": 3},
    "a control batch": {"attributes": 0x20},
    "a producer without a sequence": {"producer_id": 1, "base_sequence": -1},
}


@pytest.mark.parametrize("fields", REFUSED.values(), ids=REFUSED)
def test_a_header_that_a_client_must_not_send_is_an_invalid_record(fields: dict[str, int]) -> None:
    assert answer(batch(Record(0, NOW), Record(1, NOW), **fields)) == "INVALID_RECORD"


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_nobody_knows_is_unsupported(codec: int) -> None:
    data = bytes(batch(Record(0, NOW)))
    header = header_at(data)._replace(attributes=codec)
    assert answer(joined(header, data[61:])) == "UNSUPPORTED_COMPRESSION_TYPE"


def test_coordinators_may_write_what_clients_must_not() -> None:
    marker = memoryview(end_marker_batch(1, 0, EndMarker(True, 0), NOW))
    admitted(marker, 0, header_at(marker), Rules(), NOW, from_client=False)
    assert answer(marker) == "INVALID_RECORD"


# --- Timestamps -----------------------------------------------------------------------------


@pytest.mark.parametrize("compacted", [False, True])
def test_a_timestamp_too_far_ahead_is_refused(compacted: bool) -> None:
    rules = Rules(compacted=compacted)
    assert answer(batch(Record(0, NOW + HOUR, b"k")), rules) == "NONE"
    assert answer(batch(Record(0, NOW + HOUR + 1, b"k")), rules) == "INVALID_TIMESTAMP"
    first = [Record(0, NOW + HOUR + 1, b"k"), Record(1, NOW, b"k")]
    assert answer(batch(*first), rules) == "INVALID_TIMESTAMP"


def test_a_timestamp_too_old_is_refused_where_there_is_a_bound() -> None:
    old = batch(Record(0, NOW), Record(1, NOW - 1001))
    assert answer(old) == "NONE"
    assert answer(old, Rules(before_ms_max=1001)) == "NONE"
    assert answer(old, Rules(before_ms_max=1000)) == "INVALID_TIMESTAMP"


def test_records_without_a_timestamp_are_taken() -> None:
    assert answer(batch(Record(0, -1)), Rules(before_ms_max=0)) == "NONE"
    assert answer(batch(Record(0, -1)), Rules(after_ms_max=0)) == "NONE"


def test_the_brokers_clock_asks_no_record_for_its_time() -> None:
    rules = Rules(log_append_time=True, before_ms_max=0, after_ms_max=0)
    assert answer(batch(Record(0, NOW * 2)), rules) == "NONE"
    assert answer(batch(Record(0, 0)), rules) == "NONE"


def test_claiming_the_brokers_clock_is_refused_where_it_is_used() -> None:
    claimed = batch(Record(0, NOW, b"k"), attributes=8, max_timestamp=NOW)
    assert answer(claimed) == "NONE"
    for compacted in (False, True):
        rules = Rules(log_append_time=True, compacted=compacted)
        assert answer(claimed, rules) == "INVALID_TIMESTAMP"


# --- Records --------------------------------------------------------------------------------


def test_a_compacted_topic_wants_keys_and_says_which_are_missing() -> None:
    data = batch(Record(0, NOW, b"k"), Record(1, NOW), Record(2, NOW), Record(3, NOW, b""))
    assert answer(data) == "NONE"
    with pytest.raises(RefusedRecords, match="2 records refused: record 1: ") as refusal:
        admitted(data, 0, header_at(data), Rules(compacted=True), NOW)
    assert refusal.value.code == ErrorCode.INVALID_RECORD
    assert [index for index, _ in refusal.value.errors] == [1, 2]


def test_a_refusal_says_by_how_much() -> None:
    for entries, rules, why in [
        ([Record(0, NOW + HOUR + 5)], Rules(), "is 3600005 ms ahead"),
        ([Record(0, NOW - 7)], Rules(before_ms_max=6), "is 7 ms old"),
        ([Record(0, NOW), Record(3, NOW)], Rules(), "2 records take 4 offsets"),
    ]:
        data = batch(*entries)
        with pytest.raises(Refused, match=why):
            admitted(data, 0, header_at(data), rules, NOW)
    shifted = batch(Record(0, NOW, b"k"), Record(5, NOW, b"k"), last_offset_delta=1)
    shifted = memoryview(joined(header_at(shifted)._replace(base_offset=70), bytes(shifted[61:])))
    with pytest.raises(Refused, match="the offset delta is 5, expected 1"):
        admitted(shifted, 0, header_at(shifted), Rules(compacted=True), NOW, from_client=False)


def test_one_bad_timestamp_decides_the_code_among_missing_keys() -> None:
    data = batch(Record(0, NOW), Record(1, NOW + HOUR + 1, b"k"))
    assert answer(data, Rules(compacted=True)) == "INVALID_TIMESTAMP"


def test_offsets_that_do_not_count_up_are_refused_where_records_are_looked_at() -> None:
    data = batch(Record(0, NOW, b"k"), Record(2, NOW, b"k"), Record(1, NOW, b"k"))
    data = memoryview(joined(header_at(data)._replace(last_offset_delta=2), bytes(data[61:])))
    with pytest.raises(RefusedRecords, match="the offset delta is 2, expected 1"):
        admitted(data, 0, header_at(data), Rules(compacted=True), NOW)


def test_a_body_that_lies_is_an_invalid_record() -> None:
    for codec in Codec:
        data = batch(Record(0, NOW, b"k"), attributes=int(codec))
        header = header_at(data)._replace(record_count=2, last_offset_delta=1)
        lie = joined(header, bytes(data[61:]))
        assert answer(lie, Rules(compacted=True)) == "INVALID_RECORD", codec
        noise = joined(header_at(data), b"\xff" * 20)
        assert answer(noise, Rules(compacted=True)) == "INVALID_RECORD", codec


def test_a_bomb_is_too_large_so_that_an_honest_producer_splits_it() -> None:
    bomb = batch(Record(0, NOW, b"k", bytes(1 << 20)), attributes=int(Codec.ZSTD))
    assert len(bomb) < 1000
    rules = Rules(compacted=True, decompressed_bytes_max=1 << 20)
    assert answer(bomb, rules) == "MESSAGE_TOO_LARGE"


@given(st.binary(max_size=120))
def test_any_bytes_get_an_answer(data: bytes) -> None:
    assert answer(data) in ("INVALID_RECORD", "CORRUPT_MESSAGE")


headers = st.builds(
    BatchHeader,
    *(st.integers(0, 1) for _ in range(3)),
    st.just(2),
    st.just(0),
    st.integers(0, 127),
    *(st.integers(-2, 2) for _ in range(7)),
)


@given(headers, st.booleans(), st.booleans())
def test_any_header_gets_an_answer(header: BatchHeader, compacted: bool, appended: bool) -> None:
    data = joined(header, GOOD[61:])
    assert answer(data, Rules(compacted=compacted, log_append_time=appended)) in (
        "NONE",
        "INVALID_RECORD",
        "INVALID_TIMESTAMP",
        "UNSUPPORTED_COMPRESSION_TYPE",
    )
