"""What the product may rely on, whichever disk it is given.

Every test runs on a real file system and on the simulated one without faults.  At the end a state
machine does the same random operations on both and on a stupid twin, and compares every answer.
"""

import asyncio
import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from barnabas.host.disk import HostDisk
from barnabas.runtime.disk import LOCK_NAME, Disk, File, Mode
from barnabas.sim.disk import SimDisk
from barnabas.sim.disk_faults import Calm


class World(NamedTuple):
    """A disk, a directory to work in, and the disk as another process would have it."""

    disk: Disk
    root: str
    other: Disk


def simulated(disk: SimDisk) -> Disk:
    """Return a simulated disk for a process that never dies and has time."""

    async def soon(duration_ns: int) -> None:
        await asyncio.sleep(0)

    return disk.process(lambda: None, lambda duration_ns: None, soon)


@pytest.fixture(params=["host", "sim"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Yield each of the worlds."""
    if request.param == "host":
        disk, other = HostDisk(), HostDisk()
        yield World(disk, str(tmp_path), other)
        disk.close()
        other.close()
    else:
        shared = SimDisk(Calm())
        here = simulated(shared)
        here.make_directory("/data")
        yield World(here, "/data", simulated(shared))


def test_reads_end_where_the_file_ends(world: World) -> None:
    file = world.disk.open(f"{world.root}/log", "create")
    assert file.write(0, [b"hello", bytearray(b" "), memoryview(b"world")]) == 11
    assert file.size() == 11
    assert file.read(0, 100) == b"hello world"
    assert file.read(6, 3) == b"wor"
    assert file.read(11, 1) == b""
    assert file.read(50, 1) == b""
    into = bytearray(b"-" * 8)
    assert file.read_into(6, memoryview(into)) == 5
    assert into == b"world---"
    file.close()


def test_what_was_never_written_reads_as_zeros(world: World) -> None:
    file = world.disk.open(f"{world.root}/log", "create")
    file.write(10_000, [b"x"])
    assert file.read(9_999, 2) == b"\0x"
    file.truncate(5)
    file.truncate(10_001)
    assert file.read(0, 20_000) == bytes(10_001)
    file.close()


def test_a_write_may_have_more_parts_than_a_system_call_takes(world: World) -> None:
    file = world.disk.open(f"{world.root}/log", "create")
    parts = [bytes([index % 251]) * (index % 7) for index in range(5_000)]
    assert file.write(3, parts) == sum(map(len, parts))
    assert file.read(3, 1 << 20) == b"".join(parts)
    assert file.write(0, []) == 0
    assert file.write(0, [b""]) == 0
    file.close()


def test_allocated_space_is_part_of_the_file_and_reads_as_zeros(world: World) -> None:
    file = world.disk.open(f"{world.root}/log", "create")
    file.write(0, [b"head"])
    free = world.disk.free_bytes(world.root)
    file.allocate(8 << 20)
    assert file.size() == 8 << 20
    assert file.read(0, 8) == b"head\0\0\0\0"
    assert not any(file.read((8 << 20) - 4096, 8192))
    assert world.disk.free_bytes(world.root) < free
    file.allocate(100)
    assert file.size() == 8 << 20
    file.truncate(4)
    assert file.read(0, 100) == b"head"
    file.close()


@pytest.mark.parametrize("name", ["log", "below/log"])
def test_each_mode_asks_for_what_it_says(world: World, name: str) -> None:
    disk, path = world.disk, f"{world.root}/{name}"
    disk.make_directory(f"{world.root}/below")
    for mode in ("read", "write"):
        with pytest.raises(FileNotFoundError):
            disk.open(path, mode)
    disk.open(path, "exclusive").close()
    with pytest.raises(FileExistsError):
        disk.open(path, "exclusive")
    file = disk.open(path, "create")
    file.write(0, [b"kept"])
    file.close()
    file = disk.open(path, "create")
    assert file.read(0, 10) == b"kept"
    file.close()
    file = disk.open(path, "write")
    file.write(4, [b"!"])
    file.close()
    file = disk.open(path, "read")
    assert file.read(0, 10) == b"kept!"
    assert file.path == path
    file.close()


def test_a_directory_is_no_file(world: World) -> None:
    disk, path = world.disk, f"{world.root}/directory"
    disk.make_directory(path)
    for mode in ("read", "write", "create"):
        with pytest.raises(IsADirectoryError):
            disk.open(path, mode)
    with pytest.raises(FileExistsError):
        disk.open(path, "exclusive")
    with pytest.raises(IsADirectoryError):
        disk.remove(path)
    disk.open(f"{path}/file", "create").close()
    with pytest.raises(NotADirectoryError):
        disk.open(f"{path}/file/below", "create")
    with pytest.raises(NotADirectoryError):
        disk.names(f"{path}/file")


def test_an_error_says_which_file_it_is_about(world: World) -> None:
    path = f"{world.root}/missing"
    with pytest.raises(FileNotFoundError) as caught:
        world.disk.open(path, "read")
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == path


def test_an_offset_below_zero_is_a_bug(world: World) -> None:
    file = world.disk.open(f"{world.root}/log", "create")
    uses: list[Callable[[], object]] = [
        lambda: file.write(-1, [b"x"]),
        lambda: file.read(-1, 1),
        lambda: file.read(0, -1),
        lambda: file.read_into(-1, memoryview(bytearray(1))),
        lambda: file.truncate(-1),
        lambda: file.allocate(0),
    ]
    for use in uses:
        with pytest.raises(AssertionError):
            use()
    assert file.size() == 0
    file.close()


def test_using_a_closed_file_is_a_bug(world: World) -> None:
    path = f"{world.root}/log"
    file = world.disk.open(path, "create")
    file.close()
    file.close()
    uses: list[Callable[[], object]] = [
        lambda: file.read(0, 1),
        lambda: file.read_into(0, memoryview(bytearray(1))),
        lambda: file.write(0, [b"x"]),
        lambda: file.truncate(0),
        lambda: file.allocate(1),
        file.size,
        lambda: asyncio.run(file.sync()),
    ]
    for use in uses:
        with pytest.raises(AssertionError, match="closed"):
            use()
    reader = world.disk.open(path, "read")
    for use in (
        lambda: reader.write(0, [b"x"]),
        lambda: reader.truncate(0),
        lambda: reader.allocate(1),
    ):
        with pytest.raises(AssertionError, match="read"):
            use()
    reader.close()


def test_a_removed_file_can_be_read_by_who_has_it_open(world: World) -> None:
    disk, path = world.disk, f"{world.root}/log"
    file = disk.open(path, "create")
    file.write(0, [b"old"])
    disk.remove(path)
    assert not disk.exists(path)
    anew = disk.open(path, "exclusive")
    anew.write(0, [b"new"])
    assert file.read(0, 3) == b"old"
    assert anew.read(0, 3) == b"new"
    file.close()
    anew.close()
    with pytest.raises(FileNotFoundError):
        disk.remove(f"{path}.other")


def test_a_rename_replaces_a_file_and_leaves_its_readers_alone(world: World) -> None:
    disk, root = world.disk, world.root
    for name, content in (("state", b"old"), ("state.tmp", b"new")):
        file = disk.open(f"{root}/{name}", "create")
        file.write(0, [content])
        file.close()
    reader = disk.open(f"{root}/state", "read")
    disk.rename(f"{root}/state.tmp", f"{root}/state")
    assert disk.names(root) == ["state"]
    assert reader.read(0, 3) == b"old"
    again = disk.open(f"{root}/state", "read")
    assert again.read(0, 3) == b"new"
    reader.close()
    again.close()


def test_directories_are_made_whole_renamed_and_removed_when_empty(world: World) -> None:
    disk, root = world.disk, world.root
    disk.make_directory(f"{root}/a/b/c")
    disk.make_directory(f"{root}/a/b/c")
    assert disk.is_directory(f"{root}/a/b/c")
    disk.open(f"{root}/a/b/file", "create").close()
    assert not disk.is_directory(f"{root}/a/b/file")
    assert disk.exists(f"{root}/a/b/file")
    assert not disk.exists(f"{root}/a/b/file/below")
    assert disk.names(f"{root}/a/b") == ["c", "file"]
    with pytest.raises(OSError, match="empty"):
        disk.remove_directory(f"{root}/a/b")
    with pytest.raises(FileExistsError):
        disk.make_directory(f"{root}/a/b/file")
    with pytest.raises(NotADirectoryError):
        disk.make_directory(f"{root}/a/b/file/d")
    disk.rename(f"{root}/a/b", f"{root}/moved")
    assert disk.names(f"{root}/moved") == ["c", "file"]
    assert disk.names(f"{root}/a") == []
    disk.remove_directory(f"{root}/a")
    assert disk.names(root) == ["moved"]


def test_everybody_who_waits_for_a_sync_is_answered(world: World) -> None:
    file = world.disk.open(f"{world.root}/log", "create")
    written: list[int] = []

    async def writer(number: int) -> None:
        for turn in range(5):
            file.write(number * 5 + turn, [b"x"])
            await file.sync()
            written.append(number)

    async def all_of_them() -> None:
        await asyncio.gather(*map(writer, range(16)))
        await world.disk.sync_directory(world.root)

    asyncio.run(all_of_them())
    assert len(written) == 80
    assert file.read(0, 100) == b"x" * 80
    file.close()


def test_closing_a_file_answers_who_waits_for_its_sync(world: World) -> None:
    async def closed_at_once() -> None:
        file = world.disk.open(f"{world.root}/log", "create")
        file.write(0, [b"x"])
        first = asyncio.ensure_future(file.sync())
        await asyncio.sleep(0)
        second = asyncio.ensure_future(file.sync())
        await asyncio.sleep(0)
        file.close()
        # Likely to be given the number of the closed one, if that were free already.
        other = world.disk.open(f"{world.root}/other", "create")
        await first
        await second
        other.close()

    asyncio.run(closed_at_once())


def test_a_waiter_that_is_cancelled_takes_nobody_with_it(world: World) -> None:
    async def one_gives_up() -> None:
        file = world.disk.open(f"{world.root}/log", "create")
        file.write(0, [b"x"])
        patient, hasty = asyncio.ensure_future(file.sync()), asyncio.ensure_future(file.sync())
        await asyncio.sleep(0)
        hasty.cancel()
        await patient
        with pytest.raises(asyncio.CancelledError):
            await hasty
        await file.sync()
        file.close()

    asyncio.run(one_gives_up())


def test_syncing_a_missing_directory_says_so(world: World) -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(world.disk.sync_directory(f"{world.root}/missing"))
    world.disk.open(f"{world.root}/file", "create").close()
    with pytest.raises(NotADirectoryError):
        asyncio.run(world.disk.sync_directory(f"{world.root}/file"))


def test_a_directory_is_locked_by_one_at_a_time(world: World) -> None:
    lock = world.disk.lock(world.root)
    assert world.disk.names(world.root) == [LOCK_NAME]
    for disk in (world.disk, world.other):
        with pytest.raises(BlockingIOError, match=r"stop it .*\.lock") as caught:
            disk.lock(world.root)
        assert caught.value.errno == errno.EAGAIN
    lock.release()
    lock.release()
    other = world.other.lock(world.root)
    with pytest.raises(BlockingIOError):
        world.disk.lock(world.root)
    other.release()
    with pytest.raises(FileNotFoundError):
        world.disk.lock(f"{world.root}/missing")


class TwinFile:
    """A file as a child would have it."""

    def __init__(self) -> None:
        self.data = bytearray()


Twin = dict[str, TwinFile | None]

NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
OFFSETS = st.one_of(st.integers(0, 40), st.integers(4_000, 4_200), st.integers(8_100, 13_000))
PARTS = st.lists(
    st.one_of(st.binary(max_size=5), st.integers(0, 9_000).map(lambda n: b"z" * n)), max_size=4
)
MODES = st.sampled_from(["read", "write", "create", "create", "exclusive"])


class DisksAgree(RuleBasedStateMachine):
    """The same operations on the host, in the simulator and on a twin: the same answers."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp()
        self.host = HostDisk()
        self.sim = simulated(SimDisk(Calm()))
        self.runner = asyncio.Runner()
        self.twin: Twin = {"": None}
        self.files: list[tuple[File, File, TwinFile, Mode]] = []

    def teardown(self) -> None:
        for host, sim, _, _ in self.files:
            host.close()
            sim.close()
        self.runner.close()
        self.host.close()
        shutil.rmtree(self.root)

    def both(self, call: Callable[[Disk, str], Any]) -> tuple[Any, int]:
        """Do the same on both disks; return what the simulated one said, and its errno."""
        answers = []
        for disk, root in ((self.host, self.root), (self.sim, "")):
            try:
                answers.append((call(disk, root), 0))
            except OSError as error:
                answers.append((None, error.errno or -1))
        (said, wrong), (sim_said, sim_wrong) = answers
        assert wrong == sim_wrong
        if not hasattr(said, "close"):
            assert said == sim_said
        return (said, sim_said), wrong

    @rule(name=NAMES, mode=MODES)
    def open(self, name: str, mode: Mode) -> None:
        (host, sim), wrong = self.both(lambda disk, root: disk.open(f"{root}/{name}", mode))
        parent_is_there = self.is_directory(name.rpartition("/")[0])
        if wrong:
            missing = name not in self.twin and (mode in ("read", "write") or not parent_is_there)
            taken = name in self.twin and (mode == "exclusive" or self.is_directory(name))
            assert missing or taken
        else:
            assert parent_is_there
            file = self.twin.setdefault(name, TwinFile())
            assert file is not None
            self.files.append((host, sim, file, mode))

    @precondition(lambda self: self.files)
    @rule(data=st.data(), offset=OFFSETS, parts=PARTS)
    def write(self, data: st.DataObject, offset: int, parts: list[bytes]) -> None:
        host, sim, twin, mode = self.pick(data)
        if mode == "read":
            return
        whole = b"".join(parts)
        assert host.write(offset, parts) == sim.write(offset, parts) == len(whole)
        if whole:
            twin.data.extend(bytes(max(0, offset + len(whole) - len(twin.data))))
            twin.data[offset : offset + len(whole)] = whole

    @precondition(lambda self: self.files)
    @rule(data=st.data(), offset=OFFSETS, count=OFFSETS)
    def read(self, data: st.DataObject, offset: int, count: int) -> None:
        host, sim, twin, _ = self.pick(data)
        expected = bytes(twin.data[offset : offset + count])
        assert host.read(offset, count) == sim.read(offset, count) == expected
        into, sim_into = bytearray(count), bytearray(count)
        assert host.read_into(offset, memoryview(into)) == len(expected)
        assert sim.read_into(offset, memoryview(sim_into)) == len(expected)
        assert into == sim_into

    @precondition(lambda self: self.files)
    @rule(data=st.data(), size=OFFSETS, allocate=st.booleans())
    def resize(self, data: st.DataObject, size: int, allocate: bool) -> None:
        host, sim, twin, mode = self.pick(data)
        if mode == "read":
            return
        for file in (host, sim):
            if allocate:
                file.allocate(size + 1)
            else:
                file.truncate(size)
        if allocate:
            size += 1
        else:
            del twin.data[size:]
        twin.data.extend(bytes(max(0, size - len(twin.data))))
        assert host.size() == sim.size() == len(twin.data)

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def sync(self, data: st.DataObject) -> None:
        host, sim, _, _ = self.pick(data)
        self.runner.run(host.sync())
        self.runner.run(sim.sync())

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        picked = self.pick(data)
        self.files.remove(picked)
        for file in picked[:2]:
            file.close()

    @rule(name=NAMES)
    def look(self, name: str) -> None:
        (there, _), _ = self.both(lambda disk, root: disk.exists(f"{root}/{name}"))
        (directory, _), _ = self.both(lambda disk, root: disk.is_directory(f"{root}/{name}"))
        (names, _), wrong = self.both(lambda disk, root: disk.names(f"{root}/{name}"))
        assert there == (name in self.twin)
        assert directory == self.is_directory(name) == (not wrong)
        if directory:
            below = [path[len(name) + 1 :] for path in self.below(name)]
            assert names == sorted(path for path in below if "/" not in path)

    @rule(name=NAMES)
    def make_directory(self, name: str) -> None:
        _, wrong = self.both(lambda disk, root: disk.make_directory(f"{root}/{name}"))
        above = ["/".join(name.split("/")[:depth]) for depth in range(1, name.count("/") + 2)]
        assert bool(wrong) == any(self.twin.get(path) is not None for path in above)
        if not wrong:
            self.twin.update((path, None) for path in above)

    @rule(old=NAMES, new=NAMES)
    def rename(self, old: str, new: str) -> None:
        _, wrong = self.both(lambda disk, root: disk.rename(f"{root}/{old}", f"{root}/{new}"))
        if wrong or old == new:
            return
        moved = {path: self.twin.pop(path) for path in [old, *self.below(old)]}
        self.twin.update((new + path[len(old) :], file) for path, file in moved.items())

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        _, wrong = self.both(lambda disk, root: disk.remove(f"{root}/{name}"))
        assert bool(wrong) == (self.twin.get(name) is None)
        if not wrong:
            del self.twin[name]

    @rule(name=NAMES)
    def remove_directory(self, name: str) -> None:
        _, wrong = self.both(lambda disk, root: disk.remove_directory(f"{root}/{name}"))
        assert bool(wrong) == (not self.is_directory(name) or bool(self.below(name)))
        if not wrong:
            del self.twin[name]

    @rule(name=NAMES)
    def sync_directory(self, name: str) -> None:
        _, wrong = self.both(
            lambda disk, root: self.runner.run(disk.sync_directory(f"{root}/{name}"))
        )
        assert bool(wrong) == (not self.is_directory(name))

    def pick(self, data: st.DataObject) -> tuple[File, File, TwinFile, Mode]:
        return data.draw(st.sampled_from(self.files))

    def is_directory(self, name: str) -> bool:
        return name in self.twin and self.twin[name] is None

    def below(self, name: str) -> list[str]:
        return [path for path in self.twin if path.startswith(f"{name}/")]


TestDisksAgree = pytest.mark.slow(DisksAgree.TestCase)
TestDisksAgree.settings = settings(max_examples=60, stateful_step_count=40)
