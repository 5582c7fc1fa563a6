"""How much of the log was surely flushed once: what tells a torn tail from lost promises.

    log     │ committed, flushed        │ written │
            └───────────── mark ────────┘         end
    a batch that cannot be read:
            below the mark: promised    above it: never promised
            the node stops              the log is cut there

A replica that fetches from an offset has promised that everything below is on its disk, and a
majority of such promises is a commit.  Recovery cuts a log at the first batch that it cannot
believe, which is right for what a crash has torn and wrong for what was flushed and has rotted
since: a voter that silently forgets what it has acknowledged can vote for a leader that lacks it.
From the bytes of the log alone the two cannot be told apart (Alagappan et al., *Protocol-Aware
Recovery*, FAST 2018), so there is a mark beside it.

The mark is written after each flush and not synced: that costs two microseconds rather than a
second trip to the device.  Any version of it that survives was true, because a cut lowers it,
synced, before it removes anything.  A mark that is old or lost only means that less is noticed.

    1
    00000000000000000123 0000000004          offset, and the epoch this replica was in

It lies in the log's directory, where Kafka does not look at it.  Kafka may have used the directory
since and cut the log; that takes another epoch than the mark's, and then a log that merely ends
early is believed.
"""

import re
from typing import Final

from barnabas.model.value import value
from barnabas.runtime.disk import Disk

FLUSHED_MARK: Final = "flushed-offset-checkpoint"

VERSION: Final = 1
FORMAT: Final = re.compile(rb"1\n(\d{20}) (\d{10})\n")


@value
class Mark:
    """Everything below an offset was flushed, when the replica was in an epoch."""

    offset: int
    epoch: int


UNMARKED: Final = Mark(0, 0)


class FlushedMark:
    """The mark of one log."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self.path: Final = f"{directory}/{FLUSHED_MARK}"
        is_new = not disk.exists(self.path)
        self._file: Final = disk.open(self.path, "create")
        content = b"" if is_new else self._file.read(0, self._file.size())
        self.mark = decode_mark(content)
        self._disk: Final = disk
        self._directory: Final = directory

    async def settle(self, mark: Mark) -> None:
        """Return when a mark is durable, whatever the file was before."""
        self.mark = mark
        content = encode_mark(mark)
        if self._file.size() != len(content):
            self._file.truncate(len(content))
        self._file.write(0, [content])
        await self._file.sync()
        await self._disk.sync_directory(self._directory)

    def note(self, mark: Mark) -> None:
        """Learn what has been flushed; not durable, and need not be."""
        if mark != self.mark:
            self.mark = mark
            self._file.write(0, [encode_mark(mark)])

    async def lower(self, offset: int) -> None:
        """Return when the mark durably vouches for nothing above an offset."""
        if offset < self.mark.offset:
            self.note(Mark(offset, self.mark.epoch))
            await self._file.sync()

    async def close(self) -> None:
        """Return when the mark is durable, and give its file back."""
        await self._file.sync()
        self.abandon()

    def abandon(self) -> None:
        """Give the file back as it is."""
        self._file.close()


def encode_mark(mark: Mark) -> bytes:
    """Return the content of the file, which always has one length: it is written in place."""
    return f"{VERSION}\n{mark.offset:020d} {mark.epoch:010d}\n".encode()


def decode_mark(content: bytes) -> Mark:
    """Read the file; what is no mark vouches for nothing."""
    match = FORMAT.fullmatch(content)
    return UNMARKED if match is None else Mark(int(match[1]), int(match[2]))
