"""Old snapshots go, the newest stays, and the log begins where its oldest snapshot ends."""

from barnabas.raft.outline import SnapshotId
from barnabas.raft.retention import KeptSnapshot, oldest_to_keep

IDS = [SnapshotId(end_offset, 1) for end_offset in (10, 20, 30)]
KEPT = [
    KeptSnapshot(IDS[0], 350, 1),
    KeptSnapshot(IDS[1], 250, 2),
    KeptSnapshot(IDS[2], 150, 3),
]


def test_everything_stays_while_there_is_room_and_it_is_young() -> None:
    assert oldest_to_keep(KEPT, 10, 350, 1_000) is None


def test_what_is_too_large_loses_its_oldest_snapshots() -> None:
    assert oldest_to_keep(KEPT, 10, 349, 1_000) == IDS[1]
    assert oldest_to_keep(KEPT, 10, 249, 1_000) == IDS[2]


def test_what_is_too_old_goes() -> None:
    assert oldest_to_keep(KEPT, 103, 10_000, 101) == IDS[1]
    assert oldest_to_keep(KEPT, 104, 10_000, 101) == IDS[2]


def test_the_newest_snapshot_stays_whatever_it_weighs() -> None:
    assert oldest_to_keep(KEPT, 10_000, 0, 0) == IDS[2]
    assert oldest_to_keep(KEPT[:1], 10_000, 0, 0) is None
    assert oldest_to_keep([], 10_000, 0, 0) is None


def test_below_zero_is_never() -> None:
    assert oldest_to_keep(KEPT, 10_000, -1, -1) is None
