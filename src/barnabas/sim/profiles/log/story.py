"""What outlives a process of the profile: the ghosts, the atlas, and what happened so far.

The world calls no method of a process that is dead, but a process that starts again has to be
compared with what the ones before it did and were promised.  That is kept here, outside of the
world; the product reads none of it.
"""

import errno
from collections.abc import Callable, Collection
from typing import Final

from barnabas.log.checkpoints import RECOVERY_POINTS, decode_offsets
from barnabas.log.directory import LogDirectory
from barnabas.log.names import TEMPORARY
from barnabas.model.errors import CorruptLog
from barnabas.sim.disk import SimDisk
from barnabas.sim.plan import Operation
from barnabas.sim.profiles.log.atlas import Atlas, whole_batches
from barnabas.sim.profiles.log.ghost import CUT_OFF, Ghost, durable_bytes, is_whole
from barnabas.sim.profiles.log.layout import HOMES, LOGS
from barnabas.sim.world import Violation, World

Take = Callable[[Collection[str]], Operation | None]

TORN_TAIL: Final = "torn tail cut"
CLEAN: Final = "recovery with clean mark"
UNCLEAN: Final = "recovery without clean mark"
FAILED_SYNC: Final = "EIO on fsync"
NO_SPACE: Final = "ENOSPC"
OLD_CHECKPOINT: Final = "checkpoint old-content fallback"
DIED_OPENING: Final = "crash during recovery"
REJECTED: Final = "CRC rejection"

SPACE_AGAIN: Final = "space came back"
LOST_CHECKPOINT: Final = "destroyed checkpoint, safe fallback"
NEW_DISK: Final = "empty disk, nothing claimed"
UNREADABLE: Final = "unreadable sector, log replaced"
REFILLED: Final = "destroyed log filled again from an intact copy"

# The oracles of the book that one directory of logs can be asked, each of which has to find
# something to look at: docs/internals/log-oracles.md tells where.
ORACLES: Final = (
    *(f"S-{number:02}" for number in range(1, 20)),
    *("SL-1", "SL-2"),
    *(f"I-{number:02}" for number in range(1, 7)),
    *("T-03", "T-06", "T-08"),
    "B-07",
)

MUST_SEE: Final = (
    # What the oracle book wants seen of storage.
    *(TORN_TAIL, CLEAN, UNCLEAN, FAILED_SYNC, NO_SPACE, OLD_CHECKPOINT, DIED_OPENING, REJECTED),
    # What this profile does besides.
    *(SPACE_AGAIN, LOST_CHECKPOINT, NEW_DISK, UNREADABLE, REFILLED, CUT_OFF),
    *(f"{oracle} asked" for oracle in ORACLES),
)


class Story:
    """One machine's logs through all the lives of its process."""

    def __init__(self, world: World, disk: SimDisk, take: Take) -> None:
        self.found: Final = world.found
        self.mark: Final = world.mark
        self.disk: Final = disk
        self.take: Final = take
        self.ghosts: Final = {name: self._fresh(name) for name in LOGS}
        self.atlas: Final = Atlas(disk, self.ghosts)
        disk.may_destroy = self.atlas.may_destroy
        disk.destroys = self.atlas.destroys
        disk.may_break = self.atlas.may_break
        # The epoch of whoever leads the logs that are led here.
        self.epoch = -1
        self.lives = 0
        # How many values were written: each is another.
        self.values = 0
        # Directories that were closed, or almost, by which life.
        self.clean: Final[dict[str, int]] = {}
        # Directories that were without space when they were last used.
        self.full: Final[dict[str, None]] = {}
        self._opening = False
        self._replaced = 0
        self._wipes = self._syncs = 0

    def _fresh(self, name: str) -> Ghost:
        return Ghost(name, name == "keyed", self.mark)

    def asked(self, oracle: str) -> None:
        """Note that an oracle had something to look at."""
        self.mark(f"{oracle} asked")

    # --- lives -----------------------------------------------------------------------------------

    def begin_life(self) -> None:
        """Learn that a process begins to open everything."""
        self.lives += 1
        # A new life is a new term of leadership, as registering a broker again makes it.
        self.epoch += 1
        if self._opening:
            self.mark(DIED_OPENING)
            self.asked("S-19")
        self._opening = True
        wipes = self.disk.suffered["wipe"]
        if wipes > self._wipes:
            self._wipes = wipes
            self.mark(NEW_DISK)
            for name in LOGS:
                self.ghosts[name] = self._fresh(name)
            self.clean.clear()
            self.full.clear()
            self.atlas.rotten.clear()

    def opened(self) -> None:
        """Learn that everything is open that can be."""
        self._opening = False

    def replaced(self, name: str) -> None:
        """Learn that a log is durably gone: it begins anew."""
        self.ghosts[name] = self._fresh(name)

    def unique(self) -> str:
        """Return the hex of an id that nothing had so far."""
        self._replaced += 1
        return f"{self._replaced:032x}"

    # --- directories -----------------------------------------------------------------------------

    def claimed(self, directory: LogDirectory) -> None:
        """Compare what a directory says of itself with how it was left: S-04, B-07."""
        path = directory.path
        self.mark(CLEAN if directory.was_clean else UNCLEAN)
        if directory.was_clean:
            self.asked("B-07")
            found, last = directory.clean_epoch, self.clean.get(path)
            # A mark that cannot be read says no more than that it is there.
            is_rotten = found is None and f"{path}/.kafka_cleanshutdown" in self.atlas.rotten
            if last is None or (found != last and not is_rotten):
                story = f"{path}: a clean mark of life {found}; the last clean stop was {last}"
                raise Violation("B-07", story)
        self.clean.pop(path, None)
        if self.full.pop(path, self) is None:
            self.mark(SPACE_AGAIN)
        if any(name.endswith(TEMPORARY) for name in directory.disk.names(path)):
            # Somebody died while it was replaced, and it is what it was before.
            self.mark(OLD_CHECKPOINT)
        for damage in directory.damage:
            destroyed = [rotten for rotten in self.atlas.rotten if rotten in str(damage)]
            if not destroyed:
                raise Violation("S-04", f"nobody destroyed a checkpoint, and {damage}")
            self.mark(LOST_CHECKPOINT)

    def checkpointed(self, directory: LogDirectory) -> None:
        """Compare the recovery points on the disk with what is durable: S-03."""
        path = f"{directory.path}/{RECOVERY_POINTS}"
        try:
            there = decode_offsets(durable_bytes(self.disk, path), path)
        except CorruptLog as error:
            if path not in self.atlas.rotten:
                raise Violation("S-04", str(error)) from error
            return
        self.asked("S-03")
        for of, log in directory.logs.items():
            if there.get(of, 0) > log.recovery_point:
                story = f"{of}: {there} on the disk, {log.recovery_point} is durable"
                raise Violation("S-03", story)

    def failed(self, path: str, error: OSError) -> None:
        """Learn that a directory failed, and how."""
        if error.errno == errno.ENOSPC:
            self.mark(NO_SPACE)
            self.full[path] = None
        syncs = self.disk.suffered["injected sync"] + self.disk.suffered["sync_error"]
        if error.errno == errno.EIO and syncs > self._syncs:
            self._syncs = syncs
            self.mark(FAILED_SYNC)
        for name in LOGS:
            ghost = self.ghosts[name]
            if HOMES[name] == path and ghost.is_unreadable and error.errno == errno.EIO:
                self.mark(UNREADABLE)
                ghost.is_condemned = True

    def look_at_tail(self, directory: str) -> None:
        """Note whether the newest segment of a log that is about to be opened ends in pieces."""
        names = self.disk.durable_files()
        logs = [path for path, _ in names if path.startswith(f"{directory}/")]
        logs = [path for path in logs if path.endswith(".log")]
        content = self.disk.cached_content(logs[-1]) if logs else None
        if content is None:
            return
        data, end = content.read(0, content.size), 0
        for position, header in whole_batches(data):
            whole = data[position : position + header.size_bytes]
            if not is_whole(whole):
                break
            end = position + len(whole)
        if data[end:].strip(b"\0"):
            self.mark(TORN_TAIL)
