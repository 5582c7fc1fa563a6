"""Who votes: keys, sets, and the sets that a log has seen."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.ids import ZERO_UUID
from barnabas.raft.voters import (
    NO_VOTERS,
    RECONFIGURABLE,
    STATIC,
    Endpoint,
    History,
    ReplicaKey,
    Voter,
    VoterSet,
    high_watermark,
)
from tests.raft.kit import at, configured, key, voter, voters


def test_a_key_that_leaves_the_directory_open_means_whoever_has_the_id() -> None:
    assert ReplicaKey(1, ZERO_UUID).matches(key(1))
    assert key(1).matches(key(1))
    assert not key(1).matches(key(1, disk=9))
    assert not key(1).matches(ReplicaKey(1, ZERO_UUID))
    assert not ReplicaKey(1, ZERO_UUID).matches(key(2))
    assert str(key(1)).startswith("1:")
    assert str(ReplicaKey(1)) == "1:-"


def test_a_voter_that_lost_its_disk_is_not_among_the_voters_any_more() -> None:
    three = voters(1, 2, 3)
    assert three.contains(key(2))
    assert not three.contains(key(2, disk=9))
    assert configured(1, 2, 3).contains(key(2, disk=9))
    assert [each.key.id for each in three.others(key(2))] == [1, 3]
    assert [each.key.id for each in three.others(key(2, disk=9))] == [1, 2, 3]


def test_the_order_of_endpoints_says_nothing_new_about_a_voter() -> None:
    ends = (*at(1), Endpoint("OTHER", "node1", 1))
    one = Voter(key(1), ends, (0, 1))
    assert one.describes(Voter(key(1), ends[::-1], (0, 1)))
    assert not one.describes(Voter(key(1), ends, (0, 0)))
    assert not one.describes(Voter(key(1), at(1), (0, 1)))
    assert not one.describes(Voter(key(1, disk=9), ends, (0, 1)))


def test_a_set_is_in_the_order_of_ids_whatever_it_was_made_of() -> None:
    assert VoterSet.of([voter(3), voter(1), voter(2)]) == voters(1, 2, 3)
    assert voters(1, 2).with_voter(voter(3)) == voters(1, 2, 3)
    assert voters(1, 2, 3).with_voter(voter(2, disk=9)).by_id(2) == voter(2, disk=9)
    with pytest.raises(AssertionError, match="share an id"):
        VoterSet.of([voter(1), voter(1, disk=9)])


def test_only_exactly_who_is_named_is_removed() -> None:
    assert voters(1, 2, 3).without(key(3)) == voters(1, 2)
    assert voters(1, 2, 3).without(key(3, disk=9)) == voters(1, 2, 3)
    assert voters(1, 2, 3).without(ReplicaKey(3)) == voters(1, 2, 3)


@pytest.mark.parametrize(
    ("size", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)]
)
def test_a_majority_is_more_than_half(size: int, majority: int) -> None:
    assert voters(*range(size)).majority == majority


def test_what_is_committed_is_what_more_than_half_have() -> None:
    for size in range(1, 6):
        three = voters(*range(size))
        for ends in product((-1, 3, 5, 8), repeat=size):
            have = {at_ - 0: end for at_, end in enumerate(ends) if end >= 0}
            for start in (2, 3, 6):
                # The stupid twin: the largest end that more than half have reached.
                reached = [
                    e for e in have.values() if 2 * sum(h >= e for h in have.values()) > size
                ]
                expected = max(reached, default=-1)
                found = high_watermark(have, three, start)
                assert found == (expected if expected > start else None), (have, start)


def test_nobody_commits_without_voters() -> None:
    assert high_watermark({}, NO_VOTERS, 0) is None


def test_the_last_voters_in_the_log_are_in_force() -> None:
    log = History(voters(1), RECONFIGURABLE)
    assert (log.current, log.current_offset, log.reconfigurable) == (voters(1), -1, True)
    log.add_voters(5, voters(1, 2))
    log.add_voters(9, voters(1, 2, 3))
    assert (log.current, log.current_offset) == (voters(1, 2, 3), 9)
    assert log.set_at(9) == voters(1, 2)
    assert log.set_at(10) == voters(1, 2, 3)
    assert log.set_at(0) == voters(1)
    log.truncate(9)
    assert (log.current, log.current_offset) == (voters(1, 2), 5)
    log.truncate(0)
    assert (log.current, log.current_offset) == (voters(1), -1)


def test_a_snapshot_takes_the_place_of_all_voters_before_it() -> None:
    log = History(voters(1), STATIC)
    log.add_version(3, RECONFIGURABLE)
    log.add_voters(5, voters(1, 2))
    log.restart(8, voters(2, 3), RECONFIGURABLE)
    assert (log.current, log.current_offset, log.version) == (voters(2, 3), 7, RECONFIGURABLE)
    log.truncate(8)
    assert log.current == voters(2, 3)
    assert log.version_at(8) == RECONFIGURABLE


def test_a_snapshot_without_voters_leaves_the_configured_ones() -> None:
    log = History(configured(1, 2), STATIC)
    log.restart(8, None, STATIC)
    assert (log.current, log.current_offset) == (configured(1, 2), -1)


def test_records_come_in_the_order_of_the_log() -> None:
    log = History(voters(1), STATIC)
    log.add_voters(5, voters(1, 2))
    with pytest.raises(AssertionError, match="voters at 5"):
        log.add_voters(5, voters(1))
    log.add_version(4, RECONFIGURABLE)
    with pytest.raises(AssertionError, match=r"kraft\.version at 3"):
        log.add_version(3, RECONFIGURABLE)


@given(st.lists(st.integers(0, 30), unique=True), st.integers(0, 31), st.integers(0, 31))
def test_a_history_is_a_list_that_is_searched_from_its_end(
    offsets: list[int], cut: int, end: int
) -> None:
    log = History(voters(99), STATIC)
    said = [(offset, voters(offset)) for offset in sorted(offsets)]
    for offset, those in said:
        log.add_voters(offset, those)
    log.truncate(cut)
    said = [(offset, those) for offset, those in said if offset < cut]
    assert log.current == (said[-1][1] if said else voters(99))
    known = [those for offset, those in said if offset < end]
    assert log.set_at(end) == (known[-1] if known else voters(99))
