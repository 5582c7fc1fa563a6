"""The bytes of a simulated file: in the page cache, on the medium, and what lies between.

    write, resize ──▶ cached          what everybody reads
         └──────────▶ pending         what was done since, in order
                         │ settle     an fsync, or the kernel's own write-back
                         ▼
                      durable         what a power loss cannot touch

Content is a map of 4 KiB pages; a page that was never written is not in it and reads as zeros, so a
preallocated gigabyte costs nothing.  Pages are ``bytes`` where they are shared between the cached
and the durable content and become a ``bytearray`` of their own when a part of them is written:
an append costs the bytes appended, whatever the length of the file.

What a power loss leaves is one of the functions at the end (``cut``, ``blend``, ``tear``,
``hollow``), from the durable content and the pending operations to a new durable content.  The
kernel may write any dirty page back at any moment; nobody can see when it did until the power
fails.  So it is enough to draw at that moment what had been written back by then: the set of
outcomes is the same, and a run without power losses draws nothing.

Every draw is 0 for "all of it had arrived", so that a tape of zeros is a disk that loses nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.disk_faults import Draw

PAGE: Final = 4096
SECTOR: Final = 512
ZEROS: Final = bytes(PAGE)

# The kernel writes dirty pages back before they pile up.  Beyond this much in one file the older
# half is taken to have arrived, which bounds what the simulation remembers.
WRITE_BACK_BYTES: Final = 16 << 20


@value
class Write:
    """Bytes that were written at an offset."""

    offset: int
    data: bytes


@value
class Resize:
    """A new length: shorter forgets, longer reads as zeros."""

    size: int


Operation: TypeAlias = Write | Resize
History: TypeAlias = dict[int, list[Operation]]


class Content:
    """Bytes in pages.  Bytes between the end and the end of the last page are zeros."""

    __slots__ = ("pages", "size")

    def __init__(self, size: int, pages: dict[int, bytes | bytearray]) -> None:
        self.size = size
        self.pages = pages

    def read(self, offset: int, count: int) -> bytes:
        """Return up to ``count`` bytes at ``offset``; fewer only where the content ends."""
        count = min(count, self.size - offset)
        if count <= 0:
            return b""
        first, skip = divmod(offset, PAGE)
        last = (offset + count - 1) // PAGE
        if first == last:
            return bytes(self.pages.get(first, ZEROS)[skip : skip + count])
        data = b"".join(self.pages.get(index, ZEROS) for index in range(first, last + 1))
        return data[skip : skip + count]

    def write(self, offset: int, data: bytes) -> None:
        """Put the bytes at ``offset``."""
        for index, start, piece in paged(offset, data):
            if len(piece) == PAGE:
                self.pages[index] = piece
            else:
                page = self.pages.get(index, ZEROS)
                if not isinstance(page, bytearray):
                    page = self.pages[index] = bytearray(page)
                page[start : start + len(piece)] = piece
        if data:
            self.size = max(self.size, offset + len(data))

    def resize(self, size: int) -> None:
        """Forget what is beyond ``size``, or read as zeros up to it."""
        if size < self.size:
            keep = -(-size // PAGE)
            for index in [index for index in self.pages if index >= keep]:
                del self.pages[index]
            index, start = divmod(size, PAGE)
            if start and index in self.pages:
                self.pages[index] = self.pages[index][:start] + ZEROS[start:]
        self.size = size

    def apply(self, operations: Iterable[Operation]) -> None:
        """Do the operations in order."""
        for operation in operations:
            match operation:
                case Write(offset, data):
                    self.write(offset, data)
                case Resize(size):
                    self.resize(size)

    def freeze(self, index: int) -> bytes:
        """Make a page fit to be shared, and return it."""
        page = self.pages[index]
        if isinstance(page, bytearray):
            page = self.pages[index] = bytes(page)
        return page

    def copy(self) -> "Content":
        """Return the same content, sharing its pages."""
        for index in self.pages:
            self.freeze(index)
        return Content(self.size, self.pages.copy())


class FileNode:
    """A file without its names: content twice, and what was done to it in between."""

    __slots__ = (
        "bad_sectors", "cached", "dirty", "durable", "failures", "linked", "lowest", "opened",
        "pending", "pending_bytes", "replaced", "reserved", "settled",
    )  # fmt: skip

    def __init__(self) -> None:
        self.cached = Content(0, {})
        self.durable = Content(0, {})
        self.pending: list[Operation] = []
        self.pending_bytes = 0
        # How many operations came before the first pending one: numbers them for good.
        self.settled = 0
        # Pages touched since they were last settled, and perhaps some more.
        self.dirty: set[int] = set()
        # The shortest the file has been since everything was settled.
        self.lowest = 0
        # Failed syncs so far.  Each open file reports those that happened while it was open.
        self.failures = 0
        # Who keeps it alive: open files, and whether it has a name in the cache.
        self.opened = 0
        self.linked = True
        self.reserved = 0
        self.bad_sectors: set[int] = set()
        # What a page of the medium held before, for reads that return it once more.
        self.replaced: dict[int, bytes] = {}

    @property
    def number(self) -> int:
        """How many operations there have been."""
        return self.settled + len(self.pending)

    def charged_pages(self) -> int:
        """Return how many pages of the device the cached content takes."""
        reserved = -(-self.reserved // PAGE)
        return reserved + sum(index >= reserved for index in self.cached.pages)

    def write(self, offset: int, data: bytes) -> None:
        """Write into the page cache."""
        if not data:
            return
        self.cached.write(offset, data)
        operation = Write(offset, data)
        self.dirty.update(touched(operation))
        self.pending.append(operation)
        self.pending_bytes += len(data)
        if self.pending_bytes > WRITE_BACK_BYTES:
            self.settle(self.number - len(self.pending) // 2)

    def resize(self, size: int) -> None:
        """Change the length in the page cache."""
        self.lowest = min(self.lowest, size)
        operation = Resize(size)
        self.dirty.update(touched(operation))
        self.cached.resize(size)
        self.pending.append(operation)

    def settle(self, number: int) -> None:
        """Make the operations before ``number`` durable: those before a sync was asked for."""
        count = number - self.settled
        if count <= 0:
            return
        if count < len(self.pending):
            # What was written while the sync was under way has no right to be durable.
            done = self.pending[:count]
            self.durable.apply(done)
            for index in {index for operation in done for index in touched(operation)}:
                if index in self.durable.pages:
                    self.durable.freeze(index)
            self._forget(count)
            return
        if self.lowest < self.durable.size:
            cut = self.lowest // PAGE
            gone = [i for i in self.durable.pages if i >= cut and i not in self.cached.pages]
            for index in gone:
                del self.durable.pages[index]
        for index in self.dirty:
            if index in self.cached.pages:
                self.durable.pages[index] = self.cached.freeze(index)
        self.durable.size = self.cached.size
        self.lowest = self.cached.size
        self.dirty.clear()
        self._forget(count)

    def lose(self, number: int, draw: Draw) -> None:
        """Fail a sync: the cache calls its pages clean, but what arrived is for the draw to say."""
        count = number - self.settled
        self.failures += 1
        if count <= 0:
            return
        odds = (NOTHING, ANYTHING, MOST)[draw.below("disk.sync.lost", 3)]
        self.durable = blend(self.durable, self.pending[:count], draw, odds)
        self._forget(count)
        self.dirty = {index for operation in self.pending for index in touched(operation)}

    def evict(self) -> None:
        """Let the cache forget clean pages, so that they are read from the medium again."""
        for index in sorted(self.cached.pages.keys() | self.durable.pages.keys()):
            self.evict_page(index)

    def evict_page(self, index: int) -> None:
        """Let the cache forget one page if it is clean."""
        if index in self.dirty or index * PAGE >= self.cached.size:
            return
        page = self.durable.pages.get(index)
        if page is None:
            self.cached.pages.pop(index, None)
        else:
            self.cached.pages[index] = page[: self.cached.size - index * PAGE].ljust(PAGE, b"\0")

    def restart(self, durable: Content) -> None:
        """Begin anew from what the medium holds."""
        self.durable = durable
        self.cached = durable.copy()
        self.settled = self.number
        self.pending = []
        self.pending_bytes = 0
        self.dirty = set()
        self.lowest = durable.size
        self.reserved = min(self.reserved, durable.size)
        self.opened = 0
        self.linked = True

    def _forget(self, count: int) -> None:
        for operation in self.pending[:count]:
            if isinstance(operation, Write):
                self.pending_bytes -= len(operation.data)
        del self.pending[:count]
        self.settled += count


# How a block fares: how many of its ``count`` pending operations had not arrived.
Odds: TypeAlias = Callable[[Draw, int], int]


def everything(draw: Draw, count: int) -> int:
    """Lose nothing."""
    return 0


def most(draw: Draw, count: int) -> int:
    """Lose something in one block of eight."""
    lost = draw.chance("disk.crash.block", 125_000)
    return 1 + draw.below("disk.crash.version", count) if lost else 0


def anything(draw: Draw, count: int) -> int:
    """Be left with any version, each as likely."""
    return draw.below("disk.crash.version", count + 1)


def little(draw: Draw, count: int) -> int:
    """Lose everything, but for one block of eight."""
    return 0 if draw.chance("disk.crash.block", 125_000) else count


def nothing(draw: Draw, count: int) -> int:
    """Keep nothing that was pending."""
    return count


EVERYTHING: Final[Odds] = everything
MOST: Final[Odds] = most
ANYTHING: Final[Odds] = anything
LITTLE: Final[Odds] = little
NOTHING: Final[Odds] = nothing


def odds_of(draw: Draw) -> Odds:
    """Draw how one file fares; uniform odds alone would hardly ever lose one block of many."""
    return (EVERYTHING, MOST, ANYTHING, LITTLE, NOTHING)[draw.below("disk.crash.odds", 5)]


def cut(durable: Content, pending: Sequence[Operation], draw: Draw) -> Content:
    """Stop between two operations, or inside one at the end of a sector."""
    kept = len(pending) - draw.below("disk.crash.dropped", len(pending) + 1)
    content = durable.copy()
    content.apply(pending[:kept])
    if kept < len(pending):
        match pending[kept]:
            case Write(offset, data) if draw.chance("disk.crash.torn", 500_000):
                first, last = offset // SECTOR, (offset + len(data) - 1) // SECTOR
                end = (first + draw.below("disk.crash.sectors", last - first + 1)) * SECTOR
                content.write(offset, data[: max(0, end - offset)])
            case _:
                pass
    return content


def blend(durable: Content, pending: Sequence[Operation], draw: Draw, odds: Odds) -> Content:
    """Leave each block, and the length, at a version of its own."""
    blocks = history(durable, pending)
    size = size_of(durable, pending, draw, odds)
    pages: dict[int, bytes | bytearray] = {}
    for index in sorted(blocks):
        done = blocks[index]
        kept = len(done) - odds(draw, len(done))
        pages[index] = version(durable, index, done[:kept])
    return assembled(durable, pages, size)


def tear(
    durable: Content, pending: Sequence[Operation], draw: Draw, odds: Odds, stale: Sequence[bytes]
) -> Content:
    """Leave each sector at a version of its own; space never written may show what it held."""
    blocks = history(durable, pending)
    size = size_of(durable, pending, draw, odds)
    pages: dict[int, bytes | bytearray] = {}
    for index in sorted(blocks):
        done = blocks[index]
        page = bytearray(version(durable, index, done))
        if odds(draw, len(done)):
            for start in range(0, PAGE, SECTOR):
                kept = len(done) - draw.below("disk.crash.sector", len(done) + 1)
                source = version(durable, index, done[:kept])
                if not kept and index * PAGE + start >= durable.size:
                    which = draw.below("disk.crash.stale", len(stale) + 1)
                    source = (ZEROS, *stale)[which]
                page[start : start + SECTOR] = source[start : start + SECTOR]
        pages[index] = page
    return assembled(durable, pages, size)


def hollow(durable: Content, pending: Sequence[Operation], draw: Draw, odds: Odds) -> Content:
    """Leave the newest length, and of each block all that was written or nothing."""
    blocks = history(durable, pending)
    pages: dict[int, bytes | bytearray] = {}
    for index in sorted(blocks):
        done = blocks[index]
        pages[index] = version(durable, index, [] if odds(draw, len(done)) else done)
    return assembled(durable, pages, sizes(durable, pending)[-1])


def history(durable: Content, pending: Sequence[Operation]) -> History:
    """Return for each block which operations touched it."""
    blocks: defaultdict[int, list[Operation]] = defaultdict(list)
    size = durable.size
    for operation in pending:
        match operation:
            case Write():
                for index in touched(operation):
                    blocks[index].append(operation)
            case Resize(shorter) if shorter < size:
                for index in sorted(durable.pages.keys() | blocks.keys()):
                    if index >= shorter // PAGE:
                        blocks[index].append(operation)
            case Resize():
                pass
        size = resized(size, operation)
    return blocks


def version(durable: Content, index: int, done: Sequence[Operation]) -> bytes:
    """Return a block as these operations leave it."""
    page = bytearray(durable.pages.get(index, ZEROS))
    begin = index * PAGE
    for operation in done:
        match operation:
            case Write(offset, data):
                start = max(0, offset - begin)
                piece = data[max(0, begin - offset) : begin + PAGE - offset]
                page[start : start + len(piece)] = piece
            case Resize(size):
                start = max(0, size - begin)
                page[start:] = ZEROS[start:]
    return bytes(page)


def sizes(durable: Content, pending: Sequence[Operation]) -> list[int]:
    """Return the lengths the file has had, oldest first, without repetitions in a row."""
    lengths = [durable.size]
    for operation in pending:
        size = resized(lengths[-1], operation)
        if size != lengths[-1]:
            lengths.append(size)
    return lengths


def resized(size: int, operation: Operation) -> int:
    """Return how long a file is after an operation."""
    match operation:
        case Write(offset, data):
            return max(size, offset + len(data))
        case Resize(length):
            return length


def touched(operation: Operation) -> range:
    """Return the pages whose bytes an operation sets; those it removes are not among them."""
    match operation:
        case Write(offset, data):
            return range(offset // PAGE, (offset + len(data) - 1) // PAGE + 1)
        case Resize(size):
            return range(size // PAGE, size // PAGE + 1)


def size_of(durable: Content, pending: Sequence[Operation], draw: Draw, odds: Odds) -> int:
    """Draw which of its lengths the file is left with."""
    lengths = sizes(durable, pending)
    return lengths[-1] if len(lengths) == 1 else lengths[-1 - odds(draw, len(lengths) - 1)]


def assembled(durable: Content, pages: dict[int, bytes | bytearray], size: int) -> Content:
    """Return the durable content with some pages replaced and a new length."""
    content = durable.copy()
    content.pages.update(pages)
    # Long enough to hold every page, so that the new length cuts whatever is beyond it.
    content.size = max(content.size, size, *(PAGE * (index + 1) for index in content.pages), 0)
    content.resize(size)
    return content.copy()


def paged(offset: int, data: bytes) -> Iterable[tuple[int, int, bytes]]:
    """Yield page by page: its index, where in it the piece begins, and the piece."""
    position = 0
    while position < len(data):
        index, start = divmod(offset + position, PAGE)
        piece = data[position : position + PAGE - start]
        yield index, start, piece
        position += len(piece)
