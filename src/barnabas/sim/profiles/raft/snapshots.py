"""Snapshots, and the logs that rest on them: R-28 to R-30, RL-8."""

from collections.abc import Sequence
from typing import Final

from barnabas.raft.effects import CleanLog
from barnabas.raft.events import SnapshotInstalled, SnapshotTaken
from barnabas.raft.outline import BOOTSTRAP, SnapshotId
from barnabas.raft.states import Leader
from barnabas.records.batch import HEADER_BYTES, CorruptBatch, batches, verify
from barnabas.records.control import ControlType, control_type
from barnabas.records.record import records
from barnabas.sim.profiles.raft.disks import Batch, content_of, snapshots_on
from barnabas.sim.profiles.raft.ghost import Ghost
from barnabas.sim.profiles.raft.lives import Life, Oracle, Step
from barnabas.sim.world import Violation


def values_in(data: bytes) -> list[bytes] | None:
    """Return the records of a state machine in a snapshot; None if it is no whole snapshot."""
    values: list[bytes] = []
    kinds: list[ControlType | None] = []
    try:
        end = 0
        for position, header in batches(data):
            verify(data, position, header)
            end = position + header.size_bytes
            for record in records(data, position, header):
                if header.is_control:
                    kinds.append(control_type(record))
                else:
                    values.append(bytes(record.value or b""))
    except CorruptBatch:
        return None
    whole = len(kinds) >= 2 and kinds[0] is ControlType.SNAPSHOT_HEADER
    if not whole or kinds[-1] is not ControlType.SNAPSHOT_FOOTER or end != len(data):
        return None
    return values


class SnapshotValid(Oracle):
    """R-28: a snapshot ends at the end of a committed batch, and holds what was committed below.

    It has a header and a footer, and is durable before anybody sees it.
    """

    def __init__(self, ghost: Ghost) -> None:
        self._ghost: Final = ghost

    def opened(self, life: Life) -> None:
        for snapshot, node in snapshots_on(life.home.disk, durable=False).items():
            if snapshot != BOOTSTRAP:
                self._examine(life, snapshot, content_of(node, durable=False))

    def step(self, step: Step) -> None:
        match step.event:
            case SnapshotTaken(snapshot) | SnapshotInstalled(snapshot, _, _):
                pass
            case _:
                return
        life = step.life
        if (
            isinstance(step.event, SnapshotTaken)
            and snapshot.end_offset > step.before.high_watermark
        ):
            story = f"{life}: {snapshot} above {step.before.high_watermark}"
            raise Violation("R-28", story, "a snapshot of the future")
        if snapshot not in life.node.outline.snapshots:
            # A newer one was fetched while this one was written: it is of no use to anybody.
            return
        node = snapshots_on(life.home.disk, durable=True).get(snapshot)
        if node is None:
            raise Violation(
                "R-28", f"{life}: {snapshot} is not durable", "seen before it is durable"
            )
        self._examine(life, snapshot, content_of(node, durable=True))

    def _examine(self, life: Life, snapshot: SnapshotId, data: bytes) -> None:
        found, end = values_in(data), snapshot.end_offset
        if found is None:
            story = f"{life}: {snapshot} of {len(data)} bytes is no snapshot"
            raise Violation("R-28", story, "half a snapshot")
        if end > self._ghost.committed_end:
            return
        if not self._ghost.is_boundary(end) or self._ghost.epoch_before(end) != snapshot.epoch:
            story = f"{life}: {snapshot}, where the epoch is {self._ghost.epoch_before(end)}"
            raise Violation("R-28", story, "ends where no batch does")
        objection = self._ghost.content.objection(end, found)
        if objection:
            raise Violation("R-28", f"{life}: {snapshot} {objection}", "another content")


class SnapshotCoversStart(Oracle):
    """R-29: a log that does not begin at 0 begins where a whole, durable snapshot ends.

    The newest snapshot stays.
    """

    def opened(self, life: Life) -> None:
        self._check(life, life.facts.start)

    def step(self, step: Step) -> None:
        for effect in step.effects:
            match effect:
                case CleanLog(first) if step.before.snapshot is not None:
                    if first.rank > step.before.snapshot.rank:
                        story = (
                            f"{step.life} cleans up to {first}, newest is {step.before.snapshot}"
                        )
                        raise Violation("R-29", story, "the newest snapshot goes")
                case _:
                    pass

    def read(self, life: Life, new: Sequence[Batch]) -> None:
        self._check(life, life.log.start)

    def _check(self, life: Life, start: int) -> None:
        if start == 0:
            return
        durable = snapshots_on(life.home.disk, durable=True)
        if not any(each.end_offset == start for each in durable):
            story = f"{life} begins at {start}; durable are {[str(each) for each in durable]}"
            raise Violation("R-29", story, "a log without a beginning")


class SnapshotInstallAtomic(Oracle):
    """R-30: a fetched snapshot takes the place of the log as a whole, and never of a leader's."""

    def step(self, step: Step) -> None:
        if not isinstance(step.event, SnapshotInstalled):
            return
        end, after = step.event.snapshot.end_offset, step.after
        if (after.start, after.flushed) != (end, end) or after.high_watermark < end:
            raise Violation("R-30", f"{step.life} is {after} after {step.event}", "half installed")
        if isinstance(step.before.state, Leader):
            raise Violation("R-30", f"{step.life} leads and installs {end}", "a leader loads")

    def opened(self, life: Life) -> None:
        facts = life.facts
        if facts.snapshot is not None and facts.end < facts.snapshot.end_offset:
            story = f"{life}: the log ends at {facts.end}, below {facts.snapshot}"
            raise Violation("R-30", story, "neither log nor snapshot")


class LogBounded(Oracle):
    """RL-8: what lies above the newest snapshot stays below twice its threshold and a batch."""

    def __init__(self, threshold_bytes: int) -> None:
        self._threshold_bytes: Final = threshold_bytes

    def finish(self, lives: Sequence[Life]) -> None:
        for life in lives:
            latest = life.node.outline.latest_snapshot
            end = 0 if latest is None else latest.end_offset
            # What is not committed yet belongs into no snapshot.
            below = life.node.high_watermark
            above = [batch for batch in life.log.batches if end <= batch.base < below]
            total = sum(batch.size_bytes for batch in above)
            largest = max((batch.size_bytes for batch in above), default=HEADER_BYTES)
            if total > 2 * self._threshold_bytes + largest:
                story = (
                    f"{life} holds {total} bytes above {latest}, due every {self._threshold_bytes}"
                )
                raise Violation("RL-8", story, "a log without snapshots")
