"""One file of batches and its indexes."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from barnabas.log.names import INDEX, LOG, TIME_INDEX
from barnabas.log.segment import Segment
from barnabas.model.errors import CorruptLog
from barnabas.records.batch import header_at
from tests.log.storage import PATH, Machine, batch, run


def filled(machine: Machine, count: int = 40, interval: int = 200) -> Segment:
    """Return a segment of batches of two records each, ten milliseconds apart."""
    segment = Segment.create(machine.process, PATH, 100, interval)
    for number in range(count):
        base = 100 + 2 * number
        data = batch(b"a" * 20, b"b", base_offset=base, epoch=1, timestamp=10 * number)
        segment.append([data], len(data), base + 1, 10 * number + 1, base + 1)
    return segment


def test_every_offset_is_found_through_the_index() -> None:
    segment = filled(Machine())
    assert len(segment.offsets) > 5
    for offset in range(100, 180):
        found = segment.find(offset)
        assert found is not None
        assert found[1].base_offset == offset - offset % 2
    assert segment.find(180) is None


appends = st.lists(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from([1, 300, 2000, 9000])),
        min_size=1,
        max_size=3,
    ),
    max_size=30,
)
"""What is appended at once: for each batch the gap before it, its records, and their size."""


@given(appends=appends, interval=st.sampled_from([200, 4096]))
def test_a_search_agrees_with_a_walk(
    appends: list[list[tuple[int, int, int]]], interval: int
) -> None:
    segment = Segment.create(Machine().process, PATH, 100, interval)
    expected: list[tuple[int, int]] = []
    end = 100
    for batches in appends:
        parts: list[bytes] = []
        for gap, count, size in batches:
            data = batch(*[b"a" * size] * count, base_offset=end + gap)
            place = segment.size_bytes + sum(map(len, parts)), len(data)
            expected += [place] * (gap + count)
            end += gap + count
            parts.append(data)
        segment.append(parts, sum(map(len, parts)), end - 1, 1000, end - 1)
    for _ in ("live", "settled"):
        assert [segment.locate(offset) for offset in range(100, end)] == expected
        assert segment.locate(end) is None
        for number, (position, _) in enumerate(expected):
            assert segment.position_of(100 + number) == position
        assert segment.position_of(end) == segment.size_bytes
        segment.settle()


def test_a_bound_that_was_asked_for_is_forgotten_when_the_segment_is_cut() -> None:
    segment = filled(Machine())
    before = segment.position_of(150)
    segment.truncate(120)
    long = batch(b"a" * 5000, *[b"b"] * 50, base_offset=120)
    segment.append([long], len(long), 170, 1000, 170)
    assert segment.position_of(150) < before
    assert segment.position_of(150) == segment.size_bytes - len(long)


def test_an_index_entry_names_the_last_offset_of_what_begins_there() -> None:
    segment = filled(Machine())
    for relative, position in segment.offsets.entries():
        header = header_at(segment.slice(position, 100).read())
        assert header.last_offset == 100 + relative


def test_a_settled_segment_is_found_again() -> None:
    machine = Machine()
    segment = filled(machine)
    segment.settle()
    segment.close()
    again = Segment.open(machine.process, PATH, 100, 200)
    again.adopt_indexes()
    assert again.youngest == (391, 179)
    found = again.find(141)
    assert found is not None
    assert found[1].base_offset == 140


def test_a_time_index_ends_with_the_youngest_timestamp_once_settled() -> None:
    segment = filled(Machine())
    segment.settle()
    assert segment.times.youngest() == (391, 179)


@pytest.mark.parametrize("offset", range(100, 182))
def test_a_truncation_removes_batches_from_the_one_that_holds_the_offset(offset: int) -> None:
    machine = Machine()
    segment = filled(machine)
    segment.truncate(offset)
    kept = [header.base_offset for _, header in segment.headers()]
    assert kept == list(range(100, min(offset - offset % 2, 180), 2))
    assert segment.file.size() == segment.size_bytes
    assert all(100 + entry <= offset for entry, _ in segment.offsets.entries())
    youngest = (10 * (len(kept) - 1) + 1, 100 + 2 * len(kept) - 1) if kept else (-1, 100)
    assert segment.youngest == youngest


def test_a_truncated_segment_goes_on() -> None:
    machine = Machine()
    segment = filled(machine)
    segment.settle()
    segment.truncate(120)
    data = batch(b"z", base_offset=120, epoch=2)
    segment.append([data], len(data), 120, 1000, 120)
    found = segment.find(120)
    assert found is not None
    assert found[1].leader_epoch == 2
    assert segment.next_offset == 121


def test_a_damaged_index_is_noticed_and_built_anew() -> None:
    machine = Machine()
    segment = filled(machine)
    segment.settle()
    file = machine.process.open(segment.path(INDEX), "write")
    entries = file.size() // 8
    for number in range(entries):
        file.write(8 * number + 4, [(77 + number).to_bytes(4)])
    found = segment.find(178)
    assert found is not None
    assert found[1].base_offset == 178
    assert (file.read(4, 4)) != (77).to_bytes(4)


def test_a_damaged_log_is_not_blamed_on_the_index() -> None:
    machine = Machine()
    segment = filled(machine)
    segment.settle()
    segment.file.write(segment.size_bytes // 2 - segment.size_bytes // 2 % 93, [b"\xff" * 300])

    def find_all() -> None:
        for offset in range(100, 180):
            segment.find(offset)

    with pytest.raises(CorruptLog):
        find_all()


def test_an_index_that_cannot_be_revived_is_built_anew() -> None:
    machine = Machine()
    segment = filled(machine)
    before = list(segment.offsets.entries())
    segment.settle()
    machine.process.open(segment.path(TIME_INDEX), "write").truncate(3)
    segment.times.close()
    segment.revive()
    assert list(segment.offsets.entries()) == before
    assert segment.offsets.is_live
    assert segment.times.is_live


def test_a_batch_cut_short_is_no_batch() -> None:
    segment = filled(Machine(), count=2)
    segment.size_bytes -= 1
    with pytest.raises(CorruptLog, match="of which"):
        list(segment.headers())


def test_the_offset_behind_a_position_is_that_of_the_last_whole_batch() -> None:
    segment = filled(Machine())
    bounds = [(position + header.size_bytes, header) for position, header in segment.headers()]
    for end, header in bounds:
        assert segment.offset_behind(end) == header.next_offset
        assert segment.offset_behind(end - 1) == header.base_offset
        assert segment.offset_behind(end + 1) == header.next_offset


def test_reserved_space_reads_as_no_batch_and_is_given_back() -> None:
    machine = Machine()
    segment = Segment.create(machine.process, PATH, 0, 200, reserve_bytes=100_000)
    data = batch(b"a")
    segment.append([data], len(data), 0, 1000, 0)
    assert segment.file.size() == 100_000
    assert [header.base_offset for _, header in segment.headers()] == [0]
    segment.settle()
    assert segment.file.size() == len(data)


def test_offsets_fit_an_index_up_to_thirty_one_bits() -> None:
    segment = Segment.create(Machine().process, PATH, 100, 200)
    assert segment.holds_offset(100 + 2**31 - 1)
    assert not segment.holds_offset(100 + 2**31)
    assert not segment.holds_offset(99)


def test_the_files_of_a_segment_end_with_its_log() -> None:
    machine = Machine()
    segment = filled(machine)
    assert segment.names() == [segment.path(LOG)]
    segment.settle()
    run(segment.sync())
    assert segment.names() == [segment.path(kind) for kind in (TIME_INDEX, INDEX, LOG)]


@pytest.mark.parametrize("lie", [10**6, -(2**31), -1000])
def test_an_index_that_leads_out_of_the_log_is_noticed(lie: int) -> None:
    machine = Machine()
    segment = filled(machine)
    segment.settle()
    entries = machine.process.open(segment.path(INDEX), "write")
    for number in range(len(segment.offsets)):
        entries.write(8 * number + 4, [(lie + number).to_bytes(4, signed=True)])
    found = segment.find(150)
    assert found is not None
    assert found[1].base_offset == 150


@pytest.mark.parametrize("life", ["settled here", "read from a file", "revived"])
@pytest.mark.parametrize("position", [b"\x80\0\0\0", b"\x10\0\0\0", b"\0\0\0\x07"])
def test_an_index_that_rots_in_its_file_is_made_anew(life: str, position: bytes) -> None:
    # Found by seeds 3022, 5060 and 5066 of the log profile.
    machine = Machine()
    segment = filled(machine)
    segment.settle()
    if life == "settled here":
        segment.offsets.close()
    file = machine.process.open(segment.path(INDEX), "write")
    file.write(4, [position])
    if life != "settled here":
        segment.close()
        segment = Segment.open(machine.process, PATH, 100, 200)
        segment.adopt_indexes()
        segment.next_offset = 180
    if life == "revived":
        segment.revive()
    for offset in range(100, 180):
        found = segment.find(offset)
        assert found is not None
        assert found[1].base_offset == offset - offset % 2
    assert segment.offset_behind(segment.size_bytes) == 180
    assert segment.offsets.is_live == (life == "revived")


def test_a_rotten_index_does_not_keep_a_segment_from_being_cut() -> None:
    machine = Machine()
    segment = filled(machine)
    segment.settle()
    segment.offsets.close()
    machine.process.open(segment.path(INDEX), "write").write(12, [b"\x7f"])
    segment.truncate(150)
    assert (segment.next_offset, segment.youngest) == (150, (241, 149))
