"""Batches as bytes: taken apart, proved, named where they are damaged."""

import pytest

from barnabas.metadata.batches import committed_batches, unfoldable
from barnabas.metadata.faults import BadRecord, Unfoldable
from barnabas.model.errors import RemoteProtocolError
from barnabas.records.control import ControlType, control_batch
from barnabas.records.opened import OpenedBatch
from barnabas.records.snapshot import data_batch


def test_a_batch_is_its_values_and_where_they_lie() -> None:
    data = data_batch(4, 2, 77, [b"one", b"two"])
    assert list(committed_batches(data, "here")) == [
        OpenedBatch(4, 6, 2, 77, len(data), (b"one", b"two"))
    ]


def test_a_control_batch_has_an_end_and_no_values() -> None:
    control = control_batch(6, 78, 3, (ControlType.LEADER_CHANGE, b"leader"))
    both = data_batch(4, 2, 77, [b"one", b"two"]) + control
    said = ((ControlType.LEADER_CHANGE, b"leader"),)
    assert list(committed_batches(both, "here"))[1] == OpenedBatch(
        6, 7, 3, 78, len(control), (), said
    )


def test_damage_is_named_with_its_place_and_the_way_out() -> None:
    data = bytearray(data_batch(4, 2, 77, [b"one"]))
    data[-2] ^= 1
    with pytest.raises(Unfoldable, match=r"the file: record batch: .*; the file is damaged"):
        list(committed_batches(data, "the file"))


def test_a_message_of_an_old_format_is_no_metadata_either() -> None:
    old = bytes(8) + (20).to_bytes(4) + bytes(20)
    with pytest.raises(Unfoldable, match="the file: record batch: a message of magic 0"):
        list(committed_batches(old, "the file"))


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (b"\x01\x02\x00", BadRecord("odd", "wait"), "x: TopicRecord: odd; wait"),
        (b"\x01\x02\x09", RemoteProtocolError("v9"), "x: TopicRecord: v9; a newer release"),
        (b"\x01\x63\x00", RemoteProtocolError("99"), "x: metadata record of type 99: 99; a newer"),
        (b"\x02", RemoteProtocolError("frame"), "x: metadata record: frame; the file is damaged"),
    ],
)
def test_a_record_is_named_by_what_can_be_read_of_it(
    data: bytes, error: RemoteProtocolError | BadRecord, said: str
) -> None:
    assert str(unfoldable("x", data, error)).startswith(said)
