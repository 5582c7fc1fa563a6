"""The disk as a seed has it: what is written, what is durable, and everything that can go wrong.

    SimDisk ── the disk of one simulated host; survives its processes
      │  process(…)                       one view per life of a process, ended by ``die``
      ▼
    ProcessDisk ── runtime.disk.Disk      checks that the process lives, takes its time
      │  open(…)
      ▼
    SimFile ── runtime.disk.File

Read ``disk_content`` for what a file is between a write and a sync, ``disk_names`` for directories,
``disk_faults`` for what can be made to fail and how it is drawn.

The world (kernel, nemesis, oracles) uses ``SimDisk``:

- ``power_loss(profile)`` ends every process and leaves one of the contents the contract allows;
  killing one process (``ProcessDisk.die``) leaves the page cache alone;
- ``wipe`` and ``image``/``restore`` replace the machine's disk by an empty or an earlier one;
- ``faults``, ``inject``, ``trouble`` make operations fail; ``rot`` and ``break_sectors`` damage
  what was durable, after asking ``may_destroy`` and ``may_break``;
- ``durable_files``, ``durable_content`` and the hashes are for oracles and fingerprints.

Non-obvious:

- A sync makes durable what was written before it was *asked for*, at the moment it returns.  What
  is written while it waits stays at risk, and a power loss while it waits may leave anything.
- A failed sync behaves as Linux does (Rebello et al., USENIX ATC 2020): the pages count as clean,
  reads show them until the cache forgets them, each open file hears of it once, and a file opened
  afterwards syncs with success though the data is not there.  ``SimFile`` itself keeps failing, as
  the contract says.
- Plain calls charge the process's time through ``charge_ns``; nothing else happens meanwhile.
"""

import errno
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.runtime.disk import LOCK_NAME, Buffer, Mode
from barnabas.sim.disk_content import (
    PAGE,
    SECTOR,
    ZEROS,
    Content,
    FileNode,
    blend,
    cut,
    hollow,
    odds_of,
    paged,
    tear,
)
from barnabas.sim.disk_faults import (
    DiskFaults,
    Draw,
    Injection,
    Kind,
    Latencies,
    Law,
    Profile,
    Trouble,
    failure,
    within,
)
from barnabas.sim.disk_names import DirectoryNode, Names, Node, Slot, files

# How many pages of deleted files are remembered, to turn up in space that is used again.
STALE_PAGES: Final = 16
STALE_PAGES_PER_FILE: Final = 4

# More than any run writes: a disk is full only where somebody makes it so.
CAPACITY_BYTES: Final = 1 << 40

Tree: TypeAlias = "dict[str, Content | Tree]"
MayDestroy: TypeAlias = Callable[[str, int, int], bool]


@value
class DiskImage:
    """The durable state of a whole disk at some moment."""

    tree: Tree


def always(path: str, offset: int, count: int) -> bool:
    """Let everything be destroyed: what a world without a ghost to ask answers."""
    return True


def ignore(path: str, offset: int, count: int) -> None:
    """Tell nobody what is destroyed."""


class SimDisk:
    """The disk of one simulated host."""

    def __init__(self, draw: Draw, capacity_bytes: int = CAPACITY_BYTES) -> None:
        self.draw = draw
        self.capacity_bytes = capacity_bytes
        self.latencies = Latencies()
        self.faults = DiskFaults()
        # Asked before durable bytes (path, offset, count) are damaged: is there another copy?
        self.may_destroy: MayDestroy = always
        # Told of each such range that is about to be damaged.
        self.destroys: Callable[[str, int, int], None] = ignore
        # And before they cannot be read any more, until somebody writes them anew.
        self.may_break: MayDestroy = always
        # What happened, by name; for reports, and for tests that want to know that it did.
        self.suffered: Final[defaultdict[str, int]] = defaultdict(int)
        self.names = Names()
        self.locks: Final[dict[FileNode, ProcessDisk]] = {}
        self.used_pages = 0
        self._processes: list[ProcessDisk] = []
        self._injections: list[tuple[Injection, list[int]]] = []
        self._troubles: dict[str, Trouble] = {}
        self._stale: list[bytes] = []

    def process(
        self,
        alive: Callable[[], None],
        charge_ns: Callable[[int], None],
        sleep_ns: Callable[[int], Awaitable[None]],
        open_files_max: int = 1 << 16,
    ) -> "ProcessDisk":
        """Return the disk as one life of a process sees it.

        ``alive`` raises once the process is dead; ``charge_ns`` makes it busy; ``sleep_ns`` lets
        one of its coroutines wait.
        """
        process = ProcessDisk(self, alive, charge_ns, sleep_ns, open_files_max)
        self._processes.append(process)
        return process

    def power_loss(self, profile: Profile) -> None:
        """End every process, and lose of what was not durable what the profile loses."""
        self._end_processes()
        self.suffered[f"power loss, {profile}"] += 1
        self._recycle(self._names_left(profile))
        for _, node in files(self.names.root, "", durable=True):
            if node.pending:
                node.restart(self._left(node, profile))
            else:
                node.restart(node.durable)
        self._recount()

    def wipe(self) -> None:
        """Replace the disk by an empty one."""
        self.restore(DiskImage({}))
        self.suffered["wipe"] += 1

    def image(self) -> DiskImage:
        """Return what is durable now, to be restored later."""
        return DiskImage(photographed(self.names.root))

    def restore(self, image: DiskImage) -> None:
        """End every process and go back to an earlier disk."""
        self._end_processes()
        self.names = Names()
        develop(image.tree, self.names.root)
        self._recount()

    def inject(self, injection: Injection) -> None:
        """Let a fault wait for its operation."""
        self._injections.append((injection, [injection.after, injection.times]))

    def trouble(self, directory: str, trouble: Trouble) -> None:
        """Put a directory and all below it into a bad state until it is healed."""
        self._troubles[directory] = trouble
        self.suffered[trouble] += 1

    def relieve(self, directory: str) -> None:
        """End the trouble of one directory; harmless when it has none."""
        self._troubles.pop(directory, None)

    def heal(self) -> None:
        """End all troubles, rates and waiting faults.  What was damaged stays damaged."""
        self._troubles.clear()
        self._injections.clear()
        self.faults = DiskFaults()

    def rot(self, path: str, offset: int, mask: int = 1) -> bool:
        """Flip bits of a durable byte that the cache does not hold dirty; tell whether it was."""
        node = self._file(path, durable=True)
        index, at = divmod(offset, PAGE)
        if node is None or offset >= node.durable.size or index in node.dirty:
            return False
        if not self.may_destroy(path, offset, 1):
            return False
        self.destroys(path, offset, 1)
        page = bytearray(node.durable.pages.get(index, ZEROS))
        page[at] ^= mask
        node.durable.pages[index] = bytes(page)
        node.evict_page(index)
        self.suffered["rot"] += 1
        return True

    def break_sectors(self, path: str, offset: int, count: int) -> bool:
        """Make sectors unreadable until they are written anew; tell whether it was done."""
        node = self._file(path, durable=True)
        if node is None or not self.may_break(path, offset, count):
            return False
        node.bad_sectors.update(range(offset // SECTOR, (offset + count - 1) // SECTOR + 1))
        self.suffered["broken sectors"] += 1
        return True

    def evict(self) -> None:
        """Let the page cache forget everything clean."""
        for _, node in files(self.names.root, "", durable=False):
            node.evict()

    def durable_files(self) -> list[tuple[str, int]]:
        """Return the files that durably have a name, sorted, and how long they durably are."""
        found = files(self.names.root, "", durable=True)
        return [(path, node.durable.size) for path, node in found]

    def durable_content(self, path: str) -> Content | None:
        """Return what is durable of the file that durably has this name: to look at only."""
        node = self._file(path, durable=True)
        return None if node is None else node.durable

    def cached_content(self, path: str) -> Content | None:
        """Return what a process would read of the file that has this name: to look at only."""
        node = self._file(path, durable=False)
        return None if node is None else node.cached

    def durable_hash(self) -> bytes:
        """Return a digest of all that is durable."""
        return digest(self.names.root, durable=True)

    def cached_hash(self) -> bytes:
        """Return a digest of all that can be read."""
        return digest(self.names.root, durable=False)

    def trouble_of(self, path: str) -> Trouble | None:
        """Return the state of the nearest troubled directory above a path."""
        if not self._troubles:
            return None
        found = [directory for directory in self._troubles if within(path, directory)]
        return self._troubles[max(found, key=len)] if found else None

    def injected(self, kind: Kind, path: str) -> Injection | None:
        """Return the fault that was waiting for this operation."""
        for index, (injection, left) in enumerate(self._injections):
            if injection.kind == kind and within(path, injection.under):
                if left[0]:
                    left[0] -= 1
                    continue
                left[1] -= 1
                if not left[1]:
                    del self._injections[index]
                self.suffered[f"injected {kind}"] += 1
                return injection
        return None

    def strikes(self, site: str, path: str, per_million: int) -> bool:
        """Draw whether a fault that has a rate strikes now."""
        if not per_million or not within(path, self.faults.under):
            return False
        if not self.draw.chance(f"disk.{site}", per_million):
            return False
        self.suffered[site] += 1
        return True

    def free_pages(self, path: str) -> int:
        """Return how many pages a file could still take."""
        if self.trouble_of(path) == "full":
            return 0
        return max(0, self.capacity_bytes // PAGE - self.used_pages)

    def unlink(self, node: FileNode) -> None:
        """Note that a file lost its name; its space is free once nobody has it open."""
        node.linked = False
        self.release(node)

    def release(self, node: FileNode) -> None:
        """Free the space of a file that nobody can reach any more."""
        if not node.linked and not node.opened:
            self.used_pages -= node.charged_pages()

    def change(self, slots: tuple[Slot, ...], gone: Node | None = None) -> None:
        """Change names, and free what lost its name."""
        self._recycle(self.names.change(slots, gone))
        if isinstance(gone, FileNode):
            self.unlink(gone)

    def settle_names(self, directory: DirectoryNode, number: int) -> None:
        """Make the changes in a directory durable, up to a number."""
        changes = [c for c in self.names.touching(directory) if c.number <= number]
        self._recycle(self.names.settle(changes))

    def settle(self, path: str, node: FileNode, number: int) -> None:
        """Make a file durable as far as a number, perhaps with a page in the wrong place."""
        faults = self.faults
        if faults.stale_read:
            for index in node.dirty:
                if index in node.durable.pages:
                    node.replaced[index] = node.durable.freeze(index)
        stray = self.strikes("misdirected", path, faults.misdirected)
        before = dict(node.durable.pages) if stray else {}
        node.settle(number)
        if stray:
            self._misdirect(path, node, before)

    def _misdirect(self, path: str, node: FileNode, before: dict[int, bytes | bytearray]) -> None:
        """Move a page that was just written to where another durable page is."""
        pages = node.durable.pages
        written = [index for index in sorted(pages) if pages[index] is not before.get(index)]
        others = [
            (other_path, other, index)
            for other_path, other in files(self.names.root, "", durable=True)
            for index in sorted(other.durable.pages)
            if (other is not node or index not in written) and index not in other.dirty
        ]
        if not written or not others:
            return
        index = written[self.draw.below("disk.misdirected.page", len(written))]
        victim_path, victim, target = others[self.draw.below("disk.misdirected.to", len(others))]
        if not self.may_destroy(victim_path, target * PAGE, PAGE):
            return
        if not self.may_destroy(path, index * PAGE, PAGE):
            return
        self.destroys(victim_path, target * PAGE, PAGE)
        self.destroys(path, index * PAGE, PAGE)
        victim.durable.pages[target] = node.durable.freeze(index)
        node.durable.pages[index] = bytes(before.get(index, ZEROS))
        for touched, at in ((node, index), (victim, target)):
            touched.evict_page(at)

    def _names_left(self, profile: Profile) -> list[FileNode]:
        match profile:
            case "prefix" | "data-first":
                return self.names.crash_in_order(self.draw)
            case "block" | "sector":
                return self.names.crash_freely(self.draw)
            case "meta-first":
                return self.names.crash_kept()

    def _left(self, node: FileNode, profile: Profile) -> Content:
        draw = self.draw
        match profile:
            case "prefix":
                return cut(node.durable, node.pending, draw)
            case "block":
                return blend(node.durable, node.pending, draw, odds_of(draw))
            case "sector":
                return tear(node.durable, node.pending, draw, odds_of(draw), self._stale)
            case "meta-first":
                return hollow(node.durable, node.pending, draw, odds_of(draw))
            case "data-first":
                node.settle(node.number)
                return node.durable

    def _recycle(self, freed: list[FileNode]) -> None:
        for node in freed:
            for index in sorted(node.durable.pages)[:STALE_PAGES_PER_FILE]:
                self._stale.append(node.durable.freeze(index))
        del self._stale[:-STALE_PAGES]

    def _end_processes(self) -> None:
        for process in self._processes[:]:
            process.die()

    def _recount(self) -> None:
        found = files(self.names.root, "", durable=True)
        self.used_pages = sum(node.charged_pages() for _, node in found)

    def forget(self, process: "ProcessDisk") -> None:
        """Take a process that died off the list."""
        self._processes.remove(process)
        for node in [node for node, owner in self.locks.items() if owner is process]:
            del self.locks[node]

    def _file(self, path: str, durable: bool) -> FileNode | None:
        node: Node | None = self.names.root
        for name in names_of(path):
            if not isinstance(node, DirectoryNode):
                return None
            node = (node.durable if durable else node.cached).get(name)
        return node if isinstance(node, FileNode) else None


class ProcessDisk:
    """The disk as one life of a process sees it."""

    def __init__(
        self,
        disk: SimDisk,
        alive: Callable[[], None],
        charge_ns: Callable[[int], None],
        sleep_ns: Callable[[int], Awaitable[None]],
        open_files_max: int,
    ) -> None:
        self.disk: Final = disk
        self._alive: Final = alive
        self._charge_ns: Final = charge_ns
        self._sleep_ns: Final = sleep_ns
        self._open_files_max: Final = open_files_max
        self._files: dict[SimFile, None] = {}
        self._dead = False

    def open(self, path: str, mode: Mode) -> "SimFile":
        """Open a file; its directory must exist."""
        self.enter("open", path)
        faults = self.disk.faults
        if len(self._files) >= self._open_files_max:
            raise failure(errno.EMFILE, path)
        if self.disk.strikes("open_error", path, faults.open_error):
            raise failure(errno.EMFILE, path)
        directory, name = self._parent(path)
        node = directory.cached.get(name) if name else directory
        match node, mode:
            case None, "create" | "exclusive":
                self._must_be_writable(path)
                node = FileNode()
                self.disk.change((Slot(directory, name, node),))
            case None, _:
                raise failure(errno.ENOENT, path)
            case _, "exclusive":
                raise failure(errno.EEXIST, path)
            case DirectoryNode(), _:
                raise failure(errno.EISDIR, path)
            case FileNode(), "create" | "write":
                self._must_be_writable(path)
            case FileNode(), _:
                pass
        assert isinstance(node, FileNode)
        node.opened += 1
        file = SimFile(self, path, node, mode != "read")
        self._files[file] = None
        return file

    def exists(self, path: str) -> bool:
        """Tell whether a file or directory has this name."""
        return self._look(path) is not None

    def is_directory(self, path: str) -> bool:
        """Tell whether a directory has this name."""
        return isinstance(self._look(path), DirectoryNode)

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted."""
        self.enter("names", directory)
        return sorted(self._directory(directory).cached)

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it that are missing; harmless if it is there."""
        self.enter("names", path)
        directory = self.disk.names.root
        parts = names_of(path)
        for index, name in enumerate(parts):
            node = directory.cached.get(name)
            match node:
                case DirectoryNode():
                    directory = node
                case FileNode():
                    last = index == len(parts) - 1
                    raise failure(errno.EEXIST if last else errno.ENOTDIR, path)
                case None:
                    self._must_be_writable(path)
                    made = DirectoryNode()
                    self.disk.change((Slot(directory, name, made),))
                    directory = made

    def rename(self, old: str, new: str) -> None:
        """Give a file or directory another name, atomically replacing a file that had it."""
        self.enter("names", old)
        self._must_be_writable(old)
        self._must_be_writable(new)
        source, source_name = self._parent(old)
        target, target_name = self._parent(new)
        node = source.cached.get(source_name)
        if node is None:
            raise failure(errno.ENOENT, old)
        replaced = target.cached.get(target_name)
        if node is replaced:
            return
        old_parts, new_parts = names_of(old), names_of(new)
        if new_parts[: len(old_parts)] == old_parts:
            raise failure(errno.EINVAL if isinstance(node, DirectoryNode) else errno.ENOTDIR, new)
        if old_parts[: len(new_parts)] == new_parts:
            raise failure(errno.ENOTEMPTY, new)
        match node, replaced:
            case DirectoryNode(), FileNode():
                raise failure(errno.ENOTDIR, new)
            case FileNode(), DirectoryNode():
                raise failure(errno.EISDIR, new)
            case DirectoryNode(), DirectoryNode(cached=names) if names:
                raise failure(errno.ENOTEMPTY, new)
            case _:
                slots = (Slot(source, source_name, None), Slot(target, target_name, node))
                self.disk.change(slots, replaced)

    def remove(self, path: str) -> None:
        """Remove a file.  Open files stay readable until they are closed."""
        self.enter("names", path)
        directory, name = self._parent(path)
        match directory.cached.get(name):
            case None:
                raise failure(errno.ENOENT, path)
            case DirectoryNode():
                raise failure(errno.EISDIR, path)
            case FileNode() as node:
                self._must_be_writable(path)
                self.disk.change((Slot(directory, name, None),), node)

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""
        self.enter("names", path)
        directory, name = self._parent(path)
        match directory.cached.get(name):
            case None:
                raise failure(errno.ENOENT, path)
            case FileNode():
                raise failure(errno.ENOTDIR, path)
            case DirectoryNode(cached=names) if names:
                raise failure(errno.ENOTEMPTY, path)
            case DirectoryNode() as node:
                self._must_be_writable(path)
                self.disk.change((Slot(directory, name, None),), node)

    async def sync_directory(self, path: str) -> None:
        """Return when the names in this directory are durable."""
        self.check()
        directory = self._directory(path)
        pending = self.disk.names.touching(directory)
        injection = self.disk.injected("sync_directory", path)
        await self.wait(self.disk.latencies.sync, "sync_directory", 0, injection)
        if injection is not None and injection.error:
            raise failure(injection.error, path)
        if self.disk.strikes("sync_error", path, self.disk.faults.sync_error):
            raise failure(errno.EIO, path)
        self._must_be_there(path)
        if pending:
            self.disk.settle_names(directory, pending[-1].number)

    def lock(self, directory: str) -> "SimDirectoryLock":
        """Claim a directory by its ``LOCK_NAME``; ``BlockingIOError`` when somebody has it."""
        path = f"{directory.rstrip('/')}/{LOCK_NAME}"
        self.open(path, "create").close()
        home, name = self._parent(path)
        node = home.cached[name]
        assert isinstance(node, FileNode)
        if node in self.disk.locks:
            raise failure(errno.EAGAIN, path)
        self.disk.locks[node] = self
        return SimDirectoryLock(self, node)

    def free_bytes(self, path: str) -> int:
        """Return how much the file system of ``path`` could still take."""
        self.enter("names", path)
        if self._look(path) is None:
            raise failure(errno.ENOENT, path)
        return self.disk.free_pages(path) * PAGE

    def die(self) -> None:
        """End this life: files are closed and locks released, as the kernel does it."""
        if self._dead:
            return
        for file in list(self._files):
            self.closed(file)
        self._dead = True
        self.disk.forget(self)

    def closed(self, file: "SimFile") -> None:
        """Take note that a file was closed."""
        del self._files[file]
        file.node.opened -= 1
        self.disk.release(file.node)

    def check(self) -> None:
        """Make sure that the process lives."""
        self._alive()
        assert not self._dead, "a process that was ended uses its disk"

    def enter(self, kind: Kind, path: str, count: int = 0) -> None:
        """Begin a plain call: take its time, and fail if a fault was waiting for it."""
        self.check()
        disk = self.disk
        latencies = disk.latencies
        law = {"read": latencies.read, "write": latencies.write}.get(kind, latencies.names)
        duration_ns = law.duration_ns(disk.draw, f"disk.{kind}", count)
        injection = disk.injected(kind, path)
        if injection is not None:
            duration_ns += injection.delay_ns
        self._charge_ns(duration_ns)
        if injection is not None and injection.error:
            raise failure(injection.error, path)
        self._must_be_there(path)

    async def wait(self, law: Law, site: str, count: int, injection: Injection | None) -> None:
        """Let the caller wait for the device."""
        duration_ns = law.duration_ns(self.disk.draw, f"disk.{site}", count)
        if injection is not None:
            duration_ns += injection.delay_ns
        await self._sleep_ns(duration_ns)
        self.check()

    def _must_be_there(self, path: str) -> None:
        if self.disk.trouble_of(path) == "vanished":
            raise failure(errno.ENOENT, path)

    def _must_be_writable(self, path: str) -> None:
        match self.disk.trouble_of(path):
            case "read-only":
                raise failure(errno.EROFS, path)
            case "vanished":
                raise failure(errno.ENOENT, path)
            case "full" | None:
                pass

    def _look(self, path: str) -> Node | None:
        self.check()
        if self.disk.trouble_of(path) == "vanished":
            return None
        node: Node | None = self.disk.names.root
        for name in names_of(path):
            node = node.cached.get(name) if isinstance(node, DirectoryNode) else None
        return node

    def _directory(self, path: str) -> DirectoryNode:
        node: Node = self.disk.names.root
        for name in names_of(path):
            node = entry(node, name, path)
        if isinstance(node, FileNode):
            raise failure(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[DirectoryNode, str]:
        parts = names_of(path)
        node: Node = self.disk.names.root
        for name in parts[:-1]:
            node = entry(node, name, path)
        if isinstance(node, FileNode):
            raise failure(errno.ENOTDIR, path)
        return node, parts[-1] if parts else ""


class SimFile:
    """An open file of a simulated process."""

    def __init__(self, process: ProcessDisk, path: str, node: FileNode, writable: bool) -> None:
        self.node: Final = node
        self._process: Final = process
        self._disk: Final = process.disk
        self._path: Final = path
        self._writable: Final = writable
        self._open = True
        self._seen_failures = node.failures
        self._lost = 0

    @property
    def path(self) -> str:
        """The path it was opened by; a later rename does not change it."""
        return self._path

    def size(self) -> int:
        """Return how many bytes the file holds."""
        self._process.check()
        assert self._open, f"{self._path} was closed"
        return self.node.cached.size

    def read(self, offset: int, count: int) -> bytes:
        """Return up to ``count`` bytes at ``offset``; fewer only where the file ends."""
        assert self._open, f"{self._path} was closed"
        assert offset >= 0
        assert count >= 0
        self._enter("read", count)
        node, disk = self.node, self._disk
        end = min(offset + count, node.cached.size)
        if end <= offset:
            return b""
        if disk.strikes("read_error", self._path, disk.faults.read_error):
            first, last = offset // SECTOR, (end - 1) // SECTOR
            sector = first + disk.draw.below("disk.read_error.sector", last - first + 1)
            disk.break_sectors(self._path, sector * SECTOR, SECTOR)
        self._must_be_readable(offset, end)
        data = node.cached.read(offset, end - offset)
        if node.replaced and disk.strikes("stale_read", self._path, disk.faults.stale_read):
            data = self._stale(offset, data)
        return data

    def read_into(self, offset: int, into: memoryview) -> int:
        """Fill ``into`` from ``offset``; return how many bytes the file had."""
        data = self.read(offset, len(into))
        into[: len(data)] = data
        return len(data)

    def write(self, offset: int, parts: Sequence[Buffer]) -> int:
        """Write the parts one after another at ``offset``, all of them; return how many bytes."""
        assert self._open, f"{self._path} was closed"
        assert self._writable, f"{self._path} was opened to be read"
        data = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
        disk, node, path = self._disk, self.node, self._path
        assert offset >= 0
        self._enter("write", len(data))
        self._must_be_writable()
        if not data:
            return 0
        if disk.strikes("write_error", path, disk.faults.write_error):
            self._put(offset, data[: disk.draw.below("disk.write_error.count", len(data))])
            raise failure(errno.EIO, path)
        if disk.strikes("write_full", path, disk.faults.write_full):
            self._put(offset, data[: disk.draw.below("disk.write_full.count", len(data))])
            raise failure(errno.ENOSPC, path)
        if node.bad_sectors:
            self._rewrite(offset, len(data))
        fits = self._fitting(offset, data)
        self._put(offset, data[:fits])
        if fits < len(data):
            raise failure(errno.ENOSPC, path)
        return len(data)

    def truncate(self, size: int) -> None:
        """Make the file exactly ``size`` bytes long; what it gains reads as zeros."""
        assert self._open, f"{self._path} was closed"
        assert self._writable, f"{self._path} was opened to be read"
        assert size >= 0
        self._enter("resize", 0)
        self._must_be_writable()
        before = self.node.charged_pages()
        self.node.reserved = min(self.node.reserved, size)
        self.node.resize(size)
        self._disk.used_pages += self.node.charged_pages() - before

    def allocate(self, size: int) -> None:
        """Reserve space up to ``size`` and make the file at least that long, reading as zeros."""
        assert self._open, f"{self._path} was closed"
        assert self._writable, f"{self._path} was opened to be read"
        assert size > 0
        self._enter("resize", 0)
        self._must_be_writable()
        disk, node = self._disk, self.node
        before, reserved = node.charged_pages(), node.reserved
        node.reserved = max(node.reserved, size)
        more = node.charged_pages() - before
        full = disk.strikes("write_full", self._path, disk.faults.write_full)
        if full or more > disk.free_pages(self._path):
            node.reserved = reserved
            raise failure(errno.ENOSPC, self._path)
        disk.used_pages += more
        if size > node.cached.size:
            node.resize(size)

    async def sync(self) -> None:
        """Return when everything written before the call is durable, or raise having lost it."""
        assert self._open, f"{self._path} was closed"
        process, disk, node, path = self._process, self._disk, self.node, self._path
        process.check()
        if self._lost:
            raise failure(self._lost, path)
        number = node.number
        injection = disk.injected("sync", path)
        faults = disk.faults
        if injection is None and disk.strikes("sync_stall", path, faults.sync_stall):
            injection = Injection("sync", delay_ns=faults.sync_stall_ns)
        await process.wait(disk.latencies.sync, "sync", node.pending_bytes, injection)
        error = injection.error if injection is not None else 0
        if not error and disk.strikes("sync_error", path, faults.sync_error):
            error = errno.EIO
        if not error and disk.trouble_of(path) == "vanished":
            error = errno.EIO
        if error:
            node.lose(number, disk.draw)
            if disk.draw.chance("disk.sync.evicted", 250_000):
                node.evict()
        if node.failures != self._seen_failures:
            self._lost = error or errno.EIO
            raise failure(self._lost, path)
        disk.settle(path, node, number)

    def close(self) -> None:
        """Give the file back; harmless when done already.  Makes nothing durable."""
        self._process.check()
        if self._open:
            self._open = False
            self._process.closed(self)

    def _enter(self, kind: Kind, count: int) -> None:
        try:
            self._process.enter(kind, self._path, count)
        except FileNotFoundError:
            # The directory vanished, but this file is open: its device does not answer.
            raise failure(errno.EIO, self._path) from None

    def _must_be_writable(self) -> None:
        if self._disk.trouble_of(self._path) == "read-only":
            raise failure(errno.EROFS, self._path)

    def _must_be_readable(self, offset: int, end: int) -> None:
        bad = self.node.bad_sectors
        if bad and not bad.isdisjoint(range(offset // SECTOR, (end - 1) // SECTOR + 1)):
            raise failure(errno.EIO, self._path)

    def _rewrite(self, offset: int, count: int) -> None:
        """Repair the bad sectors that are written whole; a part of one needs it to be read."""
        bad = self.node.bad_sectors
        whole = range(-(-offset // SECTOR), (offset + count) // SECTOR)
        for sector in range(offset // SECTOR, (offset + count - 1) // SECTOR + 1):
            if sector in bad and sector not in whole:
                raise failure(errno.EIO, self._path)
        bad.difference_update(whole)

    def _fitting(self, offset: int, data: bytes) -> int:
        """Return how many bytes there is space for."""
        node, free = self.node, self._disk.free_pages(self._path)
        reserved = -(-node.reserved // PAGE)
        if free > len(data) // PAGE + 2:
            return len(data)
        position = 0
        for index, _, piece in paged(offset, data):
            if index >= reserved and index not in node.cached.pages:
                if not free:
                    break
                free -= 1
            position += len(piece)
        return position

    def _put(self, offset: int, data: bytes) -> None:
        if not data:
            return
        node = self.node
        pages = node.cached.pages
        reserved = -(-node.reserved // PAGE)
        first, last = offset // PAGE, (offset + len(data) - 1) // PAGE
        for index in range(max(first, reserved), last + 1):
            if index not in pages:
                self._disk.used_pages += 1
        node.write(offset, data)

    def _stale(self, offset: int, data: bytes) -> bytes:
        """Show one page as the medium had it before."""
        node = self.node
        pages = range(offset // PAGE, (offset + len(data) - 1) // PAGE + 1)
        old = [index for index in pages if index in node.replaced and index not in node.dirty]
        if not old:
            return data
        index = old[self._disk.draw.below("disk.stale_read.page", len(old))]
        begin = index * PAGE - offset
        page = node.replaced[index]
        start, end = max(0, begin), min(len(data), begin + PAGE)
        return data[:start] + page[start - begin : end - begin] + data[end:]


class SimDirectoryLock:
    """A directory that a simulated process has claimed."""

    def __init__(self, process: ProcessDisk, node: FileNode) -> None:
        self._process: Final = process
        self._node: Final = node
        self._held = True

    def release(self) -> None:
        """Let others in; harmless when done already."""
        self._process.check()
        if self._held:
            self._held = False
            del self._process.disk.locks[self._node]


def names_of(path: str) -> list[str]:
    """Return the names in a path."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    assert ".." not in parts, f"{path}: a path without '..' was expected"
    return parts


def entry(node: Node, name: str, path: str) -> Node:
    """Return what a name in a directory means; ``path`` is what was asked for."""
    if isinstance(node, FileNode):
        raise failure(errno.ENOTDIR, path)
    below = node.cached.get(name)
    if below is None:
        raise failure(errno.ENOENT, path)
    return below


def photographed(directory: DirectoryNode) -> Tree:
    """Return what is durable in a directory and below."""
    return {
        name: node.durable.copy() if isinstance(node, FileNode) else photographed(node)
        for name, node in sorted(directory.durable.items())
    }


def develop(tree: Tree, directory: DirectoryNode) -> None:
    """Make the files and directories of an image."""
    for name, below in tree.items():
        node: Node
        if isinstance(below, Content):
            node = FileNode()
            node.restart(below.copy())
        else:
            node = DirectoryNode()
            develop(below, node)
        directory.durable[name] = directory.cached[name] = node


def digest(root: DirectoryNode, durable: bool) -> bytes:
    """Return a digest of names and contents."""
    total = blake2b(digest_size=16)
    for line in described(root, "", durable):
        total.update(line)
    return total.digest()


def described(directory: DirectoryNode, path: str, durable: bool) -> Iterator[bytes]:
    """Yield names, lengths and what is not zero, in order of names."""
    for name, node in sorted((directory.durable if durable else directory.cached).items()):
        match node:
            case DirectoryNode():
                yield f"{path}/{name}/\n".encode()
                yield from described(node, f"{path}/{name}", durable)
            case FileNode():
                content = node.durable if durable else node.cached
                yield f"{path}/{name} {content.size}\n".encode()
                for index in sorted(content.pages):
                    page = content.pages[index].rstrip(b"\0")
                    if page:
                        yield f"{index} {len(page)}\n".encode()
                        yield bytes(page)
