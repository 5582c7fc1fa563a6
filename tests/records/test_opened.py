"""Batches are opened for whoever folds them."""

from barnabas.records.control import ControlType, control_batch
from barnabas.records.opened import opened
from barnabas.records.snapshot import data_batch


def test_records_are_given_by_their_values() -> None:
    data = data_batch(7, 3, 1_000, [b"a", b"bc"])
    (batch,) = opened(data)
    assert (batch.base_offset, batch.end_offset, batch.epoch) == (7, 9, 3)
    assert (batch.append_ms, batch.size_bytes) == (1_000, len(data))
    assert [bytes(value) for value in batch.values] == [b"a", b"bc"]
    assert batch.controls == ()


def test_control_records_are_given_by_their_kind() -> None:
    data = control_batch(
        0, 1_000, 3, (ControlType.LEADER_CHANGE, b"who"), (ControlType.KRAFT_VERSION, b"one")
    )
    (batch,) = opened(data)
    assert batch.values == ()
    assert [(kind, bytes(content)) for kind, content in batch.controls] == [
        (ControlType.LEADER_CHANGE, b"who"),
        (ControlType.KRAFT_VERSION, b"one"),
    ]


def test_batches_come_in_order() -> None:
    data = data_batch(0, 1, 0, [b"a"]) + data_batch(1, 2, 0, [b"b"])
    assert [(batch.base_offset, batch.epoch) for batch in opened(data)] == [(0, 1), (1, 2)]
