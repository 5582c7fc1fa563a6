"""Indexes: the same answers in memory, on disk, and by walking through a list."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from barnabas.log.index import PACK_ENTRIES, OffsetIndex, TimeIndex
from barnabas.model.errors import CorruptLog
from tests.log.storage import PATH, Machine, run

BASE = 1000


def offset_index(machine: Machine) -> OffsetIndex:
    return OffsetIndex(machine.process, f"{PATH}/x.index", BASE)


def time_index(machine: Machine) -> TimeIndex:
    return TimeIndex(machine.process, f"{PATH}/x.timeindex", BASE)


def stored(machine: Machine, name: str) -> bytes:
    file = machine.process.open(f"{PATH}/{name}", "read")
    return file.read(0, file.size())


def test_an_offset_entry_is_eight_bytes_as_kafka_writes_them() -> None:
    machine = Machine()
    index = offset_index(machine)
    index.append(5, 258)
    index.settle()
    assert stored(machine, "x.index") == b"\0\0\0\5\0\0\1\2"


def test_a_time_entry_is_twelve_bytes_as_kafka_writes_them() -> None:
    machine = Machine()
    index = time_index(machine)
    index.note(1, BASE + 2)
    index.settle()
    assert stored(machine, "x.timeindex") == b"\0\0\0\0\0\0\0\1\0\0\0\2"


def test_a_timestamp_that_is_not_younger_is_not_entered() -> None:
    index = time_index(Machine())
    for timestamp, offset in ((5, BASE), (5, BASE + 1), (4, BASE + 2), (6, BASE + 3)):
        index.note(timestamp, offset)
    assert list(index.entries()) == [(5, 0), (6, 3)]
    assert index.youngest() == (6, BASE + 3)


def test_an_index_without_entries_leads_to_the_beginning() -> None:
    machine = Machine()
    assert offset_index(machine).position_below(BASE + 7) == 0
    assert time_index(machine).offset_below(7) == BASE
    assert time_index(machine).youngest() is None


def test_an_index_that_is_cut_short_or_missing_is_not_adopted() -> None:
    machine = Machine()
    with pytest.raises(CorruptLog):
        offset_index(machine).adopt()
    index = offset_index(machine)
    index.append(5, 258)
    index.settle()
    machine.process.open(f"{PATH}/x.index", "write").truncate(7)
    with pytest.raises(CorruptLog):
        offset_index(machine).adopt()


def test_an_index_that_loses_its_tail_later_says_so() -> None:
    machine = Machine()
    index = offset_index(machine)
    index.append(5, 258)
    index.settle()
    machine.process.open(f"{PATH}/x.index", "write").truncate(0)
    with pytest.raises(CorruptLog):
        index.position_below(BASE + 9)


def test_a_settled_index_is_durable_after_a_sync() -> None:
    machine = Machine()
    index = offset_index(machine)
    index.append(5, 258)
    index.settle()
    run(index.sync())
    run(machine.process.sync_directory(PATH))
    machine.crash("meta-first")
    again = offset_index(machine)
    again.adopt()
    assert list(again.entries()) == [(5, 258)]


steps = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 50)), max_size=40) | st.lists(
    st.tuples(st.integers(1, 2), st.integers(1, 2)), min_size=900, max_size=3 * PACK_ENTRIES
)


@given(steps=steps, asked=st.lists(st.integers(-3, 6000), max_size=20), cut=st.integers(0, 5000))
def test_memory_disk_and_a_list_agree(
    steps: list[tuple[int, int]], asked: list[int], cut: int
) -> None:
    machine = Machine()
    index = offset_index(machine)
    entries: list[tuple[int, int]] = []
    offset = position = 0
    for more, size in steps:
        offset, position = offset + more, position + size
        entries.append((offset, position))
        index.append(offset, position)
    for _ in ("in memory", "on disk"):
        for key in asked:
            below = [at for off, at in entries if off <= key]
            assert index.position_below(BASE + key) == (below[-1] if below else 0)
            following = entries[len(below)][1] if len(below) < len(entries) else -1
            assert index.around(BASE + key) == (below[-1] if below else 0, following)
            before = [at for _, at in entries if at <= key]
            assert index.position_before(key) == (before[-1] if before else 0)
        assert list(index.entries()) == entries
        index.settle()
    index.close()
    index.revive()
    index.truncate(BASE + cut)
    assert list(index.entries()) == [entry for entry in entries if entry[0] < cut]
