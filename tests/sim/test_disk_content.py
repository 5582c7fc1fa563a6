"""Files of the simulated disk: what a sync makes durable, and what a power loss may leave."""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.sim.disk_content import (
    NOTHING,
    PAGE,
    SECTOR,
    WRITE_BACK_BYTES,
    Content,
    FileNode,
    Operation,
    Resize,
    Write,
    blend,
    cut,
    hollow,
    odds_of,
    tear,
)
from barnabas.sim.disk_faults import Calm, Draw
from tests.sim.allowed import Allowed
from tests.sim.drawing import Seeded, Told

STALE = (b"\xee" * PAGE, b"\xdd" * PAGE)

Outcome = Callable[[Content, Sequence[Operation], Draw], Content]

OUTCOMES: dict[str, Outcome] = {
    "cut": cut,
    "blend": lambda durable, pending, draw: blend(durable, pending, draw, odds_of(draw)),
    "tear": lambda durable, pending, draw: tear(durable, pending, draw, odds_of(draw), STALE),
    "hollow": lambda durable, pending, draw: hollow(durable, pending, draw, odds_of(draw)),
}


def random_steps(random: Random, file: FileNode, allowed: Allowed, count: int) -> None:
    """Write, truncate, extend and sync at random, in the file and for the oracle."""
    for step in range(count):
        match random.choice(["append", "append", "append", "write", "resize", "sync"]):
            case "sync":
                file.settle(file.number)
                allowed.synced()
            case "resize":
                size = random.choice([random.randrange(13_000), len(allowed.now) * 3 // 4])
                file.resize(size)
                allowed.resize(size)
            case kind:
                end = len(allowed.now)
                offset = end if kind == "append" else random.randrange(end + 3_000)
                data = bytes([1 + step % 200]) * random.choice([1, 100, 600, 5_000])
                file.write(offset, data)
                allowed.write(offset, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTCOMES)
def test_a_power_loss_leaves_what_is_allowed_and_nothing_else(name: str) -> None:
    for seed in range(60):
        random, file, allowed = Random(seed), FileNode(), Allowed()
        for _ in range(3):
            random_steps(random, file, allowed, random.randrange(12))
            assert file.cached.read(0, 1 << 20) == allowed.now
            left = OUTCOMES[name](file.durable, file.pending, Seeded(seed))
            # A cut may end inside the last write, which is a length nobody asked for.
            allowed.check(left, sizes=name != "cut", stale=name == "tear")
            file.restart(left)
            assert file.cached.read(0, 1 << 20) == left.read(0, 1 << 20)
            allowed.now = bytearray(left.read(0, left.size))
            allowed.synced()


@pytest.mark.parametrize("name", OUTCOMES)
def test_boring_draws_lose_nothing(name: str) -> None:
    for seed in range(20):
        random, file, allowed = Random(seed), FileNode(), Allowed()
        random_steps(random, file, allowed, 12)
        left = OUTCOMES[name](file.durable, file.pending, Calm())
        assert left.read(0, 1 << 20) == allowed.now
        assert left.size == len(allowed.now)


@pytest.mark.parametrize("name", OUTCOMES)
def test_nothing_is_lost_once_it_is_synced(name: str) -> None:
    for seed in range(20):
        random, file, allowed = Random(seed), FileNode(), Allowed()
        random_steps(random, file, allowed, 12)
        file.settle(file.number)
        left = OUTCOMES[name](file.durable, file.pending, Seeded(seed))
        assert left.read(0, 1 << 20) == allowed.now


def outcomes(name: str, pending: Sequence[Operation], seeds: int = 300) -> Counter[bytes]:
    """Return what one situation may become, over many seeds."""
    durable = Content(0, {})
    durable.write(0, b"a" * 3 * PAGE)
    for index in range(3):
        durable.freeze(index)
    found: Counter[bytes] = Counter()
    for seed in range(seeds):
        left = OUTCOMES[name](durable, pending, Seeded(seed))
        found[left.read(0, left.size)] += 1
    return found


OVERWRITES = [Write(index * PAGE, b"b" * PAGE) for index in range(3)]


def test_a_cut_keeps_the_order_of_operations() -> None:
    found = outcomes("cut", OVERWRITES)
    assert all(data == data.replace(b"ab", b"") or b"ab" not in data for data in found)
    torn = [data for data in found if data.count(b"b") % PAGE]
    assert len(torn) > 10
    assert all(data.count(b"b") % SECTOR == 0 for data in found)


def test_blocks_come_true_independently_and_whole() -> None:
    found = outcomes("blend", OVERWRITES)
    assert {data[::PAGE] for data in found} == {
        bytes(pattern)
        for pattern in (b"aaa", b"aab", b"aba", b"abb", b"baa", b"bab", b"bba", b"bbb")
    }
    assert len(found) == 8


def test_a_block_may_be_left_at_any_version_since_its_last_sync() -> None:
    versions = [Write(0, bytes([letter]) * 10) for letter in b"bcdefg"]
    found = outcomes("blend", versions)
    assert {data[:1] for data in found} == {b"a", b"b", b"c", b"d", b"e", b"f", b"g"}


def test_a_torn_block_mixes_its_sectors() -> None:
    found = outcomes("tear", OVERWRITES)
    mixed = [data for data in found if len(set(data[:PAGE:SECTOR])) == 2]
    assert len(mixed) > 50
    for data in mixed:
        for start in range(0, PAGE, SECTOR):
            assert len(set(data[start : start + SECTOR])) == 1


def test_fresh_space_may_show_what_a_deleted_file_left_in_it() -> None:
    found = outcomes("tear", [Write(3 * PAGE, b"b" * PAGE)])
    tails = Counter(byte for data in found for byte in data[3 * PAGE :: SECTOR])
    assert set(tails) == {*b"b", 0, 0xEE, 0xDD}
    assert all(data[: 3 * PAGE] == b"a" * 3 * PAGE for data in found)


def test_a_hollow_file_has_its_length_but_zeros_for_data() -> None:
    found = outcomes("hollow", [Write(3 * PAGE, b"b" * 2 * PAGE)])
    assert {len(data) for data in found} == {5 * PAGE}
    assert {data[3 * PAGE :: PAGE] for data in found} == {b"bb", b"\0b", b"b\0", b"\0\0"}


def test_a_truncation_and_what_follows_it_may_be_lost_apart() -> None:
    found = outcomes("blend", [Resize(100), Write(100, b"b" * 2 * PAGE)])
    sizes = {len(data) for data in found}
    assert sizes == {3 * PAGE, 100, 100 + 2 * PAGE}
    # A block from before the truncation beside one from after it: a tail that looks alive.
    assert any(data[0:200] == b"a" * 100 + b"b" * 100 and data[-1:] == b"a" for data in found)


def test_what_is_written_while_a_sync_waits_is_not_durable_by_it() -> None:
    file = FileNode()
    file.write(0, b"a" * 10)
    asked = file.number
    file.write(0, b"b" * 5)
    file.resize(7)
    file.settle(asked)
    assert file.durable.read(0, 100) == b"a" * 10
    assert file.cached.read(0, 100) == b"bbbbbaa"
    file.settle(asked)
    file.settle(file.number)
    assert file.durable.read(0, 100) == b"bbbbbaa"
    assert not file.pending
    assert file.pending_bytes == 0


def test_what_a_failed_sync_lost_is_read_until_the_cache_forgets_it() -> None:
    file = FileNode()
    file.write(0, b"a" * 100)
    file.settle(file.number)
    file.write(50, b"b" * PAGE)
    file.lose(file.number, Told())
    assert file.failures == 1
    assert file.cached.read(0, 1 << 20) == b"a" * 50 + b"b" * PAGE
    # The next sync has nothing to do, and says that all is well.
    file.settle(file.number)
    assert file.durable.read(0, 1 << 20) == b"a" * 100
    file.evict()
    assert file.cached.read(0, 1 << 20) == (b"a" * 100).ljust(PAGE + 50, b"\0")


def test_a_failed_sync_may_have_written_a_part() -> None:
    left = set()
    for seed in range(60):
        file = FileNode()
        file.write(0, b"a" * 2 * PAGE)
        file.lose(file.number, Seeded(seed))
        left.add(file.durable.read(0, 1 << 20)[::PAGE])
    assert left == {b"", b"aa", b"\0a", b"a\0", b"\0\0"}


def test_a_page_written_again_after_a_failed_sync_is_written_whole() -> None:
    file = FileNode()
    file.write(0, b"a" * 100)
    file.lose(file.number, Told())
    file.write(100, b"b" * 100)
    file.settle(file.number)
    assert file.durable.read(0, 1 << 20) == b"a" * 100 + b"b" * 100


def test_what_is_written_during_a_sync_that_fails_is_still_pending() -> None:
    file = FileNode()
    file.write(0, b"a" * PAGE)
    asked = file.number
    file.write(PAGE, b"b" * PAGE)
    file.lose(asked, Told())
    assert file.dirty == {1}
    file.settle(file.number)
    assert file.durable.read(0, 1 << 20) == bytes(PAGE) + b"b" * PAGE


def test_a_file_shortened_and_grown_again_is_durable_without_its_old_tail() -> None:
    file = FileNode()
    file.write(0, b"a" * 3 * PAGE)
    file.settle(file.number)
    file.resize(10)
    file.resize(3 * PAGE)
    file.settle(file.number)
    assert file.durable.read(0, 1 << 20) == (b"a" * 10).ljust(3 * PAGE, b"\0")
    assert list(file.durable.pages) == [0]


def test_pages_are_shared_and_never_changed_under_the_other_side() -> None:
    file = FileNode()
    file.write(0, b"a" * PAGE + b"b" * 10)
    file.settle(file.number)
    assert file.cached.pages[0] is file.durable.pages[0]
    assert file.cached.pages[1] is file.durable.pages[1]
    file.write(PAGE, b"c")
    assert file.durable.read(PAGE, 10) == b"b" * 10
    assert file.cached.read(PAGE, 10) == b"c" + b"b" * 9
    copy = file.cached.copy()
    file.write(PAGE, b"d")
    assert copy.read(PAGE, 1) == b"c"


def test_a_preallocated_gigabyte_costs_nothing() -> None:
    file = FileNode()
    file.resize(1 << 30)
    file.write((1 << 30) - 2, b"x")
    file.settle(file.number)
    assert len(file.durable.pages) == 1
    left = blend(file.durable, [Resize(5), Resize(1 << 30)], Seeded(1), NOTHING)
    assert left.size == 1 << 30


def test_dirty_pages_are_written_back_before_they_pile_up() -> None:
    file = FileNode()
    piece = b"x" * (1 << 20)
    for index in range(2 * WRITE_BACK_BYTES >> 20):
        file.write(index << 20, piece)
        assert file.pending_bytes <= WRITE_BACK_BYTES + len(piece)
    assert file.durable.size >= WRITE_BACK_BYTES // 2
    assert file.pending_bytes == sum(len(op.data) for op in file.pending if isinstance(op, Write))
    file.settle(file.number)
    assert file.durable.read(0, 1 << 30) == piece * (2 * WRITE_BACK_BYTES >> 20)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9_000), st.integers(0, 5_000))))
def test_content_is_a_bytearray_in_pages(steps: list[tuple[bool, int, int]]) -> None:
    content, twin = Content(0, {}), bytearray()
    for number, (write, at, count) in enumerate(steps):
        if write:
            data = bytes([number % 255 + 1]) * count
            content.write(at, data)
            if data:
                twin.extend(bytes(max(0, at + count - len(twin))))
                twin[at : at + count] = data
        else:
            content.resize(at)
            del twin[at:]
            twin.extend(bytes(at - len(twin)))
        assert content.size == len(twin)
        assert content.read(0, 1 << 20) == twin
        assert content.read(at, count) == twin[at : at + count]


def test_draws_name_their_sites() -> None:
    told: Any = Told(disk__crash__dropped=1)
    left = cut(Content(0, {}), [Write(0, b"a" * PAGE)], told)
    assert left.size == 0
    assert told.asked == ["disk.crash.dropped", "disk.crash.torn"]
