"""Records of the metadata log: their frame by hand, both ways, damage."""

import pytest

from barnabas.model.errors import RemoteProtocolError
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.snapshot_footer_record import SnapshotFooterRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import decode_record, encode_record, record_names

FEATURE = FeatureLevelRecord(name="metadata.version", feature_level=29)
BYTES = bytes.fromhex("01 0c 00 11") + b"metadata.version" + bytes.fromhex("001d 00")


def test_a_record_has_the_bytes_of_the_format() -> None:
    assert encode_record(FEATURE, 0) == BYTES
    assert decode_record(BYTES) == (FEATURE, 0)


def test_a_record_is_read_from_a_view_too() -> None:
    assert decode_record(memoryview(BYTES)) == (FEATURE, 0)


def test_what_brokers_tell_each_other_elsewhere_is_no_metadata_record() -> None:
    assert "SnapshotFooterRecord" not in record_names().values()
    assert record_names()[TopicRecord.API_KEY] == "TopicRecord"
    with pytest.raises(AssertionError, match="no record of the metadata log"):
        encode_record(SnapshotFooterRecord(version=0), 0)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "of 0 bytes"),
        (b"\x00\x0c\x00", "frame version 0"),
        (b"\x01\x0c", "of 2 bytes"),
        (b"\x01\x80\x80\x80\x80\x80\x80", "longer than five bytes"),
        (b"\x01\x7f\x00", "type 127"),
        (b"\x01\x0c\x01\x00", "of version 1; known are 0 to 0"),
        (b"\x01\x80\x80\x02\x00", "type 32768"),
        (BYTES + b"\x00", "ends after"),
        (BYTES[:-3], "FeatureLevelRecord"),
    ],
    ids=str,
)
def test_a_record_that_is_none_is_refused_with_what_was_found(data: bytes, why: str) -> None:
    with pytest.raises(RemoteProtocolError, match=why):
        decode_record(data)
