"""Who leads, who may become what, whose vote counts.

R-01, R-03 to R-06, R-18, R-19, R-25 and R-27.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.raft.effects import Became, PersistElection, Reply
from barnabas.raft.events import Alarm, Answered, Asked, Event, Started, TimerFired
from barnabas.raft.messages import (
    BeginQuorumEpoch,
    EndQuorumEpoch,
    EpochAnswer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    SnapshotAnswer,
    Vote,
    VoteAnswer,
)
from barnabas.raft.states import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
)
from barnabas.raft.voters import ReplicaKey, VoterSet
from barnabas.sim.profiles.raft.disks import NO_VOTE, vote_on
from barnabas.sim.profiles.raft.ghost import Ghost
from barnabas.sim.profiles.raft.lives import Life, Oracle, Step, has_seat
from barnabas.sim.world import Violation


def voted(state: State) -> ReplicaKey | None:
    """Return whom a state has voted for; who leads or has led has no use for its vote."""
    match state:
        case Leader() | Resigned():
            return None
        case _:
            return state.voted


def votes_here(life: Life, voters: VoterSet) -> bool:
    """Tell whether a replica is a voter of a set: by its directory, where that is known."""
    return life.quorum.config.can_vote and has_seat(voters, life.key)


class ElectionSafety(Oracle):
    """R-01: in every epoch at most one node is said to lead, in memory, on disks, on the wire."""

    def __init__(self, ghost: Ghost) -> None:
        self._ghost: Final = ghost

    def opened(self, life: Life) -> None:
        vote = vote_on(life.home.disk, durable=False)
        if vote.leader_id is not None:
            self._ghost.lead(vote.epoch, vote.leader_id, f"quorum-state of {life}")

    def step(self, step: Step) -> None:
        for effect in step.effects:
            match effect:
                case Became(Leader(epoch=epoch)) | Became(Resigned(epoch=epoch)):
                    self._ghost.lead(epoch, step.life.key.id, f"{step.life}")
                case Became(Follower(epoch=epoch, leader_id=leader)):
                    self._ghost.lead(epoch, leader, f"{step.life}")
                case Became(Prospective(epoch=epoch, leader_id=int(leader))):
                    self._ghost.lead(epoch, leader, f"{step.life}")
                case Became(Unattached(epoch=epoch, leader_id=int(leader))):
                    self._ghost.lead(epoch, leader, f"{step.life}")
                case PersistElection(election) if election.leader_id is not None:
                    self._ghost.lead(election.epoch, election.leader_id, f"{step.life}")
                case Reply(
                    _,
                    VoteAnswer(standing=standing)
                    | EpochAnswer(standing=standing)
                    | FetchAnswer(standing=standing)
                    | SnapshotAnswer(standing=standing),
                ) if standing.leader_id is not None:
                    self._ghost.lead(
                        standing.epoch, standing.leader_id, f"an answer of {step.life}"
                    )
                case _:
                    pass


class EpochMonotonic(Oracle):
    """R-03: no replica's epoch goes back, in memory or on its disk, not even across a crash."""

    def opened(self, life: Life) -> None:
        found = vote_on(life.home.disk, durable=True).epoch
        if found < life.home.durable_epoch:
            story = f"{life}: epoch {life.home.durable_epoch} was durable, and now {found} is"
            raise Violation("R-03", story, "the disk forgot an epoch")
        if life.facts.epoch < vote_on(life.home.disk, durable=False).epoch:
            raise Violation("R-03", f"{life} starts in {life.facts.epoch}", "begins in the past")

    def changed(self, step: Step) -> None:
        for before, after in step.changes:
            if after.epoch < before.epoch:
                raise Violation(
                    "R-03", f"{step.life}: {after} after {before}", "an epoch went back"
                )


class NoVoteAmnesia(Oracle):
    """R-04: what keeps the epoch keeps the vote, unless it leads or has led and grants no more."""

    def changed(self, step: Step) -> None:
        for before, after in step.changes:
            if after.epoch != before.epoch or isinstance(after, Leader | Resigned):
                continue
            vote = voted(before)
            if isinstance(before, Leader | Resigned) or vote not in (None, voted(after)):
                story = f"{step.life}: {after} after {before}"
                raise Violation("R-04", story, "a vote was forgotten")


def legal(before: State, after: State) -> bool:
    """Tell whether one thing may follow another, by the table of the oracle book."""
    risen, same = after.epoch > before.epoch, after.epoch == before.epoch
    match before, after:
        case Unattached(), Unattached():
            return risen or (same and before.voted is None and after.voted is not None)
        case Unattached(), Prospective():
            return same
        case Unattached(), Follower():
            return risen or same
        case Prospective(), Candidate():
            return after.epoch == before.epoch + 1
        case Prospective(), Prospective():
            return same and before.voted is None and after.voted is not None
        case Prospective(), (Follower() | Unattached()):
            return risen or same
        case Candidate(), (Leader() | Prospective()):
            return same
        case Candidate(), Candidate():
            return risen
        case Candidate(), Follower():
            return risen or same
        case Candidate(), Unattached():
            return risen
        case Leader(), Resigned():
            return same
        case ((Leader() | Resigned()), (Unattached() | Follower())):
            return risen
        case Follower(), Prospective():
            return same
        case Follower(), Unattached():
            return risen
        case Follower(), Follower():
            # In the same epoch it may learn more of where its leader is.
            return risen or (same and before.leader_id == after.leader_id)
        case _:
            return False


class LegalTransition(Oracle):
    """R-05: only the transitions of table 1.3 happen."""

    def changed(self, step: Step) -> None:
        for before, after in step.changes:
            if not legal(before, after):
                place = f"{type(before).__name__} to {type(after).__name__}"
                raise Violation("R-05", f"{step.life}: {after} after {before}", place)
        told = step.changes[-1][1]
        if told != step.after.state:
            story = f"{step.life} is {step.after.state} and said that it became {told}"
            raise Violation("R-05", story, "became in silence")


class ValidRoles(Oracle):
    """R-06: who does not vote does not stand, and leads only until its removal is committed.

    Only a leader has appends that wait; an Unattached does not wait for records of anybody.
    """

    def step(self, step: Step) -> None:
        life, after = step.life, step.after
        if not votes_here(life, after.voters):
            if isinstance(after.state, Prospective | Candidate):
                story = f"{life} is {after.state} and no voter of {after.voters.ids}"
                raise Violation("R-06", story, "an observer stands")
            committed = after.voters_offset < (after.leading or 0)
            if isinstance(after.state, Leader) and committed:
                story = f"{life} leads, and its removal at {after.voters_offset} is committed"
                raise Violation("R-06", story, "an observer leads")
        if isinstance(after.state, Follower):
            return
        for ask in step.asks():
            waits = isinstance(ask.question, Fetch) and ask.question.max_wait_ms > 0
            if waits or isinstance(ask.question, FetchSnapshot):
                story = f"{life} is {after.state} and asks {ask.question}"
                raise Violation("R-06", story, "follows nobody and waits for records")

    def finish(self, lives: Sequence[Life]) -> None:
        for life in lives:
            if life.quorum._commits and not isinstance(life.node.state, Leader):
                raise Violation("R-06", f"{life}: appends wait at a {life.node.state}", "they wait")


class VoteLogCheck(Oracle):
    """R-18: a vote or pre-vote goes to nobody who has less: the epoch first, then the end."""

    def step(self, step: Step) -> None:
        match step.event:
            case Asked(token, Vote() as vote):
                pass
            case _:
                return
        own = step.before.last_epoch, step.before.end
        for effect in step.effects:
            match effect:
                case Reply(answered, VoteAnswer(granted=True)) if answered == token:
                    if vote.last.rank < own or vote.last.epoch > vote.epoch:
                        story = f"{step.life} has {own} and grants {vote}"
                        raise Violation("R-18", story, "a vote for less")
                case _:
                    pass


def epoch_told(event: Event) -> int:
    """Return the highest epoch that an event tells of; -1 if it tells of none."""
    match event:
        case Asked(
            _, Vote(epoch=epoch) | BeginQuorumEpoch(epoch=epoch) | EndQuorumEpoch(epoch=epoch)
        ):
            return epoch
        case Answered(
            _,
            VoteAnswer(standing=standing)
            | EpochAnswer(standing=standing)
            | FetchAnswer(standing=standing)
            | SnapshotAnswer(standing=standing),
        ):
            return standing.epoch
        case _:
            return -1


@dataclass(slots=True)
class Round:
    """The votes of one round of one candidate."""

    stint: int
    granted: dict[int, None] = field(default_factory=dict)
    unsupported: bool = False


class PreVoteIsHarmless(Oracle):
    """R-19: a pre-vote in one's own epoch changes nothing that is durable.

    It is refused by a leader, and by a follower that has fetched since it follows its leader, until
    its patience with that leader is at an end.
    Nobody raises its epoch by itself but a Prospective that a majority would elect, and a Resigned
    whose time is over; and nobody leads without the votes of a majority (R-23: of these very
    directories).
    """

    def __init__(self) -> None:
        self._rounds: Final[dict[Life, Round]] = {}
        self._fetched: Final[dict[Life, int]] = {}

    def step(self, step: Step) -> None:
        match step.event:
            case Asked(token, Vote(pre_vote=True) as vote):
                self._asked(step, token, vote)
            case Answered(_, FetchAnswer(standing=standing)):
                self._note_fetch(step, standing.error)
            case Answered(_, VoteAnswer() as answer):
                self._note_vote(step, answer)
            case TimerFired(Alarm.FETCH):
                self._fetched.pop(step.life, None)
            case _:
                pass

    def _asked(self, step: Step, token: int, vote: Vote) -> None:
        before, after = step.before.state, step.after.state
        if vote.epoch == before.epoch and before != after:
            story = f"{step.life}: {after} after {before}, because of {vote}"
            raise Violation("R-19", story, "a pre-vote that was felt")
        match before:
            case Leader():
                has_leader = before.epoch == vote.epoch
            case Follower(epoch):
                # Who comes back to a leader that it had given up has to hear of it again.
                has_leader = self._fetched.get(step.life) == step.stint and epoch == vote.epoch
            case _:
                has_leader = False
        for effect in step.effects:
            match effect:
                case Reply(answered, VoteAnswer(granted=True)) if answered == token and has_leader:
                    story = f"{step.life} is {before}, whose leader answers, and grants {vote}"
                    raise Violation("R-19", story, "a pre-vote against a live leader")
                case _:
                    pass

    def _note_fetch(self, step: Step, error: ErrorCode) -> None:
        asked = step.answered
        if asked is None or asked.stint != step.stint or error is not ErrorCode.NONE:
            return
        if isinstance(step.before.state, Follower) and isinstance(asked.question, Fetch):
            self._fetched[step.life] = step.stint

    def _note_vote(self, step: Step, answer: VoteAnswer) -> None:
        asked = step.answered
        if asked is None or not isinstance(asked.question, Vote) or asked.stint != step.stint:
            return
        round_ = self._rounds.get(step.life)
        if round_ is None or round_.stint != step.stint:
            round_ = self._rounds[step.life] = Round(step.stint)
        standing = answer.standing
        if answer.granted and standing.error is ErrorCode.NONE:
            round_.granted[asked.question.voter.id] = None
        if standing.error is ErrorCode.UNSUPPORTED_VERSION:
            round_.unsupported = True

    def changed(self, step: Step) -> None:
        for before, after in step.changes:
            match before, after:
                case (Prospective(), Candidate()) | (Candidate(), Leader()):
                    self._check_majority(step, before, after)
                case _ if after.epoch > max(before.epoch, epoch_told(step.event)):
                    self._check_rise(step, before, after)
                case _:
                    pass

    def _check_rise(self, step: Step, before: State, after: State) -> None:
        timely = step.event == TimerFired(Alarm.ELECTION) or isinstance(step.event, Started)
        # Told of an epoch that it has led with another disk, it goes on to the next.
        told_of_oneself = epoch_told(step.event) == after.epoch - 1
        if not (isinstance(before, Resigned) and timely) and not told_of_oneself:
            story = f"{step.life}: {after} after {before}, because of {step.event}"
            raise Violation("R-19", story, "an epoch that nobody asked for")

    def _check_majority(self, step: Step, before: State, after: State) -> None:
        round_ = self._rounds.get(step.life)
        granted = {step.life.key.id: None}
        if round_ is not None and round_.stint == step.stint:
            granted |= round_.granted
            if round_.unsupported and isinstance(after, Candidate):
                return
        voters = step.before.voters
        if len([each for each in granted if each in voters.ids]) < voters.majority:
            story = f"{step.life}: {after} after {before} with {list(granted)} of {voters.ids}"
            raise Violation("R-19", story, "elected without a majority")


class NoLeaderAfterRestart(Oracle):
    """R-25: nobody comes back as a leader; who led the epoch of its disk comes back as resigned."""

    def opened(self, life: Life) -> None:
        state, vote = life.facts.state, vote_on(life.home.disk, durable=False)
        if isinstance(state, Leader):
            raise Violation("R-25", f"{life} comes back as {state}", "a leader comes back")
        led = vote.leader_id == life.key.id and vote != NO_VOTE
        if led and state.epoch == vote.epoch and not isinstance(state, Resigned):
            raise Violation("R-25", f"{life} led {vote.epoch} and comes back as {state}", "goes on")


@dataclass(slots=True)
class Watch:
    """Who was heard by one leader since a majority was."""

    state: State
    since_ms: int
    heard: dict[int, None] = field(default_factory=dict)
    late_steps: int = 0


# A leader that is late by its own clock may still have its timer before it.
LATE_MS: Final = 200
LATE_STEPS: Final = 20


class CheckQuorum(Oracle):
    """R-27: no leader goes on without a majority's fetches for 1.5 fetch timeouts of its clock."""

    def __init__(self) -> None:
        self._watches: Final[dict[Life, Watch]] = {}

    def step(self, step: Step) -> None:
        life, state = step.life, step.after.state
        if not isinstance(state, Leader):
            self._watches.pop(life, None)
            return
        watch = self._watches.get(life)
        voters = step.after.voters
        if watch is None or watch.state != state or voters is not step.before.voters:
            watch = self._watches[life] = Watch(state, step.at_ms)
        needed = voters.majority - (1 if votes_here(life, voters) else 0)
        if needed <= 0:
            watch.since_ms = step.at_ms
            return
        match step.event:
            case Asked(_, Fetch(replica=replica, epoch=epoch)):
                self._hear(watch, replica, epoch, voters, needed, step.at_ms)
            case Asked(_, FetchSnapshot(replica=replica, epoch=epoch)):
                self._hear(watch, replica, epoch, voters, needed, step.at_ms)
            case _:
                pass
        limit_ms = life.quorum.config.fetch_timeout_ms * 3 // 2
        if step.at_ms - watch.since_ms <= limit_ms + LATE_MS:
            watch.late_steps = 0
            return
        watch.late_steps += 1
        if watch.late_steps > LATE_STEPS:
            silent_ms = step.at_ms - watch.since_ms
            story = (
                f"{life} leads {state.epoch} after {silent_ms} ms without {needed} of {voters.ids}"
            )
            raise Violation("R-27", story, "leads alone")

    def _hear(
        self,
        watch: Watch,
        replica: ReplicaKey,
        epoch: int,
        voters: VoterSet,
        needed: int,
        at_ms: int,
    ) -> None:
        if epoch == watch.state.epoch and has_seat(voters, replica):
            watch.heard[replica.id] = None
        if len(watch.heard) >= needed:
            watch.heard.clear()
            watch.since_ms = at_ms
