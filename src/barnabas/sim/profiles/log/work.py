"""What the process does to its logs: the operations of a plan, each told to the ghost.

    operation ─▶ Work.do ─▶ PartitionLog        and before and after, Ghost

Every operation is one that a broker does, and ends with a look at everything the log says of
itself.  Some are there for one danger: ``redo`` cuts a log and writes the same names again at once,
``burst`` leaves batches over several blocks for a power loss to tear, ``stale`` sends what must be
refused.
"""

import errno
from collections.abc import Mapping
from typing import Final

from barnabas.log.directory import LogDirectory
from barnabas.log.health import DirectoryFailed
from barnabas.log.partition_log import Appended, PartitionLog
from barnabas.log.producers import Duplicate, Origin, ProducerEntry
from barnabas.log.retention import delete_old_segments
from barnabas.log.timestamps import first_not_older
from barnabas.model.errors import CorruptLog, ErrorCode, Refused
from barnabas.records.batch import (
    CHECKED_FROM,
    SEQUENCE_MODULUS,
    TRANSACTIONAL,
    CorruptBatch,
    OldFormat,
    assigned,
    batches,
    header_at,
    verify,
)
from barnabas.records.builder import BLANK, built
from barnabas.records.control import EndMarker, end_marker_batch
from barnabas.records.record import Record
from barnabas.runtime.runtime import Runtime
from barnabas.sim.disk_faults import Injection, Kind
from barnabas.sim.plan import Operation
from barnabas.sim.profiles.log.ghost import Ghost
from barnabas.sim.profiles.log.layout import HOMES
from barnabas.sim.profiles.log.story import REJECTED, Story
from barnabas.sim.world import Violation

REAP_AFTER_MS: Final = 100

# Over more than one block wherever it begins, and not over a segment.
BURST_BYTES: Final = 3_500

# Read at once by who is served; a larger batch is read whole.
SERVED_BYTES: Final = 2_000

# A value begins anywhere in it: a prime number of bytes, none of which is zero.
PATTERN: Final = bytes(range(1, 252))

# What a producer that writes in transactions is called; the one after these does not.
TRANSACTIONAL_PRODUCERS: Final = (1, 2)


class Damaged(Exception):  # noqa: N818 -- found in a log, not gone wrong in it
    """A log turned out to hold other bytes than it was given."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name: Final = name
        self.why: Final = why


class Work:
    """The operations on the logs that are open."""

    def __init__(
        self,
        runtime: Runtime,
        story: Story,
        directories: Mapping[str, LogDirectory],
        logs: Mapping[str, PartitionLog],
    ) -> None:
        self._runtime: Final = runtime
        self._story: Final = story
        self._directories: Final = directories
        self._logs: Final = logs

    async def do(self, operation: Operation) -> None:
        """Do what the plan says, and compare the log with its ghost."""
        name, *numbers = operation.arguments
        assert isinstance(name, str), f"{operation} names no log"
        log, ghost = self._logs[name], self._story.ghosts[name]
        arguments = [number for number in numbers if isinstance(number, int)]
        try:
            await self._one(operation.what, arguments, log, ghost)
            log.reap(self._wall_ms() - REAP_AFTER_MS)
            # A flush behind may have failed meanwhile, and then nobody looks at the log any more.
            log.home.health.check()
            if ghost.instead is None and self._logs.get(name) is log:
                ghost.agrees(log)
                first_not_older(log, self._wall_ms())
        except CorruptLog as error:
            raise Damaged(name, f"{operation.what}: {error}") from error
        self._runtime.probes.trace("log.did", what=operation.what, log=name, end=log.end_offset)

    async def _one(self, what: str, arguments: list[int], log: PartitionLog, ghost: Ghost) -> None:
        match what, arguments:
            case "append", [key, size]:
                self.append(log, ghost, batch(b"k%d" % key, self._content(size), self._wall_ms()))
            case "table", [key, size]:
                self._table(log, ghost, key, size)
            case "burst", [count]:
                self._burst(log, ghost, count)
            case "produce", [producer, key, size]:
                self._produce(log, ghost, producer, key, size)
            case "retry", [producer, back]:
                self._retry(log, ghost, producer, back)
            case "end", [producer, commit]:
                self._end(log, ghost, producer, commit == 1)
            case "end-unindexed", [producer]:
                self._break_index(log)
                self._end(log, ghost, producer, commit=False)
            case "fence", [producer]:
                self._fence(log, ghost, producer)
            case "stale", [producer]:
                self._stale(log, ghost, producer)
            case "fetch", [flip]:
                await self._fetch(flip)
            case "serve", _:
                self._serve(log, ghost)
            case "roll", _:
                log.roll(self._wall_ms())
            case "truncate", [back]:
                await self._truncate(log, ghost, max(log.start_offset, log.end_offset - back))
            case "redo", [count, again]:
                await self._redo(log, ghost, count, again)
            case _:
                await self._keep(what, arguments, log, ghost)

    async def _keep(self, what: str, arguments: list[int], log: PartitionLog, ghost: Ghost) -> None:
        """Do one of the things that a broker does now and then, whatever its clients do."""
        match what, arguments:
            case "flush", _:
                await self._flush(log, ghost)
            case "flush-failing", _:
                self.append(log, ghost, batch(b"k", b"unlucky", self._wall_ms()))
                path = log.segments[-1].file.path
                self._story.disk.inject(Injection("sync", path, error=errno.EIO))
                await self._flush(log, ghost)
            case "flush-behind", _:
                self._runtime.tasks.spawn(self._flush_behind(log, ghost), "flush")
            case "retain", [behind]:
                await self._retain(log, ghost, behind)
            case "compact", _:
                await self._compact(log, ghost)
            case "checkpoint", _:
                directory = self._directories[HOMES[ghost.name]]
                await directory.checkpoint()
                self._story.checkpointed(directory)
            case _:
                raise AssertionError(f"nobody knows how to {what} with {arguments}")

    def _wall_ms(self) -> int:
        return self._runtime.clock.wall_ms()

    # --- producers -------------------------------------------------------------------------------

    def append(
        self, log: PartitionLog, ghost: Ghost, data: bytes, origin: Origin = Origin.CLIENT
    ) -> None:
        """Append a batch as a leader does."""
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

    def _content(self, size: int) -> bytes:
        """Return a value that nothing else has, and no part of which is zeros, as lost blocks are.

        A tail of zeros over a value of zeros would be torn, and nobody could tell.
        """
        self._story.values += 1
        start = self._story.values % len(PATTERN)
        return (PATTERN[start:] + PATTERN * (size // len(PATTERN) + 1))[:size]

    def _table(self, log: PartitionLog, ghost: Ghost, key: int, size: int) -> None:
        """Append three records in one batch, the last of which removes its key."""
        wall_ms = self._wall_ms()
        entries = [
            Record(0, wall_ms, b"k%d" % key, self._content(size)),
            Record(1, wall_ms, b"k%d" % (key + 1), self._content(10)),
            Record(2, wall_ms, b"k%d" % (key + 2), None),
        ]
        self.append(log, ghost, built(BLANK, entries))

    def _burst(self, log: PartitionLog, ghost: Ghost, count: int) -> None:
        """Append batches that reach over blocks, and let nobody flush them."""
        for number in range(count):
            content = self._content(BURST_BYTES)
            self.append(log, ghost, batch(b"b%d" % number, content, self._wall_ms()))
        self._runtime.probes.trace("log.unflushed", log=ghost.name, end=log.end_offset)

    def _produce(self, log: PartitionLog, ghost: Ghost, producer: int, key: int, size: int) -> None:
        entry = log.producers.entries.get(producer)
        epoch = entry.epoch if entry else 0
        sequence = (entry.last_sequence + 1) % SEQUENCE_MODULUS if entry else 0
        data = self._numbered(b"k%d" % key, self._content(size), producer, epoch, sequence)
        self.append(log, ghost, data)

    def _numbered(
        self, key: bytes, content: bytes, producer: int, epoch: int, sequence: int
    ) -> bytes:
        attributes = TRANSACTIONAL if producer in TRANSACTIONAL_PRODUCERS else 0
        numbers = (producer, epoch, sequence)
        return batch(key, content, self._wall_ms(), numbers, attributes)

    def _retry(self, log: PartitionLog, ghost: Ghost, producer: int, back: int) -> None:
        """Send one of a producer's last batches once more: I-02."""
        entry = log.producers.entries.get(producer)
        if entry is None or len(entry.batches) < back:
            return
        wanted = entry.batches[-back].last_offset
        for stored in ghost.stored:
            header = header_at(stored)
            if header.last_offset == wanted and header.producer_id == producer:
                ghost.asked("I-02")
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
        self.append(log, ghost, data, Origin.COORDINATOR)

    def _break_index(self, log: PartitionLog) -> None:
        """Let the index of aborted transactions have no room for the next one."""
        index = log.segments[-1].aborted
        kind: Kind = "write" if index.exists else "open"
        self._story.disk.inject(Injection(kind, index.path, error=errno.ENOSPC))

    def _fence(self, log: PartitionLog, ghost: Ghost, producer: int) -> None:
        """Let a new instance of a producer take over, with the next epoch."""
        entry = log.producers.entries.get(producer)
        if entry is None:
            return
        if producer in TRANSACTIONAL_PRODUCERS:
            # Its coordinator first ends what the old instance left open (KIP-890).
            marker = EndMarker(False, self._story.epoch)
            data = end_marker_batch(producer, entry.epoch + 1, marker, self._wall_ms())
            self.append(log, ghost, data, Origin.COORDINATOR)
        else:
            data = self._numbered(b"new", b"", producer, entry.epoch + 1, 0)
            self.append(log, ghost, data)

    def _stale(self, log: PartitionLog, ghost: Ghost, producer: int) -> None:
        """Send what the log must refuse: an old epoch, a number too far, a new epoch's second."""
        entry = log.producers.entries.get(producer)
        if entry is None:
            return
        gap = (entry.last_sequence + 2) % SEQUENCE_MODULUS
        refused = [
            ("I-04", entry.epoch + 1, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            ("I-05", entry.epoch, gap, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ]
        if entry.epoch > 0:
            refused.append(("I-04", entry.epoch - 1, 0, ErrorCode.INVALID_PRODUCER_EPOCH))
        for oracle, epoch, sequence, code in refused:
            data = self._numbered(b"old", b"", producer, epoch, sequence)
            self._is_refused(log, ghost, data, oracle, code)
        if producer in TRANSACTIONAL_PRODUCERS:
            self._late_markers(log, ghost, producer, entry)

    def _late_markers(
        self, log: PartitionLog, ghost: Ghost, producer: int, entry: ProducerEntry
    ) -> None:
        """Send markers that would end a transaction other than the one they decide: T-03, T-06."""
        fenced, old = ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH
        # Since transactions of version 2 a marker with the epoch of the data is a late one.
        late = [("T-06", entry.epoch, entry.coordinator_epoch + 1, 2, old)]
        if entry.epoch > 0:
            late.append(("T-06", entry.epoch - 1, entry.coordinator_epoch + 1, 0, old))
        if entry.coordinator_epoch > 0:
            late.append(("T-03", entry.epoch, entry.coordinator_epoch - 1, 0, fenced))
        for oracle, epoch, coordinator_epoch, version, code in late:
            marker = EndMarker(True, coordinator_epoch)
            data = end_marker_batch(producer, epoch, marker, self._wall_ms())
            self._is_refused(log, ghost, data, oracle, code, Origin.COORDINATOR, version)

    def _is_refused(
        self,
        log: PartitionLog,
        ghost: Ghost,
        data: bytes,
        oracle: str,
        code: ErrorCode,
        origin: Origin = Origin.CLIENT,
        version: int = 0,
    ) -> None:
        """Send what must be refused with a code; that it changed nothing is seen afterwards."""
        ghost.asked(oracle)
        epoch, wall_ms = max(0, self._story.epoch), self._wall_ms()
        try:
            done = log.append_as_leader(data, epoch, wall_ms, origin, version)
        except Refused as answer:
            if answer.code is not code:
                raise Violation(oracle, f"{ghost.name}: {answer}, due is {code}") from answer
        else:
            raise Violation(oracle, f"{ghost.name}: {header_at(data)} is taken: {done}")

    # --- following -------------------------------------------------------------------------------

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
        try:
            _, part = source.read(copy.end_offset, SERVED_BYTES, source.end_offset)
        except CorruptLog as error:
            raise Damaged("plain", f"fetch: {error}") from error
        data = bytearray(part.read())
        self.follow(copy, ghost, data, flip, "plain")
        copy.set_high_watermark(copy.end_offset)

    def follow(
        self, log: PartitionLog, ghost: Ghost, data: bytearray, flip: int, source: str
    ) -> None:
        """Append what another log sent; ``flip`` damages it on the way."""
        of_source, leader_epoch = self._story.ghosts[source], self._logs[source].epochs.latest
        if flip and data:
            # Of what the checksum covers; before that nothing can be noticed.
            size = min(len(data), header_at(data).size_bytes)
            data[CHECKED_FROM + flip % (size - CHECKED_FROM)] ^= 1 << flip % 8
        if not of_source.is_damaged:
            ghost.begin_append(bytes(data))
        else:
            # What arrives may be no batches; if anything of it is taken, it has to be these.
            ghost.instead = (of_source.stored, ghost.start)
        try:
            done = log.append_as_follower(data, leader_epoch, self._wall_ms())
        except Refused as refused:
            ghost.refused()
            if flip:
                self._story.mark(REJECTED)
                return
            if of_source.is_damaged:
                of_source.asked("S-18")
                raise Damaged(source, f"refused by {ghost.name}: {refused}") from refused
            raise Violation("S-02", f"{ghost.name} refuses what is whole: {refused}") from refused
        if done.last_offset < done.first_offset:
            ghost.refused()
            return
        ghost.appended(log, done.first_offset)
        was = {header_at(one).base_offset: one for one in of_source.stored}
        for one in ghost.stored:
            base = header_at(one).base_offset
            if base >= done.first_offset and was.get(base) != one:
                raise Violation("S-18", f"{ghost.name} took another batch at {base} than was sent")

    def _serve(self, log: PartitionLog, ghost: Ghost) -> None:
        """Read a log from its start, as a consumer does that looks at every checksum."""
        offset = log.start_offset
        while offset < log.end_offset:
            segment, part = log.read(offset, SERVED_BYTES, log.end_offset)
            data, before = part.read(), offset
            log.aborted_in(segment, part, offset)
            try:
                for position, header in batches(data):
                    verify(data, position, header)
                    offset = header.next_offset
            except (CorruptBatch, OldFormat) as error:
                raise Damaged(ghost.name, f"serve: {error}") from error
            if offset <= before:
                raise Damaged(ghost.name, f"serve: no whole batch at {offset}")

    # --- files -----------------------------------------------------------------------------------

    async def _flush(self, log: PartitionLog, ghost: Ghost) -> None:
        target = await log.flush()
        # A log that is being cut, or was closed or replaced, is not what the flush began with.
        is_same = self._logs.get(ghost.name) is log and self._story.ghosts[ghost.name] is ghost
        if is_same and ghost.instead is None:
            ghost.flushed(log, self._story.disk, target)

    async def _flush_behind(self, log: PartitionLog, ghost: Ghost) -> None:
        try:
            await self._flush(log, ghost)
        except Violation as violation:
            self._story.found(violation)
        except CorruptLog as error:
            # Whoever reads there next will hear of it, too.
            self._runtime.probes.trace("log.flush-failed", log=ghost.name, why=str(error))
        except (DirectoryFailed, OSError):
            # Whoever works in the directory next will hear of it.
            self._runtime.probes.trace("log.flush-failed", log=ghost.name)

    async def _truncate(self, log: PartitionLog, ghost: Ghost, offset: int) -> None:
        ghost.begin_cut(offset)
        await log.truncate(offset, self._wall_ms())
        ghost.done()
        self._story.epoch += 1
        ghost.epochs_written(log, self._story.disk)

    async def _redo(self, log: PartitionLog, ghost: Ghost, count: int, again: int) -> None:
        """Begin a segment, cut it off, and begin one with the same names before anybody looks.

        What removes files later, and by name, then removes those of the new one.
        """
        log.roll(self._wall_ms())
        base = log.segments[-1].base_offset
        for _ in range(count):
            self.append(log, ghost, batch(b"r", b"first", self._wall_ms()))
        await self._truncate(log, ghost, max(log.start_offset, base - again))
        while log.end_offset < base:
            self.append(log, ghost, batch(b"r", b"second", self._wall_ms()))
        log.roll(self._wall_ms())
        self.append(log, ghost, batch(b"r", b"third", self._wall_ms()))

    async def _retain(self, log: PartitionLog, ghost: Ghost, behind: int) -> None:
        """Let old segments go, some of them before the last records are replicated."""
        replicated = log.set_high_watermark(max(log.high_watermark, log.end_offset - behind))
        ghost.is_moving = ghost.is_reshaped = True
        await delete_old_segments(log, self._wall_ms())
        ghost.retained(log, replicated)

    async def _compact(self, log: PartitionLog, ghost: Ghost) -> None:
        log.set_high_watermark(log.end_offset)
        ghost.is_reshaped = True
        if await self._directories[HOMES[ghost.name]].compact(log.of, self._wall_ms()) is not None:
            ghost.rewritten(log)
        ghost.is_reshaped = False


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
