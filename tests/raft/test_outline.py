"""What consensus knows of a log, against lists of epochs that are walked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.raft.outline import (
    BOOTSTRAP,
    Agrees,
    Diverges,
    NeedsSnapshot,
    Outline,
    SnapshotId,
)
from tests.raft.kit import outline


def test_an_empty_log_ends_in_epoch_zero() -> None:
    log = Outline()
    assert log.last == SnapshotId(0, 0)
    assert log.latest_snapshot is None
    assert log.epoch_of(0) is None
    assert log.end_of_epoch(3) == SnapshotId(0, 0)


def test_every_epoch_is_known_by_its_first_record() -> None:
    log = outline((1, 3), (1, 5), (4, 6))
    assert list(log.epochs) == [(1, 0), (4, 5)]
    assert [log.epoch_of(offset) for offset in (0, 4, 5, 6)] == [1, 1, 4, None]
    assert log.last == SnapshotId(6, 4)


def test_a_cut_log_forgets_the_epochs_that_are_gone() -> None:
    log = outline((1, 3), (2, 5), (4, 6))
    log.truncate(3)
    assert (list(log.epochs), log.end_offset, log.last_epoch) == ([(1, 0)], 3, 1)
    log.truncate(0)
    assert (list(log.epochs), log.last_epoch) == ([], 0)


@pytest.mark.parametrize(
    ("offset", "epoch", "answer"),
    [
        (0, 0, Agrees()),
        (3, 1, Agrees()),
        (2, 1, Agrees()),
        (5, 3, Agrees()),
        (7, 6, Agrees()),
        # More of an epoch than there ever was.
        (4, 1, Diverges(1, 3)),
        # An epoch that nobody led here, or that this log has never seen.
        (3, 2, Diverges(1, 3)),
        (5, 5, Diverges(3, 5)),
        (8, 6, Diverges(6, 7)),
        (9, 7, Diverges(6, 7)),
    ],
)
def test_a_log_is_compared_by_the_end_of_its_last_epoch(
    offset: int, epoch: int, answer: object
) -> None:
    assert outline((1, 3), (3, 5), (6, 7)).compare(offset, epoch) == answer


@pytest.mark.parametrize(
    ("offset", "epoch", "answer"),
    [
        # Nothing at all, or less than the log begins with: the newest snapshot.
        (0, 0, NeedsSnapshot(SnapshotId(7, 3))),
        (4, 2, NeedsSnapshot(SnapshotId(7, 3))),
        # Exactly to where it begins, but not the same.
        (5, 1, NeedsSnapshot(SnapshotId(7, 3))),
        (5, 2, Agrees()),
        # Of an epoch before the first snapshot's, however long.
        (9, 1, NeedsSnapshot(SnapshotId(7, 3))),
        (8, 2, Diverges(2, 6)),
        (7, 3, Agrees()),
        (8, 3, Agrees()),
    ],
)
def test_what_is_no_longer_in_the_log_needs_a_snapshot(
    offset: int, epoch: int, answer: object
) -> None:
    snapshots = [SnapshotId(5, 2), SnapshotId(7, 3)]
    log = Outline(5, 8, [(2, 5), (3, 6)], snapshots)
    assert log.compare(offset, epoch) == answer


def test_who_has_nothing_is_sent_to_a_snapshot_although_the_log_is_whole() -> None:
    log = outline((1, 9))
    assert log.compare(0, 0) == Agrees()
    log.add_snapshot(SnapshotId(4, 1))
    assert log.compare(0, 0) == NeedsSnapshot(SnapshotId(4, 1))
    assert log.compare(2, 1) == Agrees()


def test_the_snapshot_of_a_formatted_directory_is_nobodys() -> None:
    log = outline((1, 9), snapshots=[BOOTSTRAP])
    assert log.compare(0, 0) == Agrees()
    assert log.compare(9, 1) == Agrees()
    assert log.compare(3, 0) == Diverges(0, 0)


def test_an_epoch_that_ends_where_the_log_begins_is_the_snapshots_to_tell() -> None:
    log = Outline(5, 8, [(3, 5)], [SnapshotId(5, 2)])
    assert log.end_of_epoch(2) == SnapshotId(5, 2)
    assert log.compare(7, 2) == Diverges(2, 5)


@pytest.mark.parametrize(
    ("diverges", "offset"),
    [
        (Diverges(3, 4), 4),
        (Diverges(3, 9), 5),
        # The leader's epoch is none of ours: cut to the end of the one before.
        (Diverges(2, 4), 3),
        (Diverges(0, 0), 0),
    ],
)
def test_a_follower_cuts_to_what_both_may_share(diverges: Diverges, offset: int) -> None:
    assert outline((1, 3), (3, 5), (6, 7)).cut_for(diverges) == offset


def test_a_snapshot_takes_the_place_of_the_log() -> None:
    log = outline((1, 3), (2, 5))
    log.restart(SnapshotId(9, 4))
    assert (log.start_offset, log.end_offset, list(log.epochs)) == (9, 9, [])
    assert log.last == SnapshotId(9, 4)
    log.append(12, 4)
    assert list(log.epochs) == [(4, 9)]


def test_snapshots_are_kept_in_order_and_late_ones_are_no_use() -> None:
    log = outline((1, 3), (2, 9))
    for snapshot in (SnapshotId(8, 2), SnapshotId(2, 1), SnapshotId(8, 2)):
        log.add_snapshot(snapshot)
    assert log.snapshots == [SnapshotId(2, 1), SnapshotId(8, 2)]
    log.restart(SnapshotId(20, 4))
    log.add_snapshot(SnapshotId(9, 2))
    assert log.snapshots == [SnapshotId(20, 4)]


def test_a_snapshot_of_another_log_is_refused() -> None:
    log = outline((1, 3), (2, 9))
    assert not log.sums_up(SnapshotId(4, 1))
    assert not log.sums_up(SnapshotId(10, 2))
    with pytest.raises(AssertionError, match="snapshot"):
        log.add_snapshot(SnapshotId(4, 1))


def test_a_log_is_cleaned_up_to_a_snapshot_and_never_past_the_newest() -> None:
    log = outline((1, 3), (2, 9))
    log.add_snapshot(SnapshotId(3, 1))
    log.add_snapshot(SnapshotId(6, 2))
    log.clean(SnapshotId(3, 1))
    assert (log.start_offset, list(log.epochs)) == (3, [(2, 3)])
    log.clean(SnapshotId(6, 2))
    assert (log.start_offset, list(log.epochs)) == (6, [(2, 6)])
    with pytest.raises(AssertionError, match="no snapshot"):
        log.clean(SnapshotId(9, 2))
    log.add_snapshot(SnapshotId(9, 2))
    log.clean(SnapshotId(9, 2))
    assert (list(log.epochs), log.last) == ([], SnapshotId(9, 2))
    with pytest.raises(AssertionError, match="no snapshot"):
        log.clean(SnapshotId(6, 2))


def test_nothing_is_cut_that_a_snapshot_sums_up() -> None:
    log = outline((1, 9))
    log.add_snapshot(SnapshotId(6, 1))
    log.truncate(6)
    with pytest.raises(AssertionError, match="cut at 5"):
        log.truncate(5)


@pytest.mark.parametrize(
    ("start", "end", "epochs", "snapshots"),
    [
        (5, 4, [], [SnapshotId(5, 1)]),
        # A beginning that nobody remembers.
        (5, 9, [(1, 5)], []),
        # A snapshot that was fetched and not installed, or of a log that is not this one.
        (0, 4, [(1, 0)], [SnapshotId(7, 1)]),
        (0, 9, [(3, 0)], [SnapshotId(7, 1)]),
    ],
)
def test_a_log_that_cannot_be_is_refused(
    start: int, end: int, epochs: list[tuple[int, int]], snapshots: list[SnapshotId]
) -> None:
    with pytest.raises(AssertionError, match="log"):
        Outline(start, end, epochs, snapshots)


def test_an_epoch_without_records_at_the_very_end_is_replaced() -> None:
    log = Outline(0, 4, [(1, 0), (2, 4)])
    log.append(6, 3)
    assert list(log.epochs) == [(1, 0), (3, 4)]


# --- against a list --------------------------------------------------------------------------

LOGS = st.lists(st.integers(1, 6), max_size=12).map(sorted)


def of(epochs: list[int]) -> Outline:
    """Return the outline of a log whose records have these epochs."""
    log = Outline()
    for end_offset, epoch in enumerate(epochs, 1):
        log.append(end_offset, epoch)
    return log


TAILS = st.lists(st.tuples(st.booleans(), st.integers(3, 9)), max_size=10)


@given(st.lists(st.integers(1, 3), max_size=6).map(sorted), TAILS, st.sets(st.integers(3, 9)))
def test_after_some_rounds_a_follower_has_a_beginning_of_the_leaders_log(
    shared: list[int], tails: list[tuple[bool, int]], leads: set[int]
) -> None:
    # Where two logs have parted they have no epoch in common: each had one leader.
    leader = shared + sorted(epoch for _, epoch in tails if epoch in leads)
    follower = shared + sorted(epoch for _, epoch in tails if epoch not in leads)
    mine, theirs = of(follower), of(leader)
    for _ in range(20):
        answer = theirs.compare(mine.end_offset, mine.last_epoch)
        if not isinstance(answer, Diverges):
            break
        cut = mine.cut_for(answer)
        assert len(shared) <= cut < mine.end_offset, "cut what both share, or nothing"
        mine.truncate(cut)
    assert follower[: mine.end_offset] == leader[: mine.end_offset]


@given(LOGS, st.integers(0, 7))
def test_the_end_of_an_epoch_is_found_by_walking(log: list[int], epoch: int) -> None:
    found = of(log).end_of_epoch(epoch)
    upto = [each for each in log if each <= epoch]
    if not upto and log:
        assert found == SnapshotId(0, epoch)
    else:
        assert found == SnapshotId(len(upto), upto[-1] if upto else 0)
