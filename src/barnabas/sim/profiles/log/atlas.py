"""The fault atlas: which bytes of the disk may be destroyed, and what is lost with them.

    fault ─▶ SimDisk ── may_destroy(path, offset, count) ─▶ Atlas ─▶ Ghost: this may be gone

A log with a single copy cannot bring destroyed bytes back.  What it promises is to notice, where
Kafka's format lets anybody notice: a batch has a checksum of its bytes from the attributes on, a
snapshot one of all of it, and a checkpoint is text with a count.  So what may be destroyed is what
can be missed:

batches        everything but the base offset and the leader epoch, which no checksum covers; the
               length and the magic, too, behind which a segment cannot be read any further; and
               whole pages, but where a batch begins with the page
snapshots      everything, but for the oldest: nothing else knows the producers of before
indexes        everything: what an index says is checked against the batch it leads to
checkpoints    by a bit that no text has: half of them could otherwise be told from nothing
the rest       nothing: an index of aborted transactions and a topic's id are believed as they are

No fault strikes while a start offset is on its way: a checkpoint that is lost just then would be a
second fault in one step, for which Kafka's files have no answer.
"""

from collections.abc import Mapping
from typing import Final

from barnabas.log.checkpoints import (
    CLEAN_MARK,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    START_OFFSETS,
)
from barnabas.log.names import (
    EPOCH_CHECKPOINT,
    INDEX,
    LOG,
    SNAPSHOT,
    TIME_INDEX,
    offset_of,
    segment_part,
)
from barnabas.records.batch import BatchHeader, CorruptBatch, OldFormat, batches, header_at
from barnabas.sim.disk import SimDisk
from barnabas.sim.profiles.log.ghost import Ghost, is_whole
from barnabas.sim.profiles.log.layout import HOMES, LOGS, PATHS, log_path

# Where in a batch the fields are that nothing covers, and those that say where the next one begins.
BASE_OFFSET: Final = range(8)
LEADER_EPOCH: Final = range(12, 16)
STRUCTURE: Final = (*range(8, 12), 16)

# What is made from the batches, and noticed if it does not fit them.
DERIVED: Final = (SNAPSHOT, INDEX, TIME_INDEX)

# Those of a directory, and the mark of a clean stop, which only has to be there.
CHECKPOINTS: Final = (
    RECOVERY_POINTS,
    START_OFFSETS,
    HIGH_WATERMARKS,
    CLEANER_OFFSETS,
    CLEAN_MARK,
)


class Atlas:
    """What was destroyed on one disk, and what may still be."""

    def __init__(self, disk: SimDisk, ghosts: Mapping[str, Ghost]) -> None:
        self._disk: Final = disk
        self._ghosts: Final = ghosts
        # Checkpoints of directories that were destroyed and not written since.
        self.rotten: Final[dict[str, None]] = {}

    def may_destroy(self, path: str, offset: int, count: int) -> bool:
        """Tell whether bytes may be destroyed."""
        if any(ghost.is_moving for ghost in self._ghosts.values()):
            return False
        directory, _, file = path.rpartition("/")
        name, part = log_of(path), segment_part(file)
        if name is not None and part is not None and part[1] == LOG:
            return self._batches(name, path, range(offset, offset + count)) is not None
        if count > 1:
            return False
        if name is None:
            return directory in PATHS and file in CHECKPOINTS
        if part is None:
            return file == EPOCH_CHECKPOINT
        return part[1] in DERIVED and not (part[1] == SNAPSHOT and self._is_oldest(path))

    def destroys(self, path: str, offset: int, count: int) -> None:
        """Let the ghosts know what is lost."""
        home, _, file = path.rpartition("/")
        name, part = log_of(path), segment_part(file)
        if name is None:
            self.rotten[path] = None
            for each in LOGS:
                if HOMES[each] == home and file == START_OFFSETS:
                    self._ghosts[each].start_is_lost = True
        elif part is None or part[1] != LOG:
            self._ghosts[name].rotten[path] = None
        else:
            hit = self._batches(name, path, range(offset, offset + count))
            assert hit is not None, f"{path} is destroyed at {offset}, which was not permitted"
            damaged, is_torn = hit
            ghost, base = self._ghosts[name], part[0]
            ghost.damaged.update(dict.fromkeys(damaged))
            if is_torn:
                ghost.torn[base] = min([*damaged, ghost.torn.get(base, damaged[0])])

    def may_break(self, path: str, offset: int, count: int) -> bool:
        """Tell whether sectors may become unreadable; the log will have to be replaced then."""
        name = log_of(path)
        if name is None or any(ghost.is_moving for ghost in self._ghosts.values()):
            return False
        self._ghosts[name].is_unreadable = True
        return True

    def _is_oldest(self, path: str) -> bool:
        directory = path.rpartition("/")[0]
        there = [
            found
            for found, _ in self._disk.durable_files()
            if found.startswith(f"{directory}/") and offset_of(found.rpartition("/")[2], SNAPSHOT)
        ]
        return not there or path == min(there)

    def _batches(self, name: str, path: str, hit: range) -> tuple[list[int], bool] | None:
        """Return which batches a range of a segment destroys, and whether their bounds with them.

        None if any of them may not be destroyed.
        """
        content = self._disk.durable_content(path)
        if content is None:
            # Its name is not durable yet, and it may never have been.
            return None
        data = content.read(0, content.size)
        known = {header_at(one).base_offset for one in self._ghosts[name].stored}
        damaged: list[int] = []
        is_torn = False
        for position, header in whole_batches(data):
            first, last = max(hit.start, position), min(hit.stop, position + header.size_bytes)
            if first >= last:
                continue
            found = data[position : position + header.size_bytes]
            if header.base_offset not in known or not is_whole(found):
                # Of an earlier turn, on its way, or destroyed already: nobody could say what is
                # lost with it.
                return None
            if len(hit) > 1 and position == hit.start:
                # Whole batches could come to lie here, and no checksum covers where they lie.
                return None
            within = range(first - position, last - position)
            if len(hit) == 1 and (within[0] in BASE_OFFSET or within[0] in LEADER_EPOCH):
                return None
            is_torn = is_torn or len(hit) > 1 or within[0] in STRUCTURE
            damaged.append(header.base_offset)
        if len(hit) > 1 and not damaged:
            # Space that nothing was written to, where whole batches could come to lie, too.
            return None
        return damaged, is_torn


def log_of(path: str) -> str | None:
    """Return the log whose file this is."""
    return next((name for name in LOGS if path.startswith(f"{log_path(name)}/")), None)


def whole_batches(data: bytes) -> list[tuple[int, BatchHeader]]:
    """Return the batches at the beginning of a segment, as far as one follows the other."""
    found = []
    try:
        for position, header in batches(data):
            found.append((position, header))
    except (CorruptBatch, OldFormat):
        return found
    return found
