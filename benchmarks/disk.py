"""The two disks: the host's beside bare system calls, the simulated one alone.

Every figure is taken in the working directory, which is on a disk, and not where temporary files
go, which may be memory.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial

from barnabas.host.disk import HostDisk, HostFile
from barnabas.sim.disk import SimDisk
from barnabas.sim.disk_faults import Calm
from benchmarks.report import Row, interleaved

MIB = 1 << 20
FILE_BYTES = 64 * MIB
WRITERS = 16
ROUNDS = 200


def run(repetitions: int) -> Iterator[Row]:
    """Measure both disks."""
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as directory:
        disk = HostDisk()
        file = disk.open(f"{directory}/log", "create")
        # Warm: every page is in the cache and on the device before the first figure.
        file.allocate(FILE_BYTES)
        asyncio.run(file.sync())
        yield from plain_calls(repetitions, file)
        yield from flushes(repetitions, file)
        yield allocation(repetitions, disk, directory)
        file.close()
        disk.close()
    yield from simulated(repetitions)


def plain_calls(repetitions: int, file: HostFile) -> Iterator[Row]:
    """Compare writes and reads with pwritev and pread."""
    fd = file.hold()

    def write(parts: list[bytes], at: int) -> None:
        file.write(at, parts)

    def raw_write(parts: list[bytes], at: int) -> None:
        os.pwritev(fd, parts, at)

    def read(size: int, at: int) -> None:
        file.read(at, size)

    def raw_read(size: int, at: int) -> None:
        os.pread(fd, size, at)

    for size, goal in ((MIB, ">= 0.95"), (16 * 1024, ">= 0.85"), (100, "")):
        parts = [bytes(61), os.urandom(size - 61)]
        ours, theirs = interleaved(
            repetitions * 3,
            partial(rate, size, partial(write, parts)),
            partial(rate, size, partial(raw_write, parts)),
        )
        case = f"write {size} B in two parts"
        yield Row("disk", case, "calls/s", ours, theirs, "os.pwritev", goal, "more")
    for size, goal in ((MIB, ">= 0.95"), (16 * 1024, ">= 0.85")):
        ours, theirs = interleaved(
            repetitions * 3,
            partial(rate, size, partial(read, size)),
            partial(rate, size, partial(raw_read, size)),
        )
        yield Row("disk", f"read {size} B", "calls/s", ours, theirs, "os.pread", goal, "more")
    file.release()


def flushes(repetitions: int, file: HostFile) -> Iterator[Row]:
    """Compare writers that wait for their bytes with a bare loop of writes and fdatasync."""
    fd, batch = file.hold(), os.urandom(1024)

    def raw(writers: int) -> float:
        begin = time.perf_counter()
        for at in range(ROUNDS):
            for writer in range(writers):
                os.pwrite(fd, batch, (at * writers + writer) * len(batch))
            os.fdatasync(fd)
        return ROUNDS * writers / (time.perf_counter() - begin)

    async def awaited(writers: int) -> float:
        count = 0

        async def writer() -> None:
            nonlocal count
            for _ in range(ROUNDS):
                offset, count = count * len(batch), count + 1
                file.write(offset, [batch])
                await file.sync()

        begin = time.perf_counter()
        await asyncio.gather(*(writer() for _ in range(writers)))
        return ROUNDS * writers / (time.perf_counter() - begin)

    def waited_for(writers: int) -> float:
        return asyncio.run(awaited(writers))

    for writers, goal in ((WRITERS, ">= 0.8"), (1, "")):
        ours, theirs = interleaved(
            repetitions * 3, partial(waited_for, writers), partial(raw, writers)
        )
        case = f"append 1 KiB and wait for the flush, {writers} at a time"
        yield Row("disk", case, "appends/s", ours, theirs, "pwrite, fdatasync", goal, "more")
    file.release()


def allocation(repetitions: int, disk: HostDisk, directory: str) -> Row:
    """Compare flushed appends into allocated space with those that let the file grow."""

    async def appended(allocate: bool) -> float:
        file = disk.open(f"{directory}/grown", "exclusive")
        if allocate:
            file.allocate(ROUNDS * 16_384)
        await file.sync()
        batch = os.urandom(16_384)
        begin = time.perf_counter()
        for at in range(ROUNDS):
            file.write(at * len(batch), [batch])
            await file.sync()
        seconds = time.perf_counter() - begin
        file.close()
        disk.remove(file.path)
        return ROUNDS / seconds

    ours, theirs = interleaved(
        repetitions, lambda: asyncio.run(appended(True)), lambda: asyncio.run(appended(False))
    )
    case = "flushed append of 16 KiB, allocated"
    return Row("disk", case, "appends/s", ours, theirs, "a file that grows", ">= 1.1", "more")


def simulated(repetitions: int) -> Iterator[Row]:
    """Measure what the simulator pays for its disk."""

    async def at_once(duration_ns: int) -> None:
        return

    async def appended(size: int, sync_every: int) -> float:
        batch = bytes(size)
        disk = SimDisk(Calm()).process(lambda: None, lambda duration_ns: None, at_once)
        file, count = disk.open("/log", "create"), 20_000
        begin = time.perf_counter()
        for at in range(count):
            file.write(at * len(batch), [batch])
            if at % sync_every == 0:
                await file.sync()
        return count / (time.perf_counter() - begin)

    def run_appended(size: int, every: int) -> float:
        return asyncio.run(appended(size, every))

    for size, every in ((100, 1), (100, 100), (1024, 1)):
        (ours,) = interleaved(repetitions, partial(run_appended, size, every))
        case = f"simulated append of {size} B, a sync for every {every}"
        yield Row("disk", case, "appends/s", ours, None, "", "", "more")


def rate(size: int, call: Callable[[int], None]) -> float:
    """Return calls per second, each a step of ``size`` further, round and round the file."""
    steps = FILE_BYTES // size
    count = min(max(steps, 512), 20_000)
    begin = time.perf_counter()
    for at in range(count):
        call(at % steps * size)
    return count / (time.perf_counter() - begin)
