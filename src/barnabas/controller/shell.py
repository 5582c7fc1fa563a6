"""The controller of one node: follows the quorum's log, and decides while this node leads it.

    quorum ── load, commit ──▶ BatchFold ──▶ committed state ─┐
       │                                                      ├─▶ StateLog ─▶ replies
       ├── leader_changed ──▶ activation, duties              │
       ◀── append ◀── records ◀── deciders ◀── requests ──────┘

Every node that may lead folds the log, so that whoever comes to lead can decide at once.  The first
thing that a new leader decides is its *activation*: what a new cluster begins with, or the end of a
transaction that its predecessor left open.  From then on it answers requests, and performs its
*duties*: what it decides by itself, again and again.

When it stops leading, everything is dropped that was not committed, with all duties; whoever waits
for a reply gets NOT_CONTROLLER and asks the next (C-03, C-04).

A committed record that cannot be folded stops the node, whether it leads or not (C-17).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar, cast

from barnabas.controller.brokers import fence
from barnabas.controller.config import ControllerConfig
from barnabas.controller.elections import Round, balance, elect_unclean
from barnabas.controller.heartbeats import Sessions
from barnabas.controller.presence import (
    Answered,
    Event,
    Note,
    Presence,
    Register,
    SetTimer,
    TimerFired,
    Told,
    Unanswered,
)
from barnabas.controller.state import BLANK, ControllerState
from barnabas.controller.tokens import sweep
from barnabas.metadata.delta import Delta
from barnabas.metadata.fold import BatchFold
from barnabas.metadata.image import EMPTY
from barnabas.metadata.publication import NO_LEADER_YET, LeaderAndEpoch, Publication, Publisher
from barnabas.metadata.shell import SnapshotName, read_snapshot
from barnabas.model.caller import Caller
from barnabas.model.errors import ErrorCode, Refused, RemoteProtocolError
from barnabas.model.value import value
from barnabas.records.opened import OpenedBatch
from barnabas.records.snapshot import gatherings
from barnabas.runtime.clock import Timer
from barnabas.runtime.runtime import Runtime
from barnabas.statelog.decision import Decision
from barnabas.statelog.shell import Decided, Log, StateLog
from barnabas.wire.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.no_op_record import NoOpRecord
from barnabas.wire.metadata_records import encode_record
from barnabas.wire.structs import Message, Request, Response

ReplyT = TypeVar("ReplyT")

Activate = Callable[[ControllerState, bool], Decision[Message, None]]
"""What a new leader decides first; it is told whether a transaction was left open."""

log: Final = logging.getLogger("barnabas.controller")


@value
class Asked:
    """What is known of a request beside the request."""

    version: int
    caller: Caller
    listener: str
    """The name of the listener it came through."""


@value
class Duty:
    """Something that an active controller decides by itself, so often; True for again at once."""

    name: str
    every_ms: int
    decide: Callable[[ControllerState, int], Decision[Message, bool]]
    due_ms: Callable[[], int | None] = lambda: None
    """When there is something to do before that, by the clock of sessions."""


class Controller:
    """The controller of one node; a listener of the quorum."""

    def __init__(
        self,
        runtime: Runtime,
        quorum: Log,
        config: ControllerConfig,
        activate: Activate,
        kraft_version: Callable[[], int] = lambda: 0,
        voters: Callable[[], Collection[int]] = tuple,
        duties: Sequence[Duty] = (),
    ) -> None:
        self.states: Final[StateLog[ControllerState, Message]] = StateLog(
            Whole(quorum), BLANK, self._encode
        )
        self.config: Final = config
        self.entropy: Final = runtime.entropy
        self.kraft_version: Final = kraft_version
        """The quorum's own feature, which is not in the metadata."""
        self.voters: Final = voters
        """Who votes in the quorum, which is not there either."""
        self.sessions = Sessions(config.session_timeout_ms)
        """When brokers were last heard of, since this node leads."""
        self.leader = NO_LEADER_YET
        self._runtime: Final = runtime
        self._activate: Final = activate
        self._duties: Final = (*usual_duties(self), *duties)
        self._fold = BatchFold(EMPTY)
        self._tasks: Final = runtime.tasks.child("controller")
        self._active: Final[list[asyncio.Task[None]]] = []

    def __str__(self) -> str:
        return f"node {self.config.node_id} controller"

    @property
    def is_active(self) -> bool:
        """Whether this node decides."""
        return self.states.epoch is not None

    def now_ms(self) -> int:
        """Return the time by which sessions are measured."""
        return self._runtime.clock.now_ms()

    def wall_ms(self) -> int:
        """Return the time of the calendar, by which tokens live."""
        return self._runtime.clock.wall_ms()

    async def submit(
        self, decide: Callable[[ControllerState, int], Decision[Message, ReplyT | Refused]]
    ) -> ReplyT:
        """Decide, and reply after the commit.

        ``Refused`` if that is the decision; with NOT_CONTROLLER if this node cannot make one.
        """
        reply = await self.states.submit(decide)
        if isinstance(reply, Refused):
            raise reply
        return reply

    async def read(self, tell: Callable[[ControllerState], ReplyT]) -> ReplyT:
        """Tell something of the newest state, once it is committed."""
        return await self.states.submit(lambda state, _: Decision((), tell(state)))

    async def stop(self) -> None:
        """Decide nothing any more."""
        self._resign()
        await self._tasks.close()

    # --- what the quorum tells ---------------------------------------------------------------

    async def load(self, snapshot: SnapshotName, batches: Iterator[OpenedBatch]) -> None:
        """Take a snapshot in place of everything before."""
        before = self.states.committed
        loaded = await read_snapshot(self._runtime.clock, snapshot, batches)
        delta = Delta.between(before.image, loaded)
        image = delta.apply(loaded.provenance)
        self._fold = BatchFold(image)
        self.states.on_loaded(before.after(delta, image))

    async def commit(self, batches: Sequence[OpenedBatch]) -> None:
        """Take what comes next."""
        for batch in batches:
            for publication in self._fold.load(batch, self.leader):
                self._follow(publication)
        for publication in self._fold.flush(self.leader):
            self._follow(publication)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Begin to decide, or stop."""
        self.leader = LeaderAndEpoch(leader_id, epoch)
        self._resign()
        if leader_id == self.config.node_id:
            self._claim(epoch)

    def _follow(self, publication: Publication) -> None:
        committed = self.states.committed
        self.states.on_folded(committed.after(publication.delta, publication.image))

    # --- leading -----------------------------------------------------------------------------

    def _claim(self, epoch: int) -> None:
        self.states.on_claimed(epoch)
        in_transaction = self._fold.in_transaction
        at = self.states.committed.image.offset
        log.info("[%s] active epoch=%d offset=%d open=%s", self, epoch, at, in_transaction)
        self._runtime.probes.trace("controller.claimed", epoch=epoch)
        try:
            # At once, so that nobody decides on what this is about to end.
            activated = self.states.decided(lambda state, _: self._activate(state, in_transaction))
        except Refused as refused:
            self._deposed(refused)
            return
        self.sessions = Sessions(self.config.session_timeout_ms)
        self.sessions.activated(self.states.pending, self.now_ms())
        self._active.append(self._tasks.spawn(self._confirm(epoch, activated), "activation"))
        for duty in self._duties:
            self._active.append(self._tasks.spawn(self._perform(duty), duty.name))

    async def _confirm(self, epoch: int, activated: Decided[None]) -> None:
        try:
            await self.states.replied(activated)
        except Refused as refused:
            self._deposed(refused)
            return
        self._runtime.probes.trace("controller.activated", epoch=epoch)

    async def _perform(self, duty: Duty) -> None:
        while True:
            due_ms = duty.due_ms()
            early_ms = duty.every_ms if due_ms is None else due_ms - self.now_ms()
            await self._runtime.clock.sleep_ms(max(1, min(duty.every_ms, early_ms)))
            try:
                while await self.states.submit(duty.decide):
                    log.debug("[%s] duty=%s again", self, duty.name)
            except Refused as refused:
                self._deposed(refused)
                return

    def _deposed(self, refused: Refused) -> None:
        """Pass over that this node leads no longer: the quorum is about to tell."""
        if refused.code is not ErrorCode.NOT_CONTROLLER:
            raise refused
        log.info("[%s] deposed why=%s", self, refused.why)

    def _resign(self) -> None:
        if self.states.epoch is None:
            return
        log.info("[%s] resigned epoch=%d", self, self.states.epoch)
        self.states.on_resigned()
        for task in self._active:
            task.cancel()
        self._active.clear()

    def _encode(self, record: Message) -> bytes:
        return self.states.pending.encode(record)


def usual_duties(controller: Controller) -> Iterator[Duty]:
    """Yield what every active controller does by itself."""
    config = controller.config

    def fence_stale(state: ControllerState, _: int) -> Decision[Message, bool]:
        life = controller.sessions.expired(controller.now_ms())
        if life is None:
            return Decision((), reply=False)
        controller.sessions.ended(life)
        return replace(fence(state, config, life), reply=True)

    def session_is_over_ms() -> int | None:
        return controller.sessions.due_ms()

    def again(
        elect: Callable[[ControllerState, ControllerConfig], Decision[Message, Round]],
    ) -> Callable[[ControllerState, int], Decision[Message, bool]]:
        def decide(state: ControllerState, _: int) -> Decision[Message, bool]:
            decision = elect(state, config)
            return Decision(decision.records, decision.reply.more)

        return decide

    def sweep_tokens(state: ControllerState, _: int) -> Decision[Message, bool]:
        return sweep(state, controller.wall_ms())

    yield Duty("tokens", config.token_check_ms, sweep_tokens)
    # No session that begins while this waits is over before it has waited.
    yield Duty("fence", config.session_timeout_ms, fence_stale, session_is_over_ms)
    yield Duty("unclean", config.unclean_check_ms, again(elect_unclean))
    if config.rebalances:
        yield Duty("rebalance", config.rebalance_check_ms, again(balance))
    if config.idle_interval_ms:
        yield Duty("idle", config.idle_interval_ms, say_nothing)


def say_nothing(_: ControllerState, __: int) -> Decision[Message, bool]:
    """Let the log move although there is nothing to say."""
    return Decision((NoOpRecord(),), reply=False)


class Whole:
    """The quorum's log, taking decisions of any size: what fits no batch is a transaction."""

    def __init__(self, quorum: Log) -> None:
        self._quorum: Final = quorum

    @property
    def end_offset(self) -> int:
        """Where the next record lands."""
        return self._quorum.end_offset

    def append(self, epoch: int, values: Sequence[bytes]) -> int:
        """Append one decision, which becomes visible whole or not at all (C-05)."""
        batches = list(gatherings(values))
        if len(batches) == 1:
            return self._quorum.append(epoch, values)
        begin = encode_record(BeginTransactionRecord(name="a decision of many records"), 0)
        self._quorum.append(epoch, [begin])
        for batch in batches:
            self._quorum.append(epoch, [bytes(each) for each in batch])
        return self._quorum.append(epoch, [encode_record(EndTransactionRecord(), 0)])

    async def committed(self, epoch: int, end_offset: int) -> None:
        """Return when all below an offset is committed."""
        await self._quorum.committed(epoch, end_offset)


class PresenceShell:
    """Keeps a controller registered; a subscriber of the node's metadata."""

    def __init__(
        self,
        runtime: Runtime,
        request: ControllerRegistrationRequest,
        ask: Callable[[Request], Awaitable[Response]],
    ) -> None:
        self.publisher: Final = Publisher("presence")
        self.presence: Final = Presence(request.incarnation_id)
        self._clock: Final = runtime.clock
        self._request: Final = request
        self._ask: Final = ask
        self._tasks: Final = runtime.tasks.child("presence")
        self._timer: Timer | None = None

    async def update(self, publication: Publication) -> None:
        """See whether this controller is registered."""
        image = publication.image
        registration = image.cluster.controllers.get(self._request.controller_id)
        self._happen(Told(image.features.metadata_version, registration))

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Go on: whoever leads is asked when there is something to ask."""

    async def close(self) -> None:
        """Ask for nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        await self._tasks.close()

    def _happen(self, event: Event) -> None:
        for effect in self.presence.step(event):
            match effect:
                case Register():
                    self._tasks.spawn(self._register(), "register")
                case SetTimer(after_ms):
                    at_ms = self._clock.now_ms() + after_ms
                    self._timer = self._clock.call_at(at_ms, lambda: self._happen(TimerFired()))
                case Note(text):
                    log.info("[node %d presence] %s", self._request.controller_id, text)

    async def _register(self) -> None:
        try:
            response = cast(ControllerRegistrationResponse, await self._ask(self._request))
        except (OSError, Refused, RemoteProtocolError) as error:
            self._happen(Unanswered(str(error)))
        else:
            code = ErrorCode(response.error_code)
            self._happen(Answered(code, response.error_message or ""))
