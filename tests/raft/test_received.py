"""What a leader sent, judged before anything is done with it."""

import pytest

from barnabas.model.errors import ErrorCode, Refused
from barnabas.raft.control_records import kraft_version, snapshot_footer, voters_record
from barnabas.raft.messages import NO_BATCHES
from barnabas.raft.received import judged
from barnabas.records.batch import assign
from barnabas.records.control import ControlType, control_batch
from barnabas.records.snapshot import data_batch
from tests.log.storage import batch
from tests.raft.replica import THREE

ONE = data_batch(10, 3, 0, [b"a", b"b"])
TWO = data_batch(12, 3, 0, [b"c"])
THREE_ = data_batch(13, 5, 0, [b"d"])


def test_batches_that_continue_the_log_are_taken_as_they_are() -> None:
    found = judged(ONE + TWO + THREE_, 10, 2, 5)
    assert found.data == ONE + TWO + THREE_
    assert found.end_offset == 14
    assert found.epochs == ((3, 13), (5, 14))
    assert judged(b"", 10, 2, 5) == NO_BATCHES


def test_a_batch_that_is_cut_short_is_left_out_but_not_the_only_one() -> None:
    for cut in (1, 30, len(TWO) - 1):
        assert judged(ONE + TWO[:cut], 10, 2, 5).data == ONE
    with pytest.raises(Refused, match="no whole batch in 70 bytes"):
        judged(ONE[:70], 10, 2, 5)


def test_voters_and_versions_are_told_with_their_offsets() -> None:
    controls = control_batch(
        12,
        0,
        3,
        (ControlType.KRAFT_VERSION, kraft_version(1)),
        (ControlType.KRAFT_VOTERS, voters_record(THREE)),
    )
    found = judged(ONE + controls, 10, 2, 5)
    assert found.versions == ((12, 1),)
    assert found.voters == ((13, THREE),)


def changed(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def of_epoch(data: bytes, epoch: int) -> bytes:
    copy = bytearray(data)
    assign(copy, 0, 10, epoch)
    return bytes(copy)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (TWO, "go on at 10"),
        (ONE + THREE_, "go on at 12"),
        (changed(ONE, 70), "checksum"),
        (changed(ONE, 16), "magic"),
        (of_epoch(ONE, 1), "its epoch is 1, not between 2 and 5"),
        (of_epoch(ONE, 6), "its epoch is 6"),
        (batch(b"a", base_offset=10, epoch=3, producer=(1, 0, 0)), "producer 1"),
        (
            control_batch(10, 0, 3, (ControlType.SNAPSHOT_FOOTER, snapshot_footer())),
            "belongs into a snapshot",
        ),
        (control_batch(10, 0, 3, (ControlType.KRAFT_VOTERS, b"\0\0\1\0")), "of the voters"),
        (data_batch(10, 3, 0, [b"x" * (8 << 20)]), "at most 8388608"),
    ],
)
def test_what_does_not_continue_the_log_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        judged(data, 10, 2, 5)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
