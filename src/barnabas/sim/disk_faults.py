"""What a simulated disk can suffer: the vocabulary, and how it is drawn.

Three ways to trouble a disk, all of them off to begin with:

``DiskFaults``   rates: each operation draws whether it fails; a swarm sets them per run
``Injection``    one fault that is waiting for its operation; a plan or a scenario places it
``Trouble``      a state of a directory: read-only, vanished, full; until it is healed

Besides, the world calls for power losses (``Profile``), rot and broken sectors by name.

Draws are integers that a tape can record.  Whatever is drawn, 0 and False are the boring answers,
so that a tape is shrunk by forgetting draws.
"""

import errno
from typing import Final, Literal, Protocol, TypeAlias

from barnabas.model.value import value
from barnabas.runtime.disk import LOCKED

# prefix      every file is cut at some operation, names come true in the order they were changed
# block       every 4 KiB block and every name at a version of its own, as the contract allows
# sector      blocks torn at 512 bytes, with zeros or a deleted file's bytes in fresh ones
# meta-first  names and lengths are there, the data may not be
# data-first  the data is there, the names may not be
Profile: TypeAlias = Literal["prefix", "block", "sector", "meta-first", "data-first"]
PROFILES: Final[tuple[Profile, ...]] = ("prefix", "block", "sector", "meta-first", "data-first")

Kind: TypeAlias = Literal["open", "read", "write", "resize", "sync", "names", "sync_directory"]
Trouble: TypeAlias = Literal["read-only", "vanished", "full"]

WHY: Final = {
    errno.EAGAIN: LOCKED,
    errno.EEXIST: "File exists",
    errno.EINVAL: "Invalid argument",
    errno.EIO: "Input/output error",
    errno.EISDIR: "Is a directory",
    errno.EMFILE: "Too many open files",
    errno.ENOENT: "No such file or directory",
    errno.ENOSPC: "No space left on device",
    errno.ENOTDIR: "Not a directory",
    errno.ENOTEMPTY: "Directory not empty",
    errno.EROFS: "Read-only file system",
}


def failure(number: int, path: str) -> OSError:
    """Return the error a host would raise."""
    return OSError(number, WHY[number], path)


class Draw(Protocol):
    """Where choices come from: recorded, and replayed from a tape."""

    def below(self, site: str, limit: int) -> int:
        """Return an integer from 0 to ``limit`` - 1; 0 is the boring one."""
        ...

    def chance(self, site: str, per_million: int) -> bool:
        """Return True so many times in a million; False is the boring one."""
        ...


class Calm:
    """Draws only what is boring: a disk without faults that loses nothing."""

    def below(self, site: str, limit: int) -> int:
        """Return 0."""
        assert limit > 0, f"{site}: nothing to choose from"
        return 0

    def chance(self, site: str, per_million: int) -> bool:
        """Return False."""
        return False


@value
class DiskFaults:
    """How often operations below a directory fail, per million.

    ``stale_read`` returns what a page of the medium held before its last sync.  ``misdirected``
    lets one page of a sync land on another one, of this or another file.
    """

    under: str = "/"
    open_error: int = 0
    read_error: int = 0
    stale_read: int = 0
    write_error: int = 0
    write_full: int = 0
    sync_error: int = 0
    sync_stall: int = 0
    sync_stall_ns: int = 5_000_000_000
    misdirected: int = 0


@value
class Injection:
    """A fault that waits for an operation of its kind below a directory.

    It lets ``after`` of them pass and strikes the next ``times``: an error, a delay, or both (the
    delay of a plain call keeps the process busy, that of a sync keeps its caller waiting).
    """

    kind: Kind
    under: str = "/"
    error: int = 0
    delay_ns: int = 0
    after: int = 0
    times: int = 1


@value
class Law:
    """How long an operation takes: a part for each call, one for each KiB, and bad luck."""

    call_ns: int
    kib_ns: int = 0
    jitter_ns: int = 0
    tail_per_million: int = 0
    tail_ns: int = 0

    def duration_ns(self, draw: Draw, site: str, count: int) -> int:
        """Draw how long an operation on ``count`` bytes takes."""
        duration = self.call_ns + self.kib_ns * count // 1024
        if self.jitter_ns:
            duration += draw.below(f"{site}.jitter", self.jitter_ns + 1)
        if self.tail_per_million and draw.chance(f"{site}.tail", self.tail_per_million):
            duration += self.tail_ns
        return duration


@value
class Latencies:
    """A law for each sort of operation; the defaults are those of an NVMe disk behind ext4."""

    read: Law = Law(1_000, 100)
    write: Law = Law(1_000, 250)
    names: Law = Law(5_000)
    sync: Law = Law(100_000, 500)


def within(path: str, directory: str) -> bool:
    """Tell whether a path is a directory or below it."""
    above = directory.rstrip("/")
    return path == above or path.startswith(f"{above}/")
