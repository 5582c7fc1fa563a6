"""A few replicas of the product on disks and a network of lists, driven by drawn numbers.

    Quorum(seed) ── step: deliver, lose, repeat, fire, flush, append, crash, ... ──▶ every event
                                                         of every replica goes to ``on_event``

Nothing takes time and nothing is encoded: what matters is the order of things, and all orders are
possible, the unlikely ones too.  A disk keeps what was flushed; a crash keeps some of the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.value import value
from barnabas.raft.config import RaftConfig
from barnabas.raft.effects import (
    AppendFetched,
    AppendLeaderChange,
    AppendRecords,
    AppendVoters,
    Ask,
    CancelTimer,
    CleanLog,
    Effect,
    Flush,
    InstallSnapshot,
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
    SnapshotInstalled,
    SnapshotTaken,
    Started,
    Timer,
    TimerFired,
    Unanswered,
)
from barnabas.raft.messages import (
    AddVoter,
    Answer,
    ApiVersions,
    Batches,
    FetchAnswer,
    Lent,
    Question,
    RemoveVoter,
    SnapshotAnswer,
    Standing,
    VersionsAnswer,
    Vote,
    VoteAnswer,
)
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import BOOTSTRAP, Outline, SnapshotId
from barnabas.raft.states import Election
from barnabas.raft.voters import (
    RECONFIGURABLE,
    STATIC,
    Endpoint,
    History,
    ReplicaKey,
    Voter,
    VoterSet,
)
from barnabas.runtime.network import Address

PORT: Final = 9000
# A snapshot comes in parts, each of which says where its content is kept.
PARTS: Final = 2
PART_BYTES: Final = 6


@value
class Entry:
    """A record as far as replicas care."""

    epoch: int
    voters: VoterSet | None = None
    version: int | None = None


# Of a snapshot: the voters and the kraft.version.
Content = tuple[VoterSet | None, int]


@dataclass
class Disk:
    """What one replica has written; ``flushed`` says up to where for certain."""

    voters: VoterSet
    version: int
    election: Election | None = None
    start: int = 0
    log: list[Entry] = field(default_factory=list)
    flushed: int = 0
    snapshots: list[SnapshotId] = field(default_factory=list)
    content: dict[SnapshotId, Content] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The offset behind the last record."""
        return self.start + len(self.log)

    def read(self, first: int, end: int) -> list[Entry]:
        """Return records by their offsets."""
        return self.log[first - self.start : end - self.start]

    def cut(self, end: int) -> None:
        """Forget what is at an offset and behind it."""
        del self.log[end - self.start :]
        self.flushed = min(self.flushed, end)

    def outline(self) -> Outline:
        """Return what a replica has to know of the log."""
        epochs: dict[int, int] = {}
        for offset, entry in enumerate(self.log, self.start):
            epochs.setdefault(entry.epoch, offset)
        return Outline(self.start, self.end, epochs.items(), self.snapshots)

    def history(self) -> History:
        """Return the voters that the log has seen."""
        history = History(self.voters, self.version)
        if self.start:
            history.restart(self.start, *self.content[self.snapshots[0]])
        for offset, entry in enumerate(self.log, self.start):
            if entry.version is not None:
                history.add_version(offset, entry.version)
            if entry.voters is not None:
                history.add_voters(offset, entry.voters)
        return history


@dataclass
class Life:
    """One life of a replica."""

    name: str
    node: RaftNode
    disk: Disk
    timers: list[Timer] = field(default_factory=list)
    flushes: list[tuple[int, int]] = field(default_factory=list)
    """Flushes under way: after how many cuts, and up to where."""
    received: Content = (None, RECONFIGURABLE)
    """What came of a snapshot."""


@value
class Letter:
    """Something under way between two lives: a question, or its answer."""

    sender: Life
    request: int
    receiver: Life | None
    content: Question | Answer
    is_answer: bool


# Hears a life, what the replica was before, the event, the effects.
OnEvent = Callable[[Life, RaftNode, Event], list[Effect]]


class Quorum:
    """A handful of replicas and everything between them."""

    def __init__(self, seed: int, on_event: OnEvent) -> None:
        self.random: Final = Random(seed)
        voters = self.random.choice((1, 2, 3, 3, 3, 3, 5))
        # In some quorums voters are configured once and for all, and in some not everybody knows
        # pre-votes.
        self._version: Final = self.random.choice((STATIC, RECONFIGURABLE, RECONFIGURABLE))
        self._old: Final = self.random.choice(((), (), (), ("c1",)))
        is_static = self._version == STATIC
        self.lives: Final[dict[str, Life]] = {}
        self.began: Final[list[tuple[str, str, RaftNode]]] = []
        self._on_event: Final = on_event
        self._letters: Final[list[Letter]] = []
        self._waiting: Final[dict[int, Letter]] = {}
        self._parts: Final[list[Content]] = []
        self._fetched: Final[list[list[Entry]]] = []
        self._tokens = 0
        self._now_ms = 0
        self._disks = 0
        # Some seeds are quiet, some lose much, some crash: rare things need others to be rarer.
        self._rates: Final = {
            "deliver": 60,
            "flush": 20,
            "fire": self.random.choice((1, 3, 10)),
            "append": self.random.choice((1, 5, 10)),
            "crash": self.random.choice((0, 0.2, 1)),
            "change": 0 if is_static else self.random.choice((0, 0.5, 2)),
            "sum up": self.random.choice((0, 0.5, 3)),
            # Where voters are known by their ids alone, nobody notices that a vote is forgotten.
            "wipe": 0 if is_static else self.random.choice((0, 0, 0.2)),
        }
        self._loss: Final = self.random.choice((0.0, 0.02, 0.1))
        self._death: Final = self.random.choice((0.0, 0.0, 0.005))
        self._configured: Final = VoterSet.of(map(self._voter, range(1, voters + 1)))
        for node_id in range(1, voters + 2):
            is_told = is_static or node_id <= voters
            known = self._configured if is_told else VoterSet(())
            self._boot(node_id, 1, Disk(known, self._version), "started")

    # --- lives -----------------------------------------------------------------------------------

    @staticmethod
    def directory(disk: int) -> Uuid:
        """Return the id of a disk."""
        return Uuid(bytes([disk]) * 16)

    def _config(self, node_id: int, disk: int) -> RaftConfig:
        key = ReplicaKey(node_id, self.directory(disk))
        endpoints = (Endpoint("CONTROLLER", f"c{node_id}", PORT),)
        seeds = tuple(Address(f"c{each}", PORT) for each in (1, 2, 3))
        return RaftConfig(key, "cluster", endpoints, bootstrap=seeds)

    def _voter(self, node_id: int) -> Voter:
        voter = self._config(node_id, 1).voter
        return replace(voter, key=ReplicaKey(node_id)) if self._version == STATIC else voter

    def _boot(self, node_id: int, disk_number: int, disk: Disk, how: str) -> None:
        config = self._config(node_id, disk_number)
        newest = disk.snapshots[-1] if disk.snapshots else BOOTSTRAP
        if newest.end_offset > disk.end:
            # Of what is not in the log any more only the snapshot knows (S-01).
            begin_at(disk, newest)
        node = RaftNode(config, disk.election, disk.outline(), disk.history())
        name = f"c{node_id}"
        life = Life(name, node, disk)
        self.lives[name] = life
        self.on_life(how, life)
        self.tell(life, Started())

    def on_life(self, how: str, life: Life) -> None:
        """Hear that a life has begun; whoever wants to know overrides it."""

    # --- what happens ----------------------------------------------------------------------------

    def step(self) -> None:
        """Let one thing happen, as often as this seed wants it."""
        self._now_ms += 10
        life = self.random.choice(list(self.lives.values()))
        (what,) = self.random.choices(list(self._rates), list(self._rates.values()))
        if what == "deliver" and self._letters:
            self._deliver()
        elif what == "flush" and life.flushes:
            self._flush(life)
        elif what == "fire" and life.timers:
            timer = self.random.choice(life.timers)
            life.timers.remove(timer)
            self.tell(life, TimerFired(timer))
        elif what == "append":
            self._append()
        elif what == "crash":
            self._crash(life)
        elif what == "change":
            self._change(life)
        elif what == "sum up":
            self._sum_up(life)
        elif what == "wipe" and self._is_whole():
            self.wipe(life)

    def _deliver(self) -> None:
        # Mostly the oldest: otherwise nothing long ever comes to its end.
        recent = self.random.random() < 0.1
        at = self.random.randrange(len(self._letters)) if recent else 0
        letter = self._letters[at]
        fate = self.random.random()
        if fate > self._loss:
            del self._letters[at]
        if fate > 1 - self._loss:
            self._fail(letter)
        elif letter.is_answer:
            self._answer(letter)
        elif self._is_too_new(letter):
            told = Standing(ErrorCode.UNSUPPORTED_VERSION, -1, None, ())
            said = VoteAnswer(told, granted=False)
            self._letters.append(Letter(letter.sender, letter.request, None, said, True))
        elif letter.receiver is not None and self._lives_on(letter.receiver):
            self._tokens += 1
            self._waiting[self._tokens] = letter
            assert not isinstance(letter.content, Answer), "a question is delivered"
            self.tell(letter.receiver, Asked(self._tokens, letter.content))
        else:
            self._fail(letter)

    def _is_too_new(self, letter: Letter) -> bool:
        """Tell whether this is a pre-vote, and is asked of somebody who knows none."""
        receiver = letter.receiver
        is_old = receiver is not None and receiver.name in self._old
        return is_old and isinstance(letter.content, Vote) and letter.content.pre_vote

    def _lives_on(self, life: Life) -> bool:
        return self.lives[life.name] is life

    def _answer(self, letter: Letter) -> None:
        if self._lives_on(letter.sender):
            assert isinstance(letter.content, Answer), "an answer is delivered"
            self.tell(letter.sender, Answered(letter.request, letter.content))

    def _fail(self, letter: Letter) -> None:
        if self._lives_on(letter.sender):
            self.tell(letter.sender, Unanswered(letter.request, "lost"))

    def _flush(self, life: Life) -> None:
        cuts, end = life.flushes.pop(0)
        if cuts == life.node.cuts:
            life.disk.flushed = max(life.disk.flushed, end)
        self.tell(life, Flushed(cuts, end))

    def _append(self) -> None:
        for life in self.lives.values():
            if life.node.promised_offset is not None:
                self.tell(life, AppendAsked(self.random.randrange(1, 4)))

    def _crash(self, life: Life) -> None:
        disk = life.disk
        keeps = self.random.randrange(disk.flushed, disk.end + 1)
        disk.cut(keeps)
        self.reboot(life)

    def reboot(self, life: Life) -> None:
        """Begin another life with what is on the disk."""
        key = life.node.config.key
        self._boot(key.id, key.directory_id[0], life.disk, "restarted")

    def _is_whole(self) -> bool:
        """Tell whether every voter that anybody knows has the disk that it is known by.

        A majority that has lost its disks may elect whom it likes: that is nobody's mistake.
        """
        there = {life.node.config.key for life in self.lives.values()}
        known = [life.node.voters.current for life in self.lives.values()]
        return all({voter.key for voter in voters.voters} <= there for voters in known)

    def wipe(self, life: Life) -> None:
        """Begin another life with an empty disk."""
        self._disks += 1
        self._boot(
            life.node.config.key.id, self._disks + 1, Disk(VoterSet(()), self._version), "wiped"
        )

    def _change(self, life: Life) -> None:
        """Ask a leader to change the voters by this replica."""
        leaders = [each for each in self.lives.values() if each.node.leading is not None]
        if not leaders:
            return
        leader, config = self.random.choice(leaders), life.node.config
        question: Question = RemoveVoter(config.key)
        if not leader.node.voters.current.contains(config.key):
            question = AddVoter(config.key, config.endpoints, 1000, self.random.random() < 0.5)
            known = leader.node.voters.current.by_id(config.key.id)
            if known is not None:
                question = RemoveVoter(known.key)
        self._tokens += 1
        self.tell(leader, Asked(self._tokens, question))

    def _sum_up(self, life: Life) -> None:
        """Take a snapshot somewhere below the high watermark, or begin the log at one."""
        node, disk = life.node, life.disk
        newest = disk.snapshots[-1] if disk.snapshots else BOOTSTRAP
        if newest.end_offset > disk.start:
            self.tell(life, CleanAsked(newest))
        elif node.high_watermark > disk.start:
            end = self.random.randrange(disk.start, node.high_watermark) + 1
            snapshot = SnapshotId(end, disk.log[end - 1 - disk.start].epoch)
            said = None if self._version == STATIC else node.voters.set_at(end)
            disk.content[snapshot] = said, node.voters.version_at(end)
            disk.snapshots.append(snapshot)
            if self.random.random() < 0.8:
                self.tell(life, SnapshotTaken(snapshot))
            else:
                self._crash(life)

    # --- effects ---------------------------------------------------------------------------------

    def tell(self, life: Life, event: Event) -> None:
        """Let a replica take an event, and perform what it wants done."""
        effects = self._on_event(life, life.node, event)
        dies_after = self.dies_after(effects)
        for effect in effects[:dies_after]:
            self._perform(life, effect)
            if not self._lives_on(life):
                return
        if dies_after <= len(effects):
            for effect in effects[dies_after : dies_after + 1]:
                if isinstance(effect, Truncate):
                    # A log is cut from its end, and may be found anywhere between.
                    life.disk.flushed = min(life.disk.flushed, effect.end_offset)
            self._crash(life)

    def dies_after(self, effects: Sequence[Effect]) -> int:
        """Return after how many effects a replica dies; there are not so many if it lives on."""
        if self.random.random() < self._death:
            return self.random.randrange(len(effects) + 1)
        return len(effects) + 1

    def now_ms(self) -> int:
        """Return the time."""
        return self._now_ms

    def _perform(self, life: Life, effect: Effect) -> None:
        disk = life.disk
        match effect:
            case PersistElection(election):
                disk.election = election
            case AppendLeaderChange(epoch=epoch, version=version, voter_set=voters):
                more = (
                    [] if version is None else [Entry(epoch, None, version), Entry(epoch, voters)]
                )
                disk.log += [Entry(epoch), *more]
            case AppendVoters(epoch=epoch, voter_set=voters):
                disk.log.append(Entry(epoch, voters))
            case AppendRecords(base, epoch):
                disk.log += [Entry(epoch)] * (life.node.outline.end_offset - base)
            case AppendFetched(data):
                disk.log += self._fetched[int(data)]
            case Flush(cuts):
                life.flushes.append((cuts, disk.end))
            case Truncate(end):
                disk.cut(end)
            case StorePart(data=data):
                life.received = self._parts[int(data)]
            case InstallSnapshot(snapshot):
                self._install(life, snapshot)
            case CleanLog(first):
                disk.log = disk.read(first.end_offset, disk.end)
                disk.start = first.end_offset
                disk.flushed = max(disk.flushed, disk.start)
                disk.snapshots = [first]
            case SetTimer(timer):
                life.timers = [each for each in life.timers if each != timer] + [timer]
            case CancelTimer(timer):
                life.timers = [each for each in life.timers if each != timer]
            case Ask(request, to, question):
                self._send(life, request, to, question)
            case Reply(token, answer):
                self._reply(life, token, answer)
            case _:
                return

    def _install(self, life: Life, snapshot: SnapshotId) -> None:
        life.disk.content[snapshot] = life.received
        begin_at(life.disk, snapshot)
        if self.random.random() < 0.9:
            self.tell(life, SnapshotInstalled(snapshot, *life.received))
        else:
            self._crash(life)

    def _send(self, life: Life, request: int, to: Address, question: Question) -> None:
        if isinstance(question, ApiVersions):
            versions = VersionsAnswer(ErrorCode.NONE, (0, RECONFIGURABLE))
            self._letters.append(Letter(life, request, None, versions, True))
        else:
            receiver = self.lives.get(to.host)
            self._letters.append(Letter(life, request, receiver, question, False))

    def _reply(self, life: Life, token: int, answer: Answer) -> None:
        letter = self._waiting.pop(token, None)
        if letter is None:
            # An administrator's.
            return
        match answer:
            case FetchAnswer(standing, known, Lent(offset, end)):
                answer = FetchAnswer(standing, known, self._batches(life, offset, end))
            case SnapshotAnswer(standing, snapshot, _, position, Lent()):
                data = f"{len(self._parts):0{PART_BYTES}}".encode()
                self._parts.append(life.disk.content[snapshot])
                size = PARTS * PART_BYTES
                answer = SnapshotAnswer(standing, snapshot, size, position, data)
            case _:
                pass
        self._letters.append(Letter(letter.sender, letter.request, None, answer, True))

    def _batches(self, life: Life, offset: int, end: int) -> Batches:
        end = self.random.choice((end, min(end, offset + 1 + self.random.randrange(3))))
        entries = life.disk.read(offset, end)
        if not entries:
            return Batches(b"", -1, (), (), ())
        self._fetched.append(entries)
        ends: dict[int, int] = {}
        for at, entry in enumerate(entries, offset):
            ends[entry.epoch] = at + 1
        placed = list(enumerate(entries, offset))
        voters = tuple((at, each.voters) for at, each in placed if each.voters is not None)
        versions = tuple((at, each.version) for at, each in placed if each.version is not None)
        data = str(len(self._fetched) - 1).encode()
        return Batches(data, end, tuple(ends.items()), voters, versions)


def begin_at(disk: Disk, snapshot: SnapshotId) -> None:
    """Let a disk hold a snapshot and nothing else."""
    disk.start = disk.flushed = snapshot.end_offset
    disk.log, disk.snapshots = [], [snapshot]
