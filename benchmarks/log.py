"""The log against what the machine itself can do: append, flush, read, recover, compact.

The other side of each row is the same bytes with nothing of ours around them: one ``pwritev`` and
one CRC-32C over the batch (no log can do less), ``fdatasync`` for all who wait, ``pread`` and
``sendfile`` at known positions, the checksum of a whole file.  Both sides run in turn on the same
file system; take care that the temporary directory is on a real one, where flushing costs.

What is sent is received by another process, as in life: a thread of this one would take the
interpreter's lock away at every system call, which is three times the cost of a read.
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

from barnabas.host.disk import HostDisk
from barnabas.log.compaction import compact
from barnabas.log.config import LogConfig
from barnabas.log.directory import LogDirectory
from barnabas.log.names import TopicPartition
from barnabas.log.partition_log import PartitionLog
from barnabas.log.recovery import Found, open_log
from barnabas.log.segment import RESERVE_BYTES
from barnabas.model.ids import Uuid
from barnabas.records.batch import HEADER_BYTES, PREFIX, header_at
from barnabas.records.builder import BLANK, built
from barnabas.records.checksum import crc32c
from barnabas.records.record import Record
from benchmarks.report import Row, interleaved

T = TypeVar("T")

ORDERS: Final = TopicPartition("orders", 0)
TOPIC_ID: Final = Uuid(bytes(range(16)))
KEPT: Final = LogConfig(retention_ms=-1, max_message_bytes=2 << 20)
RESERVED: Final = replace(KEPT, preallocate=True)

KIB: Final = 1024
MIB: Final = 1024 * KIB
# How much each side appends in one go, at most.
APPENDED_BYTES: Final = 64 * MIB
APPENDS_MAX: Final = 20_000

WRITERS: Final = 16
ACKNOWLEDGED: Final = {100: 200, KIB: 200, MIB: 8}
"""Appends of each writer that are acknowledged once durable, by the size of a batch."""

READS: Final = {100: 8000, KIB: 8000, 16 * KIB: 4000, MIB: 300}
RECOVERED_BYTES: Final = 64 * MIB
COMPACTED_BYTES: Final = 8 * MIB
MESSAGES: Final = 200_000
MESSAGE_BYTES: Final = 100


def run(repetitions: int) -> Iterator[Row]:
    """Measure everything."""
    yield from appends(repetitions)
    yield from acknowledgements(repetitions)
    yield from reads(repetitions)
    yield from recoveries(repetitions)
    yield compaction(repetitions)
    yield index_memory()


def batch_of(size_bytes: int) -> bytes:
    """Return a batch of a size, of messages that are like any others."""
    header = built(BLANK, [Record(0, 1000, None, b"")])
    value_bytes = max(1, min(1000, size_bytes - len(header)))
    count = max(1, (size_bytes - HEADER_BYTES) // (value_bytes + 12))
    draw = Random(size_bytes)
    return built(
        BLANK, [Record(n, 1000 + n, None, draw.randbytes(value_bytes)) for n in range(count)]
    )


class Bench:
    """A directory with one log, and a loop to run it on."""

    def __init__(self, place: str, config: LogConfig) -> None:
        self.path: Final = place
        self.disk: Final = HostDisk()
        self._runner: Final = asyncio.Runner()
        self.home: Final = self.run(LogDirectory.open(self.disk, place))
        self.log: Final = self.run(self.home.create_log(ORDERS, TOPIC_ID, config, 0))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        return self._runner.run(work)

    def close(self) -> None:
        """Give everything back."""
        self.home.abandon()
        self._runner.close()
        self.disk.close()


@contextmanager
def bench(config: LogConfig = KEPT) -> Iterator[Bench]:
    """Make a log to measure, and remove it."""
    with TemporaryDirectory() as place:
        made = Bench(place, config)
        try:
            yield made
        finally:
            made.close()


def timed(work: Callable[[], object]) -> float:
    """Return how many seconds something takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


# --- Append ---------------------------------------------------------------------------------


def appends(repetitions: int) -> Iterator[Row]:
    """Append batches as a leader does, without waiting for the device."""
    goals = {100: "", KIB: "", 16 * KIB: ">= 0.5", MIB: ">= 0.8"}
    for size, goal in goals.items():
        batch = batch_of(size)
        count = min(APPENDS_MAX, APPENDED_BYTES // len(batch))

        def ours(batch: bytes = batch, count: int = count) -> float:
            with bench() as made:
                return rate(len(batch) * count, lambda: append_all(made.log, batch, count))

        def theirs(batch: bytes = batch, count: int = count) -> float:
            # Beside a log, so that the journal has as much to do with what made it.
            with bench() as made:
                fd = os.open(f"{made.path}/raw", os.O_RDWR | os.O_CREAT)
                try:
                    return rate(len(batch) * count, lambda: write_all(fd, batch, count))
                finally:
                    os.close(fd)

        mine, raw = interleaved(repetitions, ours, theirs)
        name = f"append a batch of {len(batch):,} bytes"
        yield Row("log", name, "MB/s", mine, raw, "pwritev and CRC", goal, "more")


def rate(size_bytes: int, work: Callable[[], object]) -> float:
    """Return the megabytes in a second of some work."""
    return size_bytes / timed(work) / 1e6


def append_all(log: PartitionLog, batch: bytes, count: int) -> None:
    """Append a batch so many times."""
    for _ in range(count):
        log.append_as_leader(batch, 0, 2000)


def write_all(fd: int, batch: bytes, count: int) -> None:
    """Write a batch so many times, behind a front of its own; check and forget it."""
    header, view = header_at(batch), memoryview(batch)
    covered, rest, position = view[21:], view[PREFIX.size :], 0
    for number in range(count):
        assert crc32c(covered) == header.crc
        position += os.pwritev(fd, [PREFIX.pack(number, header.length, 0), rest], position)


# --- Acknowledged once durable ----------------------------------------------------------------


def acknowledgements(repetitions: int) -> Iterator[Row]:
    """Append and wait for the device, sixteen at a time; in files that grow, and in zeros."""
    cases = [(KEPT, "grows", size) for size in ACKNOWLEDGED] + [(RESERVED, "is reserved", KIB)]
    for config, space, size in cases:
        # Others' flushes are in the way of both sides, so each has its turn more often.
        mine, raw = interleaved(
            repetitions * 5,
            partial(acknowledged, config, size),
            partial(acknowledged_raw, config.reserved_bytes > 0, size),
        )
        name = f"acknowledge durable {size:,} B, {WRITERS} writers, file {space}"
        goal = ">= 0.8" if (config, size) == (KEPT, KIB) else ""
        yield Row("log", name, "appends/s", mine, raw, "group fdatasync", goal, "more")


def acknowledged(config: LogConfig, size: int) -> float:
    """Let writers append to a log, and each wait for its own."""
    batch, each = batch_of(size), ACKNOWLEDGED[size]
    with bench(config) as made:

        async def writer(count: int) -> None:
            for _ in range(count):
                made.log.append_as_leader(batch, 0, 2000)
                await made.log.flush()

        async def all_writers() -> None:
            await asyncio.gather(*(writer(each) for _ in range(WRITERS)))

        # Makes the log's names and its epoch durable, once and for all.
        made.run(writer(1))
        return WRITERS * each / timed(lambda: made.run(all_writers()))


def acknowledged_raw(reserve: bool, size: int) -> float:
    """Write as many batches to a file, and flush after as many as there are writers."""
    batch, each = batch_of(size), ACKNOWLEDGED[size]
    with bench() as made:
        fd = os.open(f"{made.path}/raw", os.O_RDWR | os.O_CREAT)
        if reserve:
            os.pwrite(fd, bytes(RESERVE_BYTES), 0)
        os.fsync(fd)

        def rounds() -> None:
            position = 0
            for _ in range(each):
                for _ in range(WRITERS):
                    position += os.pwritev(fd, [batch], position)
                os.fdatasync(fd)

        try:
            return WRITERS * each / timed(rounds)
        finally:
            os.close(fd)


# --- Read -------------------------------------------------------------------------------------


def reads(repetitions: int) -> Iterator[Row]:
    """Read batches at random offsets: into memory, and from the file to a socket."""
    for size, count in READS.items():
        with bench() as made:
            batch = batch_of(size)
            append_all(made.log, batch, APPENDED_BYTES // len(batch))
            log = made.log
            path = f"{made.path}/{ORDERS}/{0:020d}.log"
            fd = os.open(path, os.O_RDONLY)
            places = spots(log, batch, count)

            def ours(log: PartitionLog = log, places: Spots = places, size: int = size) -> float:
                def work() -> None:
                    for offset, _ in places:
                        log.read(offset, size, log.end_offset)[1].read()

                return rate(size * len(places), work)

            def theirs(fd: int = fd, places: Spots = places, size: int = size) -> float:
                def work() -> None:
                    for _, position in places:
                        os.pread(fd, size, position)

                return rate(size * len(places), work)

            mine, raw = interleaved(repetitions, ours, theirs)
            name = f"read {size:,} B at an offset"
            yield Row("log", name, "MB/s", mine, raw, "pread", "", "more")
            with sink() as out:
                mine, raw = interleaved(repetitions, *senders(out, log, fd, places, size))
            os.close(fd)
            name = f"send {size:,} B from an offset"
            goal = ">= 0.8" if size == MIB else ""
            yield Row("log", name, "MB/s", mine, raw, "sendfile", goal, "more")


Spots = list[tuple[int, int]]
"""Offsets with the positions where their batches begin."""


def spots(log: PartitionLog, batch: bytes, count: int) -> Spots:
    """Return so many offsets at random, with the positions of their batches."""
    per_batch = header_at(batch).record_count
    batches = log.end_offset // per_batch - 1
    draw = Random(count)
    chosen = [draw.randrange(batches) for _ in range(count)]
    return [(number * per_batch, number * len(batch)) for number in chosen]


@contextmanager
def sink() -> Iterator[socket.socket]:
    """Return a socket whose other end is read and forgotten."""
    near, far = socket.socketpair()
    command = [sys.executable, "-S", "-c", DRAIN, str(far.fileno())]
    with near, subprocess.Popen(command, pass_fds=[far.fileno()]):
        far.close()
        yield near
        near.close()


DRAIN: Final = """
import socket, sys
far, room = socket.socket(fileno=int(sys.argv[1])), bytearray(1 << 20)
while far.recv_into(room):
    pass
"""
"""Reads a socket to its end, and forgets what it read."""


def senders(
    out: socket.socket, log: PartitionLog, fd: int, places: Spots, size: int
) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return both sides of a send."""
    total = size * len(places)

    def ours() -> float:
        return rate(total, lambda: send_ours(out, log, fd, places, size))

    def theirs() -> float:
        return rate(total, lambda: send_raw(out, fd, places, size))

    return ours, theirs


def send_ours(out: socket.socket, log: PartitionLog, fd: int, places: Spots, size: int) -> None:
    """Find each offset and send from there."""
    for offset, _ in places:
        part = log.read(offset, size, log.end_offset)[1]
        send(out, fd, part.position, part.size_bytes)


def send_raw(out: socket.socket, fd: int, places: Spots, size: int) -> None:
    """Send from known positions."""
    for _, position in places:
        send(out, fd, position, size)


def send(out: socket.socket, fd: int, position: int, count: int) -> None:
    """Send a part of a file."""
    while count:
        sent = os.sendfile(out.fileno(), fd, position, count)
        position, count = position + sent, count - sent


# --- Recovery, compaction, memory ---------------------------------------------------------------


def recoveries(repetitions: int) -> Iterator[Row]:
    """Open a log after a crash: one that was flushed, and one of which nothing is durable.

    The first is read and checked.  The second is also written again and flushed (decision 0011), so
    it is compared with all of that, too.
    """
    for size in (KIB, 16 * KIB, MIB):
        batch = batch_of(size)
        with bench() as made:
            append_all(made.log, batch, RECOVERED_BYTES // len(batch))
            made.run(made.log.flush())
            path = Path(made.path, str(ORDERS), f"{0:020d}.log")
            scan, check, mine, all_of_it = interleaved(
                repetitions,
                partial(recovered, made, path, made.log.end_offset),
                partial(checked, path),
                partial(recovered, made, path, 0),
                partial(checked_and_written_again, path),
            )
        name = f"batches of {len(batch):,} bytes"
        goal = ">= 0.5" if size == MIB else ""
        yield Row("log", f"scan, {name}", "MB/s", scan, check, "CRC alone", goal, "more")
        against = "CRC, pwrite, fdatasync"
        yield Row("log", f"recover, {name}", "MB/s", mine, check, "CRC alone", goal, "more")
        yield Row("log", f"recover, {name}", "MB/s", mine, all_of_it, against, "", "more")


def recovered(made: Bench, path: Path, recovery_point: int) -> float:
    """Open the log and leave it as after a crash."""

    def work() -> None:
        found = Found(clean=False, recovery_point=recovery_point, start_offset=0)
        opening = open_log(made.disk, made.home, ORDERS, str(path.parent), KEPT, found, 0)
        made.run(opening).abandon()

    return rate(path.stat().st_size, work)


def checked(path: Path) -> float:
    """Compute the checksum of what is in memory already."""
    data = memoryview(path.read_bytes())

    def work() -> None:
        for at in range(0, len(data), MIB):
            crc32c(data[at : at + MIB])

    return rate(len(data), work)


def checked_and_written_again(path: Path) -> float:
    """Do by bare calls what recovery has to do: read, check, write again, flush."""
    room = memoryview(bytearray(MIB))

    def work() -> None:
        fd = os.open(path, os.O_RDWR)
        at = 0
        while count := os.preadv(fd, [room], at):
            crc32c(room[:count])
            at += os.pwrite(fd, room[:count], at)
        os.fdatasync(fd)
        os.close(fd)

    return rate(path.stat().st_size, work)


def compaction(repetitions: int) -> Row:
    """Compact a log in which every key has been written eight times."""

    def ours() -> float:
        with bench() as made:
            made.log.configure(LogConfig(compact=True, delete=False, segment_bytes=MIB))
            draw = Random(1)
            keys = COMPACTED_BYTES // 100 // 8
            while sum(segment.size_bytes for segment in made.log.segments) < COMPACTED_BYTES:
                entries = [
                    Record(n, 1000, b"key %d" % draw.randrange(keys), draw.randbytes(80))
                    for n in range(100)
                ]
                made.log.append_as_leader(built(BLANK, entries), 0, 2000)
            made.log.set_high_watermark(made.log.end_offset)
            before = sum(segment.size_bytes for segment in made.log.segments)
            return rate(before, lambda: made.run(compact(made.log, 0, 3000)))

    (mine,) = interleaved(repetitions, ours)
    return Row("log", "compact, records of 100 bytes", "MB/s", mine, None, "", "", "more")


def index_memory() -> Row:
    """Weigh the indexes of an active segment."""
    batch = built(BLANK, [Record(n, 1000 + n, None, bytes(MESSAGE_BYTES)) for n in range(40)])
    with bench() as made:
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        append_all(made.log, batch, MESSAGES // 40)
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    per_million = (after - before) * 1_000_000 / MESSAGES
    name = f"memory of indexes, a million messages of {MESSAGE_BYTES} bytes"
    return Row("log", name, "bytes", per_million, None, "", "", "less")
