"""What a replica tells the state machines that stand on its log.

    load    a snapshot: forget everything, begin with this
    commit  batches that a majority has, in order, each exactly once
    leader_changed   who leads; that it is this node only when everything before is handed over

A listener is fed by one task, one call after the other.  What it raises is a bug, or a record that
it cannot understand, and stops the node (C-17): its state would be another than everybody else's.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from barnabas.raft.outline import SnapshotId
from barnabas.records.opened import OpenedBatch


class Listener(Protocol):
    """A state machine on the log."""

    async def load(self, snapshot: SnapshotId, batches: Iterator[OpenedBatch]) -> None:
        """Take a snapshot in place of everything that was handed over before."""

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Take what comes next."""

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Learn who leads.

        This node itself is named only when every record before its epoch was handed over, and the
        epoch's first (R-26); from then on it may append, until it is told anything else.
        """
