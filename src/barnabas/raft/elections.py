"""Asking for votes and giving them: Prospective, Candidate, and everybody who is asked.

    timeout ─▶ stand ─▶ Prospective ─ ask ─▶ count ─▶ Candidate ─ ask ─▶ count ─▶ Leader
                            └─▶ lose ─▶ the leader that was, or none

A pre-vote (KIP-996) asks "would you vote for me?" and changes nothing but hearts; a vote is
durable before it is told.  Fixed by Kafka's KafkaRaftClient.handleVoteRequest, EpochElection.java
and the canGrantVote of each state.
"""

from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.raft import news
from barnabas.raft.effects import Effect, Reply
from barnabas.raft.events import Alarm
from barnabas.raft.messages import Vote, VoteAnswer
from barnabas.raft.replica import Replica
from barnabas.raft.states import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
    endpoints_of,
    voted_in,
)
from barnabas.raft.voters import ReplicaKey

# Several times what an election takes where nothing is slow.
TURN_MS: Final = 50


def stand(replica: Replica) -> list[Effect]:
    """Ask whether an election would be won, in the epoch that is."""
    assert replica.is_voter, f"{replica.state} stands for election and is no voter"
    state = replica.state
    after = Prospective(replica.epoch, replica.leader_id, endpoints_of(state), voted_in(state))
    return replica.become(after)


def ask_votes(replica: Replica) -> list[Effect]:
    """Ask every voter that has not answered in this round, while it can be won."""
    ballot = replica.ballot
    if ballot.is_lost(replica.voters.current):
        return []
    asked = [vote.voter for vote in replica.asking(Vote)]
    pre_vote = isinstance(replica.state, Prospective)
    effects: list[Effect] = []
    for voter in replica.others:
        if not ballot.counted(voter.key.id) and voter.key not in asked:
            own, last = replica.config.key, replica.outline.last
            vote = Vote(own, voter.key, replica.epoch, last, pre_vote)
            effects += replica.ask(voter.endpoints, vote)
    return effects


def count(replica: Replica) -> list[Effect]:
    """Take the next step if a majority said yes, go back if it can no longer do so."""
    ballot, voters = replica.ballot, replica.voters.current
    match replica.state:
        case Prospective() if ballot.is_won(voters) and not replica.is_stopping:
            # While it yields, its turn comes by itself.
            return [] if ballot.yields else _campaign(replica)
        case Candidate(epoch) if ballot.is_won(voters) and not replica.is_stopping:
            return replica.become(Leader(epoch, replica.outline.end_offset))
        case Prospective() if ballot.is_lost(voters):
            return lose(replica)
        case _:
            # A candidate that has lost waits for its timeout: whoever won will be heard of.
            return []


def _campaign(replica: Replica) -> list[Effect]:
    """Raise the epoch and vote for oneself."""
    return replica.become(Candidate(replica.epoch + 1, replica.config.key))


def lose(replica: Replica) -> list[Effect]:
    """Go back to the leader that was, if there was one, or wait."""
    state = replica.state
    assert isinstance(state, Prospective), f"{state} loses no pre-vote"
    if state.leader_id is not None and replica.address(state.endpoints) is not None:
        after = Follower(state.epoch, state.leader_id, state.endpoints, state.voted)
        return replica.become(after)
    return replica.become(Unattached(state.epoch, state.leader_id, state.voted))


def vote_answered(replica: Replica, vote: Vote, answer: VoteAnswer) -> list[Effect]:
    """Count an answer; ask again if it was none."""
    error = answer.standing.error
    if error is ErrorCode.UNSUPPORTED_VERSION and vote.pre_vote and not replica.is_stopping:
        # Somebody knows no pre-votes: they are for the good of all or of nobody.
        return _campaign(replica)
    effects, counts = news.heed(replica, answer.standing)
    if not counts:
        return effects + replica.retry()
    votes = replica.ballot.granted if answer.granted else replica.ballot.refused
    votes[vote.voter.id] = None
    return effects + count(replica)


# --- being asked -----------------------------------------------------------------------------


def vote_asked(replica: Replica, token: int, vote: Vote) -> list[Effect]:
    """Vote, or say what one would vote; a higher epoch is taken on in either case.

    What is taken on is written down once, vote and all.
    """
    error = _refused(replica, vote)
    if error is not ErrorCode.NONE:
        return [Reply(token, VoteAnswer(replica.standing(error), False))]
    if not vote.voter.matches(replica.config.key):
        error = ErrorCode.INVALID_VOTER_KEY
    before = replica.state if vote.epoch == replica.epoch else Unattached(vote.epoch)
    granted = error is ErrorCode.NONE and _may_grant(replica, before, vote)
    after = _voting(before, vote.candidate) if granted and not vote.pre_vote else before
    effects = [] if after == replica.state else replica.become(after)
    if after != before:
        # Who is voted for has at least as good a chance: wait anew.
        effects += [*replica.cancel(Alarm.ELECTION), *replica.await_election()]
    effects.append(Reply(token, VoteAnswer(replica.standing(error), granted)))
    if error is ErrorCode.NONE and vote.pre_vote and isinstance(replica.state, Prospective):
        effects += _yield(replica, vote) if granted else _ask_anew(replica, vote.candidate)
    return effects


def _yield(replica: Replica, vote: Vote) -> list[Effect]:
    """Let somebody with a better claim go first, for a moment.

    1. the leader dies, and all followers had its last answer in the same millisecond;
    2. all stand for election at once, and each says yes to the others' pre-votes;
    3. without this each raises the epoch and votes for itself: nobody wins, and an election
       timeout passes before the next try.

    Only for a moment, since who asks may not hear the answers.
    """
    own = replica.outline.last.rank, -replica.config.key.id
    if (vote.last.rank, -vote.candidate.id) < own:
        return []
    replica.ballot.yields = True
    return replica.set(Alarm.TURN, TURN_MS)


def take_turn(replica: Replica) -> list[Effect]:
    """Go on after having let somebody else go first."""
    replica.ballot.yields = False
    return count(replica)


def _ask_anew(replica: Replica, candidate: ReplicaKey) -> list[Effect]:
    """Ask a voter again that has refused: now that it asks itself, it has lost its leader, too.

    1. the leader dies; 1 loses patience first, and 3, which has not lost it yet, refuses;
    2. 3 loses it, too, but has fewer records than 1, which refuses;
    3. neither would ask again before an election timeout, and then one for fetches.
    """
    if candidate.id not in replica.ballot.refused:
        return []
    del replica.ballot.refused[candidate.id]
    return ask_votes(replica)


def _refused(replica: Replica, vote: Vote) -> ErrorCode:
    last = vote.last
    # A candidate has raised its epoch, so no record can be of it; a prospective has not.
    ahead = last.epoch > vote.epoch if vote.pre_vote else last.epoch >= vote.epoch
    if last.end_offset < 0 or last.epoch < 0 or ahead:
        return ErrorCode.INVALID_REQUEST
    if vote.epoch < replica.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if vote.candidate.id < 0 or vote.candidate.id == replica.config.key.id:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def _may_grant(replica: Replica, state: State, vote: Vote) -> bool:
    """Tell whether a candidate gets the vote of who is in a state of its epoch (R-18, R-19)."""
    is_complete = vote.last.rank >= replica.outline.last.rank
    match state:
        case Unattached() | Prospective() | Candidate() | Resigned() if vote.pre_vote:
            return is_complete
        case Follower() if vote.pre_vote:
            # A leader that has answered lives, and is not to be disturbed.
            return is_complete and not replica.following.has_fetched
        case Unattached(_, leader_id, voted) | Prospective(_, leader_id, _, voted):
            if voted is not None:
                # It was given before, and the answer lost.
                return voted.matches(vote.candidate)
            return leader_id is None and is_complete
        case _:
            return False


def _voting(state: State, candidate: ReplicaKey) -> State:
    """Return the state of somebody who has given its vote, if it has not before."""
    match state:
        case Unattached(epoch, leader_id, voted=None):
            return Unattached(epoch, leader_id, candidate)
        case Prospective(epoch, leader_id, endpoints, voted=None):
            return Prospective(epoch, leader_id, endpoints, candidate)
        case _:
            return state
