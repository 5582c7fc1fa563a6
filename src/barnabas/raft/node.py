"""One replica of the quorum's log: who leads, what is committed, who may vote.

Everything that is decided is decided here, in ``step``, from one event and the time: elections and
pre-votes (KIP-595, KIP-996), replication by fetching, divergence, snapshots (KIP-630), voters that
come and go (KIP-853).  ``states`` draws the roles.  Nothing here does I/O: ``shell`` turns the
world into events and performs the effects, in order, before the next event.

Promises, and how they are kept:

- *Persist before send.*  ``_become`` puts ``PersistElection`` before whatever is said in a new
  epoch, and effects are performed in order.
- *Only what is on disks counts.*  A follower fetches from an offset only when everything below it
  is flushed, a leader counts itself up to what it has flushed itself (R-11).
- *An answer is believed only by who asked.*  Changing role or epoch forgets what was asked (R-16).
- *A leader decides nothing before its own epoch's first record is committed.*

Fixed by Kafka's KafkaRaftClient.java of 4.3; where we differ, docs/decisions tell.
"""

from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.raft.config import RaftConfig
from barnabas.raft.effects import (
    AppendFetched,
    AppendLeaderChange,
    AppendRecords,
    AppendVoters,
    Ask,
    Became,
    CancelTimer,
    CleanLog,
    Effect,
    Flush,
    HighWatermark,
    InstallSnapshot,
    Note,
    OpenSnapshot,
    PersistElection,
    Reply,
    SetTimer,
    StorePart,
    Truncate,
)
from barnabas.raft.events import (
    Alarm,
    Answered,
    AppendAsked,
    Asked,
    CleanAsked,
    Event,
    Flushed,
    Patience,
    ResignAsked,
    SnapshotInstalled,
    SnapshotRefused,
    SnapshotTaken,
    Started,
    StopAsked,
    TimerFired,
    Unanswered,
)
from barnabas.raft.messages import (
    NO_BATCHES,
    AddVoter,
    Answer,
    ApiVersions,
    Batches,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    EpochAnswer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
    Question,
    RemoveVoter,
    SnapshotAnswer,
    Standing,
    UpdateVoter,
    VersionsAnswer,
    Vote,
    VoteAnswer,
    VoterAnswer,
)
from barnabas.raft.outline import (
    BOOTSTRAP,
    Agrees,
    Diverges,
    NeedsSnapshot,
    Outline,
    SnapshotId,
)
from barnabas.raft.progress import Change, Leadership
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
    voted_in,
)
from barnabas.raft.voters import Endpoints, History, ReplicaKey, Voter, VoterSet
from barnabas.runtime.network import Address

NO_OFFSET: Final = -1


class Contradiction(Exception):  # noqa: N818 -- says what it is, as Refused and CorruptLog do
    """The quorum denies what this replica knows to be committed: disks of a majority lied."""


class RaftNode:
    """One replica.  Read what is public; only ``step`` writes it."""

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
        self.flushed_offset = outline.end_offset
        latest = outline.latest_snapshot
        self.high_watermark = 0 if latest is None else latest.end_offset
        """Below it everything is known to be committed; it never goes back."""
        self.leading: Leadership | None = None
        self._persisted: Election | None = election
        self.state: State = self._first_state(election)
        # What was asked and not answered, by number.
        self._asked: Final[dict[int, Question]] = {}
        self._next_request = 0
        self._granted: Final[dict[int, None]] = {}
        self._refused: Final[dict[int, None]] = {}
        # Voters that have heard of the end of our epoch.
        self._told: Final[dict[int, None]] = {}
        self._successors: tuple[ReplicaKey, ...] = ()
        # As a follower: whether the leader has answered, what of a snapshot is here, how often in
        # a row it has not answered, and whether it has been told how we are reached.
        self._has_fetched = False
        self._receiving: tuple[SnapshotId, int] | None = None
        self._installing = False
        self._strikes = 0
        self._introduced = False
        self._retry_set = False
        self._election_set = False
        self._next_bootstrap = 0
        self._stopping = False

    def _first_state(self, election: Election | None) -> State:
        """Return what a replica is that comes back: never a leader (R-25)."""
        last_epoch = self.outline.last_epoch
        if election is None:
            election = Election(0)
        if election.epoch < last_epoch:
            # A vote in the log's own epoch may have been given and forgotten; none can have been
            # given in the next one, since votes are durable before they are told.
            return Unattached(last_epoch + 1)
        epoch, leader_id, voted = election.epoch, election.leader_id, election.voted
        if leader_id == self.config.key.id:
            return Resigned(epoch)
        if voted == self.config.key and self.is_voter:
            return Candidate(epoch, voted)
        if leader_id is not None:
            leader = self.voters.current.by_id(leader_id)
            if leader is not None and leader.endpoints:
                return Follower(epoch, leader_id, leader.endpoints, voted)
        return Unattached(epoch, leader_id, voted)

    # --- what it is ------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The epoch it is in."""
        return self.state.epoch

    @property
    def is_voter(self) -> bool:
        """Whether it votes, as far as its own log says."""
        return self.config.can_vote and self.voters.current.contains(self.config.key)

    @property
    def leader_id(self) -> int | None:
        """The leader it knows of."""
        return leader_of(self.state, self.config.key.id)

    @property
    def others(self) -> tuple[Voter, ...]:
        """The voters that it is not."""
        return self.voters.current.others(self.config.key)

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to stop and nobody needs it any more."""
        match self.state:
            case Leader():
                return False
            case Resigned():
                return all(voter.key.id in self._told for voter in self.others)
            case _:
                return self._stopping

    @property
    def promised_offset(self) -> int | None:
        """Where the next records of the state machine will be, if it may append them now."""
        leading = self.leading
        if leading is None or leading.high_watermark is None:
            return None
        return self.outline.end_offset

    # --- one event -------------------------------------------------------------------------------

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Take one event; return what to do about it, in order."""
        match event:
            case Started():
                return self._start(now_ms)
            case TimerFired(timer):
                if isinstance(timer, Patience):
                    return self._lose_patience(timer.token)
                return self._alarmed(timer, now_ms)
            case Asked(token, question):
                return self._consider(token, question, now_ms)
            case Answered(request, answer):
                asked = self._asked.pop(request, None)
                return [] if asked is None else self._hear(asked, answer, now_ms)
            case Unanswered(request, why):
                asked = self._asked.pop(request, None)
                return [] if asked is None else self._miss(asked, why, now_ms)
            case AppendAsked(records):
                return self._append(records, now_ms)
            case Flushed(end_offset):
                return self._flushed(end_offset, now_ms)
            case SnapshotTaken(snapshot):
                self.outline.add_snapshot(snapshot)
                return []
            case SnapshotInstalled(snapshot, voters, version):
                return self._installed(snapshot, voters, version, now_ms)
            case SnapshotRefused(snapshot, why):
                self._receiving, self._installing = None, False
                return [Note(f"snapshot {snapshot} is of no use: {why}"), *self._retry()]
            case CleanAsked(first):
                self.outline.clean(first)
                return [CleanLog(first)]
            case ResignAsked(epoch):
                if isinstance(self.state, Leader) and self.state.epoch == epoch:
                    return self._resign("its state machine cannot go on", now_ms)
                return []
            case StopAsked():
                self._stopping = True
                if isinstance(self.state, Leader):
                    return self._resign("it was asked to stop", now_ms)
                return []

    def _start(self, now_ms: int) -> list[Effect]:
        effects = [*self._persist(), Became(self.state)]
        match self.state:
            case Resigned() if not self.others:
                return effects + self._become(Unattached(self.epoch + 1), now_ms)
            case Unattached() if self.is_voter and not self.others:
                return effects + self._stand(now_ms)
            case Candidate() if not self.others:
                return effects + self._lead(now_ms)
            case state:
                return effects + self._enter(state, now_ms)

    # --- roles -----------------------------------------------------------------------------------

    def _persist(self) -> list[Effect]:
        election = election_of(self.state, self.config.key.id)
        if election == self._persisted:
            return []
        self._persisted = election
        return [PersistElection(election)]

    def _become(self, after: State, now_ms: int) -> list[Effect]:
        """Change role or epoch: the only place where that happens."""
        before = self.state
        check(before, after)
        keeps_waiting = isinstance(after, Unattached) and (
            isinstance(before, Unattached | Candidate | Resigned)
            or (isinstance(before, Prospective) and not self._has_lost)
        )
        left = self.leading
        self.state, self.leading = after, None
        self._asked.clear()
        self._granted.clear()
        self._refused.clear()
        self._told.clear()
        effects = [*self._persist(), Became(after)]
        if left is not None:
            effects += self._let_go(left)
        match before:
            case Follower():
                effects += [CancelTimer(Alarm.FETCH), CancelTimer(Alarm.UPDATE_VOTER)]
                self._has_fetched, self._receiving, self._installing = False, None, False
                self._strikes, self._introduced = 0, False
            case Leader():
                for alarm in (Alarm.CHECK_QUORUM, Alarm.BEGIN_EPOCH, Alarm.CHANGE):
                    effects.append(CancelTimer(alarm))
            case _:
                pass
        if self._retry_set:
            self._retry_set = False
            effects.append(CancelTimer(Alarm.RETRY))
        if self._election_set and not keeps_waiting:
            self._election_set = False
            effects.append(CancelTimer(Alarm.ELECTION))
        return effects + self._enter(after, now_ms)

    def _enter(self, state: State, now_ms: int) -> list[Effect]:
        """Do what belongs to the beginning of a role."""
        match state:
            case Unattached():
                if self.is_voter and not self.others and not self._stopping:
                    return self._stand(now_ms)
                return self._await_election() + self._discover()
            case Follower():
                return [*self._await_leader(), *self._await_update(), *self._fetch()]
            case Prospective() | Candidate():
                self._granted[self.config.key.id] = None
                return self._await_election() + self._ask_votes() + self._count_votes(now_ms)
            case Leader():
                return []
            case Resigned():
                return self._await_election() + self._tell_end()

    def _await_election(self) -> list[Effect]:
        if self._election_set or not self.is_voter or self._stopping:
            return []
        self._election_set = True
        timeout_ms = self.config.election_timeout_ms
        return [SetTimer(Alarm.ELECTION, timeout_ms, timeout_ms)]

    def _await_leader(self) -> list[Effect]:
        if not self.is_voter:
            return []
        return [SetTimer(Alarm.FETCH, self.config.fetch_timeout_ms)]

    def _await_update(self) -> list[Effect]:
        if not self.config.can_vote:
            return []
        return [SetTimer(Alarm.UPDATE_VOTER, self.config.fetch_timeout_ms)]

    def _retry(self) -> list[Effect]:
        """Do again, a little later, what the role asks of others."""
        if self._retry_set:
            return []
        self._retry_set = True
        backoff_ms = self.config.retry_backoff_ms
        return [SetTimer(Alarm.RETRY, backoff_ms, backoff_ms)]

    def _alarmed(self, alarm: Alarm, now_ms: int) -> list[Effect]:
        match alarm, self.state:
            case Alarm.ELECTION, state:
                self._election_set = False
                return self._overdue(state, now_ms)
            case Alarm.FETCH, Follower() if self.is_voter and not self._stopping:
                return self._stand(now_ms)
            case Alarm.CHECK_QUORUM, Leader():
                return self._resign("too few voters have fetched for too long", now_ms)
            case Alarm.BEGIN_EPOCH, Leader():
                return self._announce(now_ms)
            case Alarm.CHANGE, Leader():
                return self._give_up_change(ErrorCode.REQUEST_TIMED_OUT, "it takes too long")
            case Alarm.UPDATE_VOTER, Follower():
                return [*self._await_update(), *self._introduce()]
            case Alarm.RETRY, state:
                self._retry_set = False
                return self._again(state)
            case _:
                # Its role has ended, but the timer had come already.
                return []

    def _overdue(self, state: State, now_ms: int) -> list[Effect]:
        """An election timeout has passed."""
        if not self.is_voter or self._stopping:
            return []
        match state:
            case Unattached():
                return self._stand(now_ms)
            case Prospective():
                return self._lose(state, now_ms)
            case Candidate():
                return self._stand(now_ms)
            case Resigned(epoch):
                return self._become(Unattached(epoch + 1), now_ms)
            case _:
                return []

    def _again(self, state: State) -> list[Effect]:
        match state:
            case Unattached():
                return self._discover()
            case Follower():
                return self._fetch()
            case Prospective() | Candidate():
                return self._ask_votes()
            case Resigned():
                return self._tell_end()
            case Leader():
                return []

    # --- elections -------------------------------------------------------------------------------

    @property
    def _has_lost(self) -> bool:
        """Whether a majority can no longer be had in this round."""
        voters = self.voters.current
        return len(voters) - len(self._refused) < voters.majority

    def _stand(self, now_ms: int) -> list[Effect]:
        """Ask whether an election would be won, in the epoch that is."""
        state = self.state
        voted = voted_in(state)
        after = Prospective(self.epoch, self.leader_id, endpoints_of(state), voted)
        return self._become(after, now_ms)

    def _ask_votes(self) -> list[Effect]:
        if self._has_lost:
            return []
        pre_vote = isinstance(self.state, Prospective)
        waiting = {ask.voter.id for ask in self._asked.values() if isinstance(ask, Vote)}
        effects: list[Effect] = []
        for voter in self.others:
            if voter.key.id not in (*self._granted, *self._refused, *waiting):
                last = self.outline.last
                vote = Vote(self.config.key, voter.key, self.epoch, last, pre_vote)
                effects += self._ask(self._address(voter.endpoints), vote)
        return effects

    def _count_votes(self, now_ms: int) -> list[Effect]:
        if len(self._granted) < self.voters.current.majority:
            return []
        match self.state:
            case Prospective(epoch):
                return self._become(Candidate(epoch + 1, self.config.key), now_ms)
            case Candidate():
                return self._lead(now_ms)
            case state:
                raise AssertionError(f"{state} counts votes")

    def _lose(self, state: Prospective, now_ms: int) -> list[Effect]:
        """Go back to the leader that was, if there was one, or wait."""
        if state.leader_id is not None and state.endpoints:
            after = Follower(state.epoch, state.leader_id, state.endpoints, state.voted)
            return self._become(after, now_ms)
        return self._become(Unattached(state.epoch, state.leader_id, state.voted), now_ms)

    def _may_grant(self, vote: Vote) -> bool:
        is_complete = vote.last.rank >= self.outline.last.rank
        match self.state:
            case Unattached(_, leader_id, voted) | Prospective(_, leader_id, _, voted):
                if vote.pre_vote:
                    return is_complete
                if voted is not None:
                    return voted.matches(vote.candidate)
                return leader_id is None and is_complete
            case Follower():
                return vote.pre_vote and not self._has_fetched and is_complete
            case Candidate() | Resigned():
                return vote.pre_vote and is_complete
            case Leader():
                return False

    def _vote_asked(self, token: int, vote: Vote, now_ms: int) -> list[Effect]:
        last = vote.last
        illegal = last.epoch > vote.epoch if vote.pre_vote else last.epoch >= vote.epoch
        if last.end_offset < 0 or last.epoch < 0 or illegal or vote.candidate.id < 0:
            return [Reply(token, VoteAnswer(self._standing(ErrorCode.INVALID_REQUEST), False))]
        if vote.epoch < self.epoch:
            standing = self._standing(ErrorCode.FENCED_LEADER_EPOCH)
            return [Reply(token, VoteAnswer(standing, False))]
        effects: list[Effect] = []
        if vote.epoch > self.epoch:
            effects += self._become(Unattached(vote.epoch), now_ms)
        if vote.epoch != self.epoch:
            # The only voter there is has elected itself on the way.
            standing = self._standing(ErrorCode.FENCED_LEADER_EPOCH)
            return [*effects, Reply(token, VoteAnswer(standing, False))]
        if not vote.voter.matches(self.config.key):
            standing = self._standing(ErrorCode.INVALID_VOTER_KEY)
            return [*effects, Reply(token, VoteAnswer(standing, False))]
        granted = self._may_grant(vote)
        if granted and not vote.pre_vote:
            effects += self._grant(vote.candidate)
        return [*effects, Reply(token, VoteAnswer(self._standing(), granted))]

    def _grant(self, candidate: ReplicaKey) -> list[Effect]:
        """Vote, and wait anew: who is voted for has at least as good a chance."""
        match self.state:
            case Unattached(epoch, leader_id, voted=None):
                after: State = Unattached(epoch, leader_id, candidate)
            case Prospective(epoch, leader_id, endpoints, voted=None):
                after = Prospective(epoch, leader_id, endpoints, candidate)
            case _:
                return []
        check(self.state, after)
        self.state, self._election_set = after, False
        return [*self._persist(), Became(after), *self._await_election()]

    def _vote_answered(self, vote: Vote, answer: VoteAnswer, now_ms: int) -> list[Effect]:
        code = answer.standing.error
        if code is ErrorCode.UNSUPPORTED_VERSION and isinstance(self.state, Prospective):
            # Somebody knows no pre-votes: they are for the good of all or of nobody.
            return self._become(Candidate(self.epoch + 1, self.config.key), now_ms)
        effects, is_done = self._heed(answer.standing, now_ms)
        if is_done:
            return effects
        if code is not ErrorCode.NONE:
            return self._retry()
        votes = self._granted if answer.granted else self._refused
        votes[vote.voter.id] = None
        if answer.granted:
            return self._count_votes(now_ms)
        if self._has_lost and isinstance(self.state, Prospective):
            return self._lose(self.state, now_ms)
        return []

    # --- leading ---------------------------------------------------------------------------------

    def _lead(self, now_ms: int) -> list[Effect]:
        """Begin an epoch of one's own, with its first record."""
        epoch, start = self.epoch, self.outline.end_offset
        granting = tuple(sorted(self._granted))
        effects = self._become(Leader(epoch, start), now_ms)
        self.leading = Leadership(epoch, start)
        effects += self._append_leader_change(granting)
        effects += [Flush(), *self._await_quorum()]
        return effects + self._announce(now_ms)

    def _append_leader_change(self, granting: tuple[int, ...]) -> list[Effect]:
        """Append the first batch of an epoch.

        Voters that came with a formatted directory are in nobody's log yet; the first leader puts
        them there, and the version that they need.
        """
        voters, base, count = self.voters, self.outline.end_offset, 1
        version, voter_set = None, None
        if voters.reconfigurable and voters.current_offset < 0:
            version, voter_set, count = voters.version, voters.current, 3
        effect = AppendLeaderChange(
            base, self.epoch, voters.current.ids, granting, version, voter_set
        )
        self.outline.append(base + count, self.epoch)
        if version is not None and voter_set is not None:
            voters.add_version(base + 1, version)
            voters.add_voters(base + 2, voter_set)
        return [effect]

    def _announce(self, now_ms: int) -> list[Effect]:
        """Tell the voters that do not fetch who leads, now and then again."""
        leading = self.leading
        assert leading is not None, f"{self.state} announces itself"
        period_ms = self.config.fetch_timeout_ms // 2
        effects: list[Effect] = [SetTimer(Alarm.BEGIN_EPOCH, period_ms)]
        asked = [ask.voter for ask in self._asked.values() if isinstance(ask, BeginQuorumEpoch)]
        for voter in self.others:
            progress = leading.of(voter)
            idle = progress is None or now_ms - progress.fetched_ms >= period_ms
            if idle and voter.key not in asked:
                begin = BeginQuorumEpoch(
                    self.config.key.id, self.epoch, self.config.endpoints, voter.key
                )
                effects += self._ask(self._address(voter.endpoints), begin)
        return effects

    def _await_quorum(self) -> list[Effect]:
        """Wait for a majority's fetches, unless nobody else is needed."""
        voters = self.voters.current
        if len(voters) == 1 and self.is_voter:
            return [CancelTimer(Alarm.CHECK_QUORUM)]
        return [SetTimer(Alarm.CHECK_QUORUM, self.config.check_quorum_ms)]

    def _hear_replica(self, replica: ReplicaKey) -> list[Effect]:
        leading = self.leading
        assert leading is not None, f"{self.state} hears {replica} fetch"
        if leading.hear(replica, self.voters.current, self.config.key):
            return self._await_quorum()
        return []

    def _resign(self, why: str, now_ms: int) -> list[Effect]:
        """Lead no longer, and say so to those who may follow."""
        leading = self.leading
        assert leading is not None, f"{self.state} resigns"
        self._successors = leading.successors(self.voters.current, self.config.key)
        effects: list[Effect] = [Note(f"resigns epoch {self.epoch}: {why}")]
        return effects + self._become(Resigned(self.epoch), now_ms)

    def _tell_end(self) -> list[Effect]:
        asked = {ask.voter.id for ask in self._asked.values() if isinstance(ask, EndQuorumEpoch)}
        own = self.config
        effects: list[Effect] = []
        for voter in self.others:
            if voter.key.id not in (*self._told, *asked):
                end = EndQuorumEpoch(
                    own.key.id, self.epoch, own.endpoints, self._successors, voter.key
                )
                effects += self._ask(self._address(voter.endpoints), end)
        return effects

    def _let_go(self, left: Leadership) -> list[Effect]:
        """Answer everybody who waited for the leader of an epoch that is over."""
        standing = self._standing(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        effects: list[Effect] = []
        for token in left.parked:
            effects.append(CancelTimer(Patience(token)))
            effects.append(Reply(token, FetchAnswer(standing, NO_OFFSET, NO_BATCHES)))
        if left.change is not None:
            why = "the leader resigned; the change may have been made"
            answer = VoterAnswer(ErrorCode.NOT_LEADER_OR_FOLLOWER, why)
            effects += self._answer_change(left.change, answer)
        return effects

    def _append(self, records: int, now_ms: int) -> list[Effect]:
        base = self.promised_offset
        assert base is not None, f"{self.state} was asked to append"
        assert records > 0, "an append of nothing"
        self.outline.append(base + records, self.epoch)
        return [AppendRecords(base, self.epoch), Flush(), *self._serve_parked()]

    def _flushed(self, end_offset: int, now_ms: int) -> list[Effect]:
        # A log that was cut meanwhile ends earlier than what was flushed.
        reached = min(end_offset, self.outline.end_offset)
        self.flushed_offset = max(self.flushed_offset, reached)
        match self.state:
            case Leader():
                return self._commit(now_ms)
            case Follower():
                return self._fetch()
            case _:
                return []

    def _commit(self, now_ms: int) -> list[Effect]:
        """Move the high watermark as far as a majority's disks allow."""
        leading = self.leading
        assert leading is not None, f"{self.state} commits"
        reached = leading.reached(self.voters.current, self.config.key, self.flushed_offset)
        if reached is None or reached <= (leading.high_watermark or 0):
            return []
        assert reached <= self.outline.end_offset, f"{reached} is behind the end"
        leading.high_watermark = reached
        effects = self._raise_high_watermark(reached)
        change = leading.change
        if (
            change is not None
            and change.record_offset is not None
            and change.record_offset < reached
        ):
            leading.change = None
            effects.append(CancelTimer(Alarm.CHANGE))
            effects += self._answer_change(change, VoterAnswer(ErrorCode.NONE))
        if not self.is_voter and self.voters.current_offset < reached:
            return effects + self._resign("it is no voter any more", now_ms)
        return effects + self._serve_parked()

    def _raise_high_watermark(self, offset: int) -> list[Effect]:
        if offset <= self.high_watermark:
            return []
        self.high_watermark = offset
        return [HighWatermark(offset)]

    # --- being fetched from ----------------------------------------------------------------------

    def _leader_only(self, epoch: int) -> ErrorCode:
        """Say why a question to a leader is refused, if it is."""
        if epoch < self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > self.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not isinstance(self.state, Leader):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def _fetch_asked(self, token: int, fetch: Fetch, now_ms: int) -> list[Effect]:
        sound = (
            fetch.max_wait_ms >= 0
            and fetch.offset >= 0
            and 0 <= fetch.last_epoch <= fetch.epoch
            and fetch.replica != self.config.key
        )
        error = self._leader_only(fetch.epoch) if sound else ErrorCode.INVALID_REQUEST
        if error is not ErrorCode.NONE:
            return [Reply(token, FetchAnswer(self._standing(error), NO_OFFSET, NO_BATCHES))]
        leading = self.leading
        assert leading is not None, f"{self.state} leads nothing"
        comparison = self.outline.compare(fetch.offset, fetch.last_epoch)
        if not isinstance(comparison, Agrees):
            return [Reply(token, FetchAnswer(self._standing(), self._exposed, comparison))]
        leading.fetched(fetch.replica, fetch.offset, self.outline.end_offset, now_ms)
        leading.forget_idle(self.voters.current, now_ms)
        effects = self._hear_replica(fetch.replica) + self._commit(now_ms)
        if self.leading is not leading:
            standing = self._standing(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            answer = FetchAnswer(standing, NO_OFFSET, NO_BATCHES)
            return [*effects, Reply(token, answer)]
        if self._has_news(fetch) or not fetch.max_wait_ms:
            return [*effects, Reply(token, self._lent(fetch))]
        leading.parked[token] = fetch
        return [*effects, SetTimer(Patience(token), fetch.max_wait_ms)]

    @property
    def _exposed(self) -> int:
        """The high watermark that this leader tells: it is no leader's before it has its own."""
        if self.leading is None or self.leading.high_watermark is None:
            return NO_OFFSET
        return self.leading.high_watermark

    def _has_news(self, fetch: Fetch) -> bool:
        return fetch.offset < self.outline.end_offset or fetch.high_watermark < self._exposed

    def _lent(self, fetch: Fetch) -> FetchAnswer:
        content = Lent(fetch.offset, self.outline.end_offset, fetch.max_bytes)
        return FetchAnswer(self._standing(), self._exposed, content)

    def _serve_parked(self) -> list[Effect]:
        leading = self.leading
        assert leading is not None, f"{self.state} serves nobody"
        served = [
            (token, fetch) for token, fetch in leading.parked.items() if self._has_news(fetch)
        ]
        effects: list[Effect] = []
        for token, fetch in served:
            del leading.parked[token]
            effects += [CancelTimer(Patience(token)), Reply(token, self._lent(fetch))]
        return effects

    def _lose_patience(self, token: int) -> list[Effect]:
        if self.leading is None or token not in self.leading.parked:
            return []
        return [Reply(token, self._lent(self.leading.parked.pop(token)))]

    def _snapshot_asked(self, token: int, fetch: FetchSnapshot) -> list[Effect]:
        error = self._leader_only(fetch.epoch)
        known = fetch.snapshot in self.outline.snapshots and fetch.snapshot != BOOTSTRAP
        if error is ErrorCode.NONE and not known:
            error = ErrorCode.SNAPSHOT_NOT_FOUND
        if error is ErrorCode.NONE and fetch.position < 0:
            error = ErrorCode.POSITION_OUT_OF_RANGE
        standing = self._standing(error)
        if error is not ErrorCode.NONE:
            answer = SnapshotAnswer(standing, fetch.snapshot, 0, fetch.position, b"")
            return [Reply(token, answer)]
        # How large it is, and whether the position is in it, is known to who reads it.
        lent = Lent(fetch.position, fetch.position, fetch.max_bytes)
        answer = SnapshotAnswer(standing, fetch.snapshot, 0, fetch.position, lent)
        return [*self._hear_replica(fetch.replica), Reply(token, answer)]

    # --- following -------------------------------------------------------------------------------

    def _begin_asked(self, token: int, begin: BeginQuorumEpoch, now_ms: int) -> list[Effect]:
        effects, error = self._follow_asked(begin.leader_id, begin.epoch, begin.endpoints, now_ms)
        if error is ErrorCode.NONE and not begin.voter.matches(self.config.key):
            error = ErrorCode.INVALID_VOTER_KEY
        return [*effects, Reply(token, EpochAnswer(self._standing(error)))]

    def _end_asked(self, token: int, end: EndQuorumEpoch, now_ms: int) -> list[Effect]:
        effects, error = self._follow_asked(end.leader_id, end.epoch, end.endpoints, now_ms)
        match self.state:
            case Follower(leader_id=leader) if error is ErrorCode.NONE and leader == end.leader_id:
                if self.is_voter:
                    after_ms = self._succession_ms(end.preferred)
                    effects.append(SetTimer(Alarm.FETCH, after_ms))
            case _:
                pass
        return [*effects, Reply(token, EpochAnswer(self._standing(error)))]

    def _succession_ms(self, preferred: tuple[ReplicaKey, ...]) -> int:
        """Return how long to leave the first place to better successors."""
        places = [at for at, key in enumerate(preferred) if key.matches(self.config.key)]
        place = places[0] if places else len(preferred)
        if place == 0:
            return 0
        longest_ms = self.config.election_backoff_max_ms
        base_ms = longest_ms >> max(0, len(preferred) - 1)
        return min(longest_ms, base_ms << (place - 1))

    def _follow_asked(
        self, leader_id: int, epoch: int, endpoints: Endpoints, now_ms: int
    ) -> tuple[list[Effect], ErrorCode]:
        if epoch < self.epoch:
            return [], ErrorCode.FENCED_LEADER_EPOCH
        if leader_id < 0 or leader_id == self.config.key.id or not self._fits(leader_id, epoch):
            return [], ErrorCode.INVALID_REQUEST
        return self._learn(leader_id, epoch, endpoints, now_ms), ErrorCode.NONE

    def _fits(self, leader_id: int, epoch: int) -> bool:
        """Tell whether somebody may lead an epoch, for all that is known here."""
        known = self.leader_id
        if epoch != self.epoch:
            return True
        return known is None or known == leader_id

    def _learn(
        self, leader_id: int | None, epoch: int, endpoints: Endpoints, now_ms: int
    ) -> list[Effect]:
        """Take the news of an epoch and its leader, if they are any."""
        if epoch < self.epoch:
            return []
        if leader_id is None:
            return self._become(Unattached(epoch), now_ms) if epoch > self.epoch else []
        if leader_id == self.config.key.id:
            # Of an epoch that this replica has led; or led in an earlier life and has forgotten.
            return self._become(Unattached(epoch + 1), now_ms) if epoch > self.epoch else []
        if not endpoints:
            leader = self.voters.current.by_id(leader_id)
            endpoints = () if leader is None else leader.endpoints
        if epoch > self.epoch:
            if not endpoints:
                return self._become(Unattached(epoch, leader_id), now_ms)
            return self._become(Follower(epoch, leader_id, endpoints), now_ms)
        voted = voted_in(self.state)
        match self.state:
            case Unattached() | Prospective(leader_id=None) | Candidate() if endpoints:
                return self._become(Follower(epoch, leader_id, endpoints, voted), now_ms)
            case Follower(endpoints=known) if len(endpoints) > len(known):
                return self._become(Follower(epoch, leader_id, endpoints, voted), now_ms)
            case _:
                return []

    def _heed(self, standing: Standing, now_ms: int) -> tuple[list[Effect], bool]:
        """Take what an answer says of epoch and leader; tell whether that settles the answer."""
        error, epoch = standing.error, standing.epoch
        if epoch < self.epoch or error is ErrorCode.UNKNOWN_LEADER_EPOCH:
            return self._retry(), True
        leader_id = standing.leader_id
        if leader_id is not None and not self._fits(leader_id, epoch):
            return [Note(f"told that {leader_id} leads epoch {epoch}: {self.state}")], True
        before = self.state
        effects = self._learn(leader_id, epoch, standing.endpoints, now_ms)
        if self.state is not before:
            return effects, True
        if error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER):
            return self._retry(), True
        return [], False

    def _discover(self) -> list[Effect]:
        """Ask somebody who leads."""
        asked = any(isinstance(ask, Fetch) for ask in self._asked.values())
        to = self._somebody()
        if asked or to is None or self._stopping:
            return []
        return self._ask(to, self._fetch_of(0))

    def _somebody(self) -> Address | None:
        """Return whom to ask when no leader answers: everybody in turn."""
        places = self.config.bootstrap or tuple(
            self._address(voter.endpoints) for voter in self.others if voter.endpoints
        )
        own = [endpoint.address for endpoint in self.config.endpoints]
        places = tuple(place for place in places if place not in own)
        if not places:
            return None
        self._next_bootstrap = (self._next_bootstrap + 1) % len(places)
        return places[self._next_bootstrap]

    def _fetch_of(self, max_wait_ms: int) -> Fetch:
        outline = self.outline
        return Fetch(
            self.config.key,
            self.epoch,
            outline.end_offset,
            outline.last_epoch,
            self.high_watermark,
            max_wait_ms,
            self.config.fetch_bytes_max,
        )

    def _fetch(self) -> list[Effect]:
        """Ask the leader for what comes next, when everything before is on the disk."""
        state = self.state
        assert isinstance(state, Follower), f"{state} fetches"
        busy = any(isinstance(ask, Fetch | FetchSnapshot) for ask in self._asked.values())
        unflushed = self.flushed_offset < self.outline.end_offset
        if busy or unflushed or self._retry_set or self._installing or self._stopping:
            return []
        if self._strikes % 2:
            # Every other time it does not answer, somebody else may know of a new one.
            elsewhere = self._somebody()
            if elsewhere is not None:
                return self._ask(elsewhere, self._fetch_of(0))
        to = self._address(state.endpoints)
        if self._receiving is None:
            return self._ask(to, self._fetch_of(self.config.fetch_wait_ms))
        snapshot, position = self._receiving
        size = self.config.fetch_bytes_max
        return self._ask(to, FetchSnapshot(self.config.key, self.epoch, snapshot, position, size))

    def _fetch_answered(self, fetch: Fetch, answer: FetchAnswer, now_ms: int) -> list[Effect]:
        effects, is_done = self._heed(answer.standing, now_ms)
        if is_done:
            return effects
        if answer.standing.error is not ErrorCode.NONE or not isinstance(self.state, Follower):
            self._strikes += 1
            return self._retry()
        if fetch.offset != self.outline.end_offset:
            return self._retry()
        self._strikes, self._has_fetched = 0, True
        effects = self._await_leader()
        match answer.content:
            case Diverges() as diverges:
                effects += self._cut(self.outline.cut_for(diverges))
            case NeedsSnapshot(snapshot):
                effects += self._receive(snapshot)
            case Batches() as batches:
                effects += self._take(batches)
                reached = min(answer.high_watermark, self.outline.end_offset)
                effects += self._raise_high_watermark(reached)
            case Lent():
                raise AssertionError("records that were lent came from the wire")
        return effects + self._fetch()

    def _cut(self, offset: int) -> list[Effect]:
        if offset < max(self.high_watermark, self.outline.start_offset):
            raise Contradiction(
                f"the leader of epoch {self.epoch} wants the log cut at {offset}, but everything "
                f"below {self.high_watermark} was committed: a majority of the voters has lost it"
            )
        self.outline.truncate(offset)
        self.voters.truncate(offset)
        self.flushed_offset = min(self.flushed_offset, offset)
        return [Truncate(offset)]

    def _take(self, batches: Batches) -> list[Effect]:
        if not batches.data:
            return []
        was_voter = self.is_voter
        for epoch, end_offset in batches.epochs:
            self.outline.append(end_offset, epoch)
        for offset, version in batches.versions:
            self.voters.add_version(offset, version)
        for offset, voters in batches.voters:
            self.voters.add_voters(offset, voters)
        effects: list[Effect] = [AppendFetched(batches.data, batches.end_offset, self.epoch)]
        if self.is_voter != was_voter:
            effects += self._await_leader() if self.is_voter else [CancelTimer(Alarm.FETCH)]
        return [*effects, Flush()]

    # --- receiving a snapshot --------------------------------------------------------------------

    def _receive(self, snapshot: SnapshotId) -> list[Effect]:
        if snapshot.end_offset < self.high_watermark or snapshot in self.outline.snapshots:
            return [Note(f"offered snapshot {snapshot}, which tells nothing new"), *self._retry()]
        self._receiving = snapshot, 0
        return [OpenSnapshot(snapshot)]

    def _part_answered(
        self, fetch: FetchSnapshot, answer: SnapshotAnswer, now_ms: int
    ) -> list[Effect]:
        effects, is_done = self._heed(answer.standing, now_ms)
        if is_done:
            return effects
        code = answer.standing.error
        if not isinstance(self.state, Follower) or self._receiving is None:
            return []
        if code in (ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE):
            # The leader has a newer one, or another file: begin again by asking for records.
            self._receiving = None
            return [*self._await_leader(), *self._fetch()]
        if code is not ErrorCode.NONE:
            self._strikes += 1
            return self._retry()
        assert isinstance(answer.data, bytes), "a part that was lent came from the wire"
        here = answer.snapshot == fetch.snapshot and answer.position == fetch.position
        end = answer.position + len(answer.data)
        if not here or not answer.data or end > answer.size_bytes:
            self._receiving = None
            return [
                Note(
                    f"asked for {fetch.snapshot} at {fetch.position}, got {answer.snapshot} at "
                    f"{answer.position} to {end} of {answer.size_bytes}"
                ),
                *self._retry(),
            ]
        self._strikes, self._has_fetched = 0, True
        self._receiving = fetch.snapshot, end
        effects = [*self._await_leader(), StorePart(fetch.snapshot, fetch.position, answer.data)]
        if end < answer.size_bytes:
            return effects + self._fetch()
        self._receiving, self._installing = None, True
        return [*effects, InstallSnapshot(fetch.snapshot)]

    def _installed(
        self, snapshot: SnapshotId, voters: VoterSet | None, version: int, now_ms: int
    ) -> list[Effect]:
        self.outline.restart(snapshot)
        self.voters.restart(snapshot.end_offset, voters, version)
        self.flushed_offset = snapshot.end_offset
        self._installing = False
        effects = self._raise_high_watermark(snapshot.end_offset)
        if isinstance(self.state, Follower):
            effects += [*self._await_leader(), *self._fetch()]
        return effects

    # --- changing the voters ---------------------------------------------------------------------

    def _change_refused(self) -> VoterAnswer | None:
        """Say why the voters cannot be changed now, if so (R-20)."""
        leading, voters = self.leading, self.voters
        if leading is None:
            return VoterAnswer(ErrorCode.NOT_LEADER_OR_FOLLOWER, "this node does not lead")
        if leading.change is not None:
            why = "an earlier change of the voters is under way"
            return VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, why)
        if leading.high_watermark is None:
            why = "the leader has committed nothing in its epoch yet"
            return VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, why)
        if not voters.reconfigurable:
            why = f"kraft.version {voters.version} knows only configured voters"
            return VoterAnswer(ErrorCode.UNSUPPORTED_VERSION, why)
        if voters.current_offset >= leading.high_watermark:
            why = f"the voters at {voters.current_offset} are not committed yet"
            return VoterAnswer(ErrorCode.REQUEST_TIMED_OUT, why)
        return None

    def _add_asked(self, token: int, add: AddVoter, now_ms: int) -> list[Effect]:
        refused = self._change_refused()
        if refused is None and self._endpoint(add.endpoints) is None:
            why = f"no endpoint of listener {self.config.listener}"
            refused = VoterAnswer(ErrorCode.INVALID_REQUEST, why)
        if refused is None and add.voter.id in self.voters.current.ids:
            why = f"{add.voter.id} is a voter already"
            refused = VoterAnswer(ErrorCode.DUPLICATE_VOTER, why)
        if refused is not None:
            return [Reply(token, refused)]
        leading = self.leading
        assert leading is not None, "refused unless it leads"
        leading.change = Change(token, add)
        timer = SetTimer(Alarm.CHANGE, max(add.timeout_ms, self.config.request_timeout_ms))
        return [timer, *self._ask(self._address(add.endpoints), ApiVersions())]

    def _versions_answered(self, answer: VersionsAnswer, now_ms: int) -> list[Effect]:
        leading = self.leading
        if leading is None or leading.change is None:
            return []
        add = leading.change.question
        if not isinstance(add, AddVoter) or leading.change.record_offset is not None:
            return []
        low, high = answer.versions
        if answer.error is not ErrorCode.NONE:
            why = f"the new voter does not tell its versions: {answer.error.name}"
            return self._give_up_change(ErrorCode.REQUEST_TIMED_OUT, why)
        if not low <= self.voters.version <= high:
            why = f"{add.voter} knows kraft.version {low} to {high}, not {self.voters.version}"
            return self._give_up_change(ErrorCode.INVALID_REQUEST, why)
        if not leading.is_caught_up(add.voter, now_ms):
            why = f"{add.voter} has not caught up yet"
            return self._give_up_change(ErrorCode.REQUEST_TIMED_OUT, why)
        voters = self.voters.current.with_voter(Voter(add.voter, add.endpoints, answer.versions))
        effects = self._change_voters(leading.change, voters)
        if not add.ack_when_committed:
            effects.append(Reply(leading.change.token, VoterAnswer(ErrorCode.NONE)))
        return effects

    def _remove_asked(self, token: int, remove: RemoveVoter, now_ms: int) -> list[Effect]:
        refused = self._change_refused()
        voters = self.voters.current
        if refused is None and (
            len(voters) == 1 or len(voters.without(remove.voter)) == len(voters)
        ):
            why = f"{remove.voter} is not among several voters"
            refused = VoterAnswer(ErrorCode.VOTER_NOT_FOUND, why)
        if refused is not None:
            return [Reply(token, refused)]
        leading = self.leading
        assert leading is not None, "refused unless it leads"
        leading.change = Change(token, remove)
        timer = SetTimer(Alarm.CHANGE, self.config.request_timeout_ms)
        effects = self._change_voters(leading.change, voters.without(remove.voter))
        return [timer, *effects]

    def _update_asked(self, token: int, update: UpdateVoter, now_ms: int) -> list[Effect]:
        error = self._leader_only(update.epoch)
        low, high = update.voter.versions
        known = self.voters.current.by_id(update.voter.key.id)
        effects: list[Effect] = []
        if error is ErrorCode.NONE:
            if (
                self._endpoint(update.voter.endpoints) is None
                or not low <= self.voters.version <= high
            ):
                error = ErrorCode.INVALID_REQUEST
            elif known is None or not known.key.matches(update.voter.key):
                error = ErrorCode.VOTER_NOT_FOUND
            elif self.voters.reconfigurable:
                refused = self._change_refused()
                error = ErrorCode.NONE if refused is None else refused.error
        if error is ErrorCode.NONE:
            effects = self._hear_replica(update.voter.key)
            # Configured voters are in no log: it is enough to have heard.
            if self.voters.reconfigurable and known != update.voter:
                effects += self._append_voters(self.voters.current.with_voter(update.voter))
        return [*effects, Reply(token, EpochAnswer(self._standing(error)))]

    def _change_voters(self, change: Change, voters: VoterSet) -> list[Effect]:
        change.record_offset = self.outline.end_offset
        return self._append_voters(voters)

    def _append_voters(self, voters: VoterSet) -> list[Effect]:
        base = self.outline.end_offset
        self.outline.append(base + 1, self.epoch)
        self.voters.add_voters(base, voters)
        effects: list[Effect] = [AppendVoters(base, self.epoch, voters), Flush()]
        return [*effects, *self._await_quorum(), *self._serve_parked()]

    def _give_up_change(self, error: ErrorCode, why: str) -> list[Effect]:
        leading = self.leading
        if leading is None or leading.change is None:
            return []
        change, leading.change = leading.change, None
        answer = self._answer_change(change, VoterAnswer(error, why))
        return [CancelTimer(Alarm.CHANGE), *answer]

    def _answer_change(self, change: Change, answer: VoterAnswer) -> list[Effect]:
        """Answer who asked for a change, unless that was done as soon as it was in the log."""
        question = change.question
        if (
            isinstance(question, AddVoter)
            and not question.ack_when_committed
            and change.record_offset is not None
        ):
            return []
        return [Reply(change.token, answer)]

    def _introduce(self) -> list[Effect]:
        """Tell the leader how this controller is reached, or that it wants to vote."""
        state = self.state
        assert isinstance(state, Follower), f"{state} introduces itself"
        voters, own = self.voters.current, self.config.voter
        if self._stopping:
            return []
        to = self._address(state.endpoints)
        if self.is_voter:
            if self.voters.reconfigurable:
                outdated = voters.by_id(own.key.id) != own
            else:
                outdated = not self._introduced
            return self._ask(to, UpdateVoter(self.epoch, own)) if outdated else []
        if not self.config.auto_join or not self.voters.reconfigurable:
            return []
        former = voters.by_id(own.key.id)
        if former is not None:
            # Of the same node, with the disk it had before.
            return self._ask(to, RemoveVoter(former.key))
        timeout_ms = self.config.request_timeout_ms
        return self._ask(to, AddVoter(own.key, own.endpoints, timeout_ms, False))

    # --- asking and answering --------------------------------------------------------------------

    def _ask(self, to: Address, question: Question) -> list[Effect]:
        request = self._next_request
        self._next_request += 1
        self._asked[request] = question
        return [Ask(request, to, question)]

    def _consider(self, token: int, question: Question, now_ms: int) -> list[Effect]:
        match question:
            case Vote():
                return self._vote_asked(token, question, now_ms)
            case BeginQuorumEpoch():
                return self._begin_asked(token, question, now_ms)
            case EndQuorumEpoch():
                return self._end_asked(token, question, now_ms)
            case Fetch():
                return self._fetch_asked(token, question, now_ms)
            case FetchSnapshot():
                return self._snapshot_asked(token, question)
            case AddVoter():
                return self._add_asked(token, question, now_ms)
            case RemoveVoter():
                return self._remove_asked(token, question, now_ms)
            case UpdateVoter():
                return self._update_asked(token, question, now_ms)
            case ApiVersions():
                raise AssertionError("which versions are served is for the listener to answer")

    def _hear(self, asked: Question, answer: Answer, now_ms: int) -> list[Effect]:
        match asked, answer:
            case Vote(), VoteAnswer():
                return self._vote_answered(asked, answer, now_ms)
            case Fetch(), FetchAnswer():
                return self._fetch_answered(asked, answer, now_ms)
            case FetchSnapshot(), SnapshotAnswer():
                return self._part_answered(asked, answer, now_ms)
            case EndQuorumEpoch(voter=voter), EpochAnswer(standing):
                self._told[voter.id] = None
                return self._heed(standing, now_ms)[0]
            case UpdateVoter(), EpochAnswer(standing):
                self._introduced = self._introduced or standing.error is ErrorCode.NONE
                return self._heed(standing, now_ms)[0]
            case BeginQuorumEpoch(), EpochAnswer(standing):
                return self._heed(standing, now_ms)[0]
            case ApiVersions(), VersionsAnswer():
                return self._versions_answered(answer, now_ms)
            case ((AddVoter() | RemoveVoter()), VoterAnswer(error, why)):
                # It is asked again, as long as it is needed.
                return [Note(f"the leader answers {asked}: {error.name} {why}")]
            case _:
                raise AssertionError(f"{answer} answers {asked}")

    def _miss(self, asked: Question, why: str, now_ms: int) -> list[Effect]:
        """Something was not answered: ask again, or somebody else."""
        match asked:
            case Fetch() | FetchSnapshot():
                self._strikes += 1
                return self._retry()
            case Vote() | EndQuorumEpoch():
                return self._retry()
            case ApiVersions():
                why = f"the new voter does not answer: {why}"
                return self._give_up_change(ErrorCode.REQUEST_TIMED_OUT, why)
            case BeginQuorumEpoch() | AddVoter() | RemoveVoter() | UpdateVoter():
                # A timer asks again.
                return []

    def _standing(self, error: ErrorCode = ErrorCode.NONE) -> Standing:
        endpoints = endpoints_of(self.state)
        leader_id = self.leader_id
        if leader_id == self.config.key.id:
            endpoints = self.config.endpoints
        return Standing(error, self.epoch, leader_id, endpoints)

    def _endpoint(self, endpoints: Endpoints) -> Address | None:
        """Return where the replicas' listener is, if there is one among these."""
        for endpoint in endpoints:
            if endpoint.listener == self.config.listener:
                return endpoint.address
        return None

    def _address(self, endpoints: Endpoints) -> Address:
        """Return where to reach somebody: by the replicas' listener, or by whatever there is."""
        assert endpoints, f"{self.state}: nobody can be reached without an endpoint"
        return self._endpoint(endpoints) or endpoints[0].address
