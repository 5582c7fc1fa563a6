"""The mark of what was flushed: any version of it that survives was true."""

import pytest

from barnabas.raft.flushed_mark import (
    FLUSHED_MARK,
    UNMARKED,
    FlushedMark,
    Mark,
    decode_mark,
    encode_mark,
)
from barnabas.sim.disk_faults import PROFILES, Profile
from tests.log.storage import PATH, Machine, run
from tests.sim.drawing import Seeded


def test_a_mark_is_two_lines_of_one_length() -> None:
    assert encode_mark(Mark(123, 4)) == b"1\n00000000000000000123 0000000004\n"
    assert decode_mark(encode_mark(Mark(123, 4))) == Mark(123, 4)
    assert len(encode_mark(Mark(2**63 - 1, 2**31 - 1))) == len(encode_mark(UNMARKED))


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 34, b"2" + encode_mark(Mark(1, 1))[1:], b"1\n1 1"]
)
def test_what_is_no_mark_vouches_for_nothing(content: bytes) -> None:
    assert decode_mark(content) == UNMARKED


@pytest.mark.parametrize("profile", PROFILES)
def test_no_power_loss_brings_a_mark_above_what_it_was_lowered_to(profile: Profile) -> None:
    for seed in range(20):
        machine = Machine(Seeded(seed))
        mark = FlushedMark(machine.process, PATH)
        run(mark.settle(Mark(10, 1)))
        for offset in (20, 30, 40):
            mark.note(Mark(offset, 1))
        run(mark.lower(25))
        run(mark.lower(90))
        mark.note(Mark(27, 2))
        machine.crash(profile)
        found = FlushedMark(machine.process, PATH).mark
        assert found in (Mark(25, 1), Mark(27, 2))


def test_a_file_of_another_length_becomes_a_mark_again() -> None:
    machine = Machine()
    machine.process.open(f"{PATH}/{FLUSHED_MARK}", "create").write(0, [b"x" * 500])
    mark = FlushedMark(machine.process, PATH)
    assert mark.mark == UNMARKED
    run(mark.settle(Mark(3, 1)))
    run(mark.close())
    machine.crash("block")
    assert FlushedMark(machine.process, PATH).mark == Mark(3, 1)
