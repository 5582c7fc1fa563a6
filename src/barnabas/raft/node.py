"""One replica of the quorum's log: who leads, what is committed, who may vote.

    event, now_ms ──▶ step ──▶ elections · following · leading · changes ──▶ effects, in order
                       │              └───────── news ─────────┘
                       └─ a new role? begin it ──────────────────────────▶ more effects

Everything that is decided is decided in ``step``, from one event and the time: elections and
pre-votes (KIP-595, KIP-996), replication by fetching, divergence, snapshots (KIP-630), voters that
come and go (KIP-853).  ``states`` draws the roles, ``replica`` is what all parts work on.  Nothing
here does I/O: ``shell`` turns the world into events and performs the effects, in order, before the
next event.

Promises, and how they are kept:

- *Persist before send.*  ``Replica.become`` puts ``PersistElection`` before whatever is said in a
  new epoch, and effects are performed in order.
- *Only what is on disks counts.*  A follower fetches from an offset only when everything below it
  is flushed, a leader counts itself up to what it has flushed itself (R-11).
- *An answer is believed only by who asked.*  Changing role or epoch forgets what was asked (R-16).
- *A leader decides nothing before its own epoch's first record is committed.*

Fixed by Kafka's KafkaRaftClient.java of 4.3; where we differ, docs/decisions tell.
"""

from barnabas.raft import changes, elections, following, leading, news
from barnabas.raft.effects import Became, CleanLog, Effect
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
    AddVoter,
    Answer,
    ApiVersions,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    EpochAnswer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Question,
    RemoveVoter,
    SnapshotAnswer,
    UpdateVoter,
    VersionsAnswer,
    Vote,
    VoteAnswer,
    VoterAnswer,
)
from barnabas.raft.outline import SnapshotId
from barnabas.raft.replica import Contradiction, Replica
from barnabas.raft.states import Candidate, Follower, Leader, Prospective, Resigned, Unattached

__all__ = ["Contradiction", "RaftNode"]


class RaftNode(Replica):
    """One replica, alive.  Read what is public; only ``step`` writes it."""

    @property
    def promised_offset(self) -> int | None:
        """Where the next records of the state machine will be, if it may append them now."""
        leader = self.leading
        if leader is None or leader.high_watermark is None:
            return None
        return self.outline.end_offset

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to stop and nobody needs it any more.

        One that has resigned is needed until somebody raises the epoch: its pre-vote may be what
        a successor lacks.  Whoever stops it sets the limit.
        """
        match self.state:
            case Leader():
                return False
            case Resigned():
                return self.is_stopping and not self.others
            case _:
                return self.is_stopping

    # --- one event -------------------------------------------------------------------------------

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Take one event; return what to do about it, in order."""
        concludes = isinstance(event, SnapshotInstalled | SnapshotRefused)
        assert concludes == self.is_installing, f"{event} while installing: {self.is_installing}"
        effects = self._take(event, now_ms)
        while self.is_new:
            self.is_new = False
            effects += self._begin(now_ms)
        return effects

    def _take(self, event: Event, now_ms: int) -> list[Effect]:
        match event:
            case Started():
                return self._start()
            case TimerFired(timer):
                if isinstance(timer, Patience):
                    return leading.lose_patience(self, timer.token)
                return self._alarmed(timer, now_ms) if self.fired(timer) else []
            case Asked(token, question):
                return self._asked_for(token, question, now_ms)
            case Answered(request, answer):
                asked = self.answered(request)
                return [] if asked is None else self._hear(asked, answer, now_ms)
            case Unanswered(request, why):
                asked = self.answered(request)
                return [] if asked is None else self._miss(asked, why)
            case AppendAsked(records):
                return leading.append(self, records)
            case Flushed(cuts, end_offset):
                return self._go_on() if self.flushed(cuts, end_offset) else []
            case SnapshotTaken(snapshot):
                return self._snapshot_taken(snapshot)
            case SnapshotInstalled(snapshot, voters, version):
                return following.installed(self, snapshot, voters, version)
            case SnapshotRefused(snapshot, why):
                return following.refused(self, snapshot, why)
            case CleanAsked(first):
                self.outline.clean(first)
                return [CleanLog(first)]
            case ResignAsked(epoch):
                if isinstance(self.state, Leader) and self.epoch == epoch:
                    return leading.resign(self, "its state machine cannot go on")
                return []
            case StopAsked():
                return self._stop()

    def _start(self) -> list[Effect]:
        effects = [*self.persist(), Became(self.state)]
        if not self.is_flushed:
            effects += self.flush()
        if isinstance(self.state, Resigned) and self.is_only_voter:
            # Nobody else will raise the epoch.
            effects += self.become(Unattached(self.epoch + 1))
        return effects

    def _begin(self, now_ms: int) -> list[Effect]:
        """Do what belongs to the beginning of a role."""
        match self.state:
            case Unattached() if self.is_only_voter and not self.is_stopping:
                return elections.stand(self)
            case Unattached():
                return self.await_election() + following.discover(self)
            case Follower():
                return following.begin(self)
            case Prospective() | Candidate():
                return [
                    *self.await_election(),
                    *elections.ask_votes(self),
                    *elections.count(self),
                ]
            case Leader():
                return leading.begin(self, now_ms)
            case Resigned():
                return self.await_election() + leading.tell_end(self)

    def _stop(self) -> list[Effect]:
        self.is_stopping = True
        if isinstance(self.state, Leader):
            return leading.resign(self, "it was asked to stop")
        return self.cancel(Alarm.ELECTION) + self.cancel(Alarm.FETCH)

    def _snapshot_taken(self, snapshot: SnapshotId) -> list[Effect]:
        end = snapshot.end_offset
        assert end <= self.high_watermark, f"{snapshot} sums up what is not committed (R-28)"
        self.outline.add_snapshot(snapshot)
        return []

    # --- time ------------------------------------------------------------------------------------

    def _alarmed(self, alarm: Alarm, now_ms: int) -> list[Effect]:
        match alarm, self.state:
            case Alarm.ELECTION, Unattached() | Candidate() if self.is_voter:
                return elections.stand(self)
            case Alarm.TURN, Prospective():
                return elections.take_turn(self)
            case Alarm.ELECTION, Prospective():
                return elections.lose(self)
            case Alarm.ELECTION, Resigned(epoch):
                return self.become(Unattached(epoch + 1))
            case Alarm.FETCH, Follower() if self.is_voter:
                return elections.stand(self)
            case Alarm.FETCH, Follower():
                return following.miss_leader(self)
            case Alarm.UPDATE_VOTER, Follower():
                return changes.introduce(self)
            case Alarm.CHECK_QUORUM, Leader():
                return leading.resign(self, "too few voters have fetched for too long")
            case Alarm.BEGIN_EPOCH, Leader():
                return leading.announce(self, now_ms)
            case Alarm.CHANGE, Leader():
                return changes.give_up(self)
            case Alarm.RETRY, _:
                return self._go_on()
            case _:
                raise AssertionError(f"{alarm} was set by nobody: {self.state}")

    def _go_on(self) -> list[Effect]:
        """Do what the role does whenever nothing is in its way: a backoff, or an unflushed log."""
        match self.state:
            case Unattached():
                return following.discover(self)
            case Follower():
                return following.fetch(self)
            case Prospective() | Candidate():
                return elections.ask_votes(self)
            case Leader():
                return leading.commit(self)
            case Resigned():
                return leading.tell_end(self)

    # --- questions and answers -------------------------------------------------------------------

    def _asked_for(self, token: int, question: Question, now_ms: int) -> list[Effect]:
        match question:
            case Vote():
                return elections.vote_asked(self, token, question)
            case BeginQuorumEpoch():
                return news.begin_asked(self, token, question)
            case EndQuorumEpoch():
                return news.end_asked(self, token, question)
            case Fetch():
                return leading.fetch_asked(self, token, question, now_ms)
            case FetchSnapshot():
                return leading.snapshot_asked(self, token, question)
            case AddVoter():
                return changes.add_asked(self, token, question)
            case RemoveVoter():
                return changes.remove_asked(self, token, question)
            case UpdateVoter():
                return changes.update_asked(self, token, question)
            case ApiVersions():
                raise AssertionError("which versions are served is for the listener to answer")

    def _hear(self, asked: Question, answer: Answer, now_ms: int) -> list[Effect]:
        match asked, answer:
            case Vote(), VoteAnswer():
                return elections.vote_answered(self, asked, answer)
            case Fetch(), FetchAnswer():
                return following.fetch_answered(self, asked, answer)
            case FetchSnapshot(), SnapshotAnswer():
                return following.part_answered(self, asked, answer)
            case BeginQuorumEpoch(), EpochAnswer(standing):
                return news.heed(self, standing)[0]
            case EndQuorumEpoch(), EpochAnswer():
                return leading.end_answered(self, asked, answer)
            case UpdateVoter(), EpochAnswer():
                return changes.update_answered(self, answer)
            case ApiVersions(), VersionsAnswer():
                return changes.versions_answered(self, answer, now_ms)
            case ((AddVoter() | RemoveVoter()), VoterAnswer()):
                return changes.change_answered(asked, answer)
            case _:
                raise AssertionError(f"{answer} answers {asked}")

    def _miss(self, asked: Question, why: str) -> list[Effect]:
        """Something was not answered: ask again, or somebody else."""
        match asked:
            case Fetch() | FetchSnapshot():
                return following.failed(self)
            case Vote() | EndQuorumEpoch():
                return self.retry()
            case ApiVersions():
                return changes.versions_missing(self, why)
            case BeginQuorumEpoch() | AddVoter() | RemoveVoter() | UpdateVoter():
                # A timer asks again.
                return []
