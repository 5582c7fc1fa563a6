"""What a leader knows of everybody else."""

from barnabas.raft.progress import CAUGHT_UP_MS, OBSERVER_MS, Leadership, Progress
from tests.raft.kit import configured, key, voters

THREE = voters(1, 2, 3)


def leading() -> Leadership:
    """Return the leading of 1, whose epoch begins at 4."""
    return Leadership(2, 4, (1, 2), THREE)


def test_nothing_is_reached_before_a_record_of_the_leaders_own_epoch() -> None:
    leader = leading()
    assert leader.reached(THREE, key(1), 9) is None
    leader.fetched(key(2), 4, 9, 0)
    assert leader.reached(THREE, key(1), 9) is None
    leader.fetched(key(2), 5, 9, 0)
    assert leader.reached(THREE, key(1), 9) == 5
    # The leader itself counts as far as its own disk has it.
    assert leader.reached(THREE, key(1), 4) is None


def test_a_leader_that_is_no_voter_does_not_count_itself() -> None:
    leader = leading()
    leader.fetched(key(2), 8, 9, 0)
    leader.fetched(key(3), 6, 9, 0)
    assert leader.reached(THREE, key(1), 9) == 8
    assert leader.reached(voters(2, 3), key(1), 9) == 6


def test_who_lost_its_disk_counts_as_somebody_else() -> None:
    leader = leading()
    leader.fetched(key(2, disk=9), 8, 9, 0)
    assert leader.reached(THREE, key(1), 9) is None
    assert not leader.hear(key(2, disk=9), THREE, key(1))
    # Where only ids are configured nobody can tell: who fetched last is believed.
    leader.fetched(key(2), 6, 9, 1)
    assert leader.reached(configured(1, 2, 3), key(1), 9) == 6


def test_a_majority_has_been_heard_when_enough_voters_have_fetched() -> None:
    leader, five = leading(), voters(1, 2, 3, 4, 5)
    assert not leader.hear(key(2), five, key(1))
    assert not leader.hear(key(2), five, key(1))
    assert not leader.hear(key(7), five, key(1))
    assert leader.hear(key(3), five, key(1))
    # It is counted anew each time.
    assert not leader.hear(key(3), five, key(1))


def test_a_leader_outside_the_set_needs_a_whole_majority_of_others() -> None:
    leader, rest = leading(), voters(2, 3, 4)
    assert not leader.hear(key(2), rest, key(1))
    assert leader.hear(key(3), rest, key(1))
    assert leader.hear(key(2), voters(2), key(1))


def test_a_voter_that_was_removed_is_heard_no_more() -> None:
    leader = leading()
    assert not leader.hear(key(5), voters(1, 2, 3, 4, 5), key(1))
    assert not leader.hear(key(2), voters(1, 2, 3, 4), key(1))


def test_a_replica_has_caught_up_with_what_there_was_when_it_fetched_before() -> None:
    progress = Progress()
    progress.fetched(0, 10, now_ms=100)
    assert progress.caught_up_ms == -1
    # It has by now what the log held at 100, though the log has grown.
    progress.fetched(10, 20, now_ms=200)
    assert progress.caught_up_ms == 100
    progress.fetched(15, 30, now_ms=300)
    assert progress.caught_up_ms == 100
    progress.fetched(30, 30, now_ms=400)
    assert progress.caught_up_ms == 400


def test_a_newcomer_has_caught_up_if_it_did_and_has_fetched_lately() -> None:
    leader = leading()
    assert not leader.is_caught_up(key(4), 0)
    leader.fetched(key(4), 3, 9, 100)
    assert not leader.is_caught_up(key(4), 100)
    leader.fetched(key(4), 9, 9, 200)
    assert leader.is_caught_up(key(4), 200)
    assert leader.is_caught_up(key(4), 200 + CAUGHT_UP_MS - 1)
    assert not leader.is_caught_up(key(4), 200 + CAUGHT_UP_MS)


def test_successors_are_the_other_voters_who_has_most_first() -> None:
    leader, five = leading(), voters(1, 2, 3, 4, 5)
    leader.fetched(key(2), 5, 9, 0)
    leader.fetched(key(3), 9, 9, 0)
    leader.fetched(key(5), 5, 9, 0)
    assert leader.successors(five, key(1)) == (key(3), key(2), key(5), key(4))


def test_observers_that_are_gone_are_forgotten_and_voters_are_not() -> None:
    leader = leading()
    leader.fetched(key(2), 5, 9, 0)
    leader.fetched(key(7), 5, 9, 0)
    leader.forget_idle(THREE, OBSERVER_MS)
    assert {*leader.progress} == {key(2), key(7)}
    leader.forget_idle(THREE, OBSERVER_MS + 1)
    assert {*leader.progress} == {key(2)}
