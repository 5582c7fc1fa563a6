"""What a replica tells the state machines that stand on its log.

    load    a snapshot: forget everything, begin with this
    commit  batches that a majority has, in order, each exactly once
    leader_changed   who leads; that it is this node only when everything before is handed over

A listener is fed by one task, one call after the other.  What it raises is a bug, or a record that
it cannot understand, and stops the node (C-17): its state would be another than everybody else's.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from barnabas.model.value import value
from barnabas.raft.outline import SnapshotId
from barnabas.records.batch import BatchHeader, batches
from barnabas.records.checksum import Buffer
from barnabas.records.control import ControlType, control_type
from barnabas.records.record import records


@value
class Committed:
    """One batch: records of the state machine, or control records of the quorum."""

    base_offset: int
    end_offset: int
    epoch: int
    append_ms: int
    size_bytes: int
    values: tuple[Buffer, ...]
    """The records' values; none for a control batch."""
    controls: tuple[tuple[ControlType, Buffer], ...] = ()


class Listener(Protocol):
    """A state machine on the log."""

    async def load(self, snapshot: SnapshotId, batches: Iterator[Committed]) -> None:
        """Take a snapshot in place of everything that was handed over before."""

    async def commit(self, batches: Sequence[Committed]) -> None:
        """Take what comes next."""

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Learn who leads.

        This node itself is named only when every record before its epoch was handed over, and the
        epoch's first (R-26); from then on it may append, until it is told anything else.
        """


def committed_in(data: Buffer) -> Iterator[Committed]:
    """Yield whole batches as a listener gets them; their checksums have been verified."""
    for position, header in batches(data):
        yield committed(data, position, header)


def committed(data: Buffer, position: int, header: BatchHeader) -> Committed:
    """Return the batch at a position as a listener gets it."""
    inside = list(records(data, position, header))
    controls: list[tuple[ControlType, Buffer]] = []
    if header.is_control:
        for record in inside:
            kind = control_type(record)
            # Kinds that only later versions know are not for us.
            if kind is not None:
                controls.append((kind, record.value or b""))
    values = () if header.is_control else tuple(record.value or b"" for record in inside)
    return Committed(
        header.base_offset,
        header.last_offset + 1,
        header.leader_epoch,
        header.max_timestamp,
        header.size_bytes,
        values,
        tuple(controls),
    )
