"""One partition on a disk: append, read, flush, cut.

    start_offset          recovery_point     high_watermark      end_offset
        │  segment │ segment │ segment │ active segment │
        ▼──────────┴─────────┴────▼────┴───────▼────────▼
        deleted below     durable below     replicated below

The log is told what to do by whoever leads or follows the partition (``replication``, ``raft``).
It decides only what follows from its own bytes: which offset comes next, whether a producer's
batch is new, which segment takes it.

What is a plain call happens at once, in the page cache.  What is awaited returns when the device
has it: ``flush``, ``truncate``, ``restart_at``, ``begin_epoch``, ``advance_start``, ``close``.

Promises, and how they are kept:

- *A refused append changes nothing.*  Everything is checked before the first byte is written, and
  producers are taken over after the last (``producers``).
- *One write per append.*  Bodies go to the disk as they came; offset and epoch are stamped into a
  new header.  No object is made per record.
- *The recovery point is durable below.*  It moves only after everything under it was synced, and
  a truncation lowers it, durably, before it cuts: recovery trusts it.
- *After an error nothing is appended.*  See ``health``.

Fixed by Kafka's UnifiedLog.java and LocalLog.java.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from barnabas.log.aborted import AbortedTransaction
from barnabas.log.checkpoints import Checkpoint, encode_epochs
from barnabas.log.config import LogConfig
from barnabas.log.epochs import NO_EPOCH, EpochCache, EpochEnd
from barnabas.log.health import Health
from barnabas.log.index import OFFSET_ENTRY, TIME_ENTRY
from barnabas.log.names import CLEANED, EPOCH_CHECKPOINT, SWAP, TopicPartition
from barnabas.log.producers import Duplicate, Finished, Origin, ProducerTable, Staging
from barnabas.log.segment import Segment, Slice
from barnabas.log.snapshots import Snapshots, marker_in, replay
from barnabas.model.errors import CorruptLog, ErrorCode, Refused
from barnabas.records.batch import (
    NO_TIMESTAMP,
    CorruptBatch,
    OldFormat,
    assigned,
    batches,
    verify,
)
from barnabas.records.validation import admitted, refused
from barnabas.runtime.disk import Buffer, Disk


class Home(Protocol):
    """What a log asks of the directory it lies in, where offsets of all its logs are kept."""

    @property
    def health(self) -> Health:
        """Whether the directory can still be trusted."""
        ...

    async def vouch_only_below(self, of: TopicPartition, offset: int) -> None:
        """Return when no recovery will believe this log durable or replicated above an offset."""

    async def record_start(self, of: TopicPartition, offset: int) -> None:
        """Return when every recovery will have this log start at an offset."""


class Appended(NamedTuple):
    """Where an append went; a named tuple because every append makes one."""

    first_offset: int
    last_offset: int
    append_ms: int


class PartitionLog:
    """One partition: segments, epochs, producers, and the offsets that bound them."""

    def __init__(
        self,
        disk: Disk,
        home: Home,
        of: TopicPartition,
        directory: str,
        config: LogConfig,
        segments: Sequence[Segment],
        epochs: EpochCache,
        epochs_are_durable: bool,
        producers: ProducerTable,
        snapshots: Snapshots,
        start_offset: int,
        recovery_point: int,
        wall_ms: int,
    ) -> None:
        assert segments, f"{directory}: a log has at least one segment"
        self.of: Final = of
        self.directory: Final = directory
        self.segments: Final = list(segments)
        self.configure(config)
        self.epochs: Final = epochs
        self.producers = producers
        self.start_offset = start_offset
        self.end_offset = self.segments[-1].next_offset
        self.recovery_point = recovery_point
        self.high_watermark = start_offset
        self.snapshots: Final = snapshots
        self.disk: Final = disk
        self.home: Final = home
        self._bases: Final = [segment.base_offset for segment in segments]
        self._epoch_file: Final = Checkpoint(disk, directory, EPOCH_CHECKPOINT)
        # Versions of what a flush has to make durable besides the segments: what was changed, and
        # up to which change it is known to be durable.
        self._epochs_changed = self._epochs_synced = 0
        if not epochs_are_durable:
            self._epochs_changed += 1
        self._names_changed = self._names_synced = 0
        # A flush that was under way when the log was cut must not move the recovery point.
        self._cuts = 0
        self._cutting = False
        self._swapping = False
        self._active_since_ms = wall_ms
        self._unflushed_since_ms: int | None = None
        self._unflushed_records = 0
        self._retired: list[tuple[int, Segment]] = []
        # Settled since the last flush: the recovery point may be at their end already, but their
        # indexes are not durable.
        self._rolled: list[Segment] = []
        assert self.start_offset <= self.end_offset, f"{self} starts behind its end"
        assert self.recovery_point <= self.end_offset, f"{self} is durable behind its end"

    def __repr__(self) -> str:
        return f"PartitionLog({self.of}, {self.start_offset}…{self.end_offset})"

    def configure(self, config: LogConfig) -> None:
        """Behave differently from now on."""
        self.config = config
        for active in self.segments[-1:]:
            # None while the log begins anew: the segment it then gets is made by these rules.
            active.reserve_to = config.reserved_bytes
        self._rules = config.rules()
        # A time index has at most as many entries as the offset index, and they are larger.
        self._time_entries_max = config.segment_index_bytes // TIME_ENTRY.size

    # --- appending -------------------------------------------------------------------------------

    def append_as_leader(
        self,
        data: Buffer,
        leader_epoch: int,
        wall_ms: int,
        origin: Origin = Origin.CLIENT,
        transaction_version: int = 0,
    ) -> Appended | Duplicate:
        """Give batches the next offsets and write them; or say where they are already.

        ``transaction_version`` is that of the transaction which a marker ends.  Raises
        ``Refused`` with the code for the client, the log unchanged.
        """
        self._ready()
        view = memoryview(data)
        append_ms = wall_ms if self.config.log_append_time else None
        rules, from_client = self._rules, origin is Origin.CLIENT
        staging: Staging | None = None
        parts: list[Buffer] = []
        size, first, last = 0, self.end_offset, self.end_offset - 1
        timestamp, timestamp_offset = NO_TIMESTAMP, first
        try:
            for position, header in batches(view):
                admitted(view, position, header, rules, wall_ms, from_client)
                base = last + 1
                if header.producer_id >= 0:
                    if staging is None:
                        staging = self.producers.stage(origin)
                    if header.is_control:
                        marker = marker_in(view, position, header)
                        if marker is not None:
                            staging.marker(header, marker, base, transaction_version >= 2)
                    else:
                        stored = header
                        if append_ms is not None:
                            # What recovery will read is what producers are remembered by.
                            stored = header._replace(max_timestamp=append_ms)
                        duplicate = staging.batch(stored, base)
                        if duplicate is not None:
                            return duplicate
                parts += assigned(view, position, header, base, leader_epoch, append_ms)
                size += header.size_bytes
                last = base + header.last_offset_delta
                youngest = header.max_timestamp if append_ms is None else append_ms
                if youngest > timestamp:
                    timestamp, timestamp_offset = youngest, last
        except (CorruptBatch, OldFormat) as error:
            raise refused(error) from error
        if not parts:
            raise Refused(ErrorCode.INVALID_RECORD, f"no record batch in {len(view)} bytes")
        self._write(parts, size, first, last, timestamp, timestamp_offset, staging, wall_ms)
        if leader_epoch > self.epochs.latest and self.epochs.assign(leader_epoch, first):
            self._epochs_changed += 1
        return Appended(first, last, NO_TIMESTAMP if append_ms is None else append_ms)

    def append_as_follower(self, data: Buffer, leader_epoch: int, wall_ms: int) -> Appended:
        """Write batches exactly as the leader has them; a last one that is cut short is left out.

        Raises ``Refused`` if they do not follow what is here, or are not what was sent: no
        checksum covers offset and epoch, so these have to fit the leader that is followed.
        """
        self._ready()
        view = memoryview(data)
        staging = self.producers.stage(Origin.REPLICATION)
        epochs: list[tuple[int, int]] = []
        end, first, last = 0, -1, self.end_offset - 1
        timestamp, timestamp_offset = NO_TIMESTAMP, self.end_offset
        try:
            for position, header in batches(view):
                # What a leader sends may have changed on its disk or on the way here.
                verify(view, position, header)
                if header.base_offset <= last or header.last_offset_delta < 0:
                    raise Refused(
                        ErrorCode.OFFSET_OUT_OF_RANGE,
                        f"{self.of}: batch from {header.base_offset} to {header.last_offset} "
                        f"does not follow {last}",
                    )
                if first < 0:
                    first = header.base_offset
                if header.producer_id >= 0:
                    marker = marker_in(view, position, header) if header.is_control else None
                    if marker is not None:
                        staging.marker(header, marker, header.base_offset)
                    elif not header.is_control:
                        staging.batch(header, header.base_offset)
                latest = epochs[-1][0] if epochs else self.epochs.latest
                if header.leader_epoch > leader_epoch or NO_EPOCH < header.leader_epoch < latest:
                    raise Refused(
                        ErrorCode.CORRUPT_MESSAGE,
                        f"{self.of}: batch at {header.base_offset} of epoch {header.leader_epoch}, "
                        f"after {latest} and from the leader of {leader_epoch}",
                    )
                if header.leader_epoch > latest:
                    epochs.append((header.leader_epoch, header.base_offset))
                end, last = position + header.size_bytes, header.last_offset
                if header.max_timestamp > timestamp:
                    timestamp, timestamp_offset = header.max_timestamp, last
        except (CorruptBatch, OldFormat) as error:
            raise Refused(ErrorCode.CORRUPT_MESSAGE, f"{self.of}: {error}") from error
        if end == 0:
            return Appended(self.end_offset, last, NO_TIMESTAMP)
        self._write([view[:end]], end, first, last, timestamp, timestamp_offset, staging, wall_ms)
        for epoch, start in epochs:
            self._epochs_changed += self.epochs.assign(epoch, start)
        return Appended(first, last, NO_TIMESTAMP)

    def _write(
        self,
        parts: Sequence[Buffer],
        size_bytes: int,
        first_offset: int,
        last_offset: int,
        timestamp: int,
        timestamp_offset: int,
        staging: Staging | None,
        wall_ms: int,
    ) -> None:
        if size_bytes > self.config.segment_bytes:
            raise Refused(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{size_bytes} bytes do not fit a segment of {self.config.segment_bytes}",
            )
        segment = self.segments[-1]
        try:
            if self._is_due_to_roll(segment, size_bytes, last_offset, timestamp, wall_ms):
                segment = self._roll(first_offset, last_offset, wall_ms)
            segment.append(parts, size_bytes, last_offset, timestamp, timestamp_offset)
            self._unflushed_records += last_offset + 1 - self.end_offset
            self.end_offset = last_offset + 1
            if self._unflushed_since_ms is None:
                self._unflushed_since_ms = wall_ms
            if staging is None:
                self.producers.end_offset = last_offset + 1
                return
            enter_aborted(segment, self.producers.install(staging, last_offset + 1))
        except OSError as error:
            raise self.home.health.fail(error) from error

    def _ready(self) -> None:
        self.home.health.check()
        assert not self._cutting, f"{self}: appended to while it is being cut"

    # --- rolling ---------------------------------------------------------------------------------

    def _is_due_to_roll(
        self, segment: Segment, size_bytes: int, last_offset: int, timestamp: int, wall_ms: int
    ) -> bool:
        config = self.config
        if segment.size_bytes + size_bytes > config.segment_bytes:
            return True
        if not segment.size_bytes:
            return not segment.holds_offset(last_offset)
        if last_offset - segment.base_offset >= 1 << 31:
            return True
        if len(segment.offsets) >= self._time_entries_max and (
            len(segment.times) >= self._time_entries_max
            or len(segment.offsets) >= config.segment_index_bytes // OFFSET_ENTRY.size
        ):
            return True
        first = segment.first_timestamp
        if first is not None and first >= 0:
            waited = timestamp - first
        else:
            waited = wall_ms - self._active_since_ms
        return waited > config.segment_ms - config.segment_jitter_ms

    def roll(self, wall_ms: int) -> None:
        """Begin a new segment at the end, if the active one holds anything."""
        self._ready()
        if self.segments[-1].size_bytes:
            try:
                self._roll(self.end_offset, self.end_offset, wall_ms)
            except OSError as error:
                raise self.home.health.fail(error) from error

    def _roll(self, first_offset: int, last_offset: int, wall_ms: int) -> Segment:
        """Settle the active segment and begin another.

        It begins at the end of the log, so that a recovery can tell a segment that is missing
        from one that was never there; except where offsets that compaction has left out on the
        leader would not fit into 32 bits.
        """
        active = self.segments[-1]
        base = self.end_offset
        if last_offset - base >= 1 << 31:
            base = first_offset
        if active.size_bytes:
            active.settle()
            self._rolled.append(active)
            self.snapshots.take(self.producers)
        else:
            self.drop(len(self.segments) - 1)
            self.retire([active], wall_ms)
        return self.begin_segment(base, wall_ms)

    def begin_segment(self, base_offset: int, wall_ms: int) -> Segment:
        """Make an empty segment the active one."""
        segment = Segment.create(
            self.disk,
            self.directory,
            base_offset,
            self.config.index_interval_bytes,
            self.config.reserved_bytes,
        )
        self.segments.append(segment)
        self._bases.append(base_offset)
        self._names_changed += 1
        self._active_since_ms = wall_ms
        return segment

    def drop(self, first: int, last: int | None = None) -> list[Segment]:
        """Take segments out of the list; their files are the caller's business."""
        dropped = self.segments[first:last]
        del self.segments[first:last], self._bases[first:last]
        return dropped

    def retire(self, segments: Sequence[Segment], wall_ms: int) -> None:
        """Remove the files of segments that are no longer in the log.

        Names go at once.  The files stay open for a while, because a slice of them may be on its
        way to a consumer; ``reap`` closes them.  (Kafka renames to ``.deleted`` and removes by
        name later, when the name may belong to a new file: KAFKA-12964.)
        """
        for segment in segments:
            for path in segment.names():
                self.disk.remove(path)
            self._retired.append((wall_ms, segment))
        self._names_changed += 1

    def reap(self, retired_before_ms: int) -> None:
        """Close the files of segments that were retired before a time."""
        while self._retired and self._retired[0][0] <= retired_before_ms:
            self._retired.pop(0)[1].close()

    # --- reading ---------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, below: int, at_least_one: bool = True
    ) -> tuple[Segment, Slice]:
        """Return the bytes from the batch that holds an offset, and the segment they lie in.

        ``below`` bounds what the reader may see (high watermark, last stable offset, end).  The
        slice may end within a batch, as readers of Kafka's protocol expect; the first batch is
        whole, however large, if ``at_least_one``.
        """
        self.home.health.check()
        if not self.start_offset <= offset <= self.end_offset:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.of} holds {self.start_offset} to {self.end_offset}, not {offset}",
            )
        below = min(below, self.end_offset)
        try:
            if offset < below:
                for segment in self.segments[self.floor(offset) :]:
                    found = segment.locate(offset)
                    if found is not None:
                        break
                    # Compaction left nothing between here and the next segment.
                else:
                    raise CorruptLog(f"{self}: nothing at {offset}, below the end")
                position, size = found
                wanted = size if at_least_one and size > max_bytes else max_bytes
                room = segment.position_of(below) - position
                return segment, segment.slice(position, max(0, min(wanted, room)))
        except OSError as error:
            raise self.home.health.fail(error) from error
        return self.segments[-1], self.segments[-1].slice(0, 0)

    def floor(self, offset: int) -> int:
        """Return the index of the segment in which an offset lies or would lie."""
        return max(0, bisect_right(self._bases, offset) - 1)

    def aborted_in(self, segment: Segment, part: Slice, offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions of which a reader of this slice has to know.

        Their markers may lie in later segments, up to the one that settles all below the slice's
        end.
        """
        if not part.size_bytes:
            return []
        return self.aborted_between(offset, segment.offset_behind(part.position + part.size_bytes))

    def aborted_between(self, start: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records at ``start`` to before ``end``."""
        found: list[AbortedTransaction] = []
        try:
            for segment in self.segments[self.floor(start) :]:
                some, complete = segment.aborted.collect(start, end)
                found += some
                if complete:
                    break
        except OSError as error:
            raise self.home.health.fail(error) from error
        return found

    @property
    def stable_offset(self) -> int:
        """The last stable offset: everything below is replicated, and every transaction decided."""
        unstable = self.producers.first_unstable()
        if unstable is None:
            return self.high_watermark
        return min(self.high_watermark, max(unstable, self.start_offset))

    def set_high_watermark(self, offset: int) -> int:
        """Learn up to where the log is replicated; return what it is, within the log's bounds."""
        self.high_watermark = max(self.start_offset, min(offset, self.end_offset))
        self.producers.replicated(self.high_watermark)
        return self.high_watermark

    def expire_producers(self, wall_ms: int) -> None:
        """Forget producers that were idle for too long."""
        self.producers.expire(wall_ms, self.config.producer_expiration_ms)

    def end_of_epoch(self, epoch: int) -> EpochEnd | None:
        """Return where a leader epoch ends in this log, for OffsetsForLeaderEpoch."""
        return self.epochs.end_of(epoch, self.end_offset)

    # --- durability ------------------------------------------------------------------------------

    async def begin_epoch(self, epoch: int) -> None:
        """Return when it is durable that an epoch begins at the end of the log.

        A leader does this before it appends: if it never appends, nothing but the checkpoint
        knows of its epoch, and a follower would be told a wrong end for the one before
        (KAFKA-7415).
        """
        self._ready()
        self._epochs_changed += self.epochs.assign(epoch, self.end_offset)
        try:
            await self._sync_epochs()
        except OSError as error:
            raise self.home.health.fail(error) from error

    def is_due_to_flush(self, wall_ms: int) -> bool:
        """Tell whether ``flush.messages`` or ``flush.ms`` asks for a flush."""
        since = self._unflushed_since_ms
        return self._unflushed_records >= self.config.flush_messages or (
            since is not None and wall_ms - since >= self.config.flush_ms
        )

    async def flush(self) -> int:
        """Return an offset below which everything is durable: the end at the time of the call.

        It is less if the log was cut meanwhile: what was at those offsets then may be gone, and
        what is there now came later.  Calls that overlap share the device's work: nearly always
        only the file of the active segment has changed, and a file has one flush under way, which
        answers all who came before it began.  So whoever acknowledges after a flush calls it.
        """
        self.home.health.check()
        target, cuts, records = self.end_offset, self._cuts, self._unflushed_records
        self._unflushed_since_ms = None
        try:
            if self._has_grown_only():
                await self.segments[-1].sync()
            else:
                await self._sync_everything()
        except OSError as error:
            raise self.home.health.fail(error) from error
        self.home.health.check()
        if cuts == self._cuts and not self._cutting:
            self.recovery_point = max(self.recovery_point, target)
            self._unflushed_records = max(0, self._unflushed_records - records)
            return target
        return min(target, self.recovery_point)

    def _has_grown_only(self) -> bool:
        """Tell whether since the last flush nothing but the active segment has changed."""
        return not (
            self._cutting
            or self._rolled
            or self._epochs_changed > self._epochs_synced
            or self._names_changed > self._names_synced
            or self.recovery_point < self._bases[-1]
            or self.snapshots.has_unsynced
        )

    async def _sync_everything(self) -> None:
        """Return when all is durable that the recovery point will vouch for."""
        names, rolled = self._names_changed, list(self._rolled)
        await self._sync_epochs()
        await self.snapshots.sync()
        # Nearly all that has rolled lies above the recovery point, too.
        for segment in dict.fromkeys((*rolled, *self.segments[self.floor(self.recovery_point) :])):
            await segment.sync()
        if names > self._names_synced:
            await self.disk.sync_directory(self.directory)
            self._names_synced = max(self._names_synced, names)
        self._rolled = [segment for segment in self._rolled if segment not in rolled]

    async def _sync_epochs(self) -> None:
        changed = self._epochs_changed
        if changed > self._epochs_synced:
            await self._epoch_file.replace(encode_epochs(self.epochs.entries()))
            self._epochs_synced = max(self._epochs_synced, changed)

    async def close(self) -> None:
        """Return when the log is durable as a whole and its files are given back."""
        self._ready()
        try:
            for segment in self.segments:
                segment.settle()
            self.snapshots.take(self.producers)
            self._names_changed += 1
            await self.flush()
        except OSError as error:
            raise self.home.health.fail(error) from error
        self.abandon()

    def abandon(self) -> None:
        """Give the files back as they are; recovery will see to the rest."""
        self._cutting = True
        for segment in self.segments:
            segment.close()
        self.snapshots.close()
        while self._retired:
            self._retired.pop(0)[1].close()

    # --- cutting ---------------------------------------------------------------------------------

    async def truncate(self, offset: int, wall_ms: int) -> None:
        """Return when every batch that reaches to an offset or behind it is durably gone.

        In this order, because recovery believes the recovery point: were the data cut first,

        1. the log is cut to 50 and written anew up to 80, and none of it is durable;
        2. the power fails; of the old and the new bytes any block may be there;
        3. recovery finds a recovery point of 100 and has no reason to look.
        """
        self._ready()
        if offset < self.segments[0].base_offset:
            await self.restart_at(offset, wall_ms)
            return
        assert not self._swapping, f"{self}: cut while it is being compacted"
        self._cutting = True
        try:
            if offset < self.end_offset:
                await self._vouch_only_below(offset)
                while self.segments[-1].base_offset > offset:
                    # From the end, each durably gone before the next: what a crash leaves is
                    # always the beginning of the log.
                    self.retire(self.drop(len(self.segments) - 1), wall_ms)
                    await self._sync_names()
                self.segments[-1].truncate(offset)
                await self.segments[-1].sync()
                self.end_offset = self.segments[-1].next_offset
                if self.end_offset < self.recovery_point:
                    await self._vouch_only_below(self.end_offset)
            # Also at the very end: an epoch may begin there that nobody wrote in (KAFKA-10706).
            self._epochs_changed += self.epochs.truncate_end(self.end_offset)
            await self._sync_epochs()
            await self._reload_producers()
        except OSError as error:
            raise self.home.health.fail(error) from error
        # Not in a finally: a log that was cut half-way, as by a task that is cancelled, is not
        # one to be appended to.
        self._cutting = False
        self._cuts += 1
        self.set_high_watermark(self.high_watermark)

    async def restart_at(self, offset: int, wall_ms: int) -> None:
        """Return when the log is durably empty and begins at an offset.

        A follower does so when the leader holds nothing that it holds, or when a snapshot takes
        the log's place.  From when the start offset is recorded, recovery finishes the work.
        """
        self._ready()
        assert not self._swapping, f"{self}: cut while it is being compacted"
        self._cutting = True
        try:
            await self._vouch_only_below(offset)
            self.start_offset = offset
            await self.home.record_start(self.of, offset)
            while self.segments:
                self.retire(self.drop(len(self.segments) - 1), wall_ms)
                await self._sync_names()
            self.begin_segment(offset, wall_ms)
            self.end_offset = offset
            self.recovery_point = min(self.recovery_point, offset)
            self.epochs.clear()
            self._epochs_changed += 1
            await self._sync_epochs()
            # All of them: one at this very offset tells of other records than the leader's.
            self.snapshots.remove(self.snapshots.offsets())
            await self._sync_names()
            self.producers = ProducerTable(offset)
        except OSError as error:
            raise self.home.health.fail(error) from error
        self._cutting = False
        self._cuts += 1
        self.set_high_watermark(offset)

    async def _vouch_only_below(self, offset: int) -> None:
        # Lowered here first, or a checkpoint written meanwhile would raise it again.
        if offset < max(self.recovery_point, self.high_watermark):
            self.recovery_point = min(self.recovery_point, offset)
            self.high_watermark = min(self.high_watermark, offset)
            await self.home.vouch_only_below(self.of, offset)
        if offset < self.start_offset:
            self.start_offset = offset
            await self.home.record_start(self.of, offset)

    async def _sync_names(self) -> None:
        names = self._names_changed
        await self.disk.sync_directory(self.directory)
        self._names_synced = max(self._names_synced, names)

    async def _reload_producers(self) -> None:
        first, offsets = self._bases[0], self.snapshots.offsets()
        self.snapshots.remove(at for at in offsets if not first <= at <= self.end_offset)
        self._names_changed += 1
        await self._sync_names()
        self.producers = self.snapshots.load(first, self.end_offset)
        replay(self.producers, self.segments, self.end_offset)

    async def advance_start(self, offset: int) -> None:
        """Return when the log durably begins at an offset, at least; the space goes later."""
        self.home.health.check()
        if offset > self.high_watermark:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.of}: cannot start at {offset}, above its high watermark "
                f"{self.high_watermark}",
            )
        if offset <= self.start_offset:
            return
        self.start_offset = offset
        self._epochs_changed += self.epochs.truncate_start(offset)
        try:
            await self.home.record_start(self.of, offset)
        except OSError as error:
            raise self.home.health.fail(error) from error

    async def ensure_snapshot(self, offset: int) -> None:
        """Return when there is a durable snapshot of the producers where a segment begins.

        There is one already, unless it was lost or damaged.
        """
        self.home.health.check()
        try:
            table = self.snapshots.load(self._bases[0], offset)
            replay(table, self.segments, offset)
            self.snapshots.take(table)
            self._names_changed += 1
        except OSError as error:
            raise self.home.health.fail(error) from error
        await self.flush()

    async def delete_oldest(self, count: int, wall_ms: int) -> None:
        """Return when the oldest segments, all below the recorded start, are durably gone."""
        assert not self._swapping, f"{self}: cut while it is being compacted"
        assert count < len(self.segments), f"{self}: the active segment stays"
        assert self._bases[count] <= self.start_offset, f"{self}: {count} segments hold records"
        try:
            gone = self.drop(0, count)
            self.retire(gone, wall_ms)
            self.snapshots.remove(
                offset for offset in self.snapshots.offsets() if offset < self._bases[0]
            )
            await self._sync_names()
        except OSError as error:
            raise self.home.health.fail(error) from error

    async def swap(self, old: Sequence[Segment], cleaned: Segment, wall_ms: int) -> bool:
        """Return when a durable copy has taken the place of some segments.

        False if they are no longer all in the log, and nothing was done.  A crash leaves the old
        segments or the copy: it counts as soon as all of its files are called ``.swap``, and only
        then does the first old file go.  While that is under way the log must not be cut.
        """
        cleaned.settle()
        copies = cleaned.names()
        finals = [path.removesuffix(CLEANED) for path in copies]
        try:
            await cleaned.sync()
            await self.disk.sync_directory(self.directory)
            cleaned.close()
            first = self.floor(old[0].base_offset)
            if self.segments[first : first + len(old)] != list(old):
                for path in copies:
                    self.disk.remove(path)
                return False
            self._swapping = True
            for copy, final in zip(copies, finals, strict=True):
                self.disk.rename(copy, final + SWAP)
            await self.disk.sync_directory(self.directory)
            for segment in old:
                for path in segment.names():
                    if path not in finals:
                        self.disk.remove(path)
                self._retired.append((wall_ms, segment))
            for final in finals:
                self.disk.rename(final + SWAP, final)
            # In memory at once: an old segment that opened its index now would find the copy's.
            swapped = Segment.open(
                self.disk, self.directory, cleaned.base_offset, self.config.index_interval_bytes
            )
            swapped.next_offset = cleaned.next_offset
            swapped.adopt_indexes()
            first = self.floor(old[0].base_offset)
            self.segments[first : first + len(old)] = [swapped]
            self._bases[first : first + len(old)] = [swapped.base_offset]
            self._names_changed += 1
            await self._sync_names()
            self._swapping = False
        except OSError as error:
            raise self.home.health.fail(error) from error
        return True


def enter_aborted(segment: Segment, ended: Sequence[tuple[Finished, int]]) -> None:
    """Note the transactions that were aborted by markers in a segment."""
    for transaction, stable_offset in ended:
        if not transaction.commit:
            segment.aborted.append(
                AbortedTransaction(
                    transaction.producer_id,
                    transaction.first_offset,
                    transaction.last_offset,
                    stable_offset,
                )
            )
