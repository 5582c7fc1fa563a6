"""The planted bugs of the log: each a mistake that some log really made.

A mutant is code put in the place of the product's for the runs of one plan, so the product has no
switch for it.  ``plant`` first puts everything back, and so a run without a mutant is always the
product.  The budgets are those of the oracle book: A is 20 seeds, B 200.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from barnabas.log import compaction, partition_log, producers, recovery, retention, snapshots
from barnabas.log.checkpoints import Checkpoint, encode_clean_mark
from barnabas.log.directory import LogDirectory
from barnabas.log.epochs import EpochCache
from barnabas.log.health import DirectoryFailed, Health
from barnabas.log.names import CLEANED, SWAP, TEMPORARY, TopicPartition
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producers import Finished, ProducerTable, Staging
from barnabas.log.recovery import Recovery
from barnabas.log.segment import Segment
from barnabas.log.snapshots import Snapshots
from barnabas.model.errors import CorruptLog, ErrorCode, Refused
from barnabas.records.batch import BatchHeader
from barnabas.records.builder import built
from barnabas.records.record import records
from barnabas.runtime.disk import Buffer
from barnabas.sim.disk import ProcessDisk
from barnabas.sim.profile import Mutant
from barnabas.sim.profiles.planting import Bed, Patch

A: Final = 20
B: Final = 200


async def recovery_believes_itself(self: Recovery, read: bool) -> None:
    """MS-01: what recovery has read counts as durable."""
    await BED.product(Recovery, "_bound")(self, read)
    self.recovery_point = self.segments[-1].next_offset


async def never_sync_snapshots(self: Snapshots) -> None:
    """MS-02: snapshots are written, and never synced."""
    self.close()


def keep_all_snapshots(self: Snapshots, offsets: Iterable[int]) -> None:
    """MS-02: those that nobody made durable are believed, so nothing removes them."""


def believe_snapshots(content: bytes, offset: int, path: str) -> ProducerTable:
    """MS-02: and what cannot be read tells of no producers."""
    try:
        return producers.read_snapshot(content, offset, path)
    except CorruptLog:
        return ProducerTable(offset)


async def replace_without_sync(self: Checkpoint, content: bytes) -> None:
    """MS-03: renamed before the content is on the disk."""
    temporary = f"{self.path}{TEMPORARY}"
    if self._disk.exists(temporary):
        self._disk.remove(temporary)
    file = self._disk.open(temporary, "exclusive")
    file.write(0, [content])
    file.close()
    self._disk.rename(temporary, self.path)
    await self._disk.sync_directory(self._directory)


def forget_errors(self: Health, error: OSError) -> DirectoryFailed:
    """MS-04: an error is told once, and then everything goes on."""
    return DirectoryFailed(self.directory, error)


def fail_in_the_index(segment: Segment, ended: Sequence[tuple[Finished, int]]) -> None:
    """MS-05: an error of the index is told as one that can be tried again."""
    try:
        BED.product(partition_log, "enter_aborted")(segment, ended)
    except OSError as error:
        raise IndexFull from error


class IndexFull(Exception):  # noqa: N818 -- it is what the mutant thinks has happened
    """MS-05: no entry was made."""


def append_data_then_index(
    self: PartitionLog,
    parts: Sequence[Buffer],
    size_bytes: int,
    first_offset: int,
    last_offset: int,
    timestamp: int,
    timestamp_offset: int,
    staging: Staging | None,
    wall_ms: int,
) -> None:
    """MS-05: the end of the log moves only when the index has its entry."""
    end = self.end_offset
    try:
        BED.product(PartitionLog, "_write")(
            self,
            parts,
            size_bytes,
            first_offset,
            last_offset,
            timestamp,
            timestamp_offset,
            staging,
            wall_ms,
        )
    except IndexFull:
        self.end_offset = end
        raise Refused(ErrorCode.RECORD_LIST_TOO_LARGE, "the index is full; try again") from None


def install_first(
    self: PartitionLog,
    parts: Sequence[Buffer],
    size_bytes: int,
    first_offset: int,
    last_offset: int,
    timestamp: int,
    timestamp_offset: int,
    staging: Staging | None,
    wall_ms: int,
) -> None:
    """MS-06: producers are taken over before the bytes are written."""
    if staging is not None:
        self.producers.entries.update(staging.entries)
    BED.product(PartitionLog, "_write")(
        self,
        parts,
        size_bytes,
        first_offset,
        last_offset,
        timestamp,
        timestamp_offset,
        staging,
        wall_ms,
    )


def skip_epoch_zero(self: EpochCache, epoch: int, start: int) -> bool:
    """MS-07: epoch 0 counts as none."""
    return epoch > 0 and bool(BED.product(EpochCache, "assign")(self, epoch, start))


async def remove_then_swap(
    self: PartitionLog, old: Sequence[Segment], cleaned: Segment, wall_ms: int
) -> bool:
    """MS-08: the old segments go before the copy is durable."""
    cleaned.settle()
    copies = cleaned.names()
    first = self.floor(old[0].base_offset)
    for segment in old:
        for path in segment.names():
            self.disk.remove(path)
    cleaned.close()
    for path in copies:
        self.disk.rename(path, path.removesuffix(CLEANED) + SWAP)
        self.disk.rename(path.removesuffix(CLEANED) + SWAP, path.removesuffix(CLEANED))
    interval = self.config.index_interval_bytes
    swapped = Segment.open(self.disk, self.directory, cleaned.base_offset, interval)
    swapped.next_offset = cleaned.next_offset
    swapped.adopt_indexes()
    self.segments[first : first + len(old)] = [swapped]
    self._bases[first : first + len(old)] = [swapped.base_offset]
    await self.disk.sync_directory(self.directory)
    return True


async def sync_and_sync_again(self: Segment) -> None:
    """MS-09: a sync that failed is tried once more, and believed."""
    try:
        await self.file.sync()
    except OSError:
        again = self._disk.open(self.file.path, "write")
        await again.sync()
        again.close()


async def replace_without_directory(self: Checkpoint, content: bytes) -> None:
    """MS-10: renamed, and the name is not synced."""
    temporary = f"{self.path}{TEMPORARY}"
    if self._disk.exists(temporary):
        self._disk.remove(temporary)
    file = self._disk.open(temporary, "exclusive")
    file.write(0, [content])
    await file.sync()
    file.close()
    self._disk.rename(temporary, self.path)


def believe_checksums(data: Buffer, position: int, header: BatchHeader) -> None:
    """MS-11: whatever has the right size is right."""


class Anything(int):
    """MS-13: a checksum that is never another."""

    def __ne__(self, other: object) -> bool:
        return False


def any_checksum(data: Buffer, value: int = 0) -> int:
    """MS-13: a tail is whole if its sizes are."""
    return Anything()


def retire_by_name(self: PartitionLog, segments: Sequence[Segment], wall_ms: int) -> None:
    """MS-12: files are removed later, by name; here they only make room."""
    for segment in segments:
        for path in segment.names():
            self.disk.rename(path, f"{path}.deleted")
        self._retired.append((wall_ms, segment))
    self._names_changed += 1


def reap_by_name(self: PartitionLog, retired_before_ms: int) -> None:
    """MS-12: by then the name may belong to another."""
    while self._retired and self._retired[0][0] <= retired_before_ms:
        segment = self._retired.pop(0)[1]
        segment.close()
        for path in segment.names():
            self.disk.remove(path)
        reap_snapshots_by_name(self.snapshots)


def remove_snapshots_later(self: Snapshots, offsets: Iterable[int]) -> None:
    """MS-12: and snapshots, too."""
    for offset in offsets:
        path = self.path(offset)
        self._disk.rename(path, f"{path}.deleted")
        if (file := self._unsynced.pop(offset, None)) is not None:
            file.close()
        vars(self).setdefault("removed", []).append(path)


def reap_snapshots_by_name(self: Snapshots) -> None:
    """MS-12: whoever has the name by now."""
    for path in vars(self).pop("removed", []):
        if self._disk.exists(path):
            self._disk.remove(path)


async def forget_the_high_watermark(self: LogDirectory, of: TopicPartition, offset: int) -> None:
    """MS-14: records go, and the high watermark that counted them stays on the disk."""
    for offsets in (self._cleaned, self._recovery_points):
        if offset < offsets.known.get(of, 0):
            offsets.known[of] = offset
            await offsets.write()


def count_before_writing(
    self: Segment,
    parts: Sequence[Buffer],
    size_bytes: int,
    last_offset: int,
    timestamp: int,
    timestamp_offset: int,
) -> None:
    """MS-15: a segment is as long as it will be when everything is written."""
    self.size_bytes += size_bytes
    try:
        self.file.write(self.size_bytes - size_bytes, parts)
    finally:
        self.next_offset = last_offset + 1
    position = self.size_bytes - size_bytes
    self.note(position, size_bytes, last_offset, timestamp, timestamp_offset)


def share_health(self: LogDirectory, disk: ProcessDisk, path: str) -> None:
    """MS-16: one disk of several fails, and all of them are given up."""
    BED.product(LogDirectory, "__init__")(self, disk, path)
    vars(self)["health"] = vars(disk).setdefault("health", self.health)


class NoLock:
    """MS-17: what holds nobody off."""

    def release(self) -> None:
        """Let in whoever is in."""


def lock_nothing(self: ProcessDisk, directory: str) -> NoLock:
    """MS-17: everybody may work in a directory."""
    return NoLock()


def seal_again(
    self: compaction.Round, data: bytes, header: BatchHeader, target: Segment
) -> bytes | None:
    """MS-18: whatever was read gets a checksum that fits."""
    kept: bytes | None = BED.product(compaction.Round, "_kept")(self, data, header, target)
    return built(header, list(records(data, 0, header))) if kept is data else kept


async def vouch_when_open(self: LogDirectory, of: TopicPartition, offset: int) -> None:
    """MS-19: what recovery cuts off is vouched for as before."""
    if of in self.logs:
        await BED.product(LogDirectory, "vouch_only_below")(self, of, offset)


def beyond_the_high_watermark(log: PartitionLog, wall_ms: int) -> int:
    """MP-23: what is not replicated yet goes, too."""
    log.set_high_watermark(log.end_offset)
    count: int = BED.product(retention, "deletable")(log, wall_ms)
    return count


async def mark_then_close(self: LogDirectory, broker_epoch: int) -> None:
    """MC-10: the mark of a clean stop is written first."""
    await self._mark.replace(encode_clean_mark(broker_epoch))
    await BED.product(LogDirectory, "close")(self, broker_epoch)


async def open_and_keep_the_mark(disk: ProcessDisk, path: str) -> LogDirectory:
    """MC-09: the mark goes when everything is open, and the first checkpoint is written."""
    return LogDirectory(disk, path)


async def checkpoint_then_unmark(self: LogDirectory) -> None:
    """MC-09: only now."""
    await BED.product(LogDirectory, "checkpoint")(self)
    await self._mark.remove()


def forget_open(self: Snapshots, first: int, end_offset: int) -> ProducerTable:
    """MK-15: a table that is loaded has no transactions."""
    table: ProducerTable = BED.product(Snapshots, "load")(self, first, end_offset)
    table.open = {}
    table.entries = {p: e._replace(transaction_start=-1) for p, e in table.entries.items()}
    return table


def unstable_is_stable(self: ProducerTable) -> int | None:
    """MK-15: and nobody waits for those that are open."""
    return None


def keep_no_place(self: compaction.Round, header: BatchHeader) -> bool:
    """MK-17: a batch without records goes, whoever's last it is."""
    return header.next_offset == self._copy_end


PATCHES: Final[Mapping[str, Sequence[Patch]]] = {
    "MS-01": [(Recovery, "_bound", recovery_believes_itself)],
    "MS-02": [
        (Snapshots, "sync", never_sync_snapshots),
        (Snapshots, "remove", keep_all_snapshots),
        (snapshots, "read_snapshot", believe_snapshots),
    ],
    "MS-03": [(Checkpoint, "replace", replace_without_sync)],
    "MS-04": [(Health, "fail", forget_errors)],
    "MS-05": [
        (PartitionLog, "_write", append_data_then_index),
        (partition_log, "enter_aborted", fail_in_the_index),
    ],
    "MS-06": [(PartitionLog, "_write", install_first)],
    "MS-07": [(EpochCache, "assign", skip_epoch_zero)],
    "MS-08": [(PartitionLog, "swap", remove_then_swap)],
    "MS-09": [(Segment, "sync", sync_and_sync_again)],
    "MS-10": [(Checkpoint, "replace", replace_without_directory)],
    "MS-11": [(partition_log, "verify", believe_checksums)],
    "MS-12": [
        (PartitionLog, "retire", retire_by_name),
        (PartitionLog, "reap", reap_by_name),
        (Snapshots, "remove", remove_snapshots_later),
    ],
    "MS-13": [(recovery, "crc32c", any_checksum)],
    "MS-14": [(LogDirectory, "vouch_only_below", forget_the_high_watermark)],
    "MS-15": [(Segment, "append", count_before_writing)],
    "MS-16": [(LogDirectory, "__init__", share_health)],
    "MS-17": [(ProcessDisk, "lock", lock_nothing)],
    "MS-18": [
        (compaction, "verify", believe_checksums),
        (compaction.Round, "_kept", seal_again),
    ],
    "MS-19": [(LogDirectory, "vouch_only_below", vouch_when_open)],
    "MP-23": [(retention, "deletable", beyond_the_high_watermark)],
    "MC-09": [
        (LogDirectory, "open", open_and_keep_the_mark),
        (LogDirectory, "checkpoint", checkpoint_then_unmark),
    ],
    "MC-10": [(LogDirectory, "close", mark_then_close)],
    "MK-15": [
        (Snapshots, "load", forget_open),
        (ProducerTable, "first_unstable", unstable_is_stable),
    ],
    "MK-17": [(compaction.Round, "_keeps_place", keep_no_place)],
}

MUTANTS: Final[Sequence[Mutant]] = (
    Mutant("MS-01", "recovery moves the recovery point without a flush", B),
    Mutant("MS-02", "producer snapshots are not synced, and believed", B),
    Mutant("MS-03", "checkpoints are replaced without a sync", A),
    Mutant("MS-04", "appends go on after an error of the disk", A),
    Mutant("MS-05", "the end of the log moves after the index, whose error is forgiven", A),
    Mutant("MS-06", "producers are taken over before the append succeeds", A),
    Mutant("MS-07", "epoch 0 counts as none", A),
    Mutant("MS-08", "old segments go before their copy is durable", B),
    Mutant("MS-09", "a failed sync is tried again and believed", A),
    Mutant("MS-10", "checkpoints are renamed without a sync of the directory", B),
    Mutant("MS-11", "a follower does not verify checksums", A),
    Mutant("MS-12", "files are removed later, by name", B),
    Mutant("MS-13", "recovery believes a tail whose sizes fit", B),
    Mutant("MS-14", "a high watermark outlives the records that it counted", B),
    Mutant("MS-15", "a segment is longer before it is written to", B),
    Mutant("MS-16", "one directory that fails takes the others along", B),
    Mutant("MS-17", "nobody locks a directory", B),
    Mutant("MS-18", "compaction seals anew what it has not verified", B),
    Mutant("MS-19", "what recovery cuts off is vouched for as before", B),
    Mutant("MP-23", "retention deletes what is not replicated yet", B),
    Mutant("MC-09", "the clean mark stays until everything is open", B),
    Mutant("MC-10", "the clean mark comes before what it vouches for", B),
    Mutant("MK-15", "a transaction that was open before a restart is forgotten", B),
    Mutant("MK-17", "compaction drops the last batch of a live producer", B),
)

BED: Final = Bed(PATCHES)


def plant(mutant: str) -> None:
    """Put the product back as it is, and then a mutant's code in its place, if one is named."""
    BED.plant(mutant)
