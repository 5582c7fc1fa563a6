"""A network of machines: no bytes, no loop, only events, effects and a seeded order of things.

    World ── a heap of (virtual ms, what happens) ──▶ Member ── step ──▶ RaftNode
                    ▲                                    │ effects: disk, timers, questions
                    └──── latency, loss, duplicates ─────┘

Everything that a shell does is done here as plainly as can be, with every freedom that a shell,
a disk or a network has.  ``oracles`` looks at every effect and after every step.
"""

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.raft.asking import failed
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
    Answered,
    AppendAsked,
    Asked,
    Event,
    Flushed,
    SnapshotInstalled,
    SnapshotRefused,
    Started,
    Timer,
    TimerFired,
    Unanswered,
)
from barnabas.raft.messages import (
    NO_BATCHES,
    Answer,
    ApiVersions,
    Batches,
    FetchAnswer,
    Lent,
    Question,
    SnapshotAnswer,
    VersionsAnswer,
    Vote,
)
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import BOOTSTRAP, SnapshotId
from barnabas.raft.states import Leader
from barnabas.raft.voters import (
    RECONFIGURABLE,
    STATIC,
    Endpoint,
    ReplicaKey,
    Voter,
    VoterSet,
)
from barnabas.runtime.network import Address
from tests.raft.disks import Chains, Disk, Entry, Image

LISTENER = "CONTROLLER"
PART_BYTES = 16
SNAPSHOT_BYTES = 40

CONTROLLERS = (1, 2, 3, 4, 5)
BROKERS = (101, 102)


@dataclass
class Weather:
    """How bad things are; a seed draws some of it mild, so that things get far."""

    latency_ms: tuple[int, int] = (1, 5)
    slow: float = 0.0
    loss: float = 0.0
    twice: float = 0.0
    flush_ms: tuple[int, int] = (0, 4)
    slow_flush: float = 0.0
    refused_snapshots: float = 0.0


@dataclass
class Member:
    """One node: a process that may be down, and the disk it has now."""

    id: int
    key: ReplicaKey
    disk: Disk
    can_vote: bool = True
    auto_join: bool = False
    old_protocol: bool = False
    node: RaftNode | None = None
    life: int = 0
    timers: dict[Timer, int] = field(default_factory=dict)
    receiving: tuple[SnapshotId, bytearray] | None = None
    records: int = 0

    @property
    def alive(self) -> RaftNode:
        """The machine of a process that runs."""
        assert self.node is not None, f"node {self.id} is down"
        return self.node

    @property
    def voters_offset(self) -> int:
        """Where the last voters record in the log is; -1 if there is none."""
        said = enumerate(self.disk.entries, self.disk.start)
        return max((at for at, each in said if isinstance(each.said, VoterSet)), default=-1)


def endpoints(node_id: int) -> tuple[Endpoint, ...]:
    """Return where a node listens."""
    return (Endpoint(LISTENER, f"node{node_id}", 9093),)


class Watcher:
    """What looks at a world; nothing by itself."""

    def before(self, member: Member, event: Event) -> None:
        """See what is about to happen."""

    def effect(self, member: Member, effect: Effect) -> None:
        """See what is about to be done."""

    def done(self, member: Member, effect: Effect) -> None:
        """See what has been done."""

    def after(self, member: Member, event: Event) -> None:
        """See a machine after a step."""

    def started(self, member: Member) -> None:
        """See a machine before its first step."""


class World:
    """Some nodes, one clock, one seed."""

    def __init__(
        self,
        seed: int,
        *,
        voters: Iterable[int] = (1, 2, 3),
        static: bool = False,
        weather: Weather | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.random = random.Random(seed)
        self.weather = weather or Weather()
        self.watcher = watcher or Watcher()
        self.now_ms = 0
        self.chains = Chains()
        self.members: dict[int, Member] = {}
        self.cut: set[tuple[int, int]] = set()
        self.answers: dict[int, list[Answer]] = {}
        self.seen: Counter[str] = Counter()
        self.notes: list[str] = []
        self.voters = tuple(voters)
        self.bootstrap: tuple[int, ...] = CONTROLLERS
        self.static = static
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self._asks: dict[int, tuple[Member, int, int, Question, int]] = {}
        self._payloads: dict[bytes, tuple[Entry, ...]] = {}
        self._images: dict[bytes, tuple[SnapshotId, Image]] = {}
        self._directories = itertools.count(1)
        for node_id in self.voters:
            self.add(node_id)

    # --- members ---------------------------------------------------------------------------------

    def directory(self) -> Uuid:
        """Return the id of a directory that nobody had before."""
        return Uuid(next(self._directories).to_bytes(16, "big"))

    def add(self, node_id: int, *, auto_join: bool = False) -> Member:
        """Make a node: formatted with the first voters if it is one, else with nothing."""
        key = ReplicaKey(node_id, self.directory())
        member = Member(node_id, key, Disk(self.chains), node_id not in BROKERS, auto_join)
        self.members[node_id] = member
        if self.static:
            member.disk.configured = VoterSet.of(
                Voter(ReplicaKey(each, ZERO_UUID), endpoints(each)) for each in self.voters
            )
        elif node_id in self.voters and all(each in self.members for each in self.voters):
            self._format()
        return member

    def _format(self) -> None:
        voters = VoterSet.of(
            Voter(self.members[each].key, endpoints(each), (STATIC, RECONFIGURABLE))
            for each in self.voters
        )
        for member in self.members.values():
            member.disk.configured, member.disk.version = voters, RECONFIGURABLE
            member.disk.formatted = (BOOTSTRAP,)

    def wipe(self, member: Member) -> None:
        """Give a node that is down an empty disk: it is somebody else now."""
        assert member.node is None, f"node {member.id} runs"
        member.key = ReplicaKey(member.id, self.directory())
        member.disk = Disk(self.chains)
        if self.static:
            member.disk.configured = VoterSet.of(
                Voter(ReplicaKey(each, ZERO_UUID), endpoints(each)) for each in self.voters
            )

    def config(self, member: Member) -> RaftConfig:
        """Return what a node is told about itself."""
        return RaftConfig(
            member.key,
            "cluster",
            endpoints(member.id) if member.can_vote else (),
            LISTENER,
            tuple(Address(f"node{each}", 9093) for each in self.bootstrap),
            member.can_vote,
            member.auto_join,
            fetch_bytes_max=PART_BYTES,
            fetch_snapshot_bytes_max=PART_BYTES,
        )

    def start(self, member: Member) -> None:
        """Start a process on its disk."""
        assert member.node is None, f"node {member.id} runs already"
        disk = member.disk
        member.life += 1
        member.timers.clear()
        member.receiving = None
        config = self.config(member)
        member.node = RaftNode(config, disk.election, disk.outline(), disk.history())
        self.watcher.started(member)
        self.step(member, Started())

    def kill(self, member: Member, *, power: bool) -> None:
        """End a process; a power cut takes some of what was not synced, too."""
        member.node = None
        disk = member.disk
        if power:
            kept = self.random.choice((disk.durable, self.random.randint(disk.durable, disk.end)))
            disk.lose_power(max(kept, disk.start))
        else:
            disk.be_killed()

    @property
    def running(self) -> list[Member]:
        """The nodes that are up."""
        return [member for member in self.members.values() if member.node is not None]

    @property
    def leaders(self) -> list[Member]:
        """The nodes that believe that they lead, the newest epoch last."""
        leading = [each for each in self.running if isinstance(each.alive.state, Leader)]
        return sorted(leading, key=lambda each: each.alive.epoch)

    # --- time ------------------------------------------------------------------------------------

    def later(self, after_ms: int, what: Callable[[], None]) -> None:
        """Let something happen after a while."""
        heapq.heappush(self._heap, (self.now_ms + after_ms, next(self._number), what))

    def run(self, for_ms: int, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass; tell whether what was waited for has come."""
        end_ms = self.now_ms + for_ms
        while self._heap and self._heap[0][0] <= end_ms:
            if until():
                return True
            self.now_ms, _, what = heapq.heappop(self._heap)
            what()
        self.now_ms = end_ms
        return until()

    # --- one step --------------------------------------------------------------------------------

    def step(self, member: Member, event: Event) -> None:
        """Let a machine take an event, and do what it says."""
        todo: Event | None = event
        while todo is not None:
            event, todo = todo, None
            self.seen[type(event).__name__] += 1
            self.watcher.before(member, event)
            if isinstance(event, AppendAsked):
                member.records = event.records
            for effect in member.alive.step(event, self.now_ms):
                assert todo is None, f"{effect} after a snapshot took the log's place"
                self.watcher.effect(member, effect)
                todo = self._perform(member, effect)
                self.watcher.done(member, effect)
            if todo is None:
                self.watcher.after(member, event)

    def _perform(self, member: Member, effect: Effect) -> Event | None:
        self.seen[type(effect).__name__] += 1
        match effect:
            case Became(state):
                self.seen[type(state).__name__] += 1
            case Note(text):
                self.notes.append(f"{self.now_ms} node {member.id}: {text}")
            case PersistElection(election):
                member.disk.election = election
            case SetTimer(timer, after_ms, spread_ms):
                self._set(member, timer, after_ms + self.random.randint(0, max(0, spread_ms - 1)))
            case CancelTimer(timer):
                member.timers.pop(timer, None)
            case Flush(cuts):
                self._flush(member, cuts)
            case Ask(request, to, question):
                self._ask(member, request, to, question)
            case Reply(token, answer):
                self._reply(member, token, answer)
            case HighWatermark():
                pass
            case _:
                return self._write(member, effect)
        return None

    def _write(self, member: Member, effect: Effect) -> Event | None:
        disk = member.disk
        match effect:
            case AppendLeaderChange():
                disk.append_leader_change(effect, member.id)
            case AppendVoters(base, epoch, voters):
                disk.append(base, epoch, voters)
            case AppendRecords(base, epoch):
                for offset in range(base, base + member.records):
                    disk.append(offset, epoch, ("data", next(self._number)))
            case AppendFetched(data, end, _):
                for entry in self._payloads[data]:
                    disk.append(disk.end, entry.epoch, entry.said)
                assert disk.end == end, f"appended to {disk.end}, decided on {end}"
            case Truncate(end):
                disk.truncate(end)
            case OpenSnapshot(snapshot):
                member.receiving = snapshot, bytearray()
            case StorePart(snapshot, position, data):
                assert member.receiving is not None, "a part of a snapshot that was not opened"
                assert member.receiving[0] == snapshot, f"a part of {snapshot}"
                assert len(member.receiving[1]) == position, f"a part at {position}"
                member.receiving[1].extend(data)
            case InstallSnapshot(snapshot):
                return self._install(member, snapshot)
            case CleanLog(first):
                disk.clean(first)
            case _:
                raise AssertionError(f"nobody performs {effect}")
        return None

    def _install(self, member: Member, snapshot: SnapshotId) -> Event:
        assert member.receiving is not None, "nothing was received"
        received, data = member.receiving
        assert received == snapshot, f"received {received}, not {snapshot}"
        named, image = self._images[bytes(data)]
        member.receiving = None
        if self.random.random() < self.weather.refused_snapshots:
            return SnapshotRefused(snapshot, "it rotted on the way")
        assert named == snapshot, f"{snapshot} has the bytes of {named}"
        member.disk.install(snapshot, image)
        return SnapshotInstalled(snapshot, image.voters, image.version)

    # --- timers and the disk ---------------------------------------------------------------------

    def _set(self, member: Member, timer: Timer, after_ms: int) -> None:
        due = next(self._number)
        member.timers[timer] = due
        life = member.life

        def fire() -> None:
            if member.life == life and member.node and member.timers.get(timer) == due:
                self.fire(member, timer)

        self.later(after_ms, fire)

    def fire(self, member: Member, timer: Timer) -> None:
        """Let a timer come, in its time or before."""
        del member.timers[timer]
        self.step(member, TimerFired(timer))

    def _flush(self, member: Member, cuts: int) -> None:
        disk, life = member.disk, member.life
        flushing = disk.flush_begins(cuts)

        def ended() -> None:
            if member.life == life and member.node is not None and flushing in disk.flushing:
                disk.flush_ends(flushing)
                self.step(member, Flushed(flushing.cuts, flushing.told))

        slow = self.random.random() < self.weather.slow_flush
        low, high = (200, 3_000) if slow else self.weather.flush_ms
        self.later(self.random.randint(low, high), ended)

    # --- the network -----------------------------------------------------------------------------

    def _latency_ms(self) -> int:
        slow = self.random.random() < self.weather.slow
        low, high = (100, 4_000) if slow else self.weather.latency_ms
        return self.random.randint(low, high)

    def _ask(self, member: Member, request: int, to: Address, question: Question) -> None:
        life, target = member.life, int(to.host.removeprefix("node"))
        self.seen[type(question).__name__] += 1

        def given_up() -> None:
            if member.life == life and member.node is not None:
                self.step(member, Unanswered(request, "no answer"))

        times = 1 + (self.random.random() < self.weather.twice)
        for _ in range(times):
            if self.random.random() >= self.weather.loss:
                token = next(self._number)
                self._asks[token] = member, life, request, question, target
                self.later(self._latency_ms(), partial(self._arrive, token))
        # Late answers come all the same, and must not count.
        self.later(self.random.randint(1_000, 2_000), given_up)

    def _arrive(self, token: int) -> None:
        member, life, request, question, target = self._asks[token]
        server = self.members.get(target)
        if (member.id, target) in self.cut or server is None or server.node is None:
            if member.life == life and member.node is not None and self.random.random() < 0.5:
                # The connection is refused; else nothing is heard at all.
                self.step(member, Unanswered(request, "refused"))
            return
        if server.old_protocol and isinstance(question, Vote) and question.pre_vote:
            answer = failed(question, ErrorCode.UNSUPPORTED_VERSION)
            self._send_back(token, server, answer)
        elif isinstance(question, ApiVersions):
            versions = VersionsAnswer(ErrorCode.NONE, server.alive.config.versions)
            self._send_back(token, server, versions)
        else:
            self.step(server, Asked(token, question))

    def asker(self, token: int) -> str:
        """Return who waits for an answer."""
        return str(self._asks[token][0].id) if token in self._asks else "operator"

    def question(self, token: int) -> Question:
        """Return what was asked by a node."""
        return self._asks[token][3]

    def _reply(self, member: Member, token: int, answer: Answer) -> None:
        if token not in self._asks:
            self.answers[token].append(answer)
            return
        self._send_back(token, member, self._filled(member, answer))

    def _send_back(self, token: int, server: Member, answer: Answer) -> None:
        member, life, request, _, _ = self._asks[token]

        def arrives() -> None:
            if (server.id, member.id) in self.cut:
                return
            if member.life == life and member.node is not None:
                self.step(member, Answered(request, answer))

        if self.random.random() >= self.weather.loss:
            self.later(self._latency_ms(), arrives)

    def ask(self, member: Member, question: Question) -> int:
        """Ask as an operator does; the answers are kept under the number that is returned."""
        token = next(self._number)
        self.answers[token] = []
        self.step(member, Asked(token, question))
        return token

    def _filled(self, member: Member, answer: Answer) -> Answer:
        """Put the bytes into an answer that lends them."""
        match answer:
            case FetchAnswer(content=Lent(offset, end_offset)):
                end = min(end_offset, offset + self.random.randint(1, 4))
                return replace(answer, content=self._batches(member.disk, offset, end))
            case SnapshotAnswer(snapshot=snapshot, position=position, data=Lent(max_bytes=most)):
                directory = int.from_bytes(member.key.directory_id, "big")
                name = f"{snapshot.end_offset}-{snapshot.epoch} of {member.id} in {directory}"
                data = name.encode().ljust(SNAPSHOT_BYTES)
                self._images[data] = snapshot, member.disk.snapshots[snapshot]
                part = data[position : position + most]
                return replace(answer, size_bytes=len(data), data=part)
            case _:
                return answer

    def _batches(self, disk: Disk, offset: int, end: int) -> Batches:
        if offset >= end:
            return NO_BATCHES
        entries = tuple(disk.at(each) for each in range(offset, end))
        data = f"{next(self._number)}".encode()
        self._payloads[data] = entries
        epochs = {entry.epoch: each + 1 for each, entry in enumerate(entries, offset)}
        voters = [(n, each.said) for n, each in enumerate(entries, offset)]
        return Batches(
            data,
            end,
            tuple(epochs.items()),
            tuple((n, said) for n, said in voters if isinstance(said, VoterSet)),
            tuple(
                (n, said[1])
                for n, said in voters
                if isinstance(said, tuple) and said[0] == "version"
            ),
        )
