"""The names of a simulated disk: directories as everybody sees them, and as they would come back.

    create, rename, remove ──▶ cached entries     what everybody sees
         └───────────────────▶ journal            changes in order, each atomic
                                 │ settle         sync of a directory, or the journal's own commit
                                 ▼
                               durable entries    what a power loss cannot touch

A change may be durable without an older one, except where that would be nonsense:

- changes of one name come true in their order, so a name is always something it once was;
- a directory is removed or replaced only after it was emptied;
- a rename comes after whatever made its new home reachable, or a durable file would be lost by
  being moved; and directories move in order, or two of them could end up inside each other.

A file created in a directory that is not durable itself has no such protection: its name may be
durable in a directory that nobody finds.  That is what ``sync_directory`` of the parent is for.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.disk_content import FileNode
from barnabas.sim.disk_faults import Draw

# The kernel commits its journal every few seconds.  Beyond this many changes the oldest have come
# true, which bounds what the simulation remembers.
JOURNAL_MAX: Final = 1024


class DirectoryNode:
    """A directory without its name."""

    __slots__ = ("cached", "durable")

    def __init__(self) -> None:
        self.cached: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}


Node: TypeAlias = FileNode | DirectoryNode


@value
class Slot:
    """A name in a directory, and what it means from now on."""

    directory: DirectoryNode
    name: str
    node: Node | None


@value
class Change:
    """Names that change together: one for a creation or removal, two for a rename."""

    number: int
    slots: tuple[Slot, ...]
    # A directory that the change removes or replaces.
    gone: DirectoryNode | None = None

    @property
    def moved(self) -> Node | None:
        """What a rename moves."""
        return self.slots[-1].node if len(self.slots) > 1 else None


class Names:
    """The tree of directories and its journal."""

    def __init__(self) -> None:
        self.root = DirectoryNode()
        self.journal: list[Change] = []
        self._numbers = 0

    def change(self, slots: tuple[Slot, ...], gone: Node | None = None) -> list[FileNode]:
        """Change names in the cache; return the files whose durable name went meanwhile."""
        self._numbers += 1
        directory = gone if isinstance(gone, DirectoryNode) else None
        self.journal.append(Change(self._numbers, slots, directory))
        for slot in slots:
            if slot.node is None:
                del slot.directory.cached[slot.name]
            else:
                slot.directory.cached[slot.name] = slot.node
        if len(self.journal) > JOURNAL_MAX:
            return self.settle(self.journal[: JOURNAL_MAX // 2])
        return []

    def touching(self, directory: DirectoryNode) -> list[Change]:
        """Return the pending changes of names in a directory."""
        return [c for c in self.journal if any(slot.directory is directory for slot in c.slots)]

    def settle(self, changes: Iterable[Change]) -> list[FileNode]:
        """Make changes durable, with those they rest on; return files that lost their name."""
        wanted = {change.number for change in changes}
        needed = Needed()
        chosen = set()
        for change in reversed(self.journal):
            if change.number in wanted or needed.by(change):
                needed.add(change)
                chosen.add(change.number)
        freed: list[FileNode] = []
        for change in self.journal:
            if change.number in chosen:
                freed += enact(change)
        self.journal = [change for change in self.journal if change.number not in chosen]
        return freed

    def crash_in_order(self, draw: Draw) -> list[FileNode]:
        """Let the first changes come true and the others not."""
        kept = len(self.journal) - draw.below("disk.crash.names", len(self.journal) + 1)
        return self._crash(self.journal[:kept])

    def crash_freely(self, draw: Draw) -> list[FileNode]:
        """Let any changes come true that do not rest on one that does not."""
        lost = Lost()
        kept = []
        for change in self.journal:
            if lost.under(change) or draw.chance("disk.crash.name", 500_000):
                lost.add(change)
            else:
                lost.pass_by(change)
                kept.append(change)
        return self._crash(kept)

    def crash_kept(self) -> list[FileNode]:
        """Let all changes come true."""
        return self._crash(self.journal)

    def _crash(self, kept: Iterable[Change]) -> list[FileNode]:
        freed: list[FileNode] = []
        for change in kept:
            freed += enact(change)
        self.journal = []
        forget_cached(self.root)
        return freed


class Needed:
    """What the changes chosen so far rest on; looked at from the newest change to the oldest."""

    def __init__(self) -> None:
        self._slots: set[tuple[DirectoryNode, str]] = set()
        self._homes: set[Node] = set()
        self._emptied: set[DirectoryNode] = set()
        self._directories_move = False

    def by(self, change: Change) -> bool:
        """Tell whether a chosen change rests on this one."""
        return (
            any((slot.directory, slot.name) in self._slots for slot in change.slots)
            or any(slot.directory in self._emptied for slot in change.slots)
            or any(slot.node in self._homes for slot in change.slots if slot.node is not None)
            or (self._directories_move and isinstance(change.moved, DirectoryNode))
        )

    def add(self, change: Change) -> None:
        """Note what a chosen change rests on."""
        self._slots.update((slot.directory, slot.name) for slot in change.slots)
        if change.gone is not None:
            self._emptied.add(change.gone)
        if change.moved is not None:
            self._homes.add(change.slots[-1].directory)
            self._directories_move |= isinstance(change.moved, DirectoryNode)
        # A home that had to be linked needs the directory it was linked in, too.
        if any(slot.node in self._homes for slot in change.slots if slot.node is not None):
            self._homes.update(slot.directory for slot in change.slots)


class Lost:
    """What did not come true; looked at from the oldest change to the newest."""

    def __init__(self) -> None:
        self._slots: set[tuple[DirectoryNode, str]] = set()
        self._touched: set[DirectoryNode] = set()
        self._unreachable: set[Node] = set()
        self._directories_move = False

    def under(self, change: Change) -> bool:
        """Tell whether this change rests on one that did not come true."""
        return (
            any((slot.directory, slot.name) in self._slots for slot in change.slots)
            or (change.gone is not None and change.gone in self._touched)
            or (change.moved is not None and change.slots[-1].directory in self._unreachable)
            or (self._directories_move and isinstance(change.moved, DirectoryNode))
        )

    def add(self, change: Change) -> None:
        """Note that a change did not come true."""
        for slot in change.slots:
            self._slots.add((slot.directory, slot.name))
            self._touched.add(slot.directory)
        self._directories_move |= isinstance(change.moved, DirectoryNode)
        if change.moved is None and change.slots[-1].node is not None:
            self._unreachable.add(change.slots[-1].node)

    def pass_by(self, change: Change) -> None:
        """Note where a change that came true put things: perhaps where nobody finds them."""
        for slot in change.slots:
            if slot.node is not None and slot.directory in self._unreachable:
                self._unreachable.add(slot.node)


def enact(change: Change) -> list[FileNode]:
    """Make one change durable; return the file that lost its durable name by it, if any."""
    freed = []
    for slot in change.slots:
        old = slot.directory.durable.get(slot.name)
        if isinstance(old, FileNode) and old is not change.moved:
            freed.append(old)
        if slot.node is None:
            del slot.directory.durable[slot.name]
        else:
            slot.directory.durable[slot.name] = slot.node
    return freed


def forget_cached(directory: DirectoryNode) -> None:
    """See a directory, and all below it, as they are on the medium."""
    directory.cached = dict(directory.durable)
    for node in directory.durable.values():
        if isinstance(node, DirectoryNode):
            forget_cached(node)


def files(directory: DirectoryNode, path: str, durable: bool) -> Iterator[tuple[str, FileNode]]:
    """Yield the files below a directory by path, sorted."""
    for name, node in sorted((directory.durable if durable else directory.cached).items()):
        match node:
            case FileNode():
                yield f"{path}/{name}", node
            case DirectoryNode():
                yield from files(node, f"{path}/{name}", durable)
