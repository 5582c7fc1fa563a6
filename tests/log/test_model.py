"""The log against a list of batches, through crashes of every kind.

The list knows what was appended, cut and flushed.  After a crash the log has to be a beginning of
that list which holds everything that was flushed; and whatever is derived from the batches has to
be what a naive reading of them gives.  A crash may come in the middle of any operation, at any of
its calls to the disk.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import hypothesis.strategies as st
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.log.config import LogConfig
from barnabas.log.partition_log import Appended
from barnabas.log.producers import Origin, ProducerTable
from barnabas.log.retention import delete_old_segments
from barnabas.log.snapshots import marker_in
from barnabas.records.batch import assigned, header_at
from barnabas.sim.disk_faults import PROFILES, Profile
from tests.log.storage import Crashed, Machine, batch, content, marker, run, transactional
from tests.sim.drawing import Seeded

CONFIG = LogConfig(
    segment_bytes=1500,
    index_interval_bytes=150,
    retention_ms=-1,
    retention_bytes=4000,
)

SMALL_NUMBERS = st.integers(0, 3)


def naive_producers(stored: list[bytes]) -> ProducerTable:
    """Read the producers from all batches there ever were, one by one."""
    table = ProducerTable(0)
    for data in stored:
        header = header_at(data)
        staging = table.stage(Origin.REPLICATION)
        if header.has_producer_id and not header.is_control:
            staging.batch(header, header.base_offset)
        elif header.has_producer_id:
            end = marker_in(data, 0, header)
            assert end is not None
            staging.marker(header, end, header.base_offset)
        table.install(staging, header.next_offset)
    return table


class LogMachine(RuleBasedStateMachine):
    """Anything a replica may do with its log, and anything that may happen meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[bytes] = []
        self.durable_end = 0
        self.epoch = 1
        self.wall_ms = 1000
        self.sequences: dict[int, tuple[int, int]] = {}
        self.open: set[int] = set()

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        """Make an empty log on a disk that draws from a seed."""
        self.machine = Machine(Seeded(seed))
        self.log = self.machine.log(CONFIG)

    # --- what a leader does ---

    @rule(sizes=st.lists(st.integers(0, 330), min_size=1, max_size=4))
    def append(self, sizes: list[int]) -> None:
        """Append a batch of nobody in particular."""
        data = batch(*(bytes(size) for size in sizes), timestamp=self.wall_ms)
        self._append(lambda: self.log.append_as_leader(data, self.epoch, self.wall_ms))

    @rule(producer=SMALL_NUMBERS, in_transaction=st.booleans(), size=st.integers(0, 300))
    def produce(self, producer: int, in_transaction: bool, size: int) -> None:
        """Append a batch of a producer, in its transaction if it has one open."""
        epoch, sequence = self.sequences.get(producer, (0, 0))
        make = transactional if in_transaction or producer in self.open else batch
        data = make(bytes(size), b"2", producer=(producer, epoch, sequence))
        before = self.log.end_offset
        self._append(lambda: self.log.append_as_leader(data, self.epoch, self.wall_ms))
        assert self.log.end_offset == before + 2

    @rule(producer=SMALL_NUMBERS, commit=st.booleans(), bump=st.booleans())
    def end_transaction(self, producer: int, commit: bool, bump: bool) -> None:
        """Append a marker, also for a producer that has nothing open."""
        epoch = self.sequences.get(producer, (0, 0))[0] + bump
        data = marker((producer, epoch), commit, coordinator_epoch=self.epoch)
        self._append(
            lambda: self.log.append_as_leader(data, self.epoch, self.wall_ms, Origin.COORDINATOR)
        )

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        """Send the last batch of a producer once more: it is known, and where it is."""
        known = [p for p, entry in sorted(self.log.producers.entries.items()) if entry.batches]
        if known:
            entry = self.log.producers.entries[data.draw(st.sampled_from(known))]
            for stored in self.stored:
                header = header_at(stored)
                if header.last_offset == entry.last_offset:
                    again = self.log.append_as_leader(_as_sent(stored), self.epoch, self.wall_ms)
                    assert not isinstance(again, Appended), again
                    assert again.first_offset == header.base_offset

    # --- what happens to a log ---

    @rule()
    def flush(self) -> None:
        """Flush."""
        self._do(self.log.flush)
        self.durable_end = self.log.end_offset

    @rule()
    def roll(self) -> None:
        """Begin another segment."""
        self.log.roll(self.wall_ms)

    @rule(back=st.integers(0, 12))
    def truncate(self, back: int) -> None:
        """Cut the end off, as a follower of a new leader does."""
        offset = max(self.log.start_offset, self.log.end_offset - back)
        self._cut(offset)

    @rule()
    def delete_old(self) -> None:
        """Let the oldest segments go, by size."""
        self.log.set_high_watermark(self.log.end_offset)
        self._do(lambda: delete_old_segments(self.log, self.wall_ms))

    @rule(ahead=st.integers(1, 30))
    def restart_ahead(self, ahead: int) -> None:
        """Begin anew behind everything, as a follower that was left behind does."""
        self._restart(self.log.end_offset + ahead)

    @rule(profile=st.sampled_from([None, *PROFILES]))
    def crash(self, profile: Profile | None) -> None:
        """Kill the process or the machine."""
        self._crash([self.stored], profile)

    @rule()
    def stop_cleanly(self) -> None:
        """Close the directory and open it again."""
        run(self.machine.directory_of().close(3))
        self.durable_end = self.log.end_offset
        self.log = self.machine.log(CONFIG)
        assert self._held() == self._expected(self.stored)
        self._learn()

    @rule(
        seed=st.integers(0, 60),
        what=st.sampled_from(["append", "flush", "truncate", "delete", "restart", "open"]),
        profile=st.sampled_from([None, *PROFILES]),
    )
    def crash_in_the_middle(self, seed: int, what: str, profile: Profile | None) -> None:
        """Crash at one of the calls that an operation makes to the disk."""
        before, after = list(self.stored), list(self.stored)
        offset = max(self.log.start_offset, self.log.end_offset - seed % 9)
        self.machine.crash_at = self.machine.operations + 1 + seed
        try:
            match what:
                case "append":
                    data = batch(bytes(seed * 5), b"2", timestamp=self.wall_ms)
                    stamped = assigned(
                        memoryview(data), 0, header_at(data), self.log.end_offset, self.epoch
                    )
                    after = [*before, b"".join(stamped)]
                    self._append(lambda: self.log.append_as_leader(data, self.epoch, self.wall_ms))
                case "flush":
                    self.flush()
                case "truncate":
                    after = self._before(offset)
                    # A batch that the cut goes through goes as a whole.
                    cut = [header_at(d).base_offset for d in before[len(after) :]]
                    self.durable_end = min(self.durable_end, offset, *cut[:1])
                    self.truncate(seed % 9)
                case "delete":
                    self.delete_old()
                case "restart":
                    self._restart(self.log.end_offset + 1)
                    self.machine.crash_at = None
                    return
                case _:
                    self.machine.crash(profile)
                    self.machine.crash_at = self.machine.operations + 1 + seed
                    self.machine.log(CONFIG)
        except Crashed:
            pass
        self._crash([before, after], profile)

    # --- how ---

    def _append(self, append: Callable[[], object]) -> None:
        end = self.log.end_offset
        done = append()
        assert isinstance(done, Appended), done
        assert done.first_offset == end
        self.wall_ms += 7
        last = content(self.log)[-1][1]
        self.stored.append(last)
        self._learn()

    def _cut(self, offset: int) -> None:
        self.durable_end = min(self.durable_end, offset)
        self._do(lambda: self.log.truncate(offset, self.wall_ms))
        self.stored = self._before(offset)
        self.durable_end = min(self.durable_end, self.log.end_offset)
        assert self._held() == self._expected(self.stored)
        self._learn()
        # Whoever cuts its log does so for the leader of a new epoch.
        self.epoch += 1

    def _before(self, offset: int) -> list[bytes]:
        return [data for data in self.stored if header_at(data).last_offset < offset]

    def _restart(self, offset: int) -> None:
        stored = self.stored
        try:
            self._do(lambda: self.log.restart_at(offset, self.wall_ms))
        except Crashed:
            self._crash([stored, []], None, restarted_at=offset)
            return
        self.stored, self.durable_end = [], offset
        assert (self.log.start_offset, self.log.end_offset) == (offset, offset)
        self._learn()

    def _do(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        run(work())

    def _crash(
        self,
        candidates: list[list[bytes]],
        profile: Profile | None,
        restarted_at: int | None = None,
    ) -> None:
        self.machine.crash(profile)
        self.log = self.machine.log(CONFIG)
        held = self._held()
        fits = [
            stored
            for stored in candidates
            if held == [d for d in stored if self._is_in(d)][: len(held)]
        ]
        assert fits, f"{self.log} holds what was never there"
        if restarted_at is not None and self.log.start_offset == restarted_at:
            assert not held, "a log that begins anew is empty"
            fits = [[]]
        elif restarted_at is None:
            assert self.log.end_offset >= self.durable_end, "what was flushed is gone"
        self.stored = [d for d in fits[-1] if header_at(d).last_offset < self.log.end_offset]
        self.durable_end = min(self.log.recovery_point, self.log.end_offset)
        self.epoch += 1
        self._learn()

    def _held(self) -> list[bytes]:
        return [data for _, data in content(self.log)]

    def _is_in(self, data: bytes) -> bool:
        return header_at(data).base_offset >= self.log.segments[0].base_offset

    def _expected(self, stored: list[bytes]) -> list[bytes]:
        return [data for data in stored if self._is_in(data)]

    def _learn(self) -> None:
        """Go on as the producers that the log knows would."""
        self.sequences = {
            producer: (entry.epoch, (entry.last_sequence + 1) % 2**31)
            for producer, entry in self.log.producers.entries.items()
        }
        self.open = set(self.log.producers.open)

    # --- what always holds ---

    @invariant()
    def producers_are_what_the_log_says(self) -> None:
        """I-03, as far as nothing was deleted that they rest on."""
        if hasattr(self, "log") and self.stored and header_at(self.stored[0]).base_offset == 0:
            naive = naive_producers(self.stored)
            assert self.log.producers.open == naive.open
            assert self.log.producers.entries == naive.entries

    @invariant()
    def epochs_are_what_the_log_says(self) -> None:
        """S-10: every epoch that wrote a batch, from where it did."""
        if hasattr(self, "log"):
            for data in self._expected(self.stored):
                header = header_at(data)
                if header.last_offset >= self.log.start_offset:
                    offset = max(header.base_offset, self.log.start_offset)
                    assert self.log.epochs.epoch_of(offset) == header.leader_epoch

    @invariant()
    def every_offset_is_found(self) -> None:
        """S-09: lookups lead to the batch that holds the offset."""
        if hasattr(self, "log"):
            for data in self._expected(self.stored)[-6:]:
                header = header_at(data)
                if header.base_offset >= self.log.start_offset:
                    _, part = self.log.read(header.last_offset, 1, self.log.end_offset)
                    assert part.read() == data

    @invariant()
    def aborted_transactions_are_known(self) -> None:
        """T-08: those whose markers are in the log, and no others."""
        if hasattr(self, "log") and self.stored and header_at(self.stored[0]).base_offset == 0:
            held = self._expected(self.stored)
            first = header_at(held[0]).base_offset if held else 0
            found = {
                (aborted.producer_id, aborted.last_offset)
                for aborted in self.log.aborted_between(0, self.log.end_offset)
            }
            assert found == {pair for pair in _aborted(self.stored) if pair[1] >= first}


def _aborted(stored: list[bytes]) -> set[tuple[int, int]]:
    begun: dict[int, int] = {}
    found = set()
    for data in stored:
        header = header_at(data)
        if header.is_control:
            end = marker_in(data, 0, header)
            if begun.pop(header.producer_id, None) is not None and end and not end.commit:
                found.add((header.producer_id, header.last_offset))
        elif header.is_transactional:
            begun.setdefault(header.producer_id, header.base_offset)
    return found


def _as_sent(stored: bytes) -> bytes:
    """Return a stored batch as its producer sent it."""
    return bytes(8) + stored[8:12] + b"\xff" * 4 + stored[16:]


TestLog = LogMachine.TestCase
TestLog.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)
