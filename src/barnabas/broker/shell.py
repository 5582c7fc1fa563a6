"""A broker at work, as far as its standing goes: requests to the controller, timers, news.

    metadata ── update ──▶ events ─▶ Lifecycle.step ───▶ effects ─▶ requests to the controller
    answers, timers ─────▶        ─▶ Assignments.step ─▶         ─▶ timers, the log, whoever waits

Where the active controller is, or why nobody knows, is handed in (``controller``); each
machine has connections of its own, so that a heartbeat never waits behind a batch of assignments
(KAFKA-15441 tells what comes of that).

``Broker`` is a subscriber of the metadata and has to be the last of them: what it is told, it tells
the controller as the offset up to which *everybody* here has the metadata.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from barnabas.broker import assignments as asg
from barnabas.broker import lifecycle as life
from barnabas.broker.assignments import Assignments, Replica
from barnabas.broker.config import BrokerConfig
from barnabas.broker.lifecycle import (
    Became,
    Denied,
    DirectoryFailed,
    DrawIncarnation,
    Effect,
    Event,
    GivenEpoch,
    Heartbeat,
    HeartbeatTaken,
    IncarnationDrawn,
    Lifecycle,
    MetadataApplied,
    Note,
    Recovery,
    Register,
    Running,
    SetTimer,
    ShuttingDown,
    Started,
    StopAsked,
    StorageReady,
    TimerFired,
    Unanswered,
)
from barnabas.metadata.image import EMPTY
from barnabas.metadata.publication import LeaderAndEpoch, Publication, Publisher
from barnabas.model.errors import ErrorCode, Refused, RemoteProtocolError
from barnabas.model.ids import Uuid, uuid_text
from barnabas.net.peers import Peers
from barnabas.runtime.clock import Timer
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.structs import Request, Response

# How many of the last events and their effects are kept, to be told when something goes wrong.
STORY_EVENTS: Final = 64

# How long a controller is given for a batch of assignments, which it has to commit.
ASSIGNMENTS_MS: Final = 30_000

# Before this version a registration must not tell of a feature that may be at level 0, since older
# controllers cannot read it (KAFKA-17492).
LEVEL_ZERO_SINCE: Final = 4

log: Final = logging.getLogger("barnabas.broker")


class BrokerFailed(Exception):  # noqa: N818 -- the state of a broker, as its neighbours in model are
    """A broker cannot go on: why, and what to do."""


class Broker:
    """One broker's standing with its controllers."""

    def __init__(
        self, runtime: Runtime, config: BrokerConfig, controller: Callable[[], Address | str]
    ) -> None:
        self.config: Final = config
        self.lifecycle: Final = Lifecycle(config, Uuid(runtime.entropy.uuid()))
        self.assignments: Final = Assignments(config.id)
        self.publisher: Final = Publisher("broker", fatal=True)
        self.story: Final[deque[tuple[int, Event, Sequence[Effect]]]] = deque(maxlen=STORY_EVENTS)
        """What happened last, and what was done about it: time, event, effects."""
        self._runtime: Final = runtime
        self._clock: Final = runtime.clock
        self._controller: Final = controller
        self._tasks: Final = runtime.tasks.child("broker")
        self._heartbeats: Final = Peers(runtime, f"broker-{config.id}-heartbeat")
        self._directories: Final = Peers(runtime, f"broker-{config.id}-directories")
        self._events: Final[deque[Event]] = deque()
        self._is_busy = False
        # The incarnation that the log has told of.
        self._announced: Uuid | None = None
        self._timer: Timer | None = None
        self._assignments_timer: Timer | None = None
        self._image = EMPTY
        self._caught_up: Final = asyncio.Event()
        self._unfenced: Final = asyncio.Event()
        self._over: Final = asyncio.Event()

    def __str__(self) -> str:
        return str(self.config)

    @property
    def epoch(self) -> int | None:
        """The epoch under which the controllers know this broker; None if they do not."""
        return self.lifecycle.epoch

    # --- its life ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin: register, and so on."""
        self._happen(Started())

    async def caught_up(self) -> bool:
        """Return when a controller has found our metadata caught up; False if that will not be."""
        await self._caught_up.wait()
        return not self._over.is_set()

    def storage_ready(self) -> None:
        """Let the controllers unfence this broker: its logs are recovered."""
        self._happen(StorageReady())

    async def unfenced(self) -> bool:
        """Return when a controller has unfenced this broker; False if that will not be."""
        await self._unfenced.wait()
        return not self._over.is_set()

    async def ended(self) -> None:
        """Return when this life is over; ``BrokerFailed`` if it cannot go on."""
        await self._over.wait()
        state = self.lifecycle.state
        if isinstance(state, ShuttingDown) and state.failure:
            raise BrokerFailed(state.failure)

    async def stop(self) -> None:
        """Leave in good order, as far as the controllers let us in time."""
        self._happen(StopAsked())
        await self._over.wait()
        await self._tasks.close()
        await self._heartbeats.close()
        await self._directories.close()

    # --- what the node tells -----------------------------------------------------------------

    def directory_failed(self, directory: Uuid) -> None:
        """Learn that a log directory can be used no more."""
        self._happen(DirectoryFailed(directory))

    def assigned(self, replica: Replica, directory: Uuid) -> None:
        """Learn in which directory a replica lies from now on."""
        self._assign(asg.Assigned(replica, directory))

    async def update(self, publication: Publication) -> None:
        """Take the next image, of which everybody else on this node knows."""
        image = self._image = publication.image
        self._happen(
            MetadataApplied(
                image.offset,
                image.features.metadata_version or 0,
                image.cluster.brokers.get(self.config.id),
                self.config.cordoned_in(image),
            )
        )

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Go on: who leads is asked for when there is something to ask."""

    async def close(self) -> None:
        """Learn nothing more of the metadata."""

    # --- one event after the other -----------------------------------------------------------

    def _happen(self, event: Event) -> None:
        if self._over.is_set():
            return
        self._events.append(event)
        if self._is_busy:
            # An effect is being performed, and its own come first.
            return
        self._is_busy, is_sound = True, False
        try:
            while self._events:
                self._take(self._events.popleft())
            is_sound = True
        except AssertionError as bug:
            told = (f"{at} ms: {happened} → {effects}" for at, happened, effects in self.story)
            bug.add_note("\n".join((f"the last of {self}:", *told)))
            raise
        finally:
            self._is_busy = False
            if not is_sound:
                # A bug, which stops the node: nobody is to wait for a machine that is broken.
                self._end()

    def _take(self, event: Event) -> None:
        now_ms = self._clock.now_ms()
        effects = self.lifecycle.step(event, now_ms)
        self.story.append((now_ms, event, effects))
        log.debug("[%s] %s: %s", self, event, effects)
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Register(incarnation_id, previous_epoch):
                if incarnation_id != self._announced:
                    self._announced = incarnation_id
                    said = uuid_text(incarnation_id), previous_epoch
                    log.info("[%s] registers incarnation=%s last_epoch=%d", self, *said)
                self._tasks.spawn(self._put(effect), "Register")
            case Heartbeat():
                self._tasks.spawn(self._put(effect), "Heartbeat")
            case SetTimer(at_ms):
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = self._clock.call_at(at_ms, partial(self._happen, TimerFired()))
            case DrawIncarnation():
                self._happen(IncarnationDrawn(Uuid(self._runtime.entropy.uuid())))
            case Became(state):
                self._became(state)
            case Note(text):
                log.warning("[%s] %s", self, text)

    def _became(self, state: life.State) -> None:
        number, epoch = life.NUMBERS[type(state)], self.epoch
        self._runtime.probes.trace("broker.became", state=number, epoch=epoch)
        log.info("[%s] became %s epoch=%s", self, type(state).__name__, epoch)
        match state:
            case Recovery():
                self._caught_up.set()
            case Running():
                self._unfenced.set()
            case ShuttingDown():
                self._end()
            case _:
                # Whoever asked it to stop waits for the end.
                pass

    def _end(self) -> None:
        for timer in (self._timer, self._assignments_timer):
            if timer is not None:
                timer.cancel()
        self._over.set()
        self._caught_up.set()
        self._unfenced.set()

    # --- asking the controller ---------------------------------------------------------------

    async def _put(self, asked: Register | Heartbeat) -> None:
        """Ask, and let the answer happen."""
        match asked:
            case Register():
                worded = partial(registration, self.config, asked)
                self._happen(await self._answer(worded(LEVEL_ZERO_SINCE), worded))
            case Heartbeat():
                self._happen(await self._answer(heartbeat(self.config, asked)))

    async def _answer(
        self, request: Request, worded: Callable[[int], Request] | None = None
    ) -> Event:
        controller = self._controller()
        if isinstance(controller, str):
            return Unanswered(controller)
        try:
            response = await self._heartbeats.ask(
                controller, request, self.config.heartbeat_interval_ms, worded
            )
        except Refused as refused:
            return Denied(refused.code, refused.why)
        except (OSError, RemoteProtocolError) as error:
            return Unanswered(f"controller {controller}: {error}")
        return event_of(response)

    # --- assignments -------------------------------------------------------------------------

    def _assign(self, event: asg.Event) -> None:
        for effect in self.assignments.step(event, self._clock.now_ms()):
            match effect:
                case asg.Tell():
                    self._tasks.spawn(self._tell(effect), "assignments")
                case asg.SetTimer(at_ms):
                    if self._assignments_timer is not None:
                        self._assignments_timer.cancel()
                    self._assignments_timer = self._clock.call_at(at_ms, self._tell_by_now)
                case asg.Known(replica, directory):
                    self._runtime.probes.trace(
                        "broker.assigned", replica=str(replica), directory=directory
                    )
                case asg.Note(text):
                    log.warning("[%s] %s", self, text)

    def _tell_by_now(self) -> None:
        self._assign(asg.TimerFired(self._image))

    async def _tell(self, told: asg.Tell) -> None:
        controller = self._controller()
        if isinstance(controller, str):
            self._assign(asg.Failed(controller))
            return
        request = assignments_request(self.config.id, told)
        try:
            response = await self._directories.ask(controller, request, ASSIGNMENTS_MS)
        except (Refused, OSError, RemoteProtocolError) as error:
            self._assign(asg.Failed(f"controller {controller}: {error}"))
            return
        self._assign(assignments_event(response))


# --- messages --------------------------------------------------------------------------------


def registration(config: BrokerConfig, asked: Register, version: int) -> BrokerRegistrationRequest:
    """Return the request to be registered, as a version can carry it.

    Version 1 added brokers that migrate from ZooKeeper, of which there are none any more; 2 the
    log directories (KIP-858), 3 the epoch of the last clean life (KIP-966), 4 features that may be
    at level 0.
    """
    return BrokerRegistrationRequest(
        broker_id=config.id,
        cluster_id=config.cluster_id,
        incarnation_id=asked.incarnation_id,
        listeners=[
            BrokerRegistrationRequest.Listener(
                name=at.name, host=at.host, port=at.port, security_protocol=at.security_protocol
            )
            for at in config.listeners
        ],
        features=[
            BrokerRegistrationRequest.Feature(
                name=name, min_supported_version=least, max_supported_version=most
            )
            for name, (least, most) in sorted(config.supported_features.items())
            if least or version >= LEVEL_ZERO_SINCE
        ],
        rack=config.rack,
        is_migrating_zk_broker=False,
        log_dirs=asked.directories,
        previous_broker_epoch=asked.previous_epoch,
    )


def heartbeat(config: BrokerConfig, asked: Heartbeat) -> BrokerHeartbeatRequest:
    """Return a heartbeat: version 1 added offline directories, 2 cordoned ones."""
    return BrokerHeartbeatRequest(
        broker_id=config.id,
        broker_epoch=asked.epoch,
        current_metadata_offset=asked.metadata_offset,
        want_fence=asked.want_fence,
        want_shut_down=asked.want_shut_down,
        offline_log_dirs=asked.offline,
        cordoned_log_dirs=asked.cordoned,
    )


def event_of(response: Response) -> Event:
    """Return what an answer of the controller means."""
    match response:
        case BrokerRegistrationResponse(error_code=ErrorCode.NONE, broker_epoch=epoch):
            return GivenEpoch(epoch)
        case BrokerHeartbeatResponse(error_code=ErrorCode.NONE):
            return HeartbeatTaken(
                response.is_caught_up, response.is_fenced, response.should_shut_down
            )
        case BrokerRegistrationResponse(error_code=code) | BrokerHeartbeatResponse(error_code=code):
            return Denied(code_of(code))
        case _:
            raise AssertionError(f"{response} answers no broker")


def assignments_request(broker_id: int, told: asg.Tell) -> AssignReplicasToDirsRequest:
    """Return the request that tells where replicas lie: by directory, then by topic."""
    directory_data = AssignReplicasToDirsRequest.DirectoryData
    topic_data = AssignReplicasToDirsRequest.TopicData
    partition_data = AssignReplicasToDirsRequest.PartitionData
    directories = []
    for directory, replicas in told.directories.items():
        topics: dict[Uuid, list[int]] = {}
        for replica in replicas:
            topics.setdefault(replica.topic_id, []).append(replica.partition)
        directories.append(
            directory_data(
                id=directory,
                topics=[
                    topic_data(
                        topic_id=topic_id,
                        partitions=[partition_data(partition_index=index) for index in indexes],
                    )
                    for topic_id, indexes in topics.items()
                ],
            )
        )
    return AssignReplicasToDirsRequest(
        broker_id=broker_id, broker_epoch=told.epoch, directories=directories
    )


def assignments_event(response: Response) -> asg.Event:
    """Return what the controller says about where replicas lie."""
    assert isinstance(response, AssignReplicasToDirsResponse), f"{response} tells of no directory"
    if response.error_code != ErrorCode.NONE:
        return asg.Failed(f"the controller refuses: {code_of(response.error_code).name}")
    return asg.Answered(
        {
            Replica(topic.topic_id, partition.partition_index): code_of(partition.error_code)
            for directory in response.directories
            for topic in directory.topics
            for partition in topic.partitions
        }
    )


def code_of(number: int) -> ErrorCode:
    """Return an error by its number; a later controller may know more of them."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
