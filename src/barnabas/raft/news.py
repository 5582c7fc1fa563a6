"""How news of epochs and leaders spreads: every answer carries some, and leaders tell theirs.

    answer.standing ──▶ heed ──▶ learn ──▶ Unattached, or Follower of whom it names
    BeginQuorumEpoch, EndQuorumEpoch ──▶ learn

A leader is followed only when somebody says where it is; known by its name alone, it still keeps a
replica from voting for another one in its epoch.
"""

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import Effect, Note, Reply
from barnabas.raft.events import Alarm
from barnabas.raft.messages import BeginQuorumEpoch, EndQuorumEpoch, EpochAnswer, Standing
from barnabas.raft.replica import Replica
from barnabas.raft.states import Candidate, Follower, Prospective, Unattached, voted_in
from barnabas.raft.voters import Endpoints, ReplicaKey


def heed(replica: Replica, standing: Standing) -> tuple[list[Effect], bool]:
    """Take what an answer says of epoch and leader; tell whether the rest of it counts.

    It does when it comes without an error from a replica in our epoch, to the role that asked.
    """
    if standing.epoch < replica.epoch:
        return [], False
    if not _fits(replica, standing.leader_id, standing.epoch):
        why = f"told that {standing.leader_id} leads epoch {standing.epoch}: {replica.state}"
        return [Note(why)], False
    effects = learn(replica, standing.leader_id, standing.epoch, standing.endpoints)
    return effects, not replica.is_new and standing.error is ErrorCode.NONE


def learn(
    replica: Replica, leader_id: int | None, epoch: int, endpoints: Endpoints
) -> list[Effect]:
    """Take the news of an epoch and its leader, if they are any."""
    rises = epoch > replica.epoch
    if epoch < replica.epoch:
        return []
    if leader_id is None:
        return replica.become(Unattached(epoch)) if rises else []
    if leader_id == replica.config.key.id:
        # Led in an earlier life, with another disk.  Who votes in that epoch could elect somebody
        # beside its former self.
        return replica.become(Unattached(epoch + 1)) if rises else []
    if replica.address(endpoints) is None:
        voter = replica.voters.current.by_id(leader_id)
        endpoints = () if voter is None else voter.endpoints
    if replica.address(endpoints) is None:
        return replica.become(Unattached(epoch, leader_id)) if rises else []
    if rises:
        return replica.become(Follower(epoch, leader_id, endpoints))
    voted = voted_in(replica.state)
    match replica.state:
        case Unattached() | Prospective(leader_id=None) | Candidate():
            return replica.become(Follower(epoch, leader_id, endpoints, voted))
        case Follower(endpoints=known) if len(endpoints) > len(known):
            return replica.become(Follower(epoch, leader_id, endpoints, voted))
        case _:
            return []


def _fits(replica: Replica, leader_id: int | None, epoch: int) -> bool:
    """Tell whether somebody may lead an epoch, for all that is known here (R-01)."""
    known = replica.leader_id
    return epoch != replica.epoch or None in (known, leader_id) or known == leader_id


# --- being told ------------------------------------------------------------------------------


def begin_asked(replica: Replica, token: int, begin: BeginQuorumEpoch) -> list[Effect]:
    """Follow who leads, if it is news; it is told until the first fetch."""
    error = _refused(replica, begin)
    effects = [] if error else learn(replica, begin.leader_id, begin.epoch, begin.endpoints)
    match replica.state:
        case Prospective(epoch, leader, known, voted) if not error and leader == begin.leader_id:
            # It was lost, and lives.  That others still know of it has to say nothing.
            if replica.address(known) is not None:
                effects += replica.become(Follower(epoch, leader, known, voted))
        case _:
            pass
    if not error and not begin.voter.matches(replica.config.key):
        error = ErrorCode.INVALID_VOTER_KEY
    return [*effects, Reply(token, EpochAnswer(replica.standing(error)))]


def end_asked(replica: Replica, token: int, end: EndQuorumEpoch) -> list[Effect]:
    """Wait for no fetch of a leader that has resigned: stand for election in one's turn."""
    error = _refused(replica, end)
    effects = [] if error else learn(replica, end.leader_id, end.epoch, end.endpoints)
    effects.append(Reply(token, EpochAnswer(replica.standing(error))))
    match replica.state:
        case Follower(leader_id=leader) if not error and leader == end.leader_id:
            if replica.is_voter and not replica.is_stopping:
                effects += replica.set(Alarm.FETCH, _turn_ms(replica, end.preferred))
        case _:
            pass
    return effects


def _refused(replica: Replica, told: BeginQuorumEpoch | EndQuorumEpoch) -> ErrorCode:
    if told.epoch < replica.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    own = told.leader_id == replica.config.key.id
    if told.leader_id < 0 or own or not _fits(replica, told.leader_id, told.epoch):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def _turn_ms(replica: Replica, preferred: tuple[ReplicaKey, ...]) -> int:
    """Return how long to leave the election to better successors: twice as long each place.

    The first does not wait, and who is not among them waits longest.
    """
    longest_ms = replica.config.election_backoff_max_ms
    for place, key in enumerate(preferred):
        if key.matches(replica.config.key):
            first_ms = longest_ms >> (len(preferred) - 1)
            return min(longest_ms, first_ms << (place - 1)) if place else 0
    return longest_ms if preferred else 0
