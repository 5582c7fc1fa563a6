"""Control records: keys by hand, markers both ways, damage."""

import pytest

from barnabas.records.batch import header_at, verify
from barnabas.records.compression import InvalidRecord
from barnabas.records.control import (
    ControlType,
    EndMarker,
    control_batch,
    control_type,
    end_marker,
    end_marker_batch,
)
from barnabas.records.record import Record, records


@pytest.mark.parametrize(
    ("committed", "key"), [(False, "00000000"), (True, "00000001")], ids=["abort", "commit"]
)
def test_an_end_marker_has_the_bytes_of_the_protocol(committed: bool, key: str) -> None:
    data = end_marker_batch(7, 2, EndMarker(committed, 9), 1000)
    header = header_at(data)
    verify(data, 0, header)
    (record,) = records(data, 0, header)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, -1)
    assert record == Record(0, 1000, bytes.fromhex(key), bytes.fromhex("0000 00000009"))
    assert end_marker(record) == EndMarker(committed, 9)


def test_the_quorum_writes_control_batches_of_no_producer() -> None:
    data = control_batch(
        5, 1000, 3, (ControlType.SNAPSHOT_HEADER, b"one"), (ControlType.KRAFT_VERSION, b"two")
    )
    header = header_at(data)
    assert header.is_control
    assert not header.is_transactional
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (5, 6, 3)
    assert not header.has_producer_id
    one, two = records(data, 0, header)
    assert (control_type(one), control_type(two)) == (
        ControlType.SNAPSHOT_HEADER,
        ControlType.KRAFT_VERSION,
    )
    assert end_marker(one) is None
    assert one.value == b"one"


def test_kinds_and_versions_of_the_future_are_passed_over() -> None:
    assert control_type(Record(0, 0, bytes.fromhex("0000 0007"))) is None
    assert control_type(Record(0, 0, bytes.fromhex("0000 ffff"))) is None
    assert end_marker(Record(0, 0, bytes.fromhex("0000 0007"), b"")) is None
    later = Record(0, 0, bytes.fromhex("0001 0001 ff"), bytes.fromhex("0001 00000009 ff"))
    assert end_marker(later) == EndMarker(True, 9)


@pytest.mark.parametrize("key", [None, "", "000000", "ffff0001"])
def test_a_key_that_is_none_is_invalid(key: str | None) -> None:
    octets = None if key is None else bytes.fromhex(key)
    with pytest.raises(InvalidRecord, match="control record at offset 8"):
        control_type(Record(8, 0, octets))


@pytest.mark.parametrize("content", [None, "", "0000000000", "ffff00000001"])
def test_an_end_marker_without_its_value_is_invalid(content: str | None) -> None:
    octets = None if content is None else bytes.fromhex(content)
    with pytest.raises(InvalidRecord, match="end marker at offset 8"):
        end_marker(Record(8, 0, bytes.fromhex("00000001"), octets))
