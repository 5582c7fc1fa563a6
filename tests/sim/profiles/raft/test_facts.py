"""The product in the specification's words."""

from dataclasses import replace

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.raft.messages import Fetch, Vote
from barnabas.raft.outline import SnapshotId
from barnabas.raft.states import Candidate, Election, Follower, Leader, Resigned
from barnabas.raft.voters import ReplicaKey, Voter, VoterSet
from barnabas.sim.profiles.raft.facts import (
    ROLES,
    election_of,
    facts_due,
    facts_of,
    fetch_request,
    key_of,
    replica_of,
    state_of,
    vote_of,
    vote_request,
    voters_of,
)
from barnabas.sim.specs.raft.log import Key
from barnabas.sim.specs.raft.node import Election as Saved
from barnabas.sim.specs.raft.node import FetchRequest, Role, VoteRequest
from tests.sim.profiles.raft.test_trace import Validated, settled

DIRECTORY = Uuid(b"\x01" * 16)
ONE, TWO = ReplicaKey(1, DIRECTORY), ReplicaKey(2, DIRECTORY)
FIRST, SECOND = Key(1, "01" * 16), Key(2, "01" * 16)


def test_a_key_is_a_node_and_its_disk() -> None:
    assert key_of(ONE) == FIRST
    assert key_of(ReplicaKey(1, ZERO_UUID)) == Key(1)
    assert vote_of(None) is None
    assert vote_of(TWO) == SECOND
    assert voters_of(VoterSet.of([Voter(ONE, ()), Voter(TWO, ())])) == {FIRST, SECOND}


def test_every_role_has_its_name() -> None:
    assert set(ROLES.values()) == set(Role)
    assert state_of(Leader(3, 7), 1) == (Role.LEADER, 3, 1, None)
    assert state_of(Resigned(3), 1) == (Role.RESIGNED, 3, 1, None)
    assert state_of(Candidate(3, ONE), 1) == (Role.CANDIDATE, 3, None, FIRST)
    assert state_of(Follower(3, 2, (), TWO), 1) == (Role.FOLLOWER, 3, 2, SECOND)


def test_questions_and_elections_are_said_in_other_words() -> None:
    vote = Vote(ONE, TWO, 4, SnapshotId(9, 3), pre_vote=True)
    assert vote_request(vote) == VoteRequest(FIRST, SECOND, 4, (3, 9), True)
    fetch = Fetch(ONE, 4, 9, 3, 8, 500, 1)
    assert fetch_request(fetch) == FetchRequest(FIRST, 4, 9, 3)
    assert election_of(Election(4, 2, TWO)) == Saved(4, 2, SECOND)


def test_a_replica_that_is_seen_for_the_first_time_looks_as_it_is_seen() -> None:
    quorum: Validated = settled()
    for life in quorum.lives.values():
        facts = facts_of(life.node)
        assert facts_due(replica_of(facts)) == facts
    facts = replace(facts, role=Role.CANDIDATE, leader=None, voted=facts.key)
    assert replica_of(facts).granted == {facts.key.id}


def test_what_was_summed_up_is_known_by_its_snapshot() -> None:
    quorum = settled(seed=3)
    while not any(life.node.outline.start_offset for life in quorum.lives.values()):
        quorum.step()
    life = next(each for each in quorum.lives.values() if each.node.outline.start_offset)
    facts = facts_of(life.node)
    assert facts.start == facts.snapshots[0][0]
    assert replica_of(facts).log.start_epoch == facts.snapshots[0][1]
    assert facts_due(replica_of(facts)) == facts
