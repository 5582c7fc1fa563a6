"""What must hold of a quorum, as stupidly as it can be said (``R-nn``: the book of invariants).

Nothing here shares a line with the machine: majorities are counted, logs are walked, the voters
in force are searched for from the end.  What only an all-knowing observer can tell (who led which
epoch, what is committed, what was ever durable where) is kept as *ghosts*.
"""

from collections import Counter, defaultdict
from collections.abc import Callable

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.raft.effects import (
    AppendFetched,
    AppendLeaderChange,
    AppendRecords,
    AppendVoters,
    Ask,
    Became,
    Effect,
    HighWatermark,
    OpenSnapshot,
    PersistElection,
    Reply,
    StorePart,
    Truncate,
)
from barnabas.raft.events import (
    Alarm,
    Answered,
    Asked,
    Event,
    SnapshotInstalled,
    Started,
    TimerFired,
)
from barnabas.raft.messages import (
    Answer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Question,
    SnapshotAnswer,
    UpdateVoter,
    VersionsAnswer,
    Vote,
    VoteAnswer,
    VoterAnswer,
)
from barnabas.raft.outline import Diverges
from barnabas.raft.states import (
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
)
from barnabas.raft.voters import ReplicaKey, VoterSet
from tests.raft.cores import Member, Watcher, World
from tests.raft.disks import Disk

# Table 1.3 of the book: from, to, and whether the epoch stays, rises, or may do either.
STAYS, RISES = "stays", "rises"
EITHER = (STAYS, RISES)
TABLE: dict[tuple[type[State], type[State]], tuple[str, ...]] = {
    (Unattached, Unattached): EITHER,
    (Unattached, Prospective): (STAYS,),
    (Unattached, Follower): EITHER,
    (Prospective, Prospective): (STAYS,),
    (Prospective, Candidate): (RISES,),
    (Prospective, Follower): EITHER,
    (Prospective, Unattached): EITHER,
    (Candidate, Leader): (STAYS,),
    (Candidate, Prospective): (STAYS,),
    (Candidate, Unattached): (RISES,),
    (Candidate, Follower): EITHER,
    (Leader, Resigned): (STAYS,),
    (Leader, Unattached): (RISES,),
    (Leader, Follower): (RISES,),
    (Resigned, Unattached): (RISES,),
    (Resigned, Follower): (RISES,),
    (Follower, Prospective): (STAYS,),
    (Follower, Unattached): (RISES,),
    (Follower, Follower): EITHER,
}


def is_meant(voter: ReplicaKey, key: ReplicaKey) -> bool:
    """Tell whether a voter of a set is this replica."""
    return voter.id == key.id and voter.directory_id in (ZERO_UUID, key.directory_id)


def votes(disk: Disk, key: ReplicaKey) -> bool:
    """Tell whether a replica is among the last voters in a log."""
    return any(is_meant(voter.key, key) for voter in disk.voters().voters)


def is_majority(voters: VoterSet, has: Callable[[ReplicaKey], bool]) -> bool:
    """Count."""
    return 2 * sum(has(voter.key) for voter in voters.voters) > len(voters)


class Judge(Watcher):
    """Looks at everything, and complains at once."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.checked: Counter[str] = Counter()
        # Who leads, voted for and began what; what stands where; what is committed.
        self.leader_of: dict[int, int] = {}
        self.votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}
        self.durable_epoch: dict[ReplicaKey, int] = {}
        self.began: dict[int, tuple[int, int]] = {}
        self.chain_of: dict[tuple[int, int], int] = {}
        self.committed: dict[int, int] = {0: 0}
        self.committed_end = 0
        # What was ever durable where; which follower has heard its leader; whom a leader heard.
        self.durable: defaultdict[ReplicaKey, set[tuple[int, int]]] = defaultdict(set)
        self.noted: Counter[ReplicaKey] = Counter()
        self.has_heard: dict[tuple[int, int], int] = {}
        self.heard: dict[tuple[int, int], tuple[int, set[ReplicaKey]]] = {}
        self.divergences: dict[int, tuple[Answer, frozenset[int]]] = {}
        # What a state machine waits for, by process; and how often it was told what (RL-2).
        self.awaited: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.replies: Counter[int] = Counter()
        # Before the step that is taken.
        self.state: State | None = None
        self.election: Election | None = None
        self.high_watermark = 0
        self.question: Question | None = None
        self.divergence: frozenset[int] | None = None
        self.heard_before = False

    def started(self, member: Member) -> None:
        """R-25: nobody begins as a leader or a candidate; who led its epoch has resigned."""
        node, election = member.alive, member.disk.election
        assert isinstance(node.state, Unattached | Follower | Resigned), node.state
        if election is not None and election.epoch >= member.disk.last().epoch:
            assert node.epoch == election.epoch, f"{node.state} after {election}"
            led = election.leader_id == member.id
            assert isinstance(node.state, Resigned) == led, f"{node.state} after {election}"
        self.checked["R-25"] += 1

    def before(self, member: Member, event: Event) -> None:
        """Remember what was."""
        node = member.alive
        self.state, self.election = node.state, member.disk.election
        self.high_watermark = node.high_watermark
        if event == TimerFired(Alarm.FETCH):
            self.has_heard.pop(self._place(member), None)
        self.heard_before = self.has_heard.get(self._place(member)) == node.epoch
        self.question = event.question if isinstance(event, Asked) else None
        self.divergence = None
        if isinstance(event, Answered) and id(event.answer) in self.divergences:
            self.divergence = self.divergences[id(event.answer)][1]

    def effect(self, member: Member, effect: Effect) -> None:
        """Look at what is about to be done."""
        match effect:
            case Became(state):
                self._became(member, state)
            case PersistElection(election):
                self._persisted(member, election)
            case AppendLeaderChange():
                self._begins(member, effect)
            case AppendVoters() | AppendRecords():
                self._decides(member, effect)
            case Truncate(end_offset):
                self._truncates(member, end_offset)
            case Ask(question=question):
                self._asks(member, question)
            case Reply():
                self._replies(member, effect)
            case _:
                pass
        if isinstance(effect, AppendFetched | Truncate | OpenSnapshot | StorePart):
            self.has_heard[self._place(member)] = member.alive.epoch

    def done(self, member: Member, effect: Effect) -> None:
        """Look at what has been done."""
        if isinstance(effect, AppendRecords):
            disk, waits = member.disk, self.awaited.setdefault(self._place(member), [])
            waits += [
                (end, disk.at(end - 1).chain) for end in range(effect.base_offset + 1, disk.end + 1)
            ]
        match effect:
            case AppendLeaderChange() | AppendVoters() | AppendRecords() | AppendFetched():
                self._appended(member.disk)
            case HighWatermark(offset):
                self._commits(member, offset)
                self._tells(member, offset)
            case Became(Leader()):
                self._leads(member)
            case _:
                pass

    def after(self, member: Member, event: Event) -> None:
        """Look at a machine and its disk between two events."""
        node, disk = member.alive, member.disk
        self._note_durable(member)
        # what is durable is what is said.
        assert disk.election is not None, "nothing durable"
        assert disk.election.epoch == node.epoch, f"{disk.election}, {node.state}"
        # never a record of an epoch that a restart would not know of.
        assert disk.election.epoch >= disk.last().epoch, f"{disk.election}, log {disk.last()}"
        # The outline is the log's, and no more of it is believed durable than is.
        outline = node.outline
        assert (outline.start_offset, outline.end_offset) == (disk.start, disk.end)
        assert list(outline.epochs) == disk.epochs(), f"{outline.epochs}, not {disk.epochs()}"
        assert {*outline.snapshots} == {*disk.snapshots, *disk.formatted}
        assert node.flushed_offset <= disk.durable, f"{node.flushed_offset} of {disk.durable}"
        # the last voters in the log are in force, committed or not.
        assert node.voters.current == disk.voters(), f"{node.voters.current}, not {disk.voters()}"
        # committed is within the log, and never goes back.
        assert disk.start <= node.high_watermark <= disk.end
        assert isinstance(event, Started) or node.high_watermark >= self.high_watermark
        self._roles(member)
        self._check_quorum(member)
        if isinstance(event, SnapshotInstalled):
            assert node.high_watermark == disk.start == disk.end == event.snapshot.end_offset
        for name in ("R-03", "R-11", "R-12", "R-21", "R-34"):
            self.checked[name] += 1

    @staticmethod
    def _place(member: Member) -> tuple[int, int]:
        return member.id, member.life

    # --- roles -----------------------------------------------------------------------------------

    def _became(self, member: Member, after: State) -> None:
        before, self.state = self.state, after
        if not isinstance(after, Follower):
            self.has_heard.pop(self._place(member), None)
        if not isinstance(after, Leader):
            # Whoever still waits is told that nobody knows.
            self.checked["RL-2 unknown"] += len(self.awaited.pop(self._place(member), ()))
        if before is None or before is after:
            return
        # only what the table says; R-03: never back.
        kind = STAYS if before.epoch == after.epoch else RISES
        assert after.epoch >= before.epoch, f"{before}, {after}"
        assert kind in TABLE.get((type(before), type(after)), ()), f"{before} became {after}"
        if kind is STAYS and not isinstance(after, Leader | Resigned):
            # a vote is kept for as long as the epoch is.
            vote = getattr(before, "voted", None)
            assert vote in (None, getattr(after, "voted", None)), f"{before} forgot as {after}"
            self.checked["R-04"] += 1
        self.checked["R-05"] += 1

    def _persisted(self, member: Member, election: Election) -> None:
        last = self.durable_epoch.get(member.key, 0)
        assert election.epoch >= last, f"{member.key} went back from {last} to {election}"
        self.durable_epoch[member.key] = election.epoch
        self._name_leader(election.epoch, election.leader_id)
        if election.voted is not None:
            # one vote an epoch.
            kept = self.votes.setdefault((member.key, election.epoch), election.voted)
            assert kept == election.voted, f"{member.key} voted for {kept} and {election}"
            self.checked["R-02"] += 1

    def _name_leader(self, epoch: int, leader_id: int | None) -> None:
        """R-01: an epoch has one leader, whoever names it, wherever."""
        if leader_id is not None:
            known = self.leader_of.setdefault(epoch, leader_id)
            assert known == leader_id, f"{known} and {leader_id} lead epoch {epoch}"
            self.checked["R-01"] += 1

    def _roles(self, member: Member) -> None:
        """R-06: who does not vote stands for nothing, and leads only to see itself out (R-22)."""
        node = member.alive
        self._name_leader(node.epoch, node.leader_id)
        self.checked["R-06"] += 1
        if member.can_vote and votes(member.disk, member.key):
            return
        assert not isinstance(node.state, Prospective | Candidate), node.state
        if isinstance(node.state, Leader):
            offset, known = node.voters.current_offset, node.leadership.high_watermark
            assert known is None or offset >= known, f"leads after its removal at {offset}"
            self.checked["R-22"] += 1

    def _leads(self, member: Member) -> None:
        """R-09: a leader has everything that is committed."""
        self._name_leader(member.alive.epoch, member.id)
        end, disk = self.committed_end, member.disk
        assert disk.end >= end, f"leader {member.id} ends at {disk.end}, committed is {end}"
        if end >= disk.start:
            assert disk.chain(end) == self.committed[end], f"leader {member.id} lacks {end}"
        self.checked["R-09"] += 1

    def _check_quorum(self, member: Member) -> None:
        """R-27: who has not heard a majority for so long leads no longer."""
        node, place, world = member.alive, self._place(member), self.world
        assert world is not None, "a judge without a world"
        if not isinstance(node.state, Leader):
            self.heard.pop(place, None)
            return
        since_ms, heard = self.heard.get(place, (world.now_ms, {member.key}))
        match self.question:
            case Fetch() | FetchSnapshot() if self.question.epoch == node.epoch:
                heard.add(self.question.replica)
            case UpdateVoter():
                heard.add(self.question.voter.key)
            case _:
                pass
        there = {*heard}
        if is_majority(member.disk.voters(), lambda v: any(is_meant(v, key) for key in there)):
            since_ms, heard = world.now_ms, {member.key}
        self.heard[place] = since_ms, heard
        limit_ms = node.config.fetch_timeout_ms * 3 // 2
        assert world.now_ms - since_ms <= limit_ms, f"leads since {since_ms} and hears nobody"
        self.checked["R-27"] += 1

    # --- the log ---------------------------------------------------------------------------------

    def _begins(self, member: Member, effect: AppendLeaderChange) -> None:
        """R-31, R-14: an epoch begins once, at the end of its leader's log."""
        assert effect.epoch not in self.began, f"epoch {effect.epoch} begins twice"
        assert effect.base_offset == member.disk.end
        assert effect.epoch == member.alive.epoch > member.disk.last().epoch
        self.began[effect.epoch] = member.id, effect.base_offset
        if effect.voter_set is not None:
            self._differ_little(member.disk, effect.voter_set, 0)

    def _decides(self, member: Member, effect: AppendVoters | AppendRecords) -> None:
        """R-14: only the leader of an epoch decides in it, behind the end of its log.

        R-20: and not before something of it is committed; of voters, one after the other.
        """
        who, where = self.began[effect.epoch]
        assert who == member.id, f"{member.id} writes in the epoch of {who}"
        assert effect.epoch == member.alive.epoch
        assert effect.base_offset == member.disk.end
        assert self.high_watermark > where, f"decides at {self.high_watermark}, began at {where}"
        self.checked["R-14"] += 1
        if isinstance(effect, AppendVoters):
            last = member.voters_offset
            assert last < self.high_watermark, f"voters at {last} of {self.high_watermark}"
            self._differ_little(member.disk, effect.voter_set, 1)

    def _differ_little(self, disk: Disk, voters: VoterSet, most: int) -> None:
        before = {voter.key for voter in disk.voters().voters}
        after = {voter.key for voter in voters.voters}
        assert len(before ^ after) <= most, f"{before} became {after}"
        self.checked["R-20"] += 1

    def _appended(self, disk: Disk) -> None:
        """R-33, R-07: a record's offset and epoch say what it is, and all that is before it."""
        for offset in range(max(disk.start, disk.end - 8), disk.end):
            entry = disk.at(offset)
            known = self.chain_of.setdefault((offset, entry.epoch), entry.chain)
            assert known == entry.chain, f"({offset}, {entry.epoch}) is two records"
            if offset > disk.start and disk.at(offset - 1).epoch != entry.epoch:
                # an epoch begins by saying who leads it.
                said = ("leader", self.leader_of[entry.epoch], entry.epoch)
                assert entry.said == said, f"epoch {entry.epoch} begins with {entry.said}"
        self.checked["R-33"] += 1

    def _truncates(self, member: Member, end_offset: int) -> None:
        """R-13: what is committed is never cut; R-17: nor what both logs share."""
        disk = member.disk
        assert end_offset >= self.high_watermark, f"cut at {end_offset}"
        assert all(end_offset >= each.end_offset for each in disk.snapshots)
        self.checked["R-13"] += 1
        if self.divergence is not None:
            shared = disk.start
            while shared < disk.end and disk.at(shared).chain in self.divergence:
                shared += 1
            assert end_offset >= shared, f"cut at {end_offset}, shared to {shared}"
            self.checked["R-17"] += 1

    def _note_durable(self, member: Member) -> None:
        disk = member.disk
        for offset in range(
            max(disk.start, min(self.noted[member.key], disk.durable)), disk.durable + 1
        ):
            chain = disk.chain(offset)
            if chain is not None:
                self.durable[member.key].add((offset, chain))
        self.noted[member.key] = disk.durable

    def _commits(self, member: Member, offset: int) -> None:
        """R-08: what is committed is one history; R-11: a leader needs disks for it."""
        disk = member.disk
        if isinstance(self.state, Leader) and offset > self.committed_end:
            self._needs_disks(member, offset)
        else:
            # everybody else commits by hearsay.
            assert offset <= self.committed_end, f"{member.id} commits {offset}"
        for each in range(max(disk.start, self.high_watermark, 1), offset + 1):
            here = disk.chain(each)
            assert here is not None, f"committed {each}, which is not here"
            kept = self.committed.setdefault(each, here)
            assert kept == here, f"{each} was committed as {kept}, now as {here}"
        self.committed_end = max(self.committed_end, offset)
        self.checked["R-08"] += 1

    def _tells(self, member: Member, offset: int) -> None:
        """RL-2: who waits for a record is told once, and what it is told is committed stays so."""
        waits = self.awaited.get(self._place(member), [])
        while waits and waits[0][0] <= offset:
            end, chain = waits.pop(0)
            assert self.committed[end] == chain, f"{end} was told to be committed, and is not"
            self.checked["RL-2"] += 1

    def _needs_disks(self, member: Member, offset: int) -> None:
        self._note_durable(member)
        record = offset, member.disk.chain(offset)

        def has(voter: ReplicaKey) -> bool:
            return any(is_meant(voter, key) and record in self.durable[key] for key in self.noted)

        voters, (_, where) = member.disk.voters(), self.began[member.alive.epoch]
        assert is_majority(voters, has), f"{offset} is on too few disks of {voters.ids}"
        assert offset > where, f"commits {offset}, its epoch began at {where}"
        self.checked["R-11 majority"] += 1

    # --- questions and answers -------------------------------------------------------------------

    def _asks(self, member: Member, question: Question) -> None:
        """R-02, R-11: a question leaves only when all that it rests on is durable."""
        disk = member.disk
        assert disk.election is not None, "asks, and nothing is durable"
        match question:
            case Fetch(epoch=epoch, offset=offset, last_epoch=last_epoch):
                assert epoch == disk.election.epoch
                assert offset == disk.end, f"fetches {offset}, ends at {disk.end}"
                assert offset <= disk.durable, f"fetches {offset}, durable to {disk.durable}"
                assert last_epoch == disk.last().epoch
                self._note_durable(member)
            case Vote(epoch=epoch, last=last, pre_vote=pre_vote):
                assert epoch == disk.election.epoch
                assert last == disk.last()
                own = Election(epoch, None, member.key)
                assert pre_vote or disk.election == own, disk.election
            case _:
                pass

    def _replies(self, member: Member, reply: Reply) -> None:
        self.replies[reply.token] += 1
        assert self.replies[reply.token] == 1, f"{reply.token} is answered twice"
        answer, election = reply.answer, member.disk.election
        if isinstance(answer, VoterAnswer | VersionsAnswer):
            return
        standing = answer.standing
        self._name_leader(standing.epoch, standing.leader_id)
        assert election is not None, "answers, and nothing is durable"
        assert standing.epoch == election.epoch, f"{standing} is not durable"
        match answer:
            case VoteAnswer(granted=True):
                self._grants(member, election)
            case FetchAnswer() | SnapshotAnswer() if standing.error is ErrorCode.NONE:
                self._serves(member, reply)
            case _:
                pass

    def _serves(self, member: Member, reply: Reply) -> None:
        """R-16: only the leader of an epoch answers, and only to who is in it."""
        assert self.world is not None, "a judge without a world"
        question, node = self.world.question(reply.token), member.alive
        assert isinstance(question, Fetch | FetchSnapshot), question
        assert isinstance(self.state, Leader), f"{self.state} answers {question}"
        assert question.epoch == node.epoch, f"{question} at {node.state}"
        self.checked["R-16"] += 1
        match reply.answer:
            case FetchAnswer(content=Diverges()) as answer:
                chains = (entry.chain for entry in member.disk.entries)
                self.divergences[id(answer)] = answer, frozenset((*chains, member.disk.base))
            case _:
                pass

    def _grants(self, member: Member, election: Election) -> None:
        vote, own, before = self.question, member.disk.last(), self.election
        assert isinstance(vote, Vote), f"grants {vote}"
        assert before is not None, "grants, and nothing was durable"
        again = before.epoch == vote.epoch and before.voted == vote.candidate
        # only to who has as much; R-23: only as who is meant.
        has_all = (vote.last.epoch, vote.last.end_offset) >= (own.epoch, own.end_offset)
        assert has_all or (again and not vote.pre_vote), f"{own} grants {vote}"
        assert is_meant(vote.voter, member.key), f"{member.key} grants {vote}"
        self.checked["R-18"] += 1
        if not vote.pre_vote:
            assert election == Election(vote.epoch, election.leader_id, vote.candidate)
            return
        # it changes nothing, and disturbs no leader that lives.
        assert not isinstance(self.state, Leader), "a leader grants a pre-vote"
        if vote.epoch == before.epoch:
            assert election == before, f"a pre-vote made {election} of {before}"
            assert not self.heard_before, "grants a pre-vote, and its leader lives"
        self.checked["R-19"] += 1
