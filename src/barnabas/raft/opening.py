"""Opening the quorum's log after whatever happened to it.

    leftovers      snapshots that were never finished go
    quorum-state   has to be readable
    snapshots      the newest is read from end to end
    promises       what was flushed and no snapshot covers has to be there, or the node stops
    log            above the newest snapshot it is read, and cut where a crash has torn it
    start          where the oldest snapshot ends: segments below it were being deleted
    restart        a snapshot that knows more than the log takes its place
    voters         the newest snapshot's, then those of every record behind it

Nothing but the leftovers is changed before everything was found good.  What is done after is done
again by the next opening if a crash interrupts it, with the same result (S-19).

Where the log begins is written nowhere: it follows from the snapshots (R-29), and Kafka's metadata
log has no other checkpoint of it either.  That is why older snapshots are removed, durably, before
the segments that they sum up: were it the other way round, names could come back in any order, and
a log with a hole would be cut there.

Fixed by KafkaRaftLog.java, except for the promises (``flushed_mark``).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from barnabas.log.checkpoints import Checkpoint, decode_topic_id, encode_topic_id
from barnabas.log.config import LONG_MAX, LogConfig
from barnabas.log.health import Health
from barnabas.log.names import LOG, PARTITION_METADATA, TopicPartition, offset_of
from barnabas.log.partition_log import PartitionLog
from barnabas.log.recovery import Found, open_log
from barnabas.log.segment import Segment
from barnabas.model.errors import CorruptLog
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.raft.control_records import (
    LeaderChanged,
    VersionSet,
    VotersSet,
    control_records,
)
from barnabas.raft.flushed_mark import FlushedMark, Mark
from barnabas.raft.outline import Outline, SnapshotId
from barnabas.raft.quorum_state import QuorumState
from barnabas.raft.snapshot_files import SnapshotFiles, examine
from barnabas.raft.voters import History, VoterSet
from barnabas.records.batch import CorruptBatch, verify
from barnabas.records.compression import UnsupportedCodec
from barnabas.records.snapshot import BATCH_BYTES_MAX
from barnabas.runtime.disk import Disk

METADATA: Final = TopicPartition("__cluster_metadata", 0)
METADATA_TOPIC_ID: Final = Uuid(bytes(15) + b"\x01")

# Segments are metadata.log.segment.bytes and .ms; what goes is decided by snapshots alone.
METADATA_LOG: Final = LogConfig(
    max_message_bytes=BATCH_BYTES_MAX,
    delete=False,
    retention_ms=-1,
    retention_bytes=-1,
    timestamp_after_max_ms=LONG_MAX,
)

WAY_OUT: Final = (
    "bring the file back, or remove this replica from the quorum and format its directory anew"
)


class Home:
    """What the log asks of where it lies."""

    def __init__(self, health: Health, snapshots: SnapshotFiles, mark: FlushedMark) -> None:
        self.health: Final = health
        self._snapshots: Final = snapshots
        self._mark: Final = mark

    async def lower_recovery_point(self, of: TopicPartition, offset: int) -> None:
        """Return when nothing above an offset is vouched for."""
        await self._mark.lower(offset)

    async def record_start(self, of: TopicPartition, offset: int) -> None:
        """Return when the oldest snapshot ends at an offset: there the log begins from now on."""
        await self._snapshots.remove_below(offset)
        assert self._snapshots.known[0].end_offset == offset, f"no snapshot ends at {offset}"


@value
class Opened:
    """A log of a quorum, and everything beside it."""

    log: PartitionLog
    state: QuorumState
    snapshots: SnapshotFiles
    mark: FlushedMark
    outline: Outline
    voters: History


async def open_quorum(
    disk: Disk,
    directory: str,
    configured: VoterSet,
    config: LogConfig,
    health: Health,
    wall_ms: int,
) -> Opened:
    """Open the log in a metadata log directory, or make it."""
    path = f"{directory}/{METADATA}"
    await settle_directory(disk, directory, path)
    state = QuorumState(disk, path)
    snapshots = SnapshotFiles(disk, path)
    bases = [base for name in disk.names(path) if (base := offset_of(name, LOG)) is not None]
    latest, first = snapshots.latest, min(bases, default=0)
    if first > (0 if latest is None else latest.end_offset):
        raise CorruptLog(
            f"{path}: the log begins at {first}, and no snapshot says what came before; the "
            f"newest is {latest}; {WAY_OUT}"
        )
    says = None if latest is None else examine(disk, snapshots.path(latest), latest)
    known_to = 0 if latest is None else latest.end_offset
    mark = FlushedMark(disk, path)
    epoch = 0 if state.election is None else state.election.epoch
    check_promises(disk, path, bases, known_to, mark.mark, epoch)
    # Kafka removes segments before the snapshots that end in them: a crash leaves these.
    await snapshots.remove_below(first)
    start = snapshots.known[0].end_offset if snapshots.known else 0
    home = Home(health, snapshots, mark)
    found = Found(clean=False, recovery_point=known_to, start_offset=start)
    log = await open_log(disk, home, METADATA, path, config, found, wall_ms)
    await mark.settle(Mark(log.end_offset, epoch))
    if latest is not None and knows_more(latest, log):
        # Received, and the power failed before it could take the log's place.
        await log.restart_at(latest.end_offset, wall_ms)
    log.set_high_watermark(known_to)
    voters = History(configured)
    if says is not None:
        voters.restart(known_to, says.voters, says.version)
    read_voters(log, known_to, voters)
    entries = log.epochs.entries()
    outline = Outline(log.start_offset, log.end_offset, entries, snapshots.known)
    return Opened(log, state, snapshots, mark, outline, voters)


async def settle_directory(disk: Disk, directory: str, path: str) -> None:
    """Return when there is a directory for the log, and it says whose it is."""
    if not disk.exists(path):
        disk.make_directory(path)
    await disk.sync_directory(directory)
    metadata = Checkpoint(disk, path, PARTITION_METADATA)
    content = metadata.read()
    if content is None:
        await metadata.replace(encode_topic_id(METADATA_TOPIC_ID))
        return
    topic_id = decode_topic_id(content, metadata.path)
    if topic_id != METADATA_TOPIC_ID:
        raise CorruptLog(
            f"{metadata.path}: the log of topic {topic_id.hex()}, not of the cluster's metadata, "
            f"{METADATA_TOPIC_ID.hex()}; point metadata.log.dir elsewhere"
        )


def knows_more(latest: SnapshotId, log: PartitionLog) -> bool:
    """Tell whether a snapshot tells of records that are not in the log."""
    if log.start_offset == log.end_offset == latest.end_offset:
        return False
    return latest.rank > (log.epochs.latest, log.end_offset)


def read_voters(log: PartitionLog, start: int, voters: History) -> None:
    """Learn the voters and versions of every record from an offset on."""
    for segment in log.segments[log.floor(start) :]:
        for position, header in segment.headers():
            if not header.is_control or header.next_offset <= start:
                continue
            try:
                data = segment.slice(position, header.size_bytes).read()
                for offset, said in control_records(data, 0, header):
                    match said:
                        case VersionSet(version):
                            voters.add_version(offset, version)
                        case VotersSet(found):
                            voters.add_voters(offset, found)
                        case LeaderChanged():
                            pass
                        case _:
                            raise CorruptLog(f"{segment.file.path} at {position}: {said}")
            except (CorruptBatch, UnsupportedCodec) as error:
                raise CorruptLog(f"{segment.file.path} at {position}: {error}") from error


def check_promises(
    disk: Disk, path: str, bases: Sequence[int], start: int, promised: Mark, epoch: int
) -> None:
    """Refuse a log that has lost what was flushed, from an offset on.

    ``epoch`` is that of ``quorum-state``.
    """
    expected = start
    for base, following in pairwise([*bases, LONG_MAX]):
        if expected >= promised.offset:
            return
        if following > start:
            segment = Segment.open(disk, path, base, METADATA_LOG.index_interval_bytes)
            try:
                expected = kept_to(segment, expected, promised.offset)
            except (CorruptLog, CorruptBatch) as error:
                raise CorruptLog(
                    f"{segment.file.path}, offset {expected} or behind: {error}; everything below "
                    f"offset {promised.offset} was on this disk and others were told so; {WAY_OUT}"
                ) from error
            finally:
                segment.close()
    if expected < promised.offset and promised.epoch == epoch:
        # In another epoch somebody else, such as Kafka, may have cut it.
        raise CorruptLog(
            f"{path}: the log ends at offset {expected}; everything below {promised.offset} was "
            f"on this disk and others were told so; {WAY_OUT}"
        )


def kept_to(segment: Segment, expected: int, promised: int) -> int:
    """Return up to where a segment has what was promised; raises where a batch has gone bad."""
    found = segment.headers()
    # Not one batch further: what lies behind may be torn.
    while expected < promised and (batch := next(found, None)) is not None:
        position, header = batch
        if header.next_offset <= expected:
            continue
        if header.base_offset > expected:
            raise CorruptLog(f"at {position}: a batch at {header.base_offset}, not at {expected}")
        verify(segment.slice(position, header.size_bytes).read(), 0, header)
        expected = header.next_offset
    return expected
