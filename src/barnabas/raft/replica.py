"""One replica's memory, and the few ways in which it changes whatever the role is.

    durable      Election (quorum-state) · Outline and History (the log)
    volatile     the state · flushed offset · high watermark · what was asked · which timers are set
    of the role  Ballot · Following · Leadership · Farewell

The parts of the machine (``elections``, ``following``, ``leading``, ``changes``) are functions on
this memory that return effects.  None of them begins a role: ``become`` says what the replica is
now and drops what belonged to its former role, and when the event that led there is dealt with,
``node`` enters the new one.  So no part calls another one back, and the answer to a question
leaves before the questions of the role that it led to.
"""

from typing import Final, TypeAlias, TypeVar

from barnabas.model.errors import ErrorCode
from barnabas.raft.config import RaftConfig
from barnabas.raft.duties import Ballot, Farewell, Following
from barnabas.raft.effects import (
    Ask,
    Became,
    CancelTimer,
    Effect,
    Flush,
    HighWatermark,
    PersistElection,
    Reply,
    SetTimer,
)
from barnabas.raft.events import Alarm, Patience
from barnabas.raft.messages import NO_BATCHES, FetchAnswer, Question, Standing, VoterAnswer
from barnabas.raft.outline import Outline
from barnabas.raft.progress import Leadership
from barnabas.raft.states import (
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
    check,
    election_of,
    endpoints_of,
    leader_of,
)
from barnabas.raft.voters import Endpoints, History, Voter
from barnabas.runtime.network import Address

Duty: TypeAlias = Ballot | Following | Leadership | Farewell | None

QuestionT = TypeVar("QuestionT", bound=Question)

NO_OFFSET: Final = -1


class Contradiction(Exception):  # noqa: N818 -- says what it is, as Refused and CorruptLog do
    """The quorum denies what this replica knows to be committed: disks of a majority lied."""


class Replica:
    """What one replica knows.  The parts of the machine write it, in ``step`` alone."""

    def __init__(
        self,
        config: RaftConfig,
        election: Election | None,
        outline: Outline,
        voters: History,
    ) -> None:
        self.config: Final = config
        self.outline: Final = outline
        self.voters: Final = voters
        self.flushed_offset = outline.start_offset
        """Below it everything is on the disk; what a killed process left in the page cache may
        not be, so a restart believes in nothing but its snapshot until it has flushed."""
        self.cuts = 0
        """How often the log was cut or replaced: what tells an old flush from a new one."""
        latest = outline.latest_snapshot
        self.high_watermark = 0 if latest is None else latest.end_offset
        """Below it everything is known to be committed; it never goes back."""
        self.is_foreign = False
        """Whether who was asked last is of another cluster."""
        self.is_stopping = False
        self.is_installing = False
        """Whether a snapshot is taking the place of the log at this very moment."""
        self.is_new = True
        """Whether the role has been taken on but not begun."""
        self._persisted = election
        self._state = self._first_state(election or Election(0))
        self._duty: Duty = self._duty_of(self._state, None)
        self._asked: Final[dict[int, Question]] = {}
        self._next_request = 0
        self._timers: Final[dict[Alarm, None]] = {}
        self._next_place = 0

    def _first_state(self, election: Election) -> State:
        """Return what a replica is that comes back: never a leader, never a candidate (R-25).

        A candidate of an earlier life may have been granted votes on records that were not on its
        disk yet; asking for them again, with the log that is left, could elect a leader that
        lacks what is committed.  It keeps its vote and waits for another epoch.
        """
        epoch, leader_id, voted = election.epoch, election.leader_id, election.voted
        if epoch < self.outline.last_epoch:
            # The epoch that was lost had a leader, since there are records of it.  Nobody else
            # can be elected in it with our vote: a candidate's log ends in an earlier epoch, and
            # ours does not.
            return Unattached(self.outline.last_epoch)
        if leader_id == self.config.key.id:
            # Records that were not flushed may be gone; their offsets must not be given out
            # again in this epoch.
            return Resigned(epoch)
        if leader_id is not None:
            leader = self.voters.current.by_id(leader_id)
            if leader is not None and self.address(leader.endpoints) is not None:
                return Follower(epoch, leader_id, leader.endpoints, voted)
        return Unattached(epoch, leader_id, voted)

    # --- what it is ------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The role, and what is true only in it."""
        return self._state

    @property
    def epoch(self) -> int:
        """The epoch it is in."""
        return self._state.epoch

    @property
    def leader_id(self) -> int | None:
        """The leader it knows of, itself included, be it only by its name."""
        return leader_of(self._state, self.config.key.id)

    @property
    def is_voter(self) -> bool:
        """Whether it votes, as far as its own log says."""
        return self.config.can_vote and self.voters.current.contains(self.config.key)

    @property
    def others(self) -> tuple[Voter, ...]:
        """The voters that it is not."""
        return self.voters.current.others(self.config.key)

    @property
    def is_only_voter(self) -> bool:
        """Whether it needs nobody."""
        return self.is_voter and not self.others

    @property
    def is_flushed(self) -> bool:
        """Whether the whole log is on the disk."""
        return self.flushed_offset == self.outline.end_offset

    @property
    def leading(self) -> Leadership | None:
        """What it knows of everybody else, while it leads."""
        return self._duty if isinstance(self._duty, Leadership) else None

    @property
    def leadership(self) -> Leadership:
        """The same, where there is no doubt that it leads."""
        assert isinstance(self._duty, Leadership), f"{self._state} leads nobody"
        return self._duty

    @property
    def following(self) -> Following:
        """What it has from its leader."""
        assert isinstance(self._duty, Following), f"{self._state} follows nobody"
        return self._duty

    @property
    def ballot(self) -> Ballot:
        """The votes of this round."""
        assert isinstance(self._duty, Ballot), f"{self._state} counts no votes"
        return self._duty

    @property
    def farewell(self) -> Farewell:
        """Who has heard that it leads no more."""
        assert isinstance(self._duty, Farewell), f"{self._state} says no goodbye"
        return self._duty

    def standing(self, error: ErrorCode = ErrorCode.NONE) -> Standing:
        """Return what every answer says: an error or none, the epoch, the leader."""
        leader_id = self.leader_id
        own = leader_id == self.config.key.id
        endpoints = self.config.endpoints if own else endpoints_of(self._state)
        return Standing(error, self.epoch, leader_id, endpoints)

    # --- becoming something else -----------------------------------------------------------------

    def persist(self) -> list[Effect]:
        """Make durable what must not be forgotten, if it has changed."""
        election = election_of(self._state, self.config.key.id)
        if election == self._persisted:
            return []
        self._persisted = election
        return [PersistElection(election)]

    def become(self, after: State) -> list[Effect]:
        """Change role, epoch, vote or what is known of the leader: the only place where it is done.

        A new role or epoch forgets what was asked, what waits and what was set: whatever comes of
        it was meant for somebody else (R-16).
        """
        before, left = self._state, self._duty
        check(before, after, self.config.key.id)
        waits = self._keeps_waiting(before, after)
        self._state = after
        effects: list[Effect] = [*self.persist(), Became(after)]
        if type(before) is type(after) and before.epoch == after.epoch:
            return effects
        self._duty = self._duty_of(after, left)
        self._asked.clear()
        self.is_new = True
        if isinstance(left, Leadership):
            effects += self._let_go(left)
        for alarm in list(self._timers):
            if not (waits and alarm is Alarm.ELECTION):
                effects += self.cancel(alarm)
        return effects

    def _keeps_waiting(self, before: State, after: State) -> bool:
        """Tell whether an election timeout goes on although the role changes.

        Otherwise a replica that raises the epoch again and again would keep all others from ever
        standing for election.
        """
        if not isinstance(after, Unattached):
            return False
        if isinstance(before, Prospective):
            return not self.ballot.is_lost(self.voters.current)
        return isinstance(before, Unattached | Candidate | Resigned)

    def _duty_of(self, state: State, left: Duty) -> Duty:
        """Return what a role has to keep in mind, given what the former one had."""
        match state, left:
            case Unattached(), _:
                return None
            case Follower(), _:
                return Following()
            case ((Prospective() | Candidate()), _):
                return Ballot.of(self.config.key)
            case Leader(epoch, start_offset), Ballot(granted):
                voters = self.voters.current.with_voter(self.config.voter)
                return Leadership(epoch, start_offset, tuple(sorted(granted)), voters)
            case Resigned(), Leadership() as leading:
                return Farewell(leading.successors(self.voters.current, self.config.key))
            case Resigned(), _:
                return Farewell()
            case _:
                raise AssertionError(f"{state} after {left}: nobody has voted")

    def _let_go(self, left: Leadership) -> list[Effect]:
        """Answer everybody who waited for the leader of an epoch that is over."""
        standing = self.standing(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        effects: list[Effect] = []
        for token in left.parked:
            effects.append(CancelTimer(Patience(token)))
            effects.append(Reply(token, FetchAnswer(standing, NO_OFFSET, NO_BATCHES)))
        if left.change is not None and not left.change.is_answered:
            why = "the leader resigned; the change may have been made, and may still be"
            effects.append(Reply(left.change.token, VoterAnswer(standing.error, why)))
        return effects

    # --- the log ---------------------------------------------------------------------------------

    def flush(self) -> list[Effect]:
        """Make durable what was appended, and learn when it is."""
        return [Flush(self.cuts)]

    def flushed(self, cuts: int, end_offset: int) -> bool:
        """Learn that a flush is done; tell whether that was news.

        Of a log that was cut meanwhile it says nothing: other records may stand there by now.
        """
        if cuts != self.cuts or end_offset <= self.flushed_offset:
            return False
        assert end_offset <= self.outline.end_offset, f"flushed to {end_offset}, behind the end"
        self.flushed_offset = end_offset
        return True

    def raise_high_watermark(self, offset: int) -> list[Effect]:
        """Learn that everything below an offset is committed."""
        if offset <= self.high_watermark:
            return []
        assert offset <= self.outline.end_offset, f"committed {offset}, behind the end"
        self.high_watermark = offset
        return [HighWatermark(offset)]

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, endpoints: Endpoints, question: Question) -> list[Effect]:
        """Ask who is at one of these endpoints, if the replicas' listener is among them."""
        to = self.address(endpoints)
        return [] if to is None else self.ask_at(to, question)

    def ask_at(self, to: Address, question: Question) -> list[Effect]:
        """Ask whoever is at an address."""
        request = self._next_request
        self._next_request += 1
        self._asked[request] = question
        return [Ask(request, to, question)]

    def asking(self, *kinds: type[QuestionT]) -> list[QuestionT]:
        """Return the questions of some kinds that are not answered yet."""
        return [question for question in self._asked.values() if isinstance(question, kinds)]

    def answered(self, request: int) -> Question | None:
        """Return what was asked, once: None if it does not matter any more (R-16)."""
        return self._asked.pop(request, None)

    def forget(self, question: Question) -> None:
        """Take no answer to a question any more."""
        for request, asked in list(self._asked.items()):
            if asked is question:
                del self._asked[request]

    def address(self, endpoints: Endpoints) -> Address | None:
        """Return where the replicas' listener is, if it is among these."""
        for endpoint in endpoints:
            if endpoint.listener == self.config.listener:
                return endpoint.address
        return None

    def somebody(self, but: Address | None = None) -> Address | None:
        """Return whom to ask when no leader answers: everybody else in turn."""
        known = (self.address(voter.endpoints) for voter in self.others)
        useless = (None, but, self.address(self.config.endpoints))
        places = list(dict.fromkeys((*self.config.bootstrap, *known)))
        places = [place for place in places if place not in useless]
        if not places:
            return None
        self._next_place = (self._next_place + 1) % len(places)
        return places[self._next_place]

    # --- timers ----------------------------------------------------------------------------------

    def set(self, alarm: Alarm, after_ms: int, spread_ms: int = 0) -> list[Effect]:
        """Set a timer, instead of the one that was set."""
        self._timers[alarm] = None
        return [SetTimer(alarm, after_ms, spread_ms)]

    def is_set(self, alarm: Alarm) -> bool:
        """Tell whether a timer is set."""
        return alarm in self._timers

    def cancel(self, alarm: Alarm) -> list[Effect]:
        """Cancel a timer if it is set."""
        if alarm not in self._timers:
            return []
        del self._timers[alarm]
        return [CancelTimer(alarm)]

    def fired(self, alarm: Alarm) -> bool:
        """Learn that a timer has come; tell whether it was expected."""
        if alarm not in self._timers:
            return False
        del self._timers[alarm]
        return True

    def await_election(self) -> list[Effect]:
        """Wait for an election timeout, unless one is awaited already.

        Who does not vote has no use for it (R-06), but to leave an epoch that it has led.
        """
        waits = self.is_voter or isinstance(self._state, Resigned)
        if self.is_stopping or not waits:
            return self.cancel(Alarm.ELECTION)
        if self.is_set(Alarm.ELECTION):
            return []
        timeout_ms = self.config.election_timeout_ms
        return self.set(Alarm.ELECTION, timeout_ms, timeout_ms)

    def retry(self) -> list[Effect]:
        """Ask again, a little later, whatever the role asks of others."""
        if self.is_new or self.is_set(Alarm.RETRY):
            return []
        backoff_ms = self.config.retry_backoff_ms
        return self.set(Alarm.RETRY, backoff_ms, backoff_ms)
