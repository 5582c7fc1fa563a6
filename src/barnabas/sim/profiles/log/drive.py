"""The process of the ``log`` profile: a broker reduced to its disk.

    open the directory, open every log ─▶ operations, one after another ─▶ close, if asked to stop

It tells the ghosts before and after everything it does.  When the directory fails it makes sure
that nothing can be appended any more (S-07), and ends; it is started again, as a broker would be.
"""

import asyncio
import errno
from collections.abc import Callable
from typing import Final

from barnabas.log.config import LONG_MAX, LogConfig
from barnabas.log.directory import LogDirectory
from barnabas.log.health import DirectoryFailed
from barnabas.log.names import TopicPartition
from barnabas.log.partition_log import Appended, PartitionLog
from barnabas.log.producers import Duplicate, Origin
from barnabas.log.retention import delete_old_segments
from barnabas.log.timestamps import first_not_older
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.records.batch import CHECKED_FROM, TRANSACTIONAL, assigned, header_at
from barnabas.records.builder import BLANK, built
from barnabas.records.control import EndMarker, end_marker_batch
from barnabas.records.record import Record
from barnabas.runtime.runtime import Runtime
from barnabas.sim.disk import SimDisk
from barnabas.sim.disk_faults import Injection, Kind
from barnabas.sim.plan import Operation
from barnabas.sim.profiles.log.ghost import Ghost, checkpointed
from barnabas.sim.world import Violation

PATH: Final = "/logs"
LOGS: Final = ("plain", "keyed", "copy")
TOPIC_ID: Final = Uuid(bytes(range(16)))

# Small, so that a minute sees many segments; never too old, so that only its size counts.
PLAIN: Final = LogConfig(
    segment_bytes=6_000,
    index_interval_bytes=500,
    retention_ms=-1,
    retention_bytes=20_000,
    preallocate=True,
    timestamp_after_max_ms=LONG_MAX,
)
KEYED: Final = LogConfig(
    segment_bytes=6_000,
    index_interval_bytes=500,
    compact=True,
    delete=False,
    timestamp_after_max_ms=LONG_MAX,
)
CONFIGS: Final = {"plain": PLAIN, "keyed": KEYED, "copy": PLAIN}

# Between a failure of the disk and the next life.
PAUSE_MS: Final = 200

REAP_AFTER_MS: Final = 100


class Story:
    """What outlives the process: the ghosts, what is still to be done, the epoch of the leader."""

    def __init__(
        self,
        take: Callable[[], Operation | None],
        found: Callable[[Violation], None],
        disk: SimDisk,
    ) -> None:
        self.ghosts: Final = {name: Ghost(name, name == "keyed") for name in LOGS}
        self.take: Final = take
        self.found: Final = found
        self.disk: Final = disk
        self.epoch = -1
        self.clean_epoch: int | None = None
        self.lives = 0


class Drive:
    """One life of the process."""

    def __init__(self, runtime: Runtime, story: Story) -> None:
        self._runtime: Final = runtime
        self._story: Final = story
        self._logs: Final[dict[str, PartitionLog]] = {}
        self._directory: LogDirectory | None = None
        self._stopping = False

    async def live(self) -> None:
        """Work until asked to stop, or until the disk fails."""
        work = self._runtime.tasks.spawn(self._work(), "work")
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            self._stopping = True
            await work

    async def _work(self) -> None:
        try:
            await self._open()
            while not self._stopping:
                operation = self._story.take()
                if operation is None:
                    await self._runtime.clock.sleep_ms(5)
                    continue
                await self._do(operation)
            await self._close()
        except Violation as violation:
            self._story.found(violation)
        except (DirectoryFailed, OSError) as error:
            self._runtime.probes.trace("log.failed", why=f"{type(error).__name__}: {error}")
            if isinstance(error, DirectoryFailed):
                self._nothing_goes_on()
            await self._runtime.clock.sleep_ms(PAUSE_MS)

    async def _open(self) -> None:
        disk, story = self._runtime.disk, self._story
        story.lives += 1
        # A new life is a new term of leadership, as registering a broker again makes it.
        story.epoch += 1
        disk.make_directory(PATH)
        await disk.sync_directory("/")
        self._directory = directory = await LogDirectory.open(disk, PATH)
        if directory.was_clean and directory.clean_epoch != story.clean_epoch:
            found, last = directory.clean_epoch, story.clean_epoch
            raise Violation("S-04", f"a clean mark of life {found}; the last clean stop was {last}")
        story.clean_epoch = None
        for name in LOGS:
            of = TopicPartition(name, 0)
            if disk.exists(f"{PATH}/{of}"):
                log = await directory.open_log(of, CONFIGS[name], self._wall_ms())
            else:
                log = await directory.create_log(of, TOPIC_ID, CONFIGS[name], self._wall_ms())
            story.ghosts[name].recovered(log)
            self._logs[name] = log
            self._runtime.probes.trace("log.opened", log=name, end=log.end_offset)
        # Everything durable below the recovery points has to be there as it was left.
        checkpointed(directory, story.disk)

    async def _close(self) -> None:
        assert self._directory is not None, "asked to stop before anything was open"
        # The mark is the last thing that is written: it may be there though nobody lived to be
        # told so.
        self._story.clean_epoch = self._story.lives
        await self._directory.close(self._story.lives)
        for name, log in self._logs.items():
            ghost = self._story.ghosts[name]
            ghost.durable_end = ghost.end
            assert log.end_offset == ghost.end, f"{name} was closed in the middle of something"

    def _nothing_goes_on(self) -> None:
        for name, log in self._logs.items():
            try:
                log.append_as_leader(batch(b"k", b"after", self._wall_ms()), 99, self._wall_ms())
            except (DirectoryFailed, AssertionError):
                # The assertion: it failed while it was being cut, and refuses all the more.
                continue
            story = f"{name} takes an append after its directory has failed"
            self._story.found(Violation("S-07", story))

    def _wall_ms(self) -> int:
        return self._runtime.clock.wall_ms()

    # --- operations ------------------------------------------------------------------------------

    async def _do(self, operation: Operation) -> None:
        name, *numbers = operation.arguments
        assert isinstance(name, str), f"{operation} names no log"
        log, ghost = self._logs[name], self._story.ghosts[name]
        arguments = [number for number in numbers if isinstance(number, int)]
        match operation.what, arguments:
            case "append", [key, size]:
                self._append(log, ghost, batch(b"k%d" % key, bytes(size), self._wall_ms()))
            case "produce", [producer, key, size]:
                self._produce(log, ghost, producer, key, size)
            case "retry", [producer, back]:
                self._retry(log, ghost, producer, back)
            case "end", [producer, commit]:
                self._end(log, ghost, producer, commit == 1)
            case "end-unindexed", [producer]:
                self._break_index(log)
                self._end(log, ghost, producer, commit=False)
            case "fetch", [flip]:
                await self._fetch(flip)
            case "flush", _:
                await self._flush(log, ghost)
            case "flush-failing", _:
                self._append(log, ghost, batch(b"k", b"unlucky", self._wall_ms()))
                path = log.segments[-1].file.path
                self._story.disk.inject(Injection("sync", path, error=errno.EIO))
                await self._flush(log, ghost)
            case "flush-behind", _:
                self._runtime.tasks.spawn(self._flush_behind(log, ghost), "flush")
            case "roll", _:
                log.roll(self._wall_ms())
            case "truncate", [back]:
                await self._truncate(log, ghost, max(log.start_offset, log.end_offset - back))
            case "retain", _:
                log.set_high_watermark(log.end_offset)
                await delete_old_segments(log, self._wall_ms())
                ghost.started_at(log.start_offset)
            case "compact", _:
                await self._compact(log, ghost)
            case "checkpoint", _:
                assert self._directory is not None, "operations wait for the directory"
                await self._directory.checkpoint()
                checkpointed(self._directory, self._story.disk)
            case what, _:
                raise AssertionError(f"nobody knows how to {what} with {arguments}")
        log.reap(self._wall_ms() - REAP_AFTER_MS)
        if ghost.instead is None:
            ghost.agrees(log)
            first_not_older(log, self._wall_ms())
        self._runtime.probes.trace("log.did", what=operation.what, log=name, end=log.end_offset)

    def _append(
        self, log: PartitionLog, ghost: Ghost, data: bytes, origin: Origin = Origin.CLIENT
    ) -> None:
        epoch = max(0, self._story.epoch)
        stamped = assigned(memoryview(data), 0, header_at(data), log.end_offset, epoch)
        ghost.begin_append(b"".join(stamped))
        try:
            done = log.append_as_leader(data, epoch, self._wall_ms(), origin)
        except Refused as refused:
            if refused.code is not ErrorCode.RECORD_LIST_TOO_LARGE:
                raise Violation("I-05", f"{ghost.name}: {refused}") from refused
            ghost.refused()
            return
        if isinstance(done, Duplicate):
            raise Violation("I-02", f"{ghost.name}: a new batch counts as {done}")
        ghost.appended(log, done.first_offset)

    def _produce(self, log: PartitionLog, ghost: Ghost, producer: int, key: int, size: int) -> None:
        # Producers 1 and 2 write in transactions, 3 does not.
        entry = log.producers.entries.get(producer)
        sequence = (entry.last_sequence + 1) % 2**31 if entry else 0
        data = batch(
            b"k%d" % key,
            bytes(size),
            self._wall_ms(),
            producer=(producer, entry.epoch if entry else 0, sequence),
            attributes=TRANSACTIONAL if producer < 3 else 0,
        )
        self._append(log, ghost, data)

    def _retry(self, log: PartitionLog, ghost: Ghost, producer: int, back: int) -> None:
        """Send one of a producer's last batches once more: I-02."""
        entry = log.producers.entries.get(producer)
        if entry is None or len(entry.batches) < back:
            return
        wanted = entry.batches[-back].last_offset
        for stored in ghost.stored:
            header = header_at(stored)
            if header.last_offset == wanted and header.producer_id == producer:
                again = bytes(8) + stored[8:12] + b"\xff" * 4 + stored[16:]
                done = log.append_as_leader(again, max(0, self._story.epoch), self._wall_ms())
                if isinstance(done, Appended) or done.first_offset != header.base_offset:
                    story = f"{ghost.name}: retry of {header.base_offset} gave {done}"
                    raise Violation("I-02", story)

    def _end(self, log: PartitionLog, ghost: Ghost, producer: int, commit: bool) -> None:
        entry = log.producers.entries.get(producer)
        if entry is None or producer not in log.producers.open:
            return
        marker = EndMarker(commit, self._story.epoch)
        data = end_marker_batch(producer, entry.epoch, marker, self._wall_ms())
        self._append(log, ghost, data, Origin.COORDINATOR)

    def _break_index(self, log: PartitionLog) -> None:
        """Let the index of aborted transactions have no room for the next one."""
        index = log.segments[-1].aborted
        kind: Kind = "write" if index.exists else "open"
        self._story.disk.inject(Injection(kind, index.path, error=errno.ENOSPC))

    async def _fetch(self, flip: int) -> None:
        """Let the copy follow the plain log, as a follower does; ``flip`` damages what arrives."""
        source, copy = self._logs["plain"], self._logs["copy"]
        ghost = self._story.ghosts["copy"]
        if copy.end_offset < source.start_offset or source.end_offset < copy.start_offset:
            ghost.begin_anew(source.start_offset)
            await copy.restart_at(source.start_offset, self._wall_ms())
            ghost.done()
            return
        known = copy.epochs.entries()
        if known:
            parted = source.end_of_epoch(known[-1][0])
            end = known[-1][1] if parted is None else parted.end_offset
            if end < copy.end_offset:
                await self._truncate(copy, ghost, max(end, copy.start_offset))
                return
        _, part = source.read(copy.end_offset, 2_000, source.end_offset)
        data = bytearray(part.read())
        if flip and data:
            # Of what the checksum covers; before that nothing can be noticed.
            size = header_at(data).size_bytes
            data[CHECKED_FROM + flip % (size - CHECKED_FROM)] ^= 1 << flip % 8
        ghost.begin_append(bytes(data))
        try:
            done = copy.append_as_follower(data, source.epochs.latest, self._wall_ms())
        except Refused as refused:
            if not flip:
                raise Violation("S-02", f"the copy refuses what is whole: {refused}") from refused
            ghost.refused()
            return
        if done.last_offset >= done.first_offset:
            ghost.appended(copy, done.first_offset)
        else:
            ghost.refused()
        copy.set_high_watermark(copy.end_offset)

    async def _flush(self, log: PartitionLog, ghost: Ghost) -> None:
        target = await log.flush()
        # A log that is being cut, or was closed, is not what it was when the flush began.
        if ghost.instead is None and not self._stopping:
            ghost.flushed(log, self._story.disk, target)

    async def _flush_behind(self, log: PartitionLog, ghost: Ghost) -> None:
        try:
            await self._flush(log, ghost)
        except Violation as violation:
            self._story.found(violation)
        except (DirectoryFailed, OSError):
            # Whoever works in the directory next will hear of it.
            self._runtime.probes.trace("log.flush-failed", log=ghost.name)

    async def _truncate(self, log: PartitionLog, ghost: Ghost, offset: int) -> None:
        ghost.begin_cut(offset)
        await log.truncate(offset, self._wall_ms())
        ghost.done()
        self._story.epoch += 1
        ghost.epochs_written(log, self._story.disk)

    async def _compact(self, log: PartitionLog, ghost: Ghost) -> None:
        assert self._directory is not None, "operations wait for the directory"
        log.set_high_watermark(log.end_offset)
        await self._directory.compact(log.of, self._wall_ms())
        ghost.recovered(log)


def batch(
    key: bytes,
    content: bytes,
    timestamp: int,
    producer: tuple[int, int, int] = (-1, -1, -1),
    attributes: int = 0,
) -> bytes:
    """Return a batch of one record."""
    header = BLANK._replace(
        attributes=attributes,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
    )
    return built(header, [Record(0, timestamp, key, content)])
