"""The disk as it is: Linux file calls, with ``sync`` on threads of its own.

    write ─▶ pwritev, on the loop          page cache; about a microsecond
    sync  ─▶ waiters ─▶ one fdatasync on a thread ─▶ all of them answered

Reads and writes are plain system calls that reach the page cache.  Only a flush waits for a device,
so only flushes leave the loop's thread: small groups of threads, made when first needed, asleep in
a queue when not.

Group commit.  A sync is answered by an ``fdatasync`` that *started* after the call, never by one
under way: the kernel may have passed the page already.  One file has one flush under way at a time,
and the next one starts a turn of the loop after the last one ended, behind everybody whom it woke:

1. writers A and B wait for a flush that is under way, C has come too late for it and waits;
2. the flush ends and wakes A and B, which write again and sync again in this very turn;
3. only then does the next flush start, and it serves A, B and C.

Started at once, it would have served C alone, and sixteen writers would fall apart into two groups
of eight that alternate for good.

A failed flush poisons its file: every waiter, the late ones too, and every later sync gets the
error.  The kernel has marked the pages clean by then and would report success next time.

A file number is given back only when nobody can be using it any more: ``close`` during a flush, or
while the network sends a slice (``hold``), is remembered and done by the last user.  Otherwise the
number could be another file's by the time the thread reads it.
"""

import asyncio
import errno
import fcntl
import os
import queue
import stat
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

from barnabas.runtime.disk import LOCK_NAME, LOCKED, Buffer, Mode

# How many parts Linux takes in one pwritev (IOV_MAX).
PARTS_MAX: Final = 1024

# Zeros are written in pieces of this size; the pages behind it are shared by all callers.
ZEROS: Final = bytes(1 << 20)

# Devices overlap flushes of different files, and one directory on a dying disk must not hold up
# the others; beyond a few there is nothing to gain.
SYNC_THREADS_MAX: Final = 4

FLAGS: Final[dict[Mode, int]] = {
    "read": os.O_RDONLY,
    "write": os.O_RDWR,
    "create": os.O_RDWR | os.O_CREAT,
    "exclusive": os.O_RDWR | os.O_CREAT | os.O_EXCL,
}

# struct flock: type, whence, start, length, pid; one byte from the start suffices for everybody.
FLOCK: Final = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)

Flush: TypeAlias = Callable[[], None]
Flushed: TypeAlias = Callable[[OSError | None], None]


class HostDisk:
    """The file systems of this machine."""

    def __init__(self) -> None:
        self._threads: Final = SyncThreads()

    def open(self, path: str, mode: Mode) -> "HostFile":
        """Open a file; its directory must exist."""
        fd = os.open(path, FLAGS[mode], 0o644)
        if mode == "read" and stat.S_ISDIR(os.fstat(fd).st_mode):
            os.close(fd)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return HostFile(path, fd, mode != "read", self._threads)

    def exists(self, path: str) -> bool:
        """Tell whether a file or directory has this name."""
        return os.path.exists(path)

    def is_directory(self, path: str) -> bool:
        """Tell whether a directory has this name."""
        return os.path.isdir(path)

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted."""
        return sorted(os.listdir(directory))

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it that are missing; harmless if it is there."""
        os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        """Give a file or directory another name, atomically replacing a file that had it."""
        os.rename(old, new)

    def remove(self, path: str) -> None:
        """Remove a file.  Open files stay readable until they are closed."""
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""
        os.rmdir(path)

    async def sync_directory(self, path: str) -> None:
        """Return when the names in this directory are durable."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def flushed(error: OSError | None) -> None:
            # Here and not after the await: a caller that is cancelled leaves the flush running.
            os.close(fd)
            answer(waiter, error, path)

        self._threads.run(loop, partial(os.fsync, fd), flushed)
        await waiter

    def lock(self, directory: str) -> "HostDirectoryLock":
        """Claim a directory by its ``LOCK_NAME``; ``BlockingIOError`` when somebody has it."""
        path = os.path.join(directory, LOCK_NAME)
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            # A lock of the open file: unlike flock it also conflicts with the record lock that a
            # Java process takes, and unlike a record lock it is not lost when this process opens
            # and closes the same file somewhere else.
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, FLOCK)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise BlockingIOError(errno.EAGAIN, LOCKED, path) from None
            raise named(error, path) from None
        return HostDirectoryLock(fd)

    def free_bytes(self, path: str) -> int:
        """Return how much the file system of ``path`` could still take."""
        about = os.statvfs(path)
        return about.f_bavail * about.f_frsize

    def close(self) -> None:
        """Let the threads end once they have flushed what they were given."""
        self._threads.close()


class HostFile:
    """An open file, its number, and those who wait for it to be durable."""

    def __init__(self, path: str, fd: int, writable: bool, threads: "SyncThreads") -> None:
        self._path: Final = path
        self._fd: Final = fd
        self._writable: Final = writable
        self._threads: Final = threads
        self._open = True
        self._users = 1
        self._waiters: list[asyncio.Future[None]] = []
        self._flushing = False
        self._lost: OSError | None = None

    @property
    def path(self) -> str:
        """The path it was opened by; a later rename does not change it."""
        return self._path

    def size(self) -> int:
        """Return how many bytes the file holds."""
        assert self._open, f"{self._path} was closed"
        return os.fstat(self._fd).st_size

    def read(self, offset: int, count: int) -> bytes:
        """Return up to ``count`` bytes at ``offset``; fewer only where the file ends."""
        assert self._open, f"{self._path} was closed"
        assert offset >= 0
        assert count >= 0
        try:
            data = os.pread(self._fd, count, offset)
            while 0 < len(data) < count:
                more = os.pread(self._fd, count - len(data), offset + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise named(error, self._path) from None
        return data

    def read_into(self, offset: int, into: memoryview) -> int:
        """Fill ``into`` from ``offset``; return how many bytes the file had."""
        assert self._open, f"{self._path} was closed"
        assert offset >= 0
        count = 0
        try:
            while count < len(into):
                more = os.preadv(self._fd, [into[count:]], offset + count)
                if not more:
                    break
                count += more
        except OSError as error:
            raise named(error, self._path) from None
        return count

    def write(self, offset: int, parts: Sequence[Buffer]) -> int:
        """Write the parts one after another at ``offset``, all of them; return how many bytes."""
        assert self._open, f"{self._path} was closed"
        assert self._writable, f"{self._path} was opened to be read"
        # To pwritev, -1 would mean "wherever the last write ended".
        assert offset >= 0
        total = sum(map(len, parts))
        try:
            written = os.pwritev(self._fd, parts[:PARTS_MAX], offset)
            while written < total:
                rest = after(parts, written)
                written += os.pwritev(self._fd, rest, offset + written)
        except OSError as error:
            raise named(error, self._path) from None
        return total

    def truncate(self, size: int) -> None:
        """Make the file exactly ``size`` bytes long; what it gains reads as zeros."""
        assert self._open, f"{self._path} was closed"
        assert self._writable, f"{self._path} was opened to be read"
        assert size >= 0
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise named(error, self._path) from None

    def allocate(self, size: int) -> None:
        """Reserve space up to ``size`` and make the file at least that long, reading as zeros.

        Reserved space alone would read as zeros too, but its first write has to be entered in the
        file system's journal, which costs a sync as much as growing does once writes are larger
        than a few hundred bytes.  Reserving first keeps the zeros together and fails before
        anything was written.
        """
        assert self._open, f"{self._path} was closed"
        assert self._writable, f"{self._path} was opened to be read"
        assert size > 0
        try:
            end = os.fstat(self._fd).st_size
            os.posix_fallocate(self._fd, 0, size)
        except OSError as error:
            raise named(error, self._path) from None
        zeros = memoryview(ZEROS)
        for offset in range(end, size, len(ZEROS)):
            self.write(offset, [zeros[: size - offset]])

    async def sync(self) -> None:
        """Return when everything written before the call is durable, or raise having lost it."""
        assert self._open, f"{self._path} was closed"
        if self._lost is not None:
            raise named(self._lost, self._path)
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.append(waiter)
        if not self._flushing:
            self._flushing = True
            self.hold()
            loop.call_soon(self._flush, loop)
        await waiter

    def close(self) -> None:
        """Give the file back; harmless when done already.  Makes nothing durable."""
        if self._open:
            self._open = False
            self.release()

    def hold(self) -> int:
        """Return the file's number, valid until ``release`` even if the file is closed before."""
        assert self._users > 0, f"{self._path} was closed"
        self._users += 1
        return self._fd

    def release(self) -> None:
        """Let go of what ``hold`` returned."""
        assert self._users > 0, f"{self._path} was released more often than held"
        self._users -= 1
        if not self._users:
            os.close(self._fd)

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        group, self._waiters = self._waiters, []
        self._threads.run(
            loop, partial(os.fdatasync, self._fd), partial(self._flushed, loop, group)
        )

    def _flushed(
        self,
        loop: asyncio.AbstractEventLoop,
        group: list[asyncio.Future[None]],
        error: OSError | None,
    ) -> None:
        if error is not None:
            self._lost = error
            group += self._waiters
            self._waiters = []
        for waiter in group:
            answer(waiter, error, self._path)
        if self._waiters:
            loop.call_soon(self._flush, loop)
        else:
            self._flushing = False
            self.release()


class HostDirectoryLock:
    """An open file that is locked; the kernel unlocks it when it is closed or its process ends."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def release(self) -> None:
        """Let others in; harmless when done already."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class SyncThreads:
    """A few threads that flush; as many as ever had something to do at once."""

    def __init__(self) -> None:
        self._jobs: Final[
            queue.SimpleQueue[tuple[asyncio.AbstractEventLoop, Flush, Flushed] | None]
        ] = queue.SimpleQueue()
        self._busy = 0
        self._count = 0
        self._closed = False

    def run(self, loop: asyncio.AbstractEventLoop, flush: Flush, flushed: Flushed) -> None:
        """Flush on a thread, then call ``flushed`` on the loop with the error if there was one."""
        assert not self._closed, "a flush was asked for after the disk was closed"

        def done(error: OSError | None) -> None:
            self._busy -= 1
            flushed(error)

        self._busy += 1
        if self._busy > self._count < SYNC_THREADS_MAX:
            self._count += 1
            # A daemon: a process that ends does not wait for a device that may be hanging.
            threading.Thread(target=self._work, name=f"sync-{self._count}", daemon=True).start()
        self._jobs.put((loop, flush, done))

    def close(self) -> None:
        """End the threads once they have done what they were given."""
        self._closed = True
        for _ in range(self._count):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            loop, flush, done = job
            failure: OSError | None = None
            try:
                flush()
            except OSError as error:
                failure = error
            # A loop that was closed meanwhile has nobody left who waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(done, failure)


def answer(waiter: asyncio.Future[None], error: OSError | None, path: str) -> None:
    """Tell a waiter how its flush ended, unless it was cancelled and does not listen."""
    if waiter.done():
        return
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(named(error, path))


def named(error: OSError, path: str) -> OSError:
    """Return the error as one that says which file it is about."""
    assert error.errno is not None, f"an OSError without a number: {error!r}"
    return OSError(error.errno, os.strerror(error.errno), path)


def after(parts: Sequence[Buffer], count: int) -> list[Buffer]:
    """Return what follows the first ``count`` bytes, as much of it as one call takes."""
    index = 0
    while count >= len(parts[index]):
        count -= len(parts[index])
        index += 1
    rest: list[Buffer] = list(islice(parts, index, index + PARTS_MAX))
    rest[0] = memoryview(rest[0])[count:]
    return rest
