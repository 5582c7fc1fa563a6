"""What a replica knows of itself."""

from barnabas.sim.specs.raft.log import Key, Log
from barnabas.sim.specs.raft.node import Asked, Election, Node, Role, Snapshot
from tests.sim.specs.raft.replicas import ONE, THREE, TWO, VOTERS, replica, vote


def test_it_votes_if_its_own_log_says_so() -> None:
    node = replica()
    assert node.is_voter
    assert (node.voters, node.others, node.majority) == (VOTERS, frozenset({TWO, THREE}), 2)
    assert not replica(key=Key(1, "b")).is_voter, "with another disk it is somebody else"
    assert not replica(log=Log().append(1, frozenset({TWO}))).is_voter
    assert replica(log=Log(start_voters=frozenset({Key(1), TWO}))).is_voter


def test_a_leader_is_ready_when_something_of_its_epoch_is_committed() -> None:
    log = Log(start_voters=VOTERS).append(1, 0).append(2, -1)
    leader = replica(Role.LEADER, 2, log=log, epoch_start=1, hwm=1)
    assert not leader.is_ready
    assert replica(Role.LEADER, 2, log=log, epoch_start=1, hwm=2).is_ready
    assert not replica(Role.FOLLOWER, 2, log=log, hwm=2).is_ready


def test_a_question_stands_until_it_is_answered() -> None:
    first, again = Asked(1, vote()), Asked(2, vote())
    node = replica().ask(first).ask(again)
    assert node.stands(first)
    assert not node.answered(first).stands(first)
    assert node.answered(first).stands(again), "two of one content are two"


def test_what_must_not_be_forgotten_is_epoch_leader_and_vote() -> None:
    node = replica(Role.FOLLOWER, 3, voted=TWO)
    assert node.election == Election(3, 2, TWO)
    assert Node(ONE).election == Election()
    newest = Snapshot(2, 1, VOTERS)
    assert replica(snapshots=(Snapshot(1, 1, VOTERS), newest)).latest == newest
    assert replica().latest is None
