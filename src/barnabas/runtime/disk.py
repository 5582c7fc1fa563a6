"""A disk whose durability is said aloud.

    write ──▶ page cache ──sync()──▶ durable content
    create, rename, remove ──▶ cached directory ──sync_directory()──▶ durable names

A process that is killed loses nothing it wrote.  A machine that loses power keeps what was synced
and an unspecified part of the rest: any block of a file may be old or new, a name may be missing
though the content is there.  Code over this seam therefore states what it relies on by calling
``sync`` and ``sync_directory``; closing a file promises nothing.

A ``sync`` that fails has lost data: the operating system may have dropped the dirty pages and will
report success next time (Rebello et al., USENIX ATC 2020).  A ``File`` that failed to sync once
therefore fails every later sync, but the same path opened anew may lie.  Whoever sees a sync fail
must not sync again and hope; the log that owned those bytes goes offline.

Failures are ``OSError`` with an ``errno`` and the path: ENOSPC, EIO, ENOENT, EROFS and so on,
whichever world this is.  Using a closed file, writing to one opened to be read, or an offset below
zero is a bug and an ``AssertionError``.  Paths are plain strings with ``/`` between names, and
without ``..``.
"""

from collections.abc import Sequence
from typing import Final, Literal, Protocol, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

# "read" needs the file to exist and cannot write; "write" needs it to exist; "create" makes it
# if it is not there and keeps what it holds if it is; "exclusive" needs it not to exist.
Mode: TypeAlias = Literal["read", "write", "create", "exclusive"]

# Made in a directory that is locked, and left there: Kafka's name, so that neither of us works in
# a directory where the other is at work.
LOCK_NAME: Final = ".lock"
LOCKED: Final = "another process works in this directory; stop it or point this one elsewhere"


class File(Protocol):
    """An open file.  Offsets are the caller's: there is no position to share or to lose."""

    @property
    def path(self) -> str:
        """The path it was opened by; a later rename does not change it."""
        ...

    def size(self) -> int:
        """Return how many bytes the file holds."""
        ...

    def read(self, offset: int, count: int) -> bytes:
        """Return up to ``count`` bytes at ``offset``; fewer only where the file ends."""
        ...

    def read_into(self, offset: int, into: memoryview) -> int:
        """Fill ``into`` from ``offset``; return how many bytes the file had."""
        ...

    def write(self, offset: int, parts: Sequence[Buffer]) -> int:
        """Write the parts one after another at ``offset``, all of them; return how many bytes.

        A memoryview among them is one of bytes.  If it raises, any prefix may have been written.
        """
        ...

    def truncate(self, size: int) -> None:
        """Make the file exactly ``size`` bytes long; what it gains reads as zeros."""

    def allocate(self, size: int) -> None:
        """Reserve space up to ``size`` and make the file at least that long, reading as zeros.

        Writing into allocated space and syncing is cheaper than letting the file grow, because the
        zeros are really there; a plain call, so allocate a few megabytes at a time.
        """

    async def sync(self) -> None:
        """Return when everything written before the call is durable, or raise having lost it.

        Callers that wait at the same time share one trip to the device.
        """

    def close(self) -> None:
        """Give the file back; harmless when done already.  Makes nothing durable.

        Who waits in ``sync`` meanwhile is answered all the same.
        """


class DirectoryLock(Protocol):
    """Proof that no other process works in a directory."""

    def release(self) -> None:
        """Let others in; harmless when done already.  A process that dies releases it too."""


class Disk(Protocol):
    """The file systems of one host."""

    def open(self, path: str, mode: Mode) -> File:
        """Open a file; its directory must exist.  A directory is ``IsADirectoryError``."""
        ...

    def exists(self, path: str) -> bool:
        """Tell whether a file or directory has this name."""
        ...

    def is_directory(self, path: str) -> bool:
        """Tell whether a directory has this name."""
        ...

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted."""
        ...

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it that are missing; harmless if it is there."""

    def rename(self, old: str, new: str) -> None:
        """Give a file or directory another name, atomically replacing a file that had it.

        A directory may replace an empty one.
        """

    def remove(self, path: str) -> None:
        """Remove a file.  Open files stay readable until they are closed."""

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""

    async def sync_directory(self, path: str) -> None:
        """Return when the names in this directory are durable.

        The name of the directory itself is in the one above, which has to be synced as well.
        """

    def lock(self, directory: str) -> DirectoryLock:
        """Claim a directory by its ``LOCK_NAME``; ``BlockingIOError`` when somebody has it."""
        ...

    def free_bytes(self, path: str) -> int:
        """Return how much the file system of ``path`` could still take."""
        ...
