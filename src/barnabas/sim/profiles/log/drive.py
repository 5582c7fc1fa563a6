"""The process of the ``log`` profile: a broker reduced to its disks.

    open the directories and every log ─▶ operations, one after another ─▶ close, if asked to stop
             │ fails                              │ fails           │ finds damage
             ▼                                    ▼                 ▼
       that directory is lost, the others go on (S-16)       that log begins anew (S-18)

A directory that failed is out of service until the process starts again, which its operator sees
to after a while; nothing in it is appended to until then (S-07).  A log whose bytes the disk has
destroyed is what a broker without other replicas has to give up, and one with replicas fills from
them: it is renamed, purged, made anew, and filled from its other copy if that is whole.
"""

import asyncio
import errno
from collections.abc import Awaitable
from typing import Final

from barnabas.log.directory import LogDirectory
from barnabas.log.health import DirectoryFailed
from barnabas.log.names import Standing, directory_name
from barnabas.log.partition_log import PartitionLog
from barnabas.model.errors import CorruptLog
from barnabas.model.ids import Uuid
from barnabas.runtime.runtime import Runtime
from barnabas.sim.disk_faults import within
from barnabas.sim.profiles.log.layout import (
    CONFIGS,
    HOMES,
    LED,
    LOGS,
    PATHS,
    ROOT,
    log_path,
    partition,
)
from barnabas.sim.profiles.log.story import REFILLED, Story
from barnabas.sim.profiles.log.work import Damaged, Work, batch
from barnabas.sim.world import Violation

TOPIC_ID: Final = Uuid(bytes(range(16)))

# Between the failure of a directory and the next life: an operator notices.
OFFLINE_MS: Final = 300

# Which log has the same records as another, as far as it has come.
OTHER_COPY: Final = {"plain": "copy", "copy": "plain"}

# Read at once where a log is filled from another.
FILL_BYTES: Final = 4_000


class Drive:
    """One life of the process."""

    def __init__(self, runtime: Runtime, story: Story) -> None:
        self._runtime: Final = runtime
        self._story: Final = story
        self._logs: Final[dict[str, PartitionLog]] = {}
        self._directories: Final[dict[str, LogDirectory]] = {}
        self._work: Final = Work(runtime, story, self._directories, self._logs)
        self._ends_at_ms: int | None = None
        self._stopping = False

    async def live(self) -> None:
        """Work until asked to stop, or for a while after a directory failed."""
        work = self._runtime.tasks.spawn(self._live(), "work")
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            self._stopping = True
            await work

    async def _live(self) -> None:
        try:
            self._story.begin_life()
            for path in PATHS:
                await self._guarded(path, self._open(path))
            self._story.opened()
            while not self._stopping and not self._is_over():
                operation = self._story.take(self._logs)
                if operation is None:
                    await self._runtime.clock.sleep_ms(5)
                    continue
                name = str(operation.arguments[0])
                await self._guarded(HOMES[name], self._work.do(operation))
            for path in PATHS:
                await self._guarded(path, self._close(path))
        except Violation as violation:
            self._story.found(violation)

    def _is_over(self) -> bool:
        return self._ends_at_ms is not None and self._now_ms() >= self._ends_at_ms

    def _now_ms(self) -> int:
        return self._runtime.clock.now_ms()

    def _wall_ms(self) -> int:
        return self._runtime.clock.wall_ms()

    async def _guarded(self, path: str, work: Awaitable[None]) -> None:
        """Do something in a directory; whatever becomes of that is the directory's alone."""
        try:
            await work
        except (DirectoryFailed, OSError) as error:
            self._lose(path, error)
        except Damaged as damage:
            self._condemn(damage)
            await self._guarded(path, self._replace(damage.name))

    # --- opening and closing ---------------------------------------------------------------------

    async def _open(self, path: str) -> None:
        disk, story = self._runtime.disk, self._story
        disk.make_directory(path)
        await disk.sync_directory("/")
        await disk.sync_directory(ROOT)
        directory = await LogDirectory.open(disk, path)
        self._directories[path] = directory
        self._runtime.probes.trace("log.claimed", directory=path)
        story.claimed(directory)
        for name, found in directory.partitions():
            if found.standing is Standing.DELETE:
                await directory.purge(name)
        for name in LOGS:
            if HOMES[name] == path:
                await self._open_log(directory, name)
        # Everything durable below the recovery points has to be there as it was left.
        story.checkpointed(directory)

    async def _open_log(self, directory: LogDirectory, name: str) -> None:
        story, of, disk = self._story, partition(name), self._runtime.disk
        if story.ghosts[name].is_condemned:
            await self._clear_away(directory, name)
        if disk.exists(log_path(name)):
            story.look_at_tail(log_path(name))
            try:
                log = await directory.open_log(of, CONFIGS[name], self._wall_ms())
            except CorruptLog as error:
                self._condemn(Damaged(name, f"recovery: {error}"))
                await self._clear_away(directory, name)
                log = await self._create(directory, name)
        else:
            log = await self._create(directory, name)
        self._found(name, log)

    async def _create(self, directory: LogDirectory, name: str) -> PartitionLog:
        return await directory.create_log(partition(name), TOPIC_ID, CONFIGS[name], self._wall_ms())

    def _found(self, name: str, log: PartitionLog) -> None:
        self._logs[name] = log
        self._story.ghosts[name].recovered(log)
        self._runtime.probes.trace("log.opened", log=name, end=log.end_offset)

    async def _close(self, path: str) -> None:
        story, directory = self._story, self._directories.get(path)
        if directory is None:
            return
        # The mark is the last thing that is written: it may be there though nobody lived to be
        # told so.
        story.clean[path] = story.lives
        logs = {name: log for name, log in self._logs.items() if HOMES[name] == path}
        for name in logs:
            del self._logs[name]
        await directory.close(story.lives)
        del self._directories[path]
        self._runtime.probes.trace("log.released", directory=path)
        for name, log in logs.items():
            ghost = story.ghosts[name]
            ghost.durable_end = ghost.end
            assert log.end_offset == ghost.end, f"{name} was closed in the middle of something"

    # --- failing ---------------------------------------------------------------------------------

    def _lose(self, path: str, error: DirectoryFailed | OSError) -> None:
        """Go on without a directory, and see that the others do not mind."""
        cause = error.error if isinstance(error, DirectoryFailed) else error
        self._runtime.probes.trace(
            "log.failed", directory=path, why=f"{type(error).__name__}: {error}"
        )
        if self._ends_at_ms is None:
            self._ends_at_ms = self._now_ms() + OFFLINE_MS
        if isinstance(cause, BlockingIOError):
            # Somebody else works in it, and nothing was opened here.
            self._story.asked("S-17")
            return
        self._story.failed(path, cause)
        directory = self._directories.pop(path, None)
        logs = {name: log for name, log in self._logs.items() if HOMES[name] == path}
        for name in logs:
            del self._logs[name]
        if directory is not None:
            # What reads a slice hears of an error that the log did not see.
            directory.health.fail(cause)
        for name, log in logs.items():
            self._nothing_goes_on(name, log)
            if cause.errno == errno.ENOSPC:
                self._story.ghosts[name].nothing_partial(log)
        for other in list(self._directories):
            self._goes_on(other, path)

    def _nothing_goes_on(self, name: str, log: PartitionLog) -> None:
        self._story.asked("S-07")
        try:
            log.append_as_leader(batch(b"k", b"after", self._wall_ms()), 99, self._wall_ms())
        except (DirectoryFailed, AssertionError):
            # The assertion: it failed while it was being cut, and refuses all the more.
            return
        raise Violation("S-07", f"{name} takes an append after its directory has failed")

    def _goes_on(self, path: str, failed: str) -> None:
        """See that a directory serves although another one failed: S-16."""
        self._story.asked("S-16")
        error = self._directories[path].health.error
        if error is not None:
            if not within(str(error.filename), path):
                raise Violation("S-16", f"{path} is offline for an error elsewhere: {error}")
            return
        for name in LED:
            log = self._logs.get(name)
            if log is None or HOMES[name] != path:
                continue
            ghost = self._story.ghosts[name]
            if ghost.instead is not None:
                continue
            try:
                self._work.append(log, ghost, batch(b"k", b"meanwhile", self._wall_ms()))
            except (DirectoryFailed, OSError) as failure:
                cause = failure.error if isinstance(failure, DirectoryFailed) else failure
                if not within(str(cause.filename), path):
                    story = f"{name} in {path} fails with {failed}: {failure}"
                    raise Violation("S-16", story) from failure
                self._lose(path, failure)
                return

    # --- damage ----------------------------------------------------------------------------------

    def _condemn(self, damage: Damaged) -> None:
        """Take a log out of service that holds other bytes than it was given, if it may."""
        ghost = self._story.ghosts[damage.name]
        self._runtime.probes.trace("log.damaged", log=damage.name, why=damage.why)
        if not ghost.is_damaged:
            lost = f"only {', '.join(ghost.rotten)}" if ghost.rotten else "nothing"
            raise Violation("SL-2", f"given up, and {lost} was destroyed: {damage}")
        self._story.mark(f"damage found by {damage.why.partition(':')[0]}")
        ghost.is_condemned = True

    async def _clear_away(self, directory: LogDirectory, name: str) -> None:
        """Remove a log that is not open, as an operator does."""
        disk, path = self._runtime.disk, log_path(name)
        if disk.exists(path):
            gone = directory_name(partition(name), Standing.DELETE, self._story.unique())
            disk.rename(path, f"{directory.path}/{gone}")
            await disk.sync_directory(directory.path)
            await directory.purge(gone)
        self._story.replaced(name)

    async def _replace(self, name: str) -> None:
        """Give a log up, begin it anew, and fill it from its other copy, if that is whole."""
        story, directory = self._story, self._directories.get(HOMES[name])
        if directory is None or name not in self._logs:
            return
        del self._logs[name]
        gone = await directory.remove_log(partition(name), story.unique())
        story.replaced(name)
        await directory.purge(gone)
        self._found(name, await self._create(directory, name))
        other = OTHER_COPY.get(name)
        if other in self._logs and not story.ghosts[other].is_damaged:
            await self._fill(name, other)

    async def _fill(self, name: str, source: str) -> None:
        """Copy a log from another that has the same records: the data is not lost (S-18)."""
        into, whole = self._logs[name], self._logs[source]
        ghost = self._story.ghosts[name]
        if whole.start_offset > into.end_offset:
            ghost.begin_anew(whole.start_offset)
            await into.restart_at(whole.start_offset, self._wall_ms())
            ghost.done()
        while into.end_offset < whole.end_offset:
            _, part = whole.read(into.end_offset, FILL_BYTES, whole.end_offset)
            self._work.follow(into, ghost, bytearray(part.read()), 0, source)
        ghost.agrees(into)
        self._story.mark(REFILLED)
