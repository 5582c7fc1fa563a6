"""What only a real disk can show: calls that do half the work, threads, flushes that fail."""

import asyncio
import errno
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from barnabas.host.disk import HostDisk, HostFile
from barnabas.runtime.disk import LOCK_NAME, Buffer, Disk


class Device:
    """Stands where ``fdatasync`` was: counts, waits to be let through, fails on demand."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.failure: OSError | None = None
        self.entered = threading.Semaphore(0)
        self.gate = threading.Semaphore(0)

    def __call__(self, fd: int) -> None:
        self.started.append(os.fstat(fd).st_size)
        self.entered.release()
        assert self.gate.acquire(timeout=10)
        if self.failure is not None:
            raise self.failure

    def let_through(self, count: int = 1) -> None:
        self.gate.release(count)

    async def wait_until_entered(self) -> None:
        assert await asyncio.to_thread(self.entered.acquire, timeout=10)


@pytest.fixture
def disk() -> Iterator[HostDisk]:
    """Yield a disk whose threads end with the test."""
    disk = HostDisk()
    yield disk
    disk.close()


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    """Put a device of our own under every file."""
    device = Device()
    monkeypatch.setattr(os, "fdatasync", device)
    return device


def created(disk: HostDisk, path: Path) -> HostFile:
    """Return a new file that holds one byte."""
    file = disk.open(str(path / "log"), "exclusive")
    file.write(0, [b"x"])
    return file


async def a_few_turns() -> None:
    """Let everything that can go on go on."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_this_is_a_disk_as_the_product_knows_it(disk: HostDisk, tmp_path: Path) -> None:
    as_the_product_sees_it: Disk = disk
    assert as_the_product_sees_it.names(str(tmp_path)) == []


def test_those_who_ask_together_share_one_flush(
    disk: HostDisk, device: Device, tmp_path: Path
) -> None:
    async def sixteen() -> None:
        file = created(disk, tmp_path)
        device.let_through()
        await asyncio.gather(*(file.sync() for _ in range(16)))
        file.close()

    asyncio.run(sixteen())
    assert len(device.started) == 1


def test_who_asks_during_a_flush_waits_for_the_next_one(
    disk: HostDisk, device: Device, tmp_path: Path
) -> None:
    async def one_after_the_other() -> None:
        file = created(disk, tmp_path)
        early = asyncio.ensure_future(file.sync())
        await device.wait_until_entered()
        file.write(1, [b"y"])
        late = asyncio.ensure_future(file.sync())
        await a_few_turns()
        device.let_through()
        await early
        assert not late.done()
        device.let_through()
        await late
        file.close()

    asyncio.run(one_after_the_other())
    assert device.started == [1, 2]


def test_who_is_woken_and_writes_again_joins_those_who_came_too_late(
    disk: HostDisk, device: Device, tmp_path: Path
) -> None:
    async def two_groups_become_one() -> None:
        file = created(disk, tmp_path)

        async def twice() -> None:
            await file.sync()
            file.write(file.size(), [b"y"])
            await file.sync()

        writers = [asyncio.ensure_future(twice()) for _ in range(8)]
        await device.wait_until_entered()
        late = asyncio.ensure_future(file.sync())
        await a_few_turns()
        device.let_through(2)
        await asyncio.gather(late, *writers)
        file.close()

    asyncio.run(two_groups_become_one())
    assert device.started == [1, 9]


def test_a_failed_flush_is_told_to_everybody_and_for_good(
    disk: HostDisk, device: Device, tmp_path: Path
) -> None:
    async def poisoned() -> None:
        file = created(disk, tmp_path)
        early = asyncio.ensure_future(file.sync())
        await device.wait_until_entered()
        late = asyncio.ensure_future(file.sync())
        await a_few_turns()
        device.failure = OSError(errno.EIO, "I/O error")
        device.let_through()
        for waiter in (early, late):
            with pytest.raises(OSError, match=r"Input/output error.*log") as caught:
                await waiter
            assert caught.value.errno == errno.EIO
        # The device is well again, as the kernel would have it, and the data is lost all the same.
        device.failure = None
        device.let_through()
        with pytest.raises(OSError, match="log"):
            await file.sync()
        file.close()
        # Who opens the file anew is believed: the contract warns of it.
        again = disk.open(str(tmp_path / "log"), "write")
        await again.sync()
        again.close()

    asyncio.run(poisoned())
    assert len(device.started) == 2


def test_a_directory_that_cannot_be_flushed_says_so(
    disk: HostDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(fd: int) -> None:
        raise OSError(errno.EIO, "I/O error")

    monkeypatch.setattr(os, "fsync", failing)
    before = open_files()
    with pytest.raises(OSError, match=tmp_path.name):
        asyncio.run(disk.sync_directory(str(tmp_path)))
    assert open_files() == before


def open_files() -> int:
    """Return how many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


def test_a_file_number_is_given_back_by_its_last_user(
    disk: HostDisk, device: Device, tmp_path: Path
) -> None:
    async def closed_while_used() -> None:
        file = created(disk, tmp_path)
        before = open_files()
        fd = file.hold()
        flushed = asyncio.ensure_future(file.sync())
        await device.wait_until_entered()
        file.close()
        assert open_files() == before
        device.let_through()
        await flushed
        assert open_files() == before
        assert os.pread(fd, 1, 0) == b"x"
        file.release()
        assert open_files() == before - 1
        with pytest.raises(AssertionError, match="closed"):
            file.hold()
        with pytest.raises(AssertionError, match="released"):
            file.release()

    asyncio.run(closed_while_used())


def test_there_is_no_thread_before_a_flush_and_few_after_many(tmp_path: Path) -> None:
    disk = HostDisk()
    before = set(threading.enumerate())
    opened = [disk.open(str(tmp_path / str(number)), "create") for number in range(32)]
    # Of earlier tests some may be ending just now.
    assert not set(threading.enumerate()) - before

    async def all_at_once() -> None:
        await opened[0].sync()
        assert len(set(threading.enumerate()) - before) == 1
        await asyncio.gather(*(file.sync() for file in opened))

    asyncio.run(all_at_once())
    made = set(threading.enumerate()) - before
    assert 1 <= len(made) <= 4
    for file in opened:
        file.close()
    disk.close()
    for thread in made:
        thread.join(timeout=10)
        assert not thread.is_alive()


def test_a_flush_that_outlives_its_loop_disturbs_nobody(
    disk: HostDisk, device: Device, tmp_path: Path
) -> None:
    async def left_behind() -> None:
        waiting = asyncio.ensure_future(file.sync())
        await device.wait_until_entered()
        waiting.cancel()

    file = created(disk, tmp_path)
    asyncio.run(left_behind())
    device.let_through(2)
    other = disk.open(str(tmp_path / "other"), "create")
    asyncio.run(other.sync())
    other.close()


def test_a_write_goes_on_where_the_system_call_stopped(
    disk: HostDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, calls = os.pwritev, []

    def stingy(fd: int, parts: Sequence[Buffer], offset: int) -> int:
        calls.append(offset)
        return whole(fd, [b"".join(parts)[:7]], offset)

    monkeypatch.setattr(os, "pwritev", stingy)
    file = disk.open(str(tmp_path / "log"), "create")
    parts = [b"", b"abc", b"", b"defghij", b"klm", b"nopqrstuvwxyz", b""]
    assert file.write(2, parts) == 26
    assert file.read(2, 100) == b"abcdefghijklmnopqrstuvwxyz"
    assert calls == [2, 9, 16, 23]
    file.close()


def test_a_read_goes_on_where_the_system_call_stopped(
    disk: HostDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pread, preadv = os.pread, os.preadv

    def stingy(fd: int, count: int, offset: int) -> bytes:
        return pread(fd, min(count, 7), offset)

    def stingy_into(fd: int, buffers: Sequence[memoryview], offset: int) -> int:
        return preadv(fd, [buffers[0][:7]], offset)

    file = disk.open(str(tmp_path / "log"), "create")
    file.write(0, [b"abcdefghijklmnopqrstuvwxyz"])
    monkeypatch.setattr(os, "pread", stingy)
    monkeypatch.setattr(os, "preadv", stingy_into)
    assert file.read(1, 24) == b"bcdefghijklmnopqrstuvwxy"
    assert file.read(20, 24) == b"uvwxyz"
    into = bytearray(30)
    assert file.read_into(4, memoryview(into)) == 22
    assert into.rstrip(b"\0") == b"efghijklmnopqrstuvwxyz"
    file.close()


def test_a_file_that_may_not_grow_names_itself(disk: HostDisk, tmp_path: Path) -> None:
    # The nearest thing to a full disk that a test may bring about.
    file = disk.open(str(tmp_path / "log"), "create")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match="log") as caught:
            file.write(0, [b"x" * 6_000, b"y" * 6_000])
        assert caught.value.errno == errno.EFBIG
        assert file.size() == 10_000
        with pytest.raises(OSError, match="log"):
            file.allocate(1 << 20)
        with pytest.raises(OSError, match="log"):
            file.truncate(1 << 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.size() == 10_000
    file.close()


def test_a_lock_keeps_out_a_java_process_and_ends_with_its_process(
    disk: HostDisk, tmp_path: Path
) -> None:
    # Java's FileChannel.lock is a record lock, which is what lockf takes.
    program = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1], 'a')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / LOCK_NAME)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(BlockingIOError, match="another process"):
            disk.lock(str(tmp_path))
        other.kill()
    lock = disk.lock(str(tmp_path))
    refused = subprocess.run(command, input=b"", capture_output=True, check=False)
    assert b"BlockingIOError" in refused.stderr
    lock.release()
    accepted = subprocess.run(command, input=b"", capture_output=True, check=True)
    assert accepted.stdout == b"locked\n"
