"""The disk of one replica: the log, its snapshots and the vote, in Kafka's files.

    <metadata log dir>/__cluster_metadata-0/
        00000000000000000000.log .index …        the log, as ``barnabas.log`` keeps it
        partition.metadata                       whose log this is
        quorum-state                             the vote and the leader of the last epoch
        00000000000000000120-0000000007.checkpoint        a snapshot
        00000000000000000120-0000000007-1.checkpoint.part one being written or received
        flushed-offset-checkpoint                what was flushed once (``flushed_mark``)

The shell performs the machine's effects here, one after the other; nothing here decides anything.
What is a plain call is in the page cache when it returns and may be read; what is awaited is on
the device.

Promises, and how they are kept:

- *A vote is durable before it is told* (R-02): ``persist`` returns then.  The epoch in
  ``quorum-state`` is never below that of a record in the log (R-34): appending asserts it.
- *Records land where it was promised*, or not at all: appending asserts the offset.
- *The log begins where the oldest snapshot ends* (R-29), at every instant that a crash may show.
- *A snapshot is seen when it is whole and durable* (R-28), and takes the log's place atomically
  (R-30): its name is durable before the log is touched, and ``opening`` finishes the work.
- *Nothing damaged is handed out* (S-02): what is read is checked against its checksums.
- *After an error of the disk nothing goes on* (S-07): see ``log.health``.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Final

from barnabas.log.config import LONG_MAX, LogConfig
from barnabas.log.health import Health
from barnabas.log.partition_log import Appended
from barnabas.log.producers import Origin
from barnabas.log.retention import delete_old_segments
from barnabas.model.errors import CorruptLog, ErrorCode, Refused
from barnabas.raft.control_records import (
    kraft_version,
    leader_change,
    snapshot_footer,
    snapshot_header,
    voters_record,
)
from barnabas.raft.effects import AppendLeaderChange, AppendVoters
from barnabas.raft.flushed_mark import Mark
from barnabas.raft.messages import Batches
from barnabas.raft.opening import METADATA_LOG, WAY_OUT, Opened, open_quorum
from barnabas.raft.outline import SnapshotId
from barnabas.raft.received import judged
from barnabas.raft.snapshot_files import SnapshotPart, examine, last_contained_ms, read_batches
from barnabas.raft.states import Election
from barnabas.raft.voters import RECONFIGURABLE, VoterSet
from barnabas.records.batch import CorruptBatch, batches, header_at, verify
from barnabas.records.control import ControlType, control_batch
from barnabas.records.snapshot import (
    RECORD_OVERHEAD_BYTES_MAX,
    data_batch,
    snapshot_footer_batch,
    snapshot_header_batch,
)
from barnabas.runtime.clock import Clock
from barnabas.runtime.disk import Buffer, DirectoryLock, Disk

# Batches of a snapshot that is written: large ones would keep everybody waiting.
SNAPSHOT_BATCH_BYTES: Final = 256 * 1024


class Storage:
    """Everything that one replica keeps on its disk."""

    def __init__(
        self,
        disk: Disk,
        health: Health,
        clock: Clock,
        lock: DirectoryLock | None,
        opened: Opened,
    ) -> None:
        self.outline: Final = opened.outline
        """The log as it was found; from then on the machine's, which moves it as it decides."""
        self.voters: Final = opened.voters
        """Who votes, by the log as it was found; from then on the machine's, too."""
        self.health: Final = health
        self._disk: Final = disk
        self._clock: Final = clock
        self._lock: Final = lock
        self._log: Final = opened.log
        self._state: Final = opened.state
        self._snapshots: Final = opened.snapshots
        self._mark: Final = opened.mark
        self._receiving: SnapshotPart | None = None

    @staticmethod
    async def open(
        disk: Disk,
        directory: str,
        configured: VoterSet,
        clock: Clock,
        config: LogConfig = METADATA_LOG,
        claims: bool = True,
    ) -> "Storage":
        """Open what is in a metadata log directory, or begin it.

        ``configured`` are the voters where no record tells (kraft.version 0).  ``claims`` is False
        where the directory is also one of the broker's, which has claimed it.  Raises
        ``CorruptLog`` with the way out if it cannot be believed, ``BlockingIOError`` if another
        process works in it.
        """
        assert config.max_message_bytes <= config.segment_bytes, f"{config}: a batch has to fit"
        with ExitStack() as undo:
            lock = disk.lock(directory) if claims else None
            if lock is not None:
                undo.callback(lock.release)
            health = Health(directory)
            with guarded(health):
                wall_ms = clock.wall_ms()
                opened = await open_quorum(disk, directory, configured, config, health, wall_ms)
            undo.pop_all()
            return Storage(disk, health, clock, lock, opened)

    @property
    def election(self) -> Election | None:
        """What this replica must not forget of its last epoch; None if it never had one."""
        return self._state.election

    @property
    def end_offset(self) -> int:
        """Where the log ends."""
        return self._log.end_offset

    # --- the vote --------------------------------------------------------------------------------

    async def persist(self, election: Election) -> None:
        """Return when an election is durable."""
        with guarded(self.health):
            voters = self.voters
            await self._state.replace(election, voters.version, voters.current.ids)
            self._mark.note(Mark(self._mark.mark.offset, election.epoch))

    # --- appending -------------------------------------------------------------------------------

    def append_leader_change(self, effect: AppendLeaderChange) -> None:
        """Begin an epoch, as its leader."""
        election = self._state.election
        assert election is not None, f"{effect} before any election"
        leader_id = election.leader_id
        assert leader_id is not None, f"{effect} in {election}"
        contents = [
            (ControlType.LEADER_CHANGE, leader_change(leader_id, effect.voters, effect.granting))
        ]
        if effect.version is not None:
            contents.append((ControlType.KRAFT_VERSION, kraft_version(effect.version)))
        if effect.voter_set is not None:
            contents.append((ControlType.KRAFT_VOTERS, voters_record(effect.voter_set)))
        wall_ms = self._clock.wall_ms()
        batch = control_batch(effect.base_offset, wall_ms, effect.epoch, *contents)
        self._append(effect.base_offset, effect.epoch, batch, wall_ms)

    def append_voters(self, effect: AppendVoters) -> None:
        """Append a voters record, as the leader."""
        content = (ControlType.KRAFT_VOTERS, voters_record(effect.voter_set))
        wall_ms = self._clock.wall_ms()
        batch = control_batch(effect.base_offset, wall_ms, effect.epoch, content)
        self._append(effect.base_offset, effect.epoch, batch, wall_ms)

    def append(self, base_offset: int, epoch: int, values: Sequence[Buffer]) -> None:
        """Append records as one batch, as the leader; ``Refused`` if they are too large for one."""
        wall_ms = self._clock.wall_ms()
        self._append(base_offset, epoch, data_batch(base_offset, epoch, wall_ms, values), wall_ms)

    def _append(self, base_offset: int, epoch: int, batch: bytes, wall_ms: int) -> None:
        log = self._log
        assert base_offset == log.end_offset, f"{log} does not go on at {base_offset}"
        self._check_epoch(epoch)
        appended = log.append_as_leader(batch, epoch, wall_ms, Origin.COORDINATOR)
        assert isinstance(appended, Appended), f"{appended} without a producer"

    def append_fetched(self, data: Buffer, leader_epoch: int) -> None:
        """Append what a leader sent and ``judge`` found sound, as it is."""
        self._check_epoch(leader_epoch)
        view, wall_ms = memoryview(data), self._clock.wall_ms()
        begin = end = 0
        # What comes at once may be more than a segment holds.
        for position, header in batches(view):
            if position + header.size_bytes - begin > self._log.config.segment_bytes:
                self._log.append_as_follower(view[begin:position], leader_epoch, wall_ms)
                begin = position
            end = position + header.size_bytes
        self._log.append_as_follower(view[begin:end], leader_epoch, wall_ms)

    def _check_epoch(self, epoch: int) -> None:
        election = self._state.election
        assert election is not None, f"a record of epoch {epoch} before any election"
        assert epoch <= election.epoch, f"a record of epoch {epoch}, durable is {election}"

    async def flush(self) -> int:
        """Return an offset below which everything is durable: the end at the time of the call.

        Calls that overlap share the device's work.
        """
        end_offset = await self._log.flush()
        epoch = 0 if self._state.election is None else self._state.election.epoch
        with guarded(self.health):
            self._mark.note(Mark(end_offset, epoch))
        return end_offset

    async def truncate(self, end_offset: int) -> None:
        """Return when everything at an offset and behind it is durably gone."""
        latest = self._snapshots.latest
        committed = 0 if latest is None else latest.end_offset
        assert end_offset >= committed, f"cut at {end_offset}, below the snapshot {latest}"
        await self._log.truncate(end_offset, self._clock.wall_ms())
        self._log.reap(LONG_MAX)
        end = self._log.end_offset
        assert end == end_offset, f"a batch reaches over {end_offset}: the log ends at {end}"

    # --- reading ---------------------------------------------------------------------------------

    def read(self, offset: int, below: int, max_bytes: int) -> bytes:
        """Return whole batches from the one that holds an offset; one, if there is, at least.

        ``Refused`` if the offset is not in the log, ``CorruptLog`` if a batch there has gone bad.
        """
        segment, part = self._log.read(offset, max_bytes, below)
        with guarded(self.health):
            data = part.read()
        end = 0
        try:
            for position, header in batches(data):
                verify(data, position, header)
                end = position + header.size_bytes
        except CorruptBatch as error:
            where = f"{segment.file.path} at {part.position + end}"
            raise CorruptLog(f"{where}, offset {offset} or behind: {error}; {WAY_OUT}") from error
        assert end or offset >= min(below, self._log.end_offset), f"no batch at {offset}"
        return data[:end]

    def judge(self, data: Buffer, offset: int) -> Batches:
        """Return what a leader sent from an offset on, if it may follow there; or ``Refused``."""
        election = self._state.election
        epoch = 0 if election is None else election.epoch
        return judged(data, offset, max(0, self._log.epochs.epoch_of(offset - 1)), epoch)

    # --- snapshots of others ---------------------------------------------------------------------

    async def open_snapshot(self, snapshot: SnapshotId) -> None:
        """Begin to receive a snapshot; what was received of another one is thrown away."""
        with guarded(self.health):
            if self._receiving is not None:
                self._receiving.discard()
            self._receiving = self._snapshots.begin(snapshot)

    def store_part(self, snapshot: SnapshotId, position: int, data: Buffer) -> None:
        """Write what comes next of the snapshot that is being received."""
        receiving = self._part_of(snapshot)
        assert position == receiving.size_bytes, f"{position} after {receiving.size_bytes} bytes"
        with guarded(self.health):
            receiving.append(data)

    async def install(self, snapshot: SnapshotId) -> tuple[VoterSet | None, int]:
        """Let a received snapshot take the place of the log, durably; return who votes in it.

        ``Refused`` if it is not whole and sound, or no news; it is thrown away, and nothing else
        has changed.
        """
        receiving = self._part_of(snapshot)
        self._receiving = None
        try:
            if not self._snapshots.is_news(snapshot):
                raise CorruptLog(f"snapshot {snapshot} is no news after {self._snapshots.latest}")
            with guarded(self.health):
                says = examine(self._disk, receiving.path, snapshot)
        except CorruptLog as error:
            with guarded(self.health):
                receiving.discard()
            raise Refused(ErrorCode.CORRUPT_MESSAGE, error.why) from error
        with guarded(self.health):
            published = await self._snapshots.publish(receiving)
        if not published:
            raise Refused(ErrorCode.CORRUPT_MESSAGE, f"a newer snapshot than {snapshot} came")
        await self._log.restart_at(snapshot.end_offset, self._clock.wall_ms())
        self._log.reap(LONG_MAX)
        return says.voters, says.version

    def _part_of(self, snapshot: SnapshotId) -> SnapshotPart:
        receiving = self._receiving
        assert receiving is not None, f"{snapshot} was not begun"
        assert receiving.snapshot == snapshot, f"{snapshot}, but {receiving.snapshot} is received"
        return receiving

    # --- snapshots of our own --------------------------------------------------------------------

    def part(self, snapshot: SnapshotId, position: int, max_bytes: int) -> tuple[int, bytes]:
        """Return the size of a snapshot, and bytes of it; ``Refused`` if there are none there."""
        if snapshot not in self._snapshots.known:
            raise Refused(ErrorCode.SNAPSHOT_NOT_FOUND, f"no snapshot {snapshot}")
        with guarded(self.health):
            file = self._disk.open(self._snapshots.path(snapshot), "read")
            try:
                size = file.size()
                if not 0 <= position < size:
                    why = f"snapshot {snapshot} has {size} bytes, and none at {position}"
                    raise Refused(ErrorCode.POSITION_OUT_OF_RANGE, why)
                return size, file.read(position, max_bytes)
            finally:
                file.close()

    async def write_snapshot(
        self, snapshot: SnapshotId, values: Iterable[Buffer], last_contained_ms: int
    ) -> bool:
        """Write a snapshot; it is durable on return.

        ``values`` are the records of the state in which everything below the snapshot's end is
        applied, and may be made as they are asked for; ``last_contained_ms`` is when the youngest
        was appended.  False if a newer snapshot came meanwhile, and this one was thrown away.
        """
        if not self._snapshots.is_news(snapshot):
            return False
        self._check_boundary(snapshot)
        # An opening does not look at what lies below a snapshot.
        await self.flush()
        with guarded(self.health), ExitStack() as undo:
            part = self._snapshots.begin(snapshot)
            undo.callback(part.discard)
            controls = self._controls_of(snapshot)
            wall_ms = self._clock.wall_ms()
            header = snapshot_header(last_contained_ms)
            part.append(snapshot_header_batch(snapshot.epoch, wall_ms, header, *controls))
            offset = 1 + len(controls)
            for gathered in gathered_to(SNAPSHOT_BATCH_BYTES, values):
                wall_ms = self._clock.wall_ms()
                part.append(data_batch(offset, snapshot.epoch, wall_ms, gathered))
                offset += len(gathered)
                # Everybody else gets a turn.
                await self._clock.sleep_ms(0)
            wall_ms = self._clock.wall_ms()
            part.append(snapshot_footer_batch(offset, snapshot.epoch, wall_ms, snapshot_footer()))
            undo.pop_all()
            return await self._snapshots.publish(part)

    def _check_boundary(self, snapshot: SnapshotId) -> None:
        """Assert that a batch of the snapshot's epoch ends where it does (R-28)."""
        end, log = snapshot.end_offset, self._log
        assert end <= log.end_offset, f"snapshot {snapshot} of {log}"
        epoch = log.epochs.epoch_of(end - 1)
        assert epoch == snapshot.epoch, f"snapshot {snapshot}, but {end - 1} is of epoch {epoch}"
        if end < log.end_offset:
            _, part = log.read(end, 1, log.end_offset)
            base = header_at(part.read()).base_offset
            assert base == end, f"snapshot {snapshot} ends inside of the batch at {base}"

    def _controls_of(self, snapshot: SnapshotId) -> list[bytes]:
        """Return the records of who votes, as of a snapshot's end."""
        version = self.voters.version_at(snapshot.end_offset)
        if version < RECONFIGURABLE:
            return []
        voters = self.voters.set_at(snapshot.end_offset)
        return [kraft_version(version), *([voters_record(voters)] if len(voters) else [])]

    def read_snapshot(self, snapshot: SnapshotId) -> Iterator[bytes]:
        """Yield the batches of a snapshot, each whole; ``CorruptLog`` where it has gone bad."""
        assert snapshot in self._snapshots.known, f"no snapshot {snapshot}"
        with guarded(self.health):
            for data, _ in read_batches(self._disk, self._snapshots.path(snapshot), snapshot):
                yield data

    # --- making room -----------------------------------------------------------------------------

    def due_to_clean(self, bytes_max: int, age_ms_max: int) -> SnapshotId | None:
        """Return the snapshot that the log should begin with; None if nothing has to go.

        Kafka's metadata.max.retention.bytes and .ms, of which a negative one bounds nothing: the
        oldest snapshots go, and the records below the next, but never the newest.
        """
        known, first = self._snapshots.known, None
        wall_ms, held = self._clock.wall_ms(), self._bytes_from(0)
        for older, newer in pairwise(known):
            is_old = 0 <= age_ms_max < wall_ms - self.contained_ms(older)
            if not is_old and not 0 <= bytes_max < held:
                break
            first, held = newer, self._bytes_from(newer.end_offset)
        return first

    def _bytes_from(self, offset: int) -> int:
        """Return how much there would be if the log began at an offset."""
        segments = self._log.segments
        reaching = [each for each in segments[:-1] if each.next_offset > offset]
        kept = [each for each in self._snapshots.known if each.end_offset >= offset]
        log_bytes = sum(segment.size_bytes for segment in (*reaching, segments[-1]))
        return log_bytes + sum(self._size_of(snapshot) for snapshot in kept)

    def contained_ms(self, snapshot: SnapshotId) -> int:
        """Return when the youngest record of a snapshot was appended."""
        with guarded(self.health):
            return last_contained_ms(self._disk, self._snapshots.path(snapshot), snapshot)

    def _size_of(self, snapshot: SnapshotId) -> int:
        with guarded(self.health):
            file = self._disk.open(self._snapshots.path(snapshot), "read")
            size = file.size()
            file.close()
        return size

    async def clean(self, first: SnapshotId) -> None:
        """Return when the log durably begins where a snapshot ends; older snapshots are gone.

        In this order, because the oldest snapshot is what tells where the log begins: were the
        segments first, of several names that are removed any may come back.
        """
        assert first in self._snapshots.known, f"no snapshot {first}"
        log, wall_ms = self._log, self._clock.wall_ms()
        log.set_high_watermark(first.end_offset)
        await log.advance_start(first.end_offset)
        await delete_old_segments(log, wall_ms)
        log.reap(LONG_MAX)

    # --- the end ---------------------------------------------------------------------------------

    async def close(self) -> None:
        """Return when everything is durable and given back."""
        with guarded(self.health):
            if self._receiving is not None:
                self._receiving.discard()
                self._receiving = None
            await self._log.close()
            self._mark.note(Mark(self._log.end_offset, self._mark.mark.epoch))
            await self._mark.close()
        if self._lock is not None:
            self._lock.release()

    def abandon(self) -> None:
        """Give everything back as it is: after a failure, or to stop at once."""
        self._log.abandon()
        self._mark.abandon()
        if self._lock is not None:
            self._lock.release()


@contextmanager
def guarded(health: Health) -> Iterator[None]:
    """Do nothing after an error of the disk, and let a first one be the last."""
    health.check()
    try:
        yield
    except OSError as error:
        raise health.fail(error) from error


def gathered_to(size_bytes: int, values: Iterable[Buffer]) -> Iterator[Sequence[Buffer]]:
    """Yield values in runs of about a size; one that is larger stands alone."""
    gathered: list[Buffer] = []
    size = 0
    for each in values:
        grown = len(each) + RECORD_OVERHEAD_BYTES_MAX
        if gathered and size + grown > size_bytes:
            yield gathered
            gathered, size = [], 0
        gathered.append(each)
        size += grown
    if gathered:
        yield gathered
