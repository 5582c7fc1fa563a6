"""One replica at work: events from the world, effects into it, listeners fed.

    requests ──┐                                   ┌──▶ storage     append, flush, cut, persist
    answers  ──┼─▶ events ─▶ RaftNode.step ─▶ effects ─▶ questions  to other replicas
    timers   ──┤                                   ├──▶ answers     to whoever asked
    flushes  ──┘                                   └──▶ feeds ─▶ listeners

Effects are performed in order, all of an event's before the next event.  Most are plain calls, so
that a question is answered in the turn of the loop in which it came; the few that have to be
durable before what follows (a vote, a cut, a snapshot that takes the log's place) are awaited by
the *worker*, and events wait meanwhile.  A flush is not awaited: it is asked for, and ``Flushed``
tells when it is done, so that everything that comes in meanwhile shares the next one.

A *feed* hands a listener what is committed, reading it from the log: a listener may be slow, and
nobody waits for it.  Leadership is told through the same feed, when the listener is far enough.

How others are reached is handed in (``Ask``), and so are their requests (``Quorum.answer``):
connections are the business of ``net``, which is our sibling.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Final, TypeAlias

from barnabas.model.errors import ErrorCode, Refused, RemoteProtocolError
from barnabas.raft.asking import answer_of, failed, records_of, request_of
from barnabas.raft.cluster import describe_cluster
from barnabas.raft.config import RaftConfig
from barnabas.raft.describe import Now, describe
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
    ResignAsked,
    SnapshotInstalled,
    SnapshotRefused,
    SnapshotTaken,
    Started,
    StopAsked,
    Timer,
    TimerFired,
    Unanswered,
)
from barnabas.raft.listener import Listener
from barnabas.raft.messages import (
    Answer,
    Batches,
    Fetch,
    FetchAnswer,
    Lent,
    SnapshotAnswer,
)
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import SnapshotId
from barnabas.raft.serving import question_of, refusal_of, response_of
from barnabas.raft.states import Leader, Resigned, State, leader_of, voted_in
from barnabas.raft.storage import Storage
from barnabas.records.opened import OpenedBatch, opened
from barnabas.records.snapshot import BATCH_BYTES_MAX, RECORD_OVERHEAD_BYTES_MAX
from barnabas.runtime.clock import Timer as ClockTimer
from barnabas.runtime.disk import Buffer
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.fetch import FetchResponse
from barnabas.wire.structs import Request, Response

# How much a listener is handed at once.
FEED_BYTES_MAX: Final = 1024 * 1024

# How many of the last events and their effects are kept, to be told when something goes wrong.
STORY_EVENTS: Final = 64

Durable: TypeAlias = PersistElection | Truncate | OpenSnapshot | InstallSnapshot
"""The effects that are awaited before anything else happens."""

log: Final = logging.getLogger("barnabas.raft")

AskPeer = Callable[[Address, Request, int], Awaitable[Response]]
"""Ask a node and return its answer, in so many milliseconds: what ``net.peers`` does."""


class Quorum:
    """One replica of the quorum's log, as the node it runs in sees it."""

    def __init__(
        self, runtime: Runtime, config: RaftConfig, storage: Storage, ask: AskPeer
    ) -> None:
        self.config: Final = config
        self.storage: Final = storage
        self.node: Final = RaftNode(config, storage.election, storage.outline, storage.voters)
        self.story: Final[deque[tuple[int, Event, Sequence[Effect]]]] = deque(maxlen=STORY_EVENTS)
        """What happened last, and what was done about it: time, event, effects."""
        self._runtime: Final = runtime
        self._clock: Final = runtime.clock
        self._ask_peer: Final = ask
        self._tasks: Final = runtime.tasks.child("raft")
        self._events: Final[deque[Event]] = deque()
        self._effects: Final[deque[Effect]] = deque()
        # Whether the worker waits for the disk on behalf of the first of the effects.
        self._in_disk = False
        self._work: Final = asyncio.Event()
        self._flush_wanted: Final = asyncio.Event()
        self._clean_wanted: Final = asyncio.Event()
        self._clean_to: SnapshotId | None = None
        # Held by whoever makes the log smaller: a leader appends meanwhile, and nobody else cuts.
        self._shrinking: Final = asyncio.Lock()
        # Of the flush that is wanted: how often the log was cut before.
        self._cuts = 0
        self._timers: Final[dict[Timer, ClockTimer]] = {}
        # Who waits for an answer, by token; who waits for a commit, by the offset before it.
        self._waiting: Final[dict[int, asyncio.Future[Answer]]] = {}
        self._next_token = 0
        self._commits: Final[list[tuple[int, int, asyncio.Future[None]]]] = []
        self._next_commit = 0
        self._values: Sequence[Buffer] = ()
        self._feeds: Final[list[Feed]] = []
        self._stopped: Final = asyncio.Event()
        self._is_over = False

    def __str__(self) -> str:
        return f"node {self.config.key.id} raft"

    # --- its life ----------------------------------------------------------------------------

    def start(self, listeners: Sequence[Listener] = ()) -> None:
        """Begin; what the listeners are told comes from tasks of their own."""
        self._tasks.spawn(self._worker(), "worker")
        self._tasks.spawn(self._flusher(), "flusher")
        self._tasks.spawn(self._cleaner(), "cleaner")
        self._tasks.spawn(self._remover(), "remover")
        for listener in listeners:
            self.listen(listener)
        self._happen(Started())

    def listen(self, listener: Listener) -> None:
        """Feed one more listener, from the beginning (MR-09: with who leads, too)."""
        feed = Feed(self, listener)
        self._feeds.append(feed)
        self._tasks.spawn(feed.run(), f"feed-{len(self._feeds)}")

    async def stop(self, timeout_ms: int) -> None:
        """End in good order: a leader tells the others, for as long as it is given.

        Whoever asks after that gets no answer, until the listener that brought it closes.
        """
        deadline = self._clock.call_at(self._clock.now_ms() + timeout_ms, self._stopped.set)
        self._happen(StopAsked())
        await self._stopped.wait()
        self._is_over = True
        deadline.cancel()
        await self._tasks.close()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._fail_commits("this node stops")
        await self.storage.close()

    # --- what a state machine may do ---------------------------------------------------------

    @property
    def high_watermark(self) -> int:
        """Everything below it is committed."""
        return self.node.high_watermark

    @property
    def end_offset(self) -> int:
        """Where the log ends, and what a leader appends next lands."""
        return self.node.outline.end_offset

    @property
    def is_moving(self) -> bool:
        """Whether the disk does something that the node has done already."""
        return self._in_disk

    def append(self, epoch: int, values: Sequence[Buffer]) -> int:
        """Append records as one batch and return the offset behind them.

        ``Refused`` unless this node leads that epoch and may append in it.  Nothing says that they
        will be committed: ``committed`` does.
        """
        node = self.node
        size_bytes = sum(len(value) + RECORD_OVERHEAD_BYTES_MAX for value in values)
        if size_bytes > BATCH_BYTES_MAX:
            why = f"{size_bytes} bytes do not fit one batch of {BATCH_BYTES_MAX}"
            raise Refused(ErrorCode.RECORD_LIST_TOO_LARGE, why)
        if node.epoch != epoch or node.promised_offset is None:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"not the leader of epoch {epoch}")
        # A leader that may append waits for nothing but flushes.
        assert not self._in_disk, f"{self}: {self._effects[0]} is under way at a leader"
        self._values = values
        self._happen(AppendAsked(len(values)))
        return node.outline.end_offset

    async def committed(self, epoch: int, end_offset: int) -> None:
        """Return when everything below an offset is committed.

        ``Refused`` if this node stops leading the epoch before: then nobody here knows.
        """
        node = self.node
        if not (isinstance(node.state, Leader) and node.epoch == epoch):
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"no longer the leader of {epoch}")
        if end_offset <= node.high_watermark:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._next_commit += 1
        heappush(self._commits, (end_offset, self._next_commit, done))
        await done

    def resign(self, epoch: int) -> None:
        """Lead an epoch no longer, because the state machine cannot go on."""
        self._happen(ResignAsked(epoch))

    async def write_snapshot(
        self, snapshot: SnapshotId, values: Iterable[Buffer], last_contained_ms: int
    ) -> None:
        """Write a snapshot of everything committed below its end; it is durable on return.

        Of several state machines that take one of the same records the first is believed.
        """
        assert snapshot.end_offset <= self.high_watermark, f"snapshot {snapshot} of the future"
        if await self.storage.write_snapshot(snapshot, values, last_contained_ms):
            self._happen(SnapshotTaken(snapshot))
            self._clean()

    def _clean(self) -> None:
        """Let go of old snapshots, and of the log before the oldest that stays."""
        if self._in_disk:
            # A snapshot may be taking the place of those that would be named here.
            return
        config = self.config
        first = self.storage.due_to_clean(config.retention_bytes, config.retention_ms)
        if first is not None:
            self._happen(CleanAsked(first))

    async def _cleaner(self) -> None:
        """Look for what has become too old."""
        while True:
            await self._clock.sleep_ms(self.config.clean_interval_ms)
            self._clean()

    # --- what others may ask -----------------------------------------------------------------

    async def answer(self, request: Request, version: int, listener: str) -> Response:
        """Answer another replica, or an operator's tool, that asks through one of our listeners."""
        if isinstance(request, DescribeQuorumRequest):
            now = Now(self._clock.now_ms(), self._clock.wall_ms())
            return describe(self.node, request, version, now)
        if isinstance(request, DescribeClusterRequest):
            return describe_cluster(self.node, request, version, listener)
        try:
            question = question_of(request, self.config)
        except Refused as refused:
            return refusal_of(request, refused)
        token = self._next_token
        self._next_token += 1
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[token] = waiting
        self._happen(Asked(token, question))
        try:
            answer = await waiting
        finally:
            del self._waiting[token]
        return response_of(request, version, answer, listener)

    # --- events ------------------------------------------------------------------------------

    def _happen(self, event: Event) -> None:
        if self._is_over:
            return
        self._events.append(event)
        if not self._in_disk:
            self._turn()

    def _turn(self) -> None:
        """Take events and perform effects, until there are none or the disk has to be awaited."""
        while True:
            while self._effects:
                if isinstance(self._effects[0], Durable):
                    self._in_disk = True
                    self._work.set()
                    return
                self._perform(self._effects.popleft())
            if not self._events:
                break
            event = self._events.popleft()
            effects = self.node.step(event, self._clock.now_ms())
            self.story.append((self._clock.now_ms(), event, effects))
            self._effects.extend(effects)
            self._runtime.probes.trace("raft.step", event=type(event).__name__)
        if self.node.is_stopped:
            self._stopped.set()

    async def _worker(self) -> None:
        """Perform the effects that are awaited."""
        while True:
            await self._work.wait()
            self._work.clear()
            effect = self._effects.popleft()
            match effect:
                case PersistElection(election):
                    await self.storage.persist(election)
                    self._runtime.probes.trace("raft.persisted")
                case Truncate(end_offset):
                    async with self._shrinking:
                        await self.storage.truncate(end_offset)
                case OpenSnapshot(snapshot):
                    await self.storage.open_snapshot(snapshot)
                case InstallSnapshot(snapshot):
                    async with self._shrinking:
                        self._events.appendleft(await self._install(snapshot))
                case _:
                    raise AssertionError(f"{effect} is not to be awaited")
            self._in_disk = False
            self._turn()
            self._wake_feeds()

    async def _remover(self) -> None:
        """Let go of the log before a snapshot, while a leader goes on appending."""
        while True:
            await self._clean_wanted.wait()
            self._clean_wanted.clear()
            async with self._shrinking:
                first, self._clean_to = self._clean_to, None
                # A snapshot that was installed meanwhile has taken everything's place.
                if first is not None and first in self.node.outline.snapshots:
                    await self.storage.clean(first)

    async def _install(self, snapshot: SnapshotId) -> Event:
        try:
            voters, version = await self.storage.install(snapshot)
        except Refused as refused:
            return SnapshotRefused(snapshot, refused.why)
        return SnapshotInstalled(snapshot, voters, version)

    async def _flusher(self) -> None:
        """Flush, again and again: what is asked for during one flush is done by the next."""
        while True:
            await self._flush_wanted.wait()
            self._flush_wanted.clear()
            cuts = self._cuts
            end_offset = await self.storage.flush()
            self._runtime.probes.trace("raft.flushed")
            self._happen(Flushed(cuts, end_offset))

    # --- effects -----------------------------------------------------------------------------

    def _perform(self, effect: Effect) -> None:
        storage = self.storage
        match effect:
            case AppendRecords(base_offset, epoch):
                values, self._values = self._values, ()
                storage.append(base_offset, epoch, values)
            case AppendFetched(data, _, epoch):
                storage.append_fetched(data, epoch)
            case Flush(cuts):
                self._cuts = cuts
                self._flush_wanted.set()
            case HighWatermark(offset):
                self._release_commits(offset)
                self._wake_feeds()
            case Ask():
                self._tasks.spawn(self._put(effect), f"ask-{effect.request}")
            case Reply(token, answer):
                self._reply(token, answer)
            case SetTimer(timer, after_ms, spread_ms):
                self._set_timer(timer, after_ms, spread_ms)
            case CancelTimer(timer):
                if (pending := self._timers.pop(timer, None)) is not None:
                    pending.cancel()
            case AppendLeaderChange():
                storage.append_leader_change(effect)
            case AppendVoters():
                storage.append_voters(effect)
            case StorePart(snapshot, position, data):
                storage.store_part(snapshot, position, data)
            case Became(state):
                log.info("[%s] became %s", self, told(state, self.config.key.id))
                if isinstance(state, Leader):
                    self._runtime.probes.trace("raft.leads", epoch=state.epoch)
                else:
                    self._fail_commits(f"this node became {type(state).__name__}")
                self._wake_feeds()
            case Note(text):
                log.info("[%s] %s", self, text)
            case CleanLog(first):
                self._clean_to = first
                self._clean_wanted.set()
            case PersistElection() | Truncate() | OpenSnapshot() | InstallSnapshot():
                raise AssertionError(f"{effect} is to be awaited")

    def _set_timer(self, timer: Timer, after_ms: int, spread_ms: int) -> None:
        if (pending := self._timers.pop(timer, None)) is not None:
            pending.cancel()
        if spread_ms:
            after_ms += self._runtime.entropy.between(0, spread_ms)
        self._timers[timer] = self._clock.call_at(
            self._clock.now_ms() + after_ms, lambda: self._fire(timer)
        )

    def _fire(self, timer: Timer) -> None:
        del self._timers[timer]
        self._happen(TimerFired(timer))

    def _reply(self, token: int, answer: Answer) -> None:
        """Give an answer to whoever waits, with what it lends read from the disk now."""
        waiting = self._waiting.get(token)
        if waiting is not None and not waiting.done():
            waiting.set_result(self._read_out(answer))

    def _read_out(self, answer: Answer) -> Answer:
        match answer:
            case FetchAnswer(standing, high_watermark, Lent(offset, end_offset, max_bytes)):
                data = self.storage.read(offset, end_offset, max_bytes)
                return FetchAnswer(standing, high_watermark, Batches(data, end_offset, (), (), ()))
            case SnapshotAnswer(standing, snapshot, _, position, Lent(_, _, max_bytes)):
                try:
                    size_bytes, data = self.storage.part(snapshot, position, max_bytes)
                except Refused as refused:
                    standing = replace(standing, error=refused.code)
                    return SnapshotAnswer(standing, snapshot, 0, position, b"")
                return SnapshotAnswer(standing, snapshot, size_bytes, position, data)
            case _:
                return answer

    async def _put(self, ask: Ask) -> None:
        """Ask another replica, and let its answer happen."""
        question = ask.question
        event: Event
        try:
            response = await self._ask_peer(
                ask.to, request_of(question, self.config), self.config.request_timeout_ms
            )
            answer = answer_of(question, response, self.config)
            if isinstance(answer, FetchAnswer) and isinstance(response, FetchResponse):
                answer = self._judged(ask, answer, response)
            event = Answered(ask.request, answer)
        except Refused as refused:
            event = Answered(ask.request, failed(question, refused.code))
        except (OSError, RemoteProtocolError) as error:
            event = Unanswered(ask.request, f"{ask.to}: {error}")
        self._happen(event)

    def _judged(self, ask: Ask, answer: FetchAnswer, response: FetchResponse) -> FetchAnswer:
        """Return the answer with the records that came with it, if they are sound."""
        if answer.standing.error is not ErrorCode.NONE:
            # What is refused as a whole says nothing of any partition.
            return answer
        data = records_of(response)
        if not data:
            return answer
        assert isinstance(ask.question, Fetch), f"{ask} was answered with records"
        try:
            batches = self.storage.judge(data, ask.question.offset)
        except Refused as refused:
            raise RemoteProtocolError(f"records that are none: {refused.why}") from refused
        return replace(answer, content=batches)

    # --- waiting for commits -----------------------------------------------------------------

    def _release_commits(self, offset: int) -> None:
        while self._commits and self._commits[0][0] <= offset:
            _, _, done = heappop(self._commits)
            if not done.done():
                done.set_result(None)

    def _fail_commits(self, why: str) -> None:
        while self._commits:
            end_offset, _, done = heappop(self._commits)
            if not done.done():
                done.set_exception(
                    Refused(
                        ErrorCode.NOT_LEADER_OR_FOLLOWER,
                        f"{why} before everything below {end_offset} was committed; it may be yet",
                    )
                )

    def _wake_feeds(self) -> None:
        for feed in self._feeds:
            feed.wake()


class Feed:
    """What one listener has been told, and the task that tells it more."""

    def __init__(self, quorum: Quorum, listener: Listener) -> None:
        self.next_offset = 0
        """Everything below it was handed over."""
        self.told: tuple[int | None, int] | None = None
        """The leader and epoch that the listener knows of."""
        self._quorum: Final = quorum
        self._listener: Final = listener
        self._news: Final = asyncio.Event()

    def wake(self) -> None:
        """Look again: something was committed, or somebody else leads."""
        self._news.set()

    async def run(self) -> None:
        """Tell the listener everything, in order, for ever."""
        while True:
            self._news.clear()
            self._tell_leader()
            if not self._quorum.is_moving and await self._hand_over():
                continue
            await self._news.wait()

    def _tell_leader(self) -> None:
        node = self._quorum.node
        leader_id = node.leader_id
        match node.state:
            case Leader(_, start_offset) if self.next_offset <= start_offset:
                # It is told when it has everything: what it appends builds on it (KAFKA-15345).
                leader_id = None
            case Resigned():
                leader_id = None
            case _:
                pass
        if self.told != (leader_id, node.epoch):
            self.told = leader_id, node.epoch
            self._listener.leader_changed(leader_id, node.epoch)

    async def _hand_over(self) -> bool:
        """Hand over a snapshot or some batches, if there is anything new; tell whether."""
        quorum = self._quorum
        node, storage = quorum.node, quorum.storage
        if self.next_offset >= node.high_watermark:
            return False
        snapshot = node.outline.latest_snapshot
        if self.next_offset < node.outline.start_offset or (
            self.next_offset == 0 and snapshot is not None and snapshot.end_offset > 0
        ):
            assert snapshot is not None, f"{quorum}: nothing below {node.outline.start_offset}"
            # Since a leader tells nobody to follow it before its log's start, and nobody claims
            # before everything is handed over, no listener that may append loads one.
            assert self.told is None or self.told[0] != quorum.config.key.id, f"{self.told} loads"
            await self._listener.load(snapshot, loaded(storage.read_snapshot(snapshot)))
            self.next_offset = snapshot.end_offset
            return True
        data = storage.read(self.next_offset, node.high_watermark, FEED_BYTES_MAX)
        batches = tuple(opened(data))
        assert batches, f"{quorum}: nothing at {self.next_offset}, below the high watermark"
        await self._listener.commit(batches)
        self.next_offset = batches[-1].end_offset
        return True


def loaded(snapshot: Iterable[bytes]) -> Iterator[OpenedBatch]:
    """Yield the batches of a snapshot as a listener gets them."""
    for data in snapshot:
        yield from opened(data)


def told(state: State, self_id: int) -> str:
    """Return a state in one line of a log."""
    leader, voted = leader_of(state, self_id), voted_in(state)
    words = [f"{type(state).__name__} epoch={state.epoch}"]
    if leader is not None:
        words.append(f"leader={leader}")
    if voted is not None:
        words.append(f"voted={voted.id}")
    return " ".join(words)
