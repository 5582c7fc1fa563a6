"""What the logs must hold, told by what was done to them.

The ghost is outside of the world: no crash touches it.  The process tells it before and after each
thing it does, and it compares: with the log as it is in memory (S-01, S-02, S-06, S-09, S-10, S-13,
S-14, I-01, I-03, I-06, T-08), with the durable image of the disk where something was promised to be
there (S-03, S-04, S-08, S-11), and with what was in force before a death (S-05).

A step that was begun and not ended leaves two possible logs: the one before and the one after.

A log with one copy cannot bring back what its disk has destroyed.  So the ghost is told which
batches were (``atlas``), and then it asks for less, and for one thing more:

- a destroyed batch may be there with other bytes, but only such as no checksum agrees with: whoever
  is sent it refuses it, and nobody takes it for what it was (S-18);
- what recovery reads may end at it, for it cannot be told from a tail that was torn;
- behind it in its segment nothing may be found any more, if the damage hides where batches begin;
- what its header said of its producer is believed without a look at the checksum, so nothing is
  asked about producers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from barnabas.log.aborted import AbortedTransaction
from barnabas.log.checkpoints import decode_epochs
from barnabas.log.names import EPOCH_CHECKPOINT, SNAPSHOT, segment_part
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producers import SNAPSHOT_FRONT, ProducerEntry, read_snapshot
from barnabas.log.segment import Segment
from barnabas.model.errors import CorruptLog, Refused
from barnabas.records.batch import CorruptBatch, OldFormat, batches, header_at, verify
from barnabas.sim.disk import SimDisk
from barnabas.sim.profiles.log.naive import Reading, entries, is_reduced
from barnabas.sim.world import Violation

CUT_OFF: Final = "damage cut off by recovery"

Mark = Callable[[str], None]


def nothing(what: str) -> None:
    """Mark nothing."""


class Ghost:
    """What one log must hold."""

    def __init__(self, name: str, compacted: bool, mark: Mark = nothing) -> None:
        self.name: Final = name
        self.compacted: Final = compacted
        self._mark: Final = mark
        # Every batch as it was stored, also those that were deleted from the start since.
        self.stored: list[bytes] = []
        self.start = 0
        self.durable_end = 0
        self.high_watermark = 0
        # What a step that has not ended may leave instead.
        self.instead: tuple[list[bytes], int] | None = None
        # Whether the start of the log is on the move: a step that a lost checkpoint would undo.
        self.is_moving = False
        # Whether segments are on their way in or out: a death then leaves one shape or the other.
        self.is_reshaped = False
        # Whether the log began anew behind everything: producers of before are unknown then.
        self.whole = True
        # Base offsets of batches that the disk has destroyed; of segments in which it is no longer
        # told where batches begin, with the first of those batches.
        self.damaged: dict[int, None] = {}
        self.torn: dict[int, int] = {}
        # Files that the disk has destroyed and that are derived, or have a safe fallback.
        self.rotten: dict[str, None] = {}
        # Whether the checkpoint of starts is among them: the log may start where its files do.
        self.start_is_lost = False
        # Whether a sector of the log cannot be read; whether it was found out that it is damaged.
        self.is_unreadable = False
        self.is_condemned = False
        self._snapshots: dict[int, None] = {}
        self._proved: dict[int, None] = {}

    @property
    def end(self) -> int:
        """The offset behind the last batch."""
        return header_at(self.stored[-1]).next_offset if self.stored else self.start

    @property
    def is_damaged(self) -> bool:
        """Whether the disk has destroyed something that nothing else tells."""
        return bool(self.damaged or self.torn)

    def asked(self, oracle: str) -> None:
        """Note that an oracle had something to look at."""
        self._mark(f"{oracle} asked")

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
        self.asked("S-06")
        if first != self.end and not (self.name == "copy" and first > self.end):
            raise Violation("S-06", f"{self.name}: append at {first}, the end was {self.end}")
        segment = log.segments[-1]
        found = segment.find(first)
        if found is None or found[1].base_offset != first:
            if self.is_damaged:
                raise CorruptLog(f"{self.name}: appended at {first}, behind what was destroyed")
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
        self.is_reshaped = True
        self._snapshots = {at: None for at in self._snapshots if at <= end}
        self.instead = (kept, self.start)

    def begin_anew(self, offset: int) -> None:
        """Learn that the log is about to be emptied and to begin at an offset."""
        self.durable_end = 0
        self.instead = ([], offset)
        self.is_moving = self.is_reshaped = True
        self._snapshots.clear()

    def done(self) -> None:
        """Learn that what was begun has ended."""
        assert self.instead is not None, f"{self.name}: nothing was begun"
        self._become(*self.instead)

    def _become(self, stored: list[bytes], start: int) -> None:
        if start > self.start and not stored:
            self.whole = False
        self.stored, self.start, self.instead = stored, start, None
        self.is_moving = self.is_reshaped = False
        self.durable_end = min(self.durable_end, self.end)
        self._proved.clear()
        there = {header_at(data).base_offset for data in stored}
        self.damaged = {base: None for base in self.damaged if base in there}
        self.torn = {base: first for base, first in self.torn.items() if first in there}

    def retained(self, log: PartitionLog, high_watermark: int) -> None:
        """Learn that the oldest segments were let go, and compare with what may go: S-13."""
        self.asked("S-13")
        before = [header_at(data) for data in self.stored]
        first = log.segments[0].base_offset
        if log.start_offset > max(high_watermark, self.start):
            story = f"{self.name}: starts at {log.start_offset}, replicated {high_watermark}"
            raise Violation("S-13", story)
        if not first <= log.start_offset <= log.segments[0].next_offset:
            story = f"{self.name}: starts at {log.start_offset}, its files at {first}"
            raise Violation("S-13", story)
        if any(header.base_offset < first <= header.last_offset for header in before):
            raise Violation("S-13", f"{self.name}: {first} is in the middle of a batch")
        left = sum(segment.size_bytes for segment in log.segments)
        if log.start_offset > self.start:
            self._mark("old segments went")
            if left < log.config.retention_bytes:
                raise Violation("S-13", f"{self.name}: {left} bytes are left: too few")
        self.start = max(self.start, log.start_offset)
        self.is_moving = self.is_reshaped = False

    # --- what must be so -------------------------------------------------------------------------

    def recovered(self, log: PartitionLog) -> None:
        """Compare with what came back after a death: S-01, S-02, S-05, S-12."""
        self.asked("S-01")
        if self.is_reshaped:
            self.asked("S-12")
        if self.rotten:
            self.asked("SL-2")
        # Where the log ends before the damage, nothing hides where its batches begin.
        torn = self.torn.items()
        self.torn = {base: first for base, first in torn if first < log.end_offset}
        held = content(log, self.torn)
        candidates = [(self.stored, self.start)]
        if self.instead is not None:
            candidates.append(self.instead)
        for stored, start in candidates:
            if self._is_beginning(log, held, stored, start):
                break
        else:
            raise Violation("S-01", f"{self.name}: {log} holds {described(held)}, {self._story()}")
        kept = [data for data in stored if header_at(data).last_offset < log.end_offset]
        if log.end_offset < self.durable_end:
            self._damage_was_cut_off(log)
            if self.compacted:
                # What compaction left out, because it was not a key's or a producer's last, may be
                # the last now: what there is, is what there must be.
                kept, self.whole = self._what_is_left(kept, held), False
        self._become(kept, log.start_offset if self.start_is_lost else max(start, log.start_offset))
        self.start_is_lost = False
        if log.recovery_point > log.end_offset:
            raise Violation("S-03", f"{self.name}: durable up to {log.recovery_point}, {log}")
        self.durable_end = max(self.durable_end, min(log.recovery_point, log.end_offset))
        self._high_watermark_is_harmless(log)
        self._snapshots = dict.fromkeys(log.snapshots.offsets())
        self.agrees(log)

    def _damage_was_cut_off(self, log: PartitionLog) -> None:
        # Of a compacted log nobody knows any more which batch came before the destroyed one.
        ends = [base for base in self.damaged if self.compacted or base == log.end_offset]
        if not any(base >= log.end_offset for base in ends):
            story = f"{self.name}: ends at {log.end_offset}, {self.durable_end} was durable"
            raise Violation("S-01", story, "lost")
        self._mark(CUT_OFF)

    def _what_is_left(self, kept: list[bytes], held: list[bytes]) -> list[bytes]:
        """Return what is held, and what may still lie where a segment is torn."""
        there = {header_at(data).base_offset: data for data in held}
        left = {header_at(data).base_offset: data for data in kept}
        torn = [base for base in left if any(base >= first for first in self.torn.values())]
        return [there[base] if base in there else left[base] for base in sorted({*there, *torn})]

    def rewritten(self, log: PartitionLog) -> None:
        """Compare with what compaction made of the log: S-14."""
        self.asked("S-14")
        self.high_watermark = log.high_watermark
        # No checkpoint was read for it, so one that is lost may still be.
        is_lost, self.start_is_lost, self.is_reshaped = self.start_is_lost, False, False
        self.recovered(log)
        self.start_is_lost = is_lost

    def _high_watermark_is_harmless(self, log: PartitionLog) -> None:
        self.asked("S-05")
        if log.high_watermark > max(self.high_watermark, log.start_offset):
            story = f"{self.name}: comes back replicated up to {log.high_watermark}"
            raise Violation("S-05", f"{story}; it was {self.high_watermark}")
        if log.high_watermark < self.high_watermark:
            self._mark("a high watermark came back lower")

    def _is_beginning(
        self, log: PartitionLog, held: list[bytes], stored: Sequence[bytes], start: int
    ) -> bool:
        is_early = log.start_offset < start and not self.start_is_lost
        is_odd = not held and not self.torn and log.end_offset not in {self.end, start, 0}
        if is_early or is_odd:
            return not stored and log.end_offset == log.start_offset == start
        first = log.segments[0].base_offset
        there = [data for data in stored if header_at(data).base_offset >= first]
        if self.is_damaged:
            return self._is_rest(held, there)
        if self.compacted:
            return is_reduced(held, there, log.end_offset)
        return held == there[: len(held)]

    def _is_rest(self, held: Sequence[bytes], there: Sequence[bytes]) -> bool:
        """Tell whether the one is what damage may have left of the other."""
        before = {header_at(data).base_offset: data for data in there}
        bases = [header_at(data).base_offset for data in held]
        if bases != sorted(set(bases)):
            return False
        return all(
            base in before and self._is_rest_of(data, before[base])
            for base, data in zip(bases, held, strict=True)
        )

    def _is_rest_of(self, data: bytes, before: bytes) -> bool:
        if data == before:
            return True
        if header_at(before).base_offset in self.damaged and not is_whole(data):
            return True
        return self.compacted and is_whole(data) and set(entries(data)) <= set(entries(before))

    def _story(self) -> str:
        lost = f", destroyed {list(self.damaged)} {self.torn}" if self.is_damaged else ""
        return (
            f"it must hold {described(self.stored)} from {self.start}, durable "
            f"{self.durable_end}{lost}"
        )

    def agrees(self, log: PartitionLog) -> None:
        """Compare everything that a log says of itself with what it holds."""
        held = content(log, self.torn)
        if held:
            self.asked("S-02")
            self.asked("S-09")
            self.asked("S-10")
        for data in held:
            base = header_at(data).base_offset
            if base not in self.damaged and not is_whole(data):
                raise Violation("S-02", f"{self.name}: another checksum at {base}")
        if self.is_damaged:
            self._damage_is_never_served(log)
        self._offsets_are_found(log, held)
        for data in held:
            header = header_at(data)
            offset = max(header.base_offset, log.start_offset)
            if offset <= header.last_offset and log.epochs.epoch_of(offset) != header.leader_epoch:
                story = f"{self.name}: offset {offset} is of {header.leader_epoch}, {log.epochs}"
                raise Violation("S-10", story)
        self._producers_agree(log, held)
        self._snapshots_stand(log)
        self.high_watermark = log.high_watermark

    def _damage_is_never_served(self, log: PartitionLog) -> None:
        """Read what was destroyed: an error or what no reader believes, and nothing else."""
        before = {header_at(data).base_offset: data for data in self.stored}
        for base, data in before.items():
            segment = log.segments[log.floor(base)]
            suspect = base in self.damaged or segment.base_offset in self.torn
            if not suspect or base < max(log.start_offset, segment.base_offset):
                continue
            self.asked("S-18")
            try:
                _, part = log.read(base, len(data), log.end_offset)
            except (CorruptLog, Refused):
                continue
            served = part.read()
            if not is_whole(served):
                continue
            header = header_at(served)
            found = before.get(header.base_offset, b"") if self.compacted else data
            if not found or not self._is_rest_of(served[: header.size_bytes], found):
                raise Violation("S-18", f"{self.name}: serves {header} for {base}")

    def _offsets_are_found(self, log: PartitionLog, held: list[bytes]) -> None:
        for data in held[-3:] + held[:: max(1, len(held) // 4)]:
            header = header_at(data)
            if header.base_offset < log.start_offset or header.base_offset in self.damaged:
                continue
            try:
                _, part = log.read(header.last_offset, 1, log.end_offset)
                found = part.read()
            except CorruptLog as error:
                raise Violation("S-09", f"{self.name}: {error}") from error
            # A destroyed header may reach over those behind it; whoever is sent it can tell.
            if found != data and not (self.is_damaged and not is_whole(found)):
                raise Violation("S-09", f"{self.name}: another batch at {header.last_offset}")

    def _producers_agree(self, log: PartitionLog, held: list[bytes]) -> None:
        if not self.whole or self.is_damaged:
            return
        reading = Reading(self.stored)
        naive = reading.producers
        if naive.entries:
            for oracle in ("I-01", "I-03", "I-06"):
                self.asked(oracle)
        for producer, story in reading.broken.items():
            raise Violation("I-01", f"{self.name}: producer {producer}: {story}")
        # Compaction keeps a producer's last batch, and a log read anew knows no others.
        known, must = log.producers.entries, naive.entries
        if known != must and not (self.compacted and lasts(known) == lasts(must)):
            story = f"{self.name}: {log.producers.entries}, must be {naive.entries}"
            raise Violation("I-03", story)
        last = {(header_at(d).producer_id, header_at(d).last_offset) for d in held}
        for producer, entry in naive.entries.items():
            first = log.segments[0].base_offset
            if entry.last_offset >= first and (producer, entry.last_offset) not in last:
                story = (
                    f"{self.name}: the last batch of {producer}, at {entry.last_offset}, is gone"
                )
                raise Violation("I-06", story)
        self._transactions_agree(log, reading, held)

    def _transactions_agree(self, log: PartitionLog, reading: Reading, held: list[bytes]) -> None:
        """Compare what readers of committed data are told: T-08.

        Compaction may leave out what no record is left of, and the begin of what is left.
        """
        opened = reading.producers.open
        if log.producers.open != opened:
            raise Violation("T-08", f"{self.name}: open {log.producers.open}, must be {opened}")
        unstable = min([log.high_watermark, *opened.values()])
        if log.stable_offset > max(unstable, log.start_offset):
            raise Violation("T-08", f"{self.name}: {log.stable_offset} is stable, not {unstable}")
        first, end = log.segments[0].base_offset, log.end_offset
        for start in (log.start_offset, (log.start_offset + end) // 2):
            told = [marker_of(one) for one in log.aborted_between(start, end)]
            all_of_them = [marker_of(one) for one in reading.aborted]
            due = [
                marker_of(one)
                for one in reading.aborted
                if one.last_offset >= max(start, first)
                and one.first_offset < end
                and (not self.compacted or has_records(one, held))
            ]
            if due:
                self.asked("T-08")
            is_exact = self.compacted or told == due
            if not is_exact or not set(due) <= set(told) <= set(all_of_them):
                story = f"{self.name}: from {start} aborted are {told}, must be {due}"
                raise Violation("T-08", story, "aborted")

    def _snapshots_stand(self, log: PartitionLog) -> None:
        """Compare the snapshots there are with those there were: S-11.

        One goes with the segment that begins at it, when the log is cut below it or starts behind
        it; whoever removes a file for another reason has mistaken it for an older one.
        """
        now = dict.fromkeys(log.snapshots.offsets())
        first = log.segments[0].base_offset
        for at in self._snapshots:
            path = log.snapshots.path(at)
            if at not in now and first <= at <= log.end_offset and path not in self.rotten:
                raise Violation("S-11", f"{self.name}: {path} is gone")
        for path in list(self.rotten):
            part = segment_part(path.rpartition("/")[2])
            if part is not None and part[1] == SNAPSHOT and part[0] not in now:
                del self.rotten[path]
        self._snapshots = now

    def nothing_partial(self, log: PartitionLog) -> None:
        """Compare a log that found no space with what may be seen of it: S-15."""
        self.asked("S-15")
        ends = {self.end}
        if self.instead is not None:
            stored, start = self.instead
            ends.add(header_at(stored[-1]).next_offset if stored else start)
        if log.end_offset not in ends and not self.is_moving:
            raise Violation("S-15", f"{self.name}: ends at {log.end_offset}, it may at {ends}")
        for segment in log.segments:
            if segment.base_offset in self.torn:
                continue
            try:
                shown = partial_bytes(segment)
            except OSError:
                # The disk is not only full.
                return
            if shown:
                raise Violation("S-15", f"{self.name}: shows a part of a batch in {segment}")

    # --- what must be durable --------------------------------------------------------------------

    def flushed(self, log: PartitionLog, disk: SimDisk, target: int) -> None:
        """Compare the disk with the promise that everything below an offset is durable."""
        cut_since = target > self.end
        self.durable_end = max(self.durable_end, min(target, log.end_offset))
        if cut_since or self.instead is not None:
            return
        self._snapshots_are_durable(log, disk)
        if self.compacted:
            return
        self.asked("S-08")
        for segment in log.segments:
            durable = disk.durable_content(segment.file.path)
            if durable is None:
                if segment.base_offset < target:
                    raise Violation("S-08", f"{self.name}: {segment} has no durable name")
                continue
            if segment.base_offset in self.torn:
                continue
            for position, header in segment.headers():
                if header.next_offset <= target and header.base_offset not in self.damaged:
                    written = segment.slice(position, header.size_bytes).read()
                    if durable.read(position, header.size_bytes) != written:
                        story = f"{self.name}: {header.base_offset} was flushed, is not durable"
                        raise Violation("S-08", story)

    def _snapshots_are_durable(self, log: PartitionLog, disk: SimDisk) -> None:
        """Compare the snapshots that the recovery point vouches for with the disk: S-11."""
        for at in log.snapshots.offsets():
            path = log.snapshots.path(at)
            # One at the recovery point itself may be of a roll that came after the flush began.
            if at >= log.recovery_point or at in self._proved or path in self.rotten:
                continue
            cached = disk.cached_content(path)
            if cached is not None and cached.size == SNAPSHOT_FRONT.size:
                # It tells of no producers, and so does none.
                continue
            self.asked("S-11")
            try:
                table = read_snapshot(durable_bytes(disk, path), at, path)
            except CorruptLog as error:
                raise Violation("S-11", f"{self.name}: not durable: {error}") from error
            if self.whole and not self.compacted and not self.is_damaged:
                below = [data for data in self.stored if header_at(data).next_offset <= at]
                must = Reading(below).producers
                if table.entries != must.entries or table.open != must.open:
                    raise Violation("S-11", f"{self.name}: {path} says {table}, must be {must}")
            self._proved[at] = None

    def epochs_written(self, log: PartitionLog, disk: SimDisk) -> None:
        """Compare the epoch checkpoint on the disk with what was promised to be there."""
        path = f"{log.directory}/{EPOCH_CHECKPOINT}"
        try:
            written = decode_epochs(durable_bytes(disk, path), path)
        except CorruptLog as error:
            if path not in self.rotten:
                raise Violation("S-04", f"{self.name}: {error}") from error
            return
        self.asked("S-04")
        self.rotten.pop(path, None)
        if written != log.epochs.entries():
            raise Violation("S-04", f"{self.name}: {path} is not durable")


def lasts(entries: Mapping[int, ProducerEntry]) -> dict[int, tuple[int, ...]]:
    """Return what of the producers survives compaction."""
    return {
        producer: (one.epoch, one.coordinator_epoch, one.transaction_start, one.last_sequence)
        for producer, one in entries.items()
    }


def marker_of(aborted: AbortedTransaction) -> tuple[int, int]:
    """Return what names an aborted transaction: its producer and the offset of its marker."""
    return aborted.producer_id, aborted.last_offset


def has_records(aborted: AbortedTransaction, held: Sequence[bytes]) -> bool:
    """Tell whether any record of a transaction is left."""
    headers = [header_at(data) for data in held]
    return any(
        header.producer_id == aborted.producer_id
        and header.record_count
        and aborted.first_offset <= header.base_offset < aborted.last_offset
        for header in headers
    )


def durable_bytes(disk: SimDisk, path: str) -> bytes:
    """Return the durable content of a file; nothing if it has no durable name."""
    found = disk.durable_content(path)
    return b"" if found is None else found.read(0, found.size)


def is_whole(data: bytes) -> bool:
    """Tell whether a reader would take what begins here for a batch."""
    try:
        verify(data, 0, header_at(data))
    except (CorruptBatch, OldFormat):
        return False
    return True


def content(log: PartitionLog, torn: Collection[int] = ()) -> list[bytes]:
    """Return every batch that the segments of a log hold, but for those that are torn."""
    found = []
    for segment in log.segments:
        if segment.base_offset in torn:
            continue
        data = segment.slice(0, segment.size_bytes).read()
        try:
            for position, header in batches(data):
                found.append(data[position : position + header.size_bytes])
        except (CorruptBatch, OldFormat) as error:
            raise Violation("S-02", f"{segment.file.path}: {error}") from error
    return found


def partial_bytes(segment: Segment) -> int:
    """Return how many bytes a segment shows behind its last whole batch."""
    data, end = segment.slice(0, segment.size_bytes).read(), 0
    try:
        for position, header in batches(data):
            end = position + header.size_bytes
    except (CorruptBatch, OldFormat):
        return segment.size_bytes - end
    return segment.size_bytes - end


def described(held: Sequence[bytes]) -> str:
    """Return the bounds of batches, for people."""
    headers = [header_at(data) for data in held]
    return " ".join(f"{h.base_offset}-{h.last_offset}/{h.leader_epoch}" for h in headers)
