"""Changing who votes, one voter at a time (KIP-853): the leader's part, and the newcomer's.

    AddVoter ─▶ which versions? ─▶ has it caught up? ─┐
    RemoveVoter ──────────────────────────────────────┼─▶ voters record ─▶ committed: answered
    UpdateVoter ──────────────────────────────────────┘

A voters record is in force as soon as it is in a log, so two majorities can only disagree if one
change begins before the former is committed, or before the leader has committed something in its
own epoch (R-20).  Fixed by Kafka's AddVoterHandler, RemoveVoterHandler and UpdateVoterHandler:
the order of the checks decides which code comes back.
"""

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.raft import leading, news
from barnabas.raft.effects import Effect, Note, Reply
from barnabas.raft.events import Alarm
from barnabas.raft.messages import (
    AddVoter,
    ApiVersions,
    EpochAnswer,
    RemoveVoter,
    UpdateVoter,
    VersionsAnswer,
    VoterAnswer,
)
from barnabas.raft.progress import Change
from barnabas.raft.replica import Replica
from barnabas.raft.states import Follower
from barnabas.raft.voters import Voter, VoterSet


def _not_now(replica: Replica) -> VoterAnswer | None:
    """Say why the voters cannot be changed now, if so."""
    leader, voters = replica.leadership, replica.voters
    if leader.change is not None:
        why = "an earlier change of the voters is under way"
        return VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, why)
    if leader.high_watermark is None:
        why = "the leader has committed nothing in its epoch yet"
        return VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, why)
    if not voters.reconfigurable:
        why = f"kraft.version {voters.version} knows only configured voters"
        return VoterAnswer(ErrorCode.UNSUPPORTED_VERSION, why)
    if voters.current_offset >= leader.high_watermark:
        why = f"the voters at {voters.current_offset} are not committed yet"
        return VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, why)
    return None


def _no_leader(replica: Replica) -> VoterAnswer | None:
    error = leading.leader_only(replica, replica.epoch)
    return None if error is ErrorCode.NONE else VoterAnswer(error, "this node does not lead")


# --- adding ----------------------------------------------------------------------------------


def add_asked(replica: Replica, token: int, add: AddVoter) -> list[Effect]:
    """Begin to add a voter: ask it what it can work with."""
    refused = _no_leader(replica) or _ill_formed(replica, add) or _not_now(replica)
    if refused is None and add.voter.id in replica.voters.current.ids:
        why = f"{add.voter.id} is a voter already, of {replica.voters.current.ids}"
        refused = VoterAnswer(ErrorCode.DUPLICATE_VOTER, why)
    if refused is not None:
        return [Reply(token, refused)]
    replica.leadership.change = Change(token, add)
    timer = replica.set(Alarm.CHANGE, replica.config.request_timeout_ms)
    return timer + replica.ask(add.endpoints, ApiVersions())


def _ill_formed(replica: Replica, add: AddVoter) -> VoterAnswer | None:
    if add.voter.id < 0 or add.voter.directory_id == ZERO_UUID:
        return VoterAnswer(ErrorCode.INVALID_REQUEST, f"{add.voter} is no voter's id and directory")
    if replica.address(add.endpoints) is None:
        why = f"no endpoint of listener {replica.config.listener} among {add.endpoints}"
        return VoterAnswer(ErrorCode.INVALID_REQUEST, why)
    return None


def versions_answered(replica: Replica, answer: VersionsAnswer, now_ms: int) -> list[Effect]:
    """Add the voter, if it can work with what the quorum works with and has caught up."""
    leader, voters = replica.leadership, replica.voters
    change = leader.change
    assert change is not None, "versions came for a change that has ended"
    add = change.question
    assert isinstance(add, AddVoter), f"versions came for {add}"
    low, high = answer.versions
    if answer.error is not ErrorCode.NONE:
        why = f"the new voter does not tell its versions: {answer.error.name}"
        return leading.settle(replica, VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, why))
    if not low <= voters.version <= high:
        why = f"{add.voter} knows kraft.version {low} to {high}, not {voters.version}"
        return leading.settle(replica, VoterAnswer(ErrorCode.INVALID_REQUEST, why))
    if not leader.is_caught_up(add.voter, now_ms):
        why = f"{add.voter} has not caught up yet"
        return leading.settle(replica, VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, why))
    more = voters.current.with_voter(Voter(add.voter, add.endpoints, answer.versions))
    effects = _change(replica, change, more)
    if not add.ack_when_committed:
        change.is_answered = True
        effects.append(Reply(change.token, VoterAnswer(ErrorCode.NONE)))
    return effects


def versions_missing(replica: Replica, why: str) -> list[Effect]:
    """Give up adding a voter that cannot be reached."""
    why = f"the new voter does not answer: {why}"
    return leading.settle(replica, VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, why))


def give_up(replica: Replica) -> list[Effect]:
    """Wait no longer for a change; its record, if there is one, stays and may be committed."""
    for question in replica.asking(ApiVersions):
        replica.forget(question)
    return leading.settle(replica, VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, "it takes too long"))


def _change(replica: Replica, change: Change, voters: VoterSet) -> list[Effect]:
    change.record_offset = replica.outline.end_offset
    return leading.append_voters(replica, voters)


# --- removing and updating -------------------------------------------------------------------


def remove_asked(replica: Replica, token: int, remove: RemoveVoter) -> list[Effect]:
    """Remove a voter, even the leader itself; never the last one."""
    refused = _no_leader(replica)
    if refused is None and (remove.voter.id < 0 or remove.voter.directory_id == ZERO_UUID):
        why = f"{remove.voter} is no voter's id and directory"
        refused = VoterAnswer(ErrorCode.INVALID_REQUEST, why)
    refused = refused or _not_now(replica)
    voters = replica.voters.current
    fewer = voters.without(remove.voter)
    if refused is None and len(fewer) in (0, len(voters)):
        why = f"{remove.voter} is not one of several voters {[str(v.key) for v in voters.voters]}"
        refused = VoterAnswer(ErrorCode.VOTER_NOT_FOUND, why)
    if refused is not None:
        return [Reply(token, refused)]
    change = replica.leadership.change = Change(token, remove)
    timer = replica.set(Alarm.CHANGE, replica.config.request_timeout_ms)
    return timer + _change(replica, change, fewer)


def update_asked(replica: Replica, token: int, update: UpdateVoter) -> list[Effect]:
    """Take down how a voter is reached now, and what it can work with."""
    error = _update_refused(replica, update)
    effects: list[Effect] = []
    if error is ErrorCode.NONE:
        effects = _update(replica, update.voter)
    return [*effects, Reply(token, EpochAnswer(replica.standing(error)))]


def _update_refused(replica: Replica, update: UpdateVoter) -> ErrorCode:
    error = leading.leader_only(replica, update.epoch)
    if error is not ErrorCode.NONE:
        return error
    key, (low, high) = update.voter.key, update.voter.versions
    nobody = key.id < 0 or key.directory_id == ZERO_UUID
    if nobody or replica.address(update.voter.endpoints) is None or not 0 <= low <= high:
        return ErrorCode.INVALID_REQUEST
    later = _not_now(replica)
    if later is not None and later.error is ErrorCode.REQUEST_TIMED_OUT:
        return later.error
    if not low <= replica.voters.version <= high:
        return ErrorCode.INVALID_REQUEST
    known = replica.voters.current.by_id(key.id)
    if known is None or not known.key.matches(key):
        return ErrorCode.VOTER_NOT_FOUND
    return ErrorCode.NONE


def _update(replica: Replica, voter: Voter) -> list[Effect]:
    leader, voters = replica.leadership, replica.voters.current
    effects = leading.hear(replica, voter.key)
    if not replica.voters.reconfigurable:
        # Configured voters are in no log; what they say is kept for an upgrade.
        leader.described = leader.described.with_voter(voter)
        return effects
    known = voters.by_id(voter.key.id)
    if known is not None and known.describes(voter):
        return effects
    return effects + leading.append_voters(replica, voters.with_voter(voter))


# --- introducing oneself ---------------------------------------------------------------------


def introduce(replica: Replica) -> list[Effect]:
    """Tell the leader how this controller is reached, or that it wants to vote (KIP-853)."""
    state, own, voters = replica.state, replica.config.voter, replica.voters
    assert isinstance(state, Follower), f"{state} introduces itself"
    effects = replica.set(Alarm.UPDATE_VOTER, replica.config.fetch_timeout_ms)
    if replica.is_stopping or replica.asking(UpdateVoter, AddVoter, RemoveVoter):
        return effects
    known = voters.current.by_id(own.key.id)
    if replica.is_voter:
        assert known is not None, f"{own.key} is a voter nobody knows"
        current = known.describes(own) if voters.reconfigurable else replica.following.is_introduced
        if current:
            return effects
        return effects + replica.ask(state.endpoints, UpdateVoter(replica.epoch, own))
    if not (replica.config.auto_join and voters.reconfigurable):
        return effects
    if known is not None:
        # Of this very node, with the disk that it had before.
        return effects + replica.ask(state.endpoints, RemoveVoter(known.key))
    timeout_ms = replica.config.request_timeout_ms
    add = AddVoter(own.key, own.endpoints, timeout_ms, False)
    return effects + replica.ask(state.endpoints, add)


def update_answered(replica: Replica, answer: EpochAnswer) -> list[Effect]:
    """Take note that the leader knows, or that it never will."""
    effects, counts = news.heed(replica, answer.standing)
    too_old = answer.standing.error is ErrorCode.UNSUPPORTED_VERSION
    if counts or (too_old and not replica.is_new):
        replica.following.is_introduced = True
    return effects


def change_answered(asked: AddVoter | RemoveVoter, answer: VoterAnswer) -> list[Effect]:
    """Tell what came of it; it is asked again as long as it is needed."""
    return [Note(f"the leader answers {asked}: {answer.error.name} {answer.why}".rstrip())]
