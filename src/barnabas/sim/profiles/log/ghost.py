"""What the logs must hold, told by what was done to them.

The ghost is outside of the world: no crash touches it.  The process tells it before and after each
thing it does, and it compares: with the log as it is in memory (S-01, S-06, S-09, S-10, S-14, I-03,
I-06, T-08), with the durable image of the disk where something was promised to be there (S-03,
S-04, S-08), and with the rule that a failed directory stays failed (S-07).

A step that was begun and not ended leaves two possible logs: the one before and the one after.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.log.checkpoints import RECOVERY_POINTS, decode_epochs, decode_offsets
from barnabas.log.directory import LogDirectory
from barnabas.log.names import EPOCH_CHECKPOINT
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producers import Origin, ProducerEntry, ProducerTable
from barnabas.log.snapshots import marker_in
from barnabas.model.errors import CorruptLog
from barnabas.records.batch import BatchHeader, CorruptBatch, batches, header_at, verify
from barnabas.records.record import records
from barnabas.sim.disk import SimDisk
from barnabas.sim.world import Violation


class Ghost:
    """What one log must hold."""

    def __init__(self, name: str, compacted: bool) -> None:
        self.name: Final = name
        self.compacted: Final = compacted
        # Every batch as it was stored, also those that were deleted from the start since.
        self.stored: list[bytes] = []
        self.start = 0
        self.durable_end = 0
        # What a step that has not ended may leave instead.
        self.instead: tuple[list[bytes], int] | None = None
        # Whether the log began anew behind everything: producers of before are unknown then.
        self.whole = True

    @property
    def end(self) -> int:
        """The offset behind the last batch."""
        return header_at(self.stored[-1]).next_offset if self.stored else self.start

    # --- what is done to the log -----------------------------------------------------------------

    def begin_append(self, data: bytes) -> None:
        """Learn that stamped batches are about to be appended: an error may leave any of them."""
        more = [data[at : at + header.size_bytes] for at, header in batches(data)]
        self.instead = ([*self.stored, *more], self.start)

    def refused(self) -> None:
        """Learn that nothing was appended."""
        self.instead = None

    def appended(self, log: PartitionLog, first: int) -> None:
        """Learn that batches were appended from an offset on."""
        if first != self.end and not (self.name == "copy" and first > self.end):
            raise Violation("S-06", f"{self.name}: append at {first}, the end was {self.end}")
        segment = log.segments[-1]
        found = segment.find(first)
        if found is None or found[1].base_offset != first:
            raise Violation("S-06", f"{self.name}: nothing at {first}, where it was appended")
        data = segment.slice(found[0], segment.size_bytes - found[0]).read()
        for position, header in batches(data):
            self.stored.append(data[position : position + header.size_bytes])
        if self.end != log.end_offset:
            raise Violation("S-06", f"{self.name}: ends at {log.end_offset}, holds {self.end}")
        self.instead = None

    def begin_cut(self, offset: int) -> None:
        """Learn that the log is about to be cut at an offset."""
        kept = [data for data in self.stored if header_at(data).last_offset < offset]
        cut = self.stored[len(kept) :]
        end = min(offset, header_at(cut[0]).base_offset if cut else self.end)
        self.durable_end = min(self.durable_end, end)
        self.instead = (kept, self.start)

    def begin_anew(self, offset: int) -> None:
        """Learn that the log is about to be emptied and to begin at an offset."""
        self.durable_end = 0
        self.instead = ([], offset)

    def done(self) -> None:
        """Learn that what was begun has ended."""
        assert self.instead is not None, f"{self.name}: nothing was begun"
        self._become(*self.instead)

    def _become(self, stored: list[bytes], start: int) -> None:
        if start > self.start and not stored:
            self.whole = False
        self.stored, self.start, self.instead = stored, start, None
        self.durable_end = min(self.durable_end, self.end)

    def started_at(self, offset: int) -> None:
        """Learn that the log durably begins at an offset."""
        self.start = max(self.start, offset)

    # --- what must be so -------------------------------------------------------------------------

    def recovered(self, log: PartitionLog) -> None:
        """Compare with what came back after a death: S-01, S-02, S-12."""
        held = content(log)
        candidates = [(self.stored, self.start)]
        if self.instead is not None:
            candidates.append(self.instead)
        for stored, start in candidates:
            if self._is_beginning(log, held, stored, start):
                break
        else:
            raise Violation("S-01", f"{self.name}: {log} holds {described(held)}, {self._story()}")
        if log.end_offset < self.durable_end:
            story = f"{self.name}: ends at {log.end_offset}, {self.durable_end} was durable"
            raise Violation("S-01", story, "lost")
        kept = [data for data in stored if header_at(data).last_offset < log.end_offset]
        self._become(kept, max(start, log.start_offset))
        if log.recovery_point > log.end_offset:
            raise Violation("S-03", f"{self.name}: durable up to {log.recovery_point}, {log}")
        self.durable_end = max(self.durable_end, min(log.recovery_point, log.end_offset))
        self.agrees(log)

    def _is_beginning(
        self, log: PartitionLog, held: list[bytes], stored: Sequence[bytes], start: int
    ) -> bool:
        if log.start_offset < start or (not held and log.end_offset not in {self.end, start, 0}):
            return not stored and log.end_offset == log.start_offset == start
        first = log.segments[0].base_offset
        there = [data for data in stored if header_at(data).base_offset >= first]
        if self.compacted:
            return is_reduced(held, there, log.end_offset)
        return held == there[: len(held)]

    def _story(self) -> str:
        return (
            f"it must hold {described(self.stored)} from {self.start}, durable {self.durable_end}"
        )

    def agrees(self, log: PartitionLog) -> None:
        """Compare everything that a log says of itself with what it holds."""
        held = content(log)
        for data in held:
            try:
                verify(data, 0, header_at(data))
            except CorruptBatch as error:
                raise Violation("S-02", f"{self.name}: {error}") from error
        self._offsets_are_found(log, held)
        for data in held:
            header = header_at(data)
            offset = max(header.base_offset, log.start_offset)
            if offset <= header.last_offset and log.epochs.epoch_of(offset) != header.leader_epoch:
                story = f"{self.name}: offset {offset} is of {header.leader_epoch}, {log.epochs}"
                raise Violation("S-10", story)
        self._producers_agree(log, held)

    def _offsets_are_found(self, log: PartitionLog, held: list[bytes]) -> None:
        for data in held[-3:] + held[:: max(1, len(held) // 4)]:
            header = header_at(data)
            if header.base_offset < log.start_offset:
                continue
            try:
                _, part = log.read(header.last_offset, 1, log.end_offset)
                found = part.read()
            except CorruptLog as error:
                raise Violation("S-09", f"{self.name}: {error}") from error
            if found != data:
                raise Violation("S-09", f"{self.name}: another batch at {header.last_offset}")

    def _producers_agree(self, log: PartitionLog, held: list[bytes]) -> None:
        if not self.whole:
            return
        naive = naive_producers(self.stored)
        if log.producers.open != naive.open:
            story = f"{self.name}: open {log.producers.open}, must be {naive.open}"
            raise Violation("T-08", story)
        # Compaction keeps a producer's last batch, and a log read anew knows no others.
        known, must = log.producers.entries, naive.entries
        if known != must and not (self.compacted and lasts(known) == lasts(must)):
            story = f"{self.name}: {log.producers.entries}, must be {naive.entries}"
            raise Violation("I-03", story)
        unstable = min([log.high_watermark, *naive.open.values()])
        if log.stable_offset > max(unstable, log.start_offset):
            raise Violation("T-08", f"{self.name}: {log.stable_offset} is stable, not {unstable}")
        last = {(header_at(d).producer_id, header_at(d).last_offset) for d in held}
        for producer, entry in naive.entries.items():
            first = log.segments[0].base_offset
            if entry.last_offset >= first and (producer, entry.last_offset) not in last:
                story = (
                    f"{self.name}: the last batch of {producer}, at {entry.last_offset}, is gone"
                )
                raise Violation("I-06", story)

    def flushed(self, log: PartitionLog, disk: SimDisk, target: int) -> None:
        """Compare the disk with the promise that everything below an offset is durable."""
        cut_since = target > self.end
        self.durable_end = max(self.durable_end, min(target, log.end_offset))
        if cut_since or self.compacted or self.instead is not None:
            return
        for segment in log.segments:
            durable = disk.durable_content(segment.file.path)
            if durable is None:
                if segment.base_offset < target:
                    raise Violation("S-08", f"{self.name}: {segment} has no durable name")
                continue
            for position, header in segment.headers():
                if header.next_offset <= target:
                    written = segment.slice(position, header.size_bytes).read()
                    if durable.read(position, header.size_bytes) != written:
                        story = f"{self.name}: {header.base_offset} was flushed, is not durable"
                        raise Violation("S-08", story)

    def epochs_written(self, log: PartitionLog, disk: SimDisk) -> None:
        """Compare the epoch checkpoint on the disk with what was promised to be there."""
        path = f"{log.directory}/{EPOCH_CHECKPOINT}"
        if decode_epochs(durable_bytes(disk, path), path) != log.epochs.entries():
            raise Violation("S-04", f"{self.name}: {path} is not durable")


def lasts(entries: Mapping[int, ProducerEntry]) -> dict[int, tuple[int, ...]]:
    """Return what of the producers survives compaction."""
    return {
        producer: (one.epoch, one.coordinator_epoch, one.transaction_start, one.last_sequence)
        for producer, one in entries.items()
    }


def checkpointed(directory: LogDirectory, disk: SimDisk) -> None:
    """Compare the recovery points on the disk with what was promised to be there."""
    path = f"{directory.path}/{RECOVERY_POINTS}"
    there = decode_offsets(durable_bytes(disk, path), path)
    for of, log in directory.logs.items():
        if there.get(of, 0) > log.recovery_point:
            raise Violation("S-03", f"{of}: {there} on the disk, {log.recovery_point} is durable")


def durable_bytes(disk: SimDisk, path: str) -> bytes:
    """Return the durable content of a file; nothing if it has no durable name."""
    found = disk.durable_content(path)
    return b"" if found is None else found.read(0, found.size)


def content(log: PartitionLog) -> list[bytes]:
    """Return every batch that the segments of a log hold."""
    found = []
    for segment in log.segments:
        data = segment.slice(0, segment.size_bytes).read()
        try:
            for position, header in batches(data):
                found.append(data[position : position + header.size_bytes])
        except CorruptBatch as error:
            raise Violation("S-02", f"{segment.file.path}: {error}") from error
    return found


def described(held: Sequence[bytes]) -> str:
    """Return the bounds of batches, for people."""
    headers = [header_at(data) for data in held]
    return " ".join(f"{h.base_offset}-{h.last_offset}/{h.leader_epoch}" for h in headers)


def naive_producers(stored: Sequence[bytes]) -> ProducerTable:
    """Read the producers from all batches there ever were, one by one."""
    table = ProducerTable(0)
    for data in stored:
        header = header_at(data)
        staging = table.stage(Origin.REPLICATION)
        if header.has_producer_id and header.is_control:
            marker = marker_in(data, 0, header)
            if marker is not None:
                staging.marker(header, marker, header.base_offset)
        elif header.has_producer_id:
            staging.batch(header, header.base_offset)
        table.install(staging, header.next_offset)
    return table


def is_reduced(held: Sequence[bytes], stored: Sequence[bytes], end: int) -> bool:
    """Tell whether compaction may have made the one of the other, up to an end: S-14."""
    whole = [data for data in stored if header_at(data).last_offset < end]
    by_base = {header_at(data).base_offset: data for data in whole}
    bases = [header_at(data).base_offset for data in held]
    if bases != sorted(set(bases)):
        return False
    for data in held:
        before = by_base.get(header_at(data).base_offset)
        if before is None or not set(entries(data)) <= set(entries(before)):
            return False
    return newest(held, whole) == newest(whole, whole)


def entries(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """Return offset, key and value of the records of a batch."""
    found = records(data, 0, header_at(data))
    return [(each.offset, bytes(each.key or b""), bytes(each.value or b"")) for each in found]


def newest(held: Sequence[bytes], whole: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
    """Return offset and value of the last record of every key, aborted ones left out."""
    hidden = aborted_bases(whole)
    found: dict[bytes, tuple[int, bytes]] = {}
    for data in held:
        header = header_at(data)
        if not header.is_control and header.base_offset not in hidden:
            found.update({key: (offset, each) for offset, key, each in entries(data)})
    return found


def aborted_bases(whole: Sequence[bytes]) -> set[int]:
    """Return the base offsets of batches whose transactions were aborted or are open."""
    running: dict[int, list[BatchHeader]] = {}
    hidden: set[int] = set()
    for data in whole:
        header = header_at(data)
        if header.is_control:
            batch_headers = running.pop(header.producer_id, [])
            marker = marker_in(data, 0, header)
            if marker is not None and not marker.commit:
                hidden |= {each.base_offset for each in batch_headers}
        elif header.is_transactional:
            running.setdefault(header.producer_id, []).append(header)
    return hidden
