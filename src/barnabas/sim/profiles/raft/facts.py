"""What the product says of itself, in the specification's words.

Nothing is decided here: keys, roles, questions and answers of ``barnabas.raft`` are spelled as
``sim.specs.raft`` spells them, and what the specification does not speak of is left out.
"""

from typing import Final

from barnabas.model.ids import ZERO_UUID
from barnabas.model.value import value
from barnabas.raft.messages import Fetch, Vote
from barnabas.raft.node import RaftNode
from barnabas.raft.states import (
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
    leader_of,
    voted_in,
)
from barnabas.raft.voters import ReplicaKey, VoterSet
from barnabas.sim.specs.raft import node as spec
from barnabas.sim.specs.raft.log import PLAIN, Key, Log, Voters
from barnabas.sim.specs.raft.node import FetchRequest, Role, VoteRequest

ROLES: Final[dict[type[State], Role]] = {
    Unattached: Role.UNATTACHED,
    Follower: Role.FOLLOWER,
    Prospective: Role.PROSPECTIVE,
    Candidate: Role.CANDIDATE,
    Leader: Role.LEADER,
    Resigned: Role.RESIGNED,
}


@value
class Facts:
    """What can be seen of a replica between two events."""

    key: Key
    role: Role
    epoch: int
    leader: int | None
    voted: Key | None
    start: int
    end: int
    epochs: tuple[tuple[int, int], ...]
    flushed: int
    hwm: int
    voters: Voters
    snapshots: tuple[tuple[int, int], ...]


def facts_of(node: RaftNode) -> Facts:
    """Return what can be seen of a replica of the product."""
    outline = node.outline
    return Facts(
        key=key_of(node.config.key),
        role=ROLES[type(node.state)],
        epoch=node.epoch,
        leader=node.leader_id,
        voted=vote_of(voted_in(node.state)),
        start=outline.start_offset,
        end=outline.end_offset,
        # One without records may stand at the very end, as in Kafka's epoch cache.
        epochs=tuple(pair for pair in outline.epochs if pair[1] < outline.end_offset),
        flushed=node.flushed_offset,
        hwm=node.high_watermark,
        voters=voters_of(node.voters.current),
        snapshots=tuple((each.end_offset, each.epoch) for each in outline.snapshots),
    )


def facts_due(node: spec.Node) -> Facts:
    """Return what should be seen of a replica of the specification."""
    return Facts(
        key=node.key,
        role=node.role,
        epoch=node.epoch,
        leader=node.leader,
        voted=node.voted,
        start=node.log.start,
        end=node.log.end,
        epochs=node.log.epochs,
        flushed=node.flushed,
        hwm=node.hwm,
        voters=node.voters,
        snapshots=tuple((each.end, each.epoch) for each in node.snapshots),
    )


def replica_of(facts: Facts) -> spec.Node:
    """Return the replica that somebody is who is seen for the first time.

    What its records say is not known, only of which epochs they are; the voters count as old.
    """
    starts = [start for _, start in facts.epochs]
    snapshots = tuple(spec.Snapshot(end, epoch, facts.voters) for end, epoch in facts.snapshots)
    log = Log(facts.start, dict(facts.snapshots).get(facts.start, 0), facts.voters)
    for (epoch, start), end in zip(facts.epochs, (*starts, facts.end)[1:], strict=True):
        log = log.append(epoch, PLAIN, end - start)
    election = spec.Election(facts.epoch, facts.leader, facts.voted)
    granted = frozenset({facts.key.id} if facts.role is Role.CANDIDATE else ())
    return spec.Node(
        key=facts.key,
        role=facts.role,
        epoch=facts.epoch,
        leader=facts.leader,
        voted=facts.voted,
        saved=election,
        log=log,
        flushed=facts.flushed,
        on_disk=facts.flushed,
        hwm=facts.hwm,
        snapshots=snapshots,
        granted=granted,
    )


def key_of(key: ReplicaKey) -> Key:
    """Return a replica's key."""
    return Key(key.id, "" if key.directory_id == ZERO_UUID else key.directory_id.hex())


def vote_of(key: ReplicaKey | None) -> Key | None:
    """Return whom a vote is for."""
    return None if key is None else key_of(key)


def voters_of(voters: VoterSet) -> Voters:
    """Return who votes."""
    return frozenset(key_of(voter.key) for voter in voters.voters)


def election_of(election: Election) -> spec.Election:
    """Return what is persisted of an election."""
    return spec.Election(election.epoch, election.leader_id, vote_of(election.voted))


def vote_request(vote: Vote) -> VoteRequest:
    """Return what a candidate asks."""
    candidate, voter = key_of(vote.candidate), key_of(vote.voter)
    return VoteRequest(candidate, voter, vote.epoch, vote.last.rank, vote.pre_vote)


def fetch_request(fetch: Fetch) -> FetchRequest:
    """Return what somebody who fetches asks."""
    return FetchRequest(key_of(fetch.replica), fetch.epoch, fetch.offset, fetch.last_epoch)


def state_of(state: State, self_id: int) -> tuple[Role, int, int | None, Key | None]:
    """Return role, epoch, leader and vote of a state."""
    voted = vote_of(voted_in(state))
    return ROLES[type(state)], state.epoch, leader_of(state, self_id), voted
