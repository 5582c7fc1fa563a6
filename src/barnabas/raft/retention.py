"""Which snapshots, and how much of the log before them, may go.

    snapshots   s1     s2        s3          newest stays, whatever it weighs
    log         ├──────┼─────────┼───────▶
                       └ begins here once s1 is gone

A snapshot goes together with the records up to the next one, so that the log always begins where
its oldest snapshot ends.  It goes when the log and all snapshots are larger than
``metadata.max.retention.bytes``, or when what it holds is older than
``metadata.max.retention.ms``; below zero is never.  (KafkaRaftLog.maybeClean; a follower that is
behind the log's beginning gets the newest snapshot.)
"""

from collections.abc import Sequence
from typing import Final

from barnabas.model.value import value
from barnabas.raft.outline import SnapshotId

RETENTION_BYTES: Final = 100 * 1024 * 1024
RETENTION_MS: Final = 7 * 24 * 3_600_000


@value
class KeptSnapshot:
    """A snapshot on the disk, and what its directory would be if the log began with it."""

    id: SnapshotId
    bytes_from: int
    """The size of the log from here on, and of this snapshot and all newer ones."""
    contained_ms: int
    """When the youngest record that is in it was appended."""


def oldest_to_keep(
    snapshots: Sequence[KeptSnapshot],
    wall_ms: int,
    retention_bytes: int = RETENTION_BYTES,
    retention_ms: int = RETENTION_MS,
) -> SnapshotId | None:
    """Return the snapshot where the log may begin; None if everything stays."""
    keep = 0
    for each in snapshots[:-1]:
        too_large = 0 <= retention_bytes < each.bytes_from
        too_old = 0 <= retention_ms < wall_ms - each.contained_ms
        if not (too_large or too_old):
            break
        keep += 1
    return snapshots[keep].id if keep else None
