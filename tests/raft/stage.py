"""A stage for a few machines: nothing happens unless the story says so.

    quorum 1 2 3 [led by 1]  formatted disks; with a leader that all follow, and no word of how
    quietly …              the rest of the line, and nothing of what it leads to
    start 1 2 3            begin, on the disks they have
    timer 1 election       a timer comes (election, fetch, check quorum, …, patience)
    deliver 1 2            the oldest message from 1 arrives at 2; `lose 1 2`: it never does
    flush 1                what 1 has asked to be made durable is
    settle [1 2 …]         flush and deliver until all is quiet, among all or these only
    append 1 3             the state machine of 1 has three records
    crash 1, kill 1        the power fails (all that was not flushed is gone); only the process ends
    wipe 3, join 4         an empty disk; a node that nobody knows
    snapshot 1 5, clean 1  sum up what is below an offset; let the log begin at the newest snapshot
    add 1 4, remove 1 3    an operator asks 1 to change the voters
    stop 1, resign 1, wait 500, show

Every effect is a line, timers aside, and every step is judged by the oracles.
"""

from collections import deque
from collections.abc import Callable

from barnabas.model.errors import ErrorCode
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
    Answered,
    AppendAsked,
    Asked,
    CleanAsked,
    Event,
    Flushed,
    Patience,
    ResignAsked,
    SnapshotTaken,
    StopAsked,
    Timer,
    Unanswered,
)
from barnabas.raft.messages import (
    AddVoter,
    Answer,
    ApiVersions,
    Batches,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
    Question,
    RemoveVoter,
    SnapshotAnswer,
    UpdateVoter,
    VersionsAnswer,
    Vote,
    VoteAnswer,
    VoterAnswer,
)
from barnabas.raft.outline import Diverges, NeedsSnapshot
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
from barnabas.runtime.network import Address
from tests.raft.cores import Member, World, endpoints
from tests.raft.disks import Disk
from tests.raft.oracles import Judge


class Teller(Judge):
    """Judges, and writes down what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def done(self, member: Member, effect: Effect) -> None:
        """Write down what was done."""
        super().done(member, effect)
        line = told(member, effect)
        if isinstance(effect, Reply) and self.world is not None:
            line = f"{member.id} ⇒ {self.world.asker(effect.token)}  {told_answer(effect.answer)}"
        if line:
            self.lines.append(f"  {line}")


class Stage(World):
    """Some machines that wait for a story."""

    def __init__(self, voters: tuple[int, ...] = (1, 2, 3), *, static: bool = False) -> None:
        self.teller = Teller()
        super().__init__(0, voters=voters, static=static, watcher=self.teller)
        self.teller.world = self
        self.bootstrap = voters
        self.mail: dict[tuple[int, int], deque[tuple[int, Callable[[], None]]]] = {}
        self.unflushed: dict[int, list[Callable[[], None]]] = {}
        self.asked: dict[int, str] = {}

    # --- what the world does by itself, and a stage does not -------------------------------------

    def _set(self, member: Member, timer: Timer, after_ms: int) -> None:
        member.timers.pop(timer, None)
        member.timers[timer] = self.now_ms + after_ms

    def _flush(self, member: Member, cuts: int) -> None:
        disk, life, flushing = member.disk, member.life, member.disk.flush_begins(cuts)

        def ended() -> None:
            if member.life == life and flushing in disk.flushing:
                disk.flush_ends(flushing)
                self.step(member, Flushed(flushing.cuts, flushing.told))

        self.unflushed.setdefault(member.id, []).append(ended)

    def _post(self, token: int, sender: int, receiver: int, arrives: Callable[[], None]) -> None:
        self.mail.setdefault((sender, receiver), deque()).append((token, arrives))

    def _ask(self, member: Member, request: int, to: Address, question: Question) -> None:
        target, token = int(to.host.removeprefix("node")), next(self._number)
        self._asks[token] = member, member.life, request, question, target
        self._post(token, member.id, target, lambda: self._arrive(token))

    def _arrive(self, token: int) -> None:
        member, _, _, question, target = self._asks[token]
        server = self.members.get(target)
        if server is None or server.node is None:
            self._miss(token)
        elif isinstance(question, ApiVersions):
            self.say(f"{server.id} ⇒ {member.id}  knows kraft.version 0 to 1")
            self._send_back(token, server, VersionsAnswer(ErrorCode.NONE, (0, 1)))
        else:
            self.step(server, Asked(token, question))

    def _miss(self, token: int) -> None:
        member, life, request, _, _ = self._asks[token]
        if member.life == life and member.node is not None:
            self.step(member, Unanswered(request, "no answer"))

    def _send_back(self, token: int, server: Member, answer: Answer) -> None:
        member, life, request, _, _ = self._asks[token]

        def arrives() -> None:
            if member.life == life and member.node is not None:
                self.step(member, Answered(request, answer))

        self._post(token, server.id, member.id, arrives)

    def _batches(self, disk: Disk, offset: int, end: int) -> Batches:
        # All there is, instead of as much as chance allows.
        return super()._batches(disk, offset, disk.end)

    def say(self, line: str) -> None:
        """Add a line to the story."""
        self.teller.lines.append(f"  {line}")

    # --- commands --------------------------------------------------------------------------------

    def command(self, line: str) -> list[str]:
        """Do what a line of the story says; return what came of it."""
        verb, *words = line.split()
        self.teller.lines.clear()
        if verb == "quietly":
            self.command(" ".join(words))
            return []
        getattr(self, f"do_{verb}")(*words)
        return list(self.teller.lines)

    def led_by(self, node_id: int) -> None:
        """Let somebody be elected, and all have what it begins with."""
        self.do_start(*map(str, self.voters))
        if node_id not in [leader.id for leader in self.leaders]:
            self.do_timer(str(node_id), "election")
        self.do_settle()

    def do_start(self, *ids: str) -> None:
        for node_id in ids:
            self.start(self.members[int(node_id)])

    def do_timer(self, node_id: str, *name: str) -> None:
        member, wanted = self.members[int(node_id)], " ".join(name)
        timers = [
            timer
            for timer in member.timers
            if wanted == ("patience" if isinstance(timer, Patience) else timer.value)
        ]
        assert timers, f"{wanted} is not among {sorted(map(str, member.timers))}"
        self.now_ms = max(self.now_ms, member.timers[timers[0]])
        self.fire(member, timers[0])

    def do_deliver(self, sender: str, receiver: str) -> None:
        mail = self.mail.get((int(sender), int(receiver)))
        assert mail, f"no message from {sender} to {receiver}"
        mail.popleft()[1]()

    def do_lose(self, sender: str, receiver: str) -> None:
        token, _ = self.mail[int(sender), int(receiver)].popleft()
        self._miss(token)

    def do_flush(self, node_id: str) -> None:
        for ended in self.unflushed.pop(int(node_id), []):
            ended()

    def do_settle(self, *ids: str) -> None:
        among = {int(each) for each in ids} or {*self.members, *range(1, 6)}
        for _ in range(1_000):
            flushes = [each for each in self.unflushed if each in among]
            roads = [road for road, mail in self.mail.items() if mail and {*road} <= among]
            for node_id in flushes:
                self.do_flush(str(node_id))
            for road in roads:
                self.mail[road].popleft()[1]()
            if not flushes and not roads:
                return
        raise AssertionError("it never settles")

    def do_append(self, node_id: str, records: str) -> None:
        self.step(self.members[int(node_id)], AppendAsked(int(records)))

    def do_crash(self, node_id: str) -> None:
        member = self.members[int(node_id)]
        member.node = None
        member.disk.lose_power(max(member.disk.durable, member.disk.start))
        self._hang_up(member)

    def do_kill(self, node_id: str) -> None:
        member = self.members[int(node_id)]
        member.node = None
        member.disk.be_killed()
        self._hang_up(member)

    def _hang_up(self, member: Member) -> None:
        self.unflushed.pop(member.id, None)
        for (sender, receiver), mail in self.mail.items():
            lost = list(mail) if member.id in (sender, receiver) else []
            if lost:
                mail.clear()
            for token, _ in lost:
                self._miss(token)

    def do_wipe(self, node_id: str) -> None:
        self.wipe(self.members[int(node_id)])

    def do_join(self, node_id: str) -> None:
        self.start(self.add(int(node_id)))

    def do_snapshot(self, node_id: str, end_offset: str) -> None:
        member = self.members[int(node_id)]
        self.step(member, SnapshotTaken(member.disk.snapshot(int(end_offset))))

    def do_clean(self, node_id: str) -> None:
        member = self.members[int(node_id)]
        newest = max(member.disk.snapshots, key=lambda each: each.end_offset)
        self.step(member, CleanAsked(newest))

    def do_add(self, leader: str, node_id: str) -> None:
        key = self.members[int(node_id)].key
        self._change(leader, AddVoter(key, endpoints(key.id), 2_000, True))

    def do_remove(self, leader: str, node_id: str) -> None:
        voter = self.members[int(leader)].disk.voters().by_id(int(node_id))
        key = self.members[int(node_id)].key if voter is None else voter.key
        self._change(leader, RemoveVoter(key))

    def _change(self, leader: str, question: Question) -> None:
        token = next(self._number)
        self.answers[token] = []
        self.step(self.members[int(leader)], Asked(token, question))

    def do_stop(self, node_id: str) -> None:
        self.step(self.members[int(node_id)], StopAsked())

    def do_resign(self, node_id: str) -> None:
        member = self.members[int(node_id)]
        self.step(member, ResignAsked(member.alive.epoch))

    def do_wait(self, for_ms: str) -> None:
        self.now_ms += int(for_ms)

    def do_show(self) -> None:
        for member in self.members.values():
            disk, node = member.disk, member.node
            log = " ".join(f"{epoch}@{start}" for epoch, start in disk.epochs()) or "nothing"
            where = f"log {disk.start}..{disk.end} ({log}), durable to {disk.durable}"
            if node is None:
                self.say(f"{member.id}  is down; {where}")
            else:
                leads = isinstance(node.state, Leader)
                state = told_state(node.state) + (
                    f", {told_voters(disk.voters())}" if leads else ""
                )
                self.say(f"{member.id}  {state}; {where}, committed {node.high_watermark}")

    def take(self, node_id: int, event: Event) -> list[str]:
        """Let one machine take an event that no story has a word for."""
        self.teller.lines.clear()
        self.step(self.members[node_id], event)
        return list(self.teller.lines)


# --- how it is told --------------------------------------------------------------------------


def told(member: Member, effect: Effect) -> str:
    """Tell an effect in one line; timers are silent."""
    own = member.id
    match effect:
        case SetTimer() | CancelTimer() | Reply():
            return ""
        case Became(state):
            return f"{own}  is {told_state(state)}"
        case Note(text):
            return f"{own}  notes: {text}"
        case PersistElection(election):
            leader = "" if election.leader_id is None else f", leader {election.leader_id}"
            vote = "" if election.voted is None else f", vote for {election.voted.id}"
            return f"{own}  writes down epoch {election.epoch}{leader}{vote}"
        case Flush():
            return f"{own}  begins to flush"
        case HighWatermark(offset):
            return f"{own}  knows {offset} to be committed"
        case Ask(to=to, question=question):
            return f"{own} → {to.host.removeprefix('node')}  {told_question(question)}"
        case _:
            return told_write(own, effect)


def told_write(own: int, effect: Effect) -> str:
    """Tell what is written to a disk."""
    match effect:
        case AppendLeaderChange(base, epoch, voters, granting, version, voter_set):
            also = (
                "" if voter_set is None else f", kraft.version {version}, {told_voters(voter_set)}"
            )
            return f"{own}  appends at {base}: leader {own} of epoch {epoch}, elected by " + (
                f"{_list(granting)} of {_list(voters)}{also}"
            )
        case AppendVoters(base, epoch, voter_set):
            return f"{own}  appends at {base}: {told_voters(voter_set)}, epoch {epoch}"
        case AppendRecords(base, epoch):
            return f"{own}  appends records at {base}, epoch {epoch}"
        case AppendFetched(end_offset=end, epoch=epoch):
            return f"{own}  appends what was fetched, to {end}, from the leader of epoch {epoch}"
        case Truncate(end_offset):
            return f"{own}  cuts its log at {end_offset}"
        case OpenSnapshot(snapshot):
            return f"{own}  begins to receive snapshot {snapshot}"
        case StorePart(snapshot, position, data):
            return f"{own}  stores {len(data)} bytes at {position} of snapshot {snapshot}"
        case InstallSnapshot(snapshot):
            return f"{own}  puts snapshot {snapshot} in the place of its log"
        case CleanLog(first):
            return f"{own}  begins its log with snapshot {first}"
        case _:
            raise AssertionError(f"nobody tells {effect}")


def told_state(state: State) -> str:
    """Tell what somebody is."""
    match state:
        case Unattached(epoch, leader_id, voted):
            known = "" if leader_id is None else f", {leader_id} leads"
            return f"unattached in epoch {epoch}{known}{_vote(voted)}"
        case Follower(epoch, leader_id, _, voted):
            return f"a follower of {leader_id} in epoch {epoch}{_vote(voted)}"
        case Prospective(epoch, leader_id, _, voted):
            known = "" if leader_id is None else f", has lost {leader_id}"
            return f"prospective in epoch {epoch}{known}{_vote(voted)}"
        case Candidate(epoch):
            return f"a candidate in epoch {epoch}"
        case Leader(epoch, start_offset):
            return f"the leader of epoch {epoch} from {start_offset} on"
        case Resigned(epoch):
            return f"resigned in epoch {epoch}"


def told_question(question: Question) -> str:
    """Tell what is asked."""
    match question:
        case Vote(epoch=epoch, last=last, pre_vote=pre_vote):
            return f"{'PreVote' if pre_vote else 'Vote'} epoch {epoch}, log to {last}"
        case BeginQuorumEpoch(leader_id, epoch):
            return f"BeginQuorumEpoch {epoch}, led by {leader_id}"
        case EndQuorumEpoch(leader_id, epoch, _, preferred):
            return f"EndQuorumEpoch {epoch}, after {leader_id} rather {_keys(preferred)}"
        case Fetch(_, epoch, offset, last_epoch, high_watermark):
            return f"Fetch epoch {epoch} from ({offset}, {last_epoch}), knows {high_watermark}"
        case FetchSnapshot(_, epoch, snapshot, position):
            return f"FetchSnapshot epoch {epoch} of {snapshot} at {position}"
        case AddVoter(voter):
            return f"AddVoter {voter.id}"
        case RemoveVoter(voter):
            return f"RemoveVoter {voter.id}"
        case UpdateVoter(epoch, voter):
            return f"UpdateVoter {voter.key.id} in epoch {epoch}"
        case ApiVersions():
            return "ApiVersions"


def told_answer(answer: Answer) -> str:
    """Tell what is answered."""
    match answer:
        case VoterAnswer(error, why):
            return " ".join(("voters:", error.name, why)).rstrip()
        case VersionsAnswer():
            return "versions"
        case _:
            pass
    standing = answer.standing
    leader = "nobody" if standing.leader_id is None else standing.leader_id
    known = f"[epoch {standing.epoch}, {leader} leads]"
    if standing.error is not ErrorCode.NONE:
        return f"{standing.error.name} {known}"
    match answer:
        case VoteAnswer(granted=granted):
            return f"{'yes' if granted else 'no'} {known}"
        case FetchAnswer(high_watermark=committed, content=content):
            return f"{told_content(content)}, committed {committed} {known}"
        case SnapshotAnswer(snapshot=snapshot, position=position):
            return f"a part of {snapshot} at {position} {known}"
        case _:
            return f"heard {known}"


def told_content(content: Lent | Batches | Diverges | NeedsSnapshot) -> str:
    """Tell what a fetch brings."""
    match content:
        case Lent(offset, end_offset):
            return f"records {offset}..{end_offset}" if offset < end_offset else "no news"
        case Diverges(epoch, end_offset):
            return f"diverges: epoch {epoch} ends at {end_offset}"
        case NeedsSnapshot(snapshot):
            return f"needs snapshot {snapshot}"
        case Batches():
            return "nothing"


def told_voters(voters: VoterSet) -> str:
    """Tell who votes."""
    return f"voters {_list(voters.ids)}"


def _vote(voted: ReplicaKey | None) -> str:
    return "" if voted is None else f", voted for {voted.id}"


def _list(ids: tuple[int, ...]) -> str:
    return " ".join(map(str, ids))


def _keys(keys: tuple[ReplicaKey, ...]) -> str:
    return _list(tuple(key.id for key in keys)) or "anybody"
