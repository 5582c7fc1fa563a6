"""A broker's life: registers, catches up, is let in, is fenced and let in again, leaves.

    NotRunning ─▶ Starting ──caught up──▶ Recovery ──unfenced──▶ Running
                     │                       │                      │ stop asked
                     │ stop asked,           │ stop asked           ▼
                     │ out of time           │         PendingControlledShutdown
                     │                       │                      │ let go, out of time
                     └───────────────────────┴─▶ ShuttingDown ◀─────┘

Beside that stands what the broker is to the controllers:

    Unregistered ──registered──▶ Registered ⇄ Amending       registered, and has more to tell
         ▲                           │
         └─ a new id ── Gone ◀───────┘                       unregistered by somebody else

The controllers decide, this machine asks: one request at a time, a registration until it has an
epoch, heartbeats from then on.  ``broker/shell.py`` turns answers, timers and what the metadata log
says into events, calls ``step`` and performs the effects in the order given.

Promises:

- *One request in flight* (B-10), whatever happens meanwhile; what cannot wait goes next.
- *No skips* (B-08): Recovery needs a controller that calls us caught up, Running one that unfences
  us after we asked for it.
- *Fenced by its own wish* until its storage is ready and its metadata has reached its registration.
- *One incarnation, one epoch* (B-01): an answer that speaks of another is not ours to hear.
- *It ends*: what cannot register ends with the reason when its time is up and not before (BL-4); a
  directory that failed and that nobody can be told of ends it, too (BL-5); so does another process
  that took its place (B-15).

Kafka's BrokerLifecycleManager.java and BrokerRegistrationTracker.java fix the states, the order and
the intervals; "The life of a broker" among the decisions says where we differ.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from barnabas.broker.config import UNKNOWN_EPOCH, BrokerConfig
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.metadata.levels import CORDONED_DIRECTORIES, DIRECTORIES
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.value import value

# A broker with nothing to recover should not wait a whole interval until it is caught up.
CATCH_UP_MS: Final = 10
# Nor one that leads next to nothing until it may go.
LEAVE_MS: Final = 50
# Who is not answered, or by no controller, asks again soon, then twice as late each time, up to
# the heartbeat interval.
RETRY_MS: Final = 100

# A broker that starts before it has heard of a leader is nothing to tell an operator of.
NOISY_FAILURES: Final = 3

NOTHING_APPLIED: Final = -1


# --- What a broker is ------------------------------------------------------------------------


@value
class NotRunning:
    """Has not begun."""


@value
class Starting:
    """Registers, and catches up with the metadata."""


@value
class Recovery:
    """Is caught up, sees to its logs, and asks to be unfenced when it has."""


@value
class Running:
    """Has been unfenced once and serves, whenever it is not fenced."""


@value
class PendingControlledShutdown:
    """Wants to leave, and waits until nobody needs it any more."""

    until_ms: int


@value
class ShuttingDown:
    """Asks nothing any more."""

    failure: str = ""
    """Why it cannot go on; nothing if it was asked to stop."""


State: TypeAlias = (
    NotRunning | Starting | Recovery | Running | PendingControlledShutdown | ShuttingDown
)

NEXT: Final[dict[type[State], frozenset[type[State]]]] = {
    NotRunning: frozenset({Starting, ShuttingDown}),
    Starting: frozenset({Recovery, ShuttingDown}),
    Recovery: frozenset({Running, ShuttingDown}),
    Running: frozenset({PendingControlledShutdown, ShuttingDown}),
    PendingControlledShutdown: frozenset({ShuttingDown}),
    ShuttingDown: frozenset(),
}

NUMBERS: Final[dict[type[State], int]] = {
    NotRunning: 0,
    Starting: 1,
    Recovery: 2,
    Running: 3,
    PendingControlledShutdown: 6,
    ShuttingDown: 7,
}
"""What Kafka calls the states in metrics and on the wire (BrokerState.java)."""


@value
class Unregistered:
    """The controllers do not know this incarnation, or nobody has told us that they do."""

    incarnation_id: Uuid


@value
class Registered:
    """The controllers know this incarnation, under an epoch."""

    incarnation_id: Uuid
    epoch: int


@value
class Amending:
    """Registered, and has to register once more to say what it could not say before."""

    incarnation_id: Uuid
    epoch: int


@value
class Gone:
    """Somebody has unregistered us; we come again as another incarnation."""


Standing: TypeAlias = Unregistered | Registered | Amending | Gone


# --- What can happen -------------------------------------------------------------------------


@value
class Started:
    """The process has begun."""


@value
class GivenEpoch:
    """The controller has taken our registration."""

    epoch: int


@value
class HeartbeatTaken:
    """The controller has taken our heartbeat."""

    caught_up: bool
    fenced: bool
    should_shut_down: bool


@value
class Denied:
    """The controller says no to what we asked."""

    error: ErrorCode
    why: str = ""


@value
class Unanswered:
    """What we asked was lost, or answered by nobody in time."""

    why: str


@value
class TimerFired:
    """It is as late as ``SetTimer`` asked for."""


@value
class MetadataApplied:
    """Everybody on this node was told of the metadata up to an offset."""

    offset: int
    level: int
    """``metadata.version``; 0 if there is none yet."""
    registration: BrokerRegistration | None
    """How a broker of our id is registered at that offset."""
    cordoned: tuple[Uuid, ...] = ()
    """The directories that are to be given nothing new."""


@value
class StorageReady:
    """The logs are as good as they get: nothing keeps us from serving."""


@value
class DirectoryFailed:
    """A log directory can be used no more."""

    directory: Uuid


@value
class IncarnationDrawn:
    """Here is an id that no broker has had before."""

    incarnation_id: Uuid


@value
class StopAsked:
    """Somebody wants the broker to stop."""


Event: TypeAlias = (
    Started
    | GivenEpoch
    | HeartbeatTaken
    | Denied
    | Unanswered
    | TimerFired
    | MetadataApplied
    | StorageReady
    | DirectoryFailed
    | IncarnationDrawn
    | StopAsked
)


# --- What is to be done about it -------------------------------------------------------------


@value
class Register:
    """Ask to be registered."""

    incarnation_id: Uuid
    previous_epoch: int
    directories: tuple[Uuid, ...]


@value
class Heartbeat:
    """Tell that we live, how far we are, and what we want."""

    epoch: int
    metadata_offset: int
    want_fence: bool
    want_shut_down: bool
    offline: tuple[Uuid, ...] = ()
    cordoned: tuple[Uuid, ...] | None = None
    """None where the cluster does not know of cordons yet, or we do not know of ours."""


@value
class SetTimer:
    """Let the timer fire at a time, and at no other."""

    at_ms: int


@value
class DrawIncarnation:
    """Draw an id that no broker has had."""


@value
class Became:
    """The broker is something else now."""

    state: State


@value
class Note:
    """Tell the operator."""

    text: str


Effect: TypeAlias = Register | Heartbeat | SetTimer | DrawIncarnation | Became | Note


# --- The machine -----------------------------------------------------------------------------


class Lifecycle:
    """One life of a broker.  Read what is public; only ``step`` writes it."""

    def __init__(self, config: BrokerConfig, incarnation_id: Uuid) -> None:
        self.config: Final = config
        self.state: State = NotRunning()
        self.standing: Standing = Unregistered(incarnation_id)
        self.last_epoch: int | None = None
        """The last epoch that it was given, be it gone since."""
        self.metadata = MetadataApplied(NOTHING_APPLIED, 0, None)
        self.is_storage_ready = False
        # Failed directories: until when the controllers have to know, None once they do.
        self._offline: dict[Uuid, int | None] = {}
        # What was asked and not answered; when to ask next if nothing is.
        self._asked: Register | Heartbeat | None = None
        self._ask_at_ms: int | None = None
        # Whether something came up that the next request should not wait to tell.
        self._is_urgent = False
        # Until when the first registration has to succeed, and what has kept it from it.
        self._register_by_ms: int | None = None
        self._obstacle = "nobody was asked yet"
        self._told_obstacle = ""
        self._failures = 0
        self._said_goodbye = False
        # What of the metadata was acted upon.
        self._judged: tuple[BrokerRegistration | None, int] | None = None
        self._timer_ms: int | None = None

    @property
    def epoch(self) -> int | None:
        """The epoch under which the controllers know us, as far as we were told."""
        match self.standing:
            case Unregistered() | Gone():
                return None
            case Registered(_, epoch) | Amending(_, epoch):
                return epoch

    @property
    def _incarnation_id(self) -> Uuid | None:
        return None if isinstance(self.standing, Gone) else self.standing.incarnation_id

    @property
    def is_fenced(self) -> bool:
        """Whether the metadata says that this very life is fenced, or does not know it."""
        registration = self.metadata.registration
        return registration is None or registration.epoch != self.epoch or registration.fenced

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Take one event; return what to do about it, in order."""
        if isinstance(event, TimerFired):
            self._timer_ms = None
        effects = [] if isinstance(self.state, ShuttingDown) else list(self._take(event, now_ms))
        due_ms = self._due_ms()
        if due_ms is not None and due_ms != self._timer_ms:
            self._timer_ms = due_ms
            effects.append(SetTimer(due_ms))
        return effects

    def _take(self, event: Event, now_ms: int) -> Iterator[Effect]:
        match event, self.state:
            case Started(), NotRunning():
                self._register_by_ms = now_ms + self.config.registration_timeout_ms
                yield self._become(Starting())
                yield from self._ask()
            case StopAsked(), _:
                yield from self._stop_asked(now_ms)
            case ((GivenEpoch() | HeartbeatTaken() | Denied() | Unanswered()), _):
                asked, self._asked = self._asked, None
                assert asked is not None, f"{event} answers nothing"
                yield from self._answered(asked, event, now_ms)
            case TimerFired(), _:
                yield from self._look_at_the_clock(now_ms)
            case MetadataApplied(), _:
                yield from self._applied(event)
            case StorageReady(), _:
                assert isinstance(self.state, Recovery), f"storage is ready for {self.state}"
                self.is_storage_ready = True
                yield from self._hurry()
            case DirectoryFailed(directory), _:
                yield from self._directory_failed(directory, now_ms)
            case IncarnationDrawn(incarnation_id), _:
                assert isinstance(self.standing, Gone), f"{self.standing} needs no other id"
                self.standing = Unregistered(incarnation_id)
                yield from self._hurry()
            case event, state:
                raise AssertionError(f"{event} cannot happen to a broker that is {state}")

    # --- time --------------------------------------------------------------------------------

    def _due_ms(self) -> int | None:
        """Return when there is something to do even if nothing happens."""
        if isinstance(self.state, ShuttingDown):
            return None
        dues = [self._ask_at_ms, self._register_by_ms, *self._offline.values()]
        if isinstance(self.state, PendingControlledShutdown):
            dues.append(self.state.until_ms)
        return min((due for due in dues if due is not None), default=None)

    def _look_at_the_clock(self, now_ms: int) -> Iterator[Effect]:
        config = self.config
        if self._register_by_ms is not None and now_ms >= self._register_by_ms:
            yield self._become(
                ShuttingDown(
                    f"{config} could not register within {config.registration_timeout_ms} ms "
                    f"(initial.broker.registration.timeout.ms): {self._obstacle}"
                )
            )
            return
        for directory, by_ms in sorted(self._offline.items()):
            if by_ms is not None and now_ms >= by_ms:
                yield self._become(
                    ShuttingDown(
                        f"{config}: log directory {self._called(directory)} failed, and no "
                        f"controller could be told within {config.directory_failure_timeout_ms} ms "
                        f"(log.dir.failure.timeout.ms): {self._obstacle}"
                    )
                )
                return
        if isinstance(self.state, PendingControlledShutdown) and now_ms >= self.state.until_ms:
            yield Note(
                f"the controller has not let go within {config.shutdown_timeout_ms} ms, "
                f"leaving all the same: {self._obstacle}"
            )
            yield self._become(ShuttingDown())
            return
        if self._ask_at_ms is not None and now_ms >= self._ask_at_ms:
            yield from self._ask()

    # --- asking ------------------------------------------------------------------------------

    def _ask(self) -> Iterator[Effect]:
        """Ask what has to be asked next."""
        assert self._asked is None, f"{self._asked} is in flight"
        self._ask_at_ms, self._is_urgent = None, False
        match self.standing:
            case Unregistered(incarnation_id) | Amending(incarnation_id):
                # What the last life has left is not what is there now, once this one has begun.
                is_first = self.last_epoch is None
                previous = self.config.previous_epoch if is_first else UNKNOWN_EPOCH
                self._asked = Register(incarnation_id, previous, self._listed_directories())
                yield self._asked
            case Registered(_, epoch):
                self._asked = self._heartbeat(epoch)
                yield self._asked
            case Gone():
                # There is nobody to ask for until there is an id.
                return

    def _hurry(self) -> Iterator[Effect]:
        """Ask at once, or as soon as an answer is there."""
        if isinstance(self.state, ShuttingDown):
            return
        if self._asked is None:
            yield from self._ask()
        else:
            self._is_urgent = True

    def _ask_after(self, after_ms: int, now_ms: int) -> Iterator[Effect]:
        """Ask after a while, or at once if something is urgent."""
        if self._is_urgent:
            yield from self._ask()
        else:
            self._ask_at_ms = now_ms + after_ms

    def _heartbeat(self, epoch: int) -> Heartbeat:
        is_pending = isinstance(self.state, PendingControlledShutdown)
        # A controller lets nobody in who is not at its registration yet; neither do we.
        is_ready = self.is_storage_ready and self.metadata.offset >= epoch
        knows_cordons = not isinstance(self.state, Starting) and (
            self.metadata.level >= CORDONED_DIRECTORIES
        )
        return Heartbeat(
            epoch,
            self.metadata.offset,
            want_fence=not is_ready,
            want_shut_down=is_pending,
            offline=tuple(sorted(self._offline)),
            cordoned=self.metadata.cordoned if knows_cordons else None,
        )

    def _listed_directories(self) -> tuple[Uuid, ...]:
        """Return the directories to register: all but those that are known to be offline.

        One that has failed and was not reported yet is listed all the same: the controller elects
        leaders for what lay in a directory when that goes offline, and what was never there
        cannot (ReplicationControlManager.handleDirectoriesOffline).
        """
        return tuple(
            directory
            for directory in self.config.directory_ids
            if self._offline.get(directory, 0) is not None
        )

    # --- answers -----------------------------------------------------------------------------

    def _answered(self, asked: Register | Heartbeat, event: Event, now_ms: int) -> Iterator[Effect]:
        if not self._is_ours(asked):
            # About a registration that is not ours any more, as the metadata has told meanwhile.
            yield from self._ask()
            return
        match asked, event:
            case Register(), GivenEpoch(epoch):
                yield from self._answers_again()
                yield from self._registered(asked.incarnation_id, epoch)
            case Heartbeat(), HeartbeatTaken():
                yield from self._answers_again()
                yield from self._heartbeat_taken(asked, event, now_ms)
            case _, Denied(ErrorCode.NOT_CONTROLLER):
                yield from self._retry("whoever was asked does not lead the quorum", now_ms)
            case _, Unanswered(why):
                yield from self._retry(why, now_ms)
            case _, Denied(error, why):
                yield from self._denied(asked, error, why, now_ms)
            case _:
                raise AssertionError(f"{event} does not answer {asked}")

    def _is_ours(self, asked: Register | Heartbeat) -> bool:
        match asked:
            case Register(incarnation_id):
                return incarnation_id == self._incarnation_id
            case Heartbeat(epoch):
                return epoch == self.epoch

    def _answers_again(self) -> Iterator[Effect]:
        if self._told_obstacle:
            yield Note(f"the controller answers, after {self._failures} failures")
        self._failures, self._obstacle, self._told_obstacle = 0, "the controller answers", ""

    def _registered(self, incarnation_id: Uuid, epoch: int) -> Iterator[Effect]:
        self._register_by_ms = None
        if epoch != self.epoch:
            # An amendment is judged when the metadata shows it, and not by what was there before.
            self._judged = None
        self.standing, self.last_epoch = Registered(incarnation_id, epoch), epoch
        if self.metadata.offset >= epoch:
            yield from self._judge(incarnation_id, epoch)
        if self._asked is None:
            yield from self._hurry()

    def _heartbeat_taken(
        self, asked: Heartbeat, answer: HeartbeatTaken, now_ms: int
    ) -> Iterator[Effect]:
        for directory in asked.offline:
            self._offline[directory] = None
        interval_ms = self.config.heartbeat_interval_ms
        match self.state:
            case Starting() if answer.caught_up:
                yield self._become(Recovery())
                yield from self._ask_after(interval_ms, now_ms)
            case Starting() if asked.metadata_offset >= asked.epoch:
                # We are at our first registration, and the controller has a later one in mind: an
                # earlier attempt of ours was not lost, only its answer.
                yield from self._ask_after(CATCH_UP_MS, now_ms)
            case Recovery() if not answer.fenced and not asked.want_fence:
                yield self._become(Running())
                yield from self._ask_after(interval_ms, now_ms)
            case PendingControlledShutdown() if asked.want_shut_down and answer.should_shut_down:
                yield self._become(ShuttingDown())
            case PendingControlledShutdown() if asked.want_shut_down and not self._said_goodbye:
                self._said_goodbye = True
                yield from self._ask_after(LEAVE_MS, now_ms)
            case _:
                yield from self._ask_after(interval_ms, now_ms)

    def _retry(self, why: str, now_ms: int) -> Iterator[Effect]:
        """Ask again soon: another controller may lead by then."""
        yield from self._fail(why)
        retry_ms = RETRY_MS << min(self._failures - 1, 16)
        self._ask_at_ms = now_ms + min(retry_ms, self.config.heartbeat_interval_ms)

    def _denied(
        self, asked: Register | Heartbeat, error: ErrorCode, why: str, now_ms: int
    ) -> Iterator[Effect]:
        """Ask again after an interval: a controller has said no, and may change its mind."""
        request = "registration" if isinstance(asked, Register) else "heartbeat"
        told = f"the controller refuses the {request}: {error.name}, {why or error.words}"
        advice = advice_on(error, self.config) if isinstance(asked, Register) else ""
        yield from self._fail(f"{told}; {advice}" if advice else told, at_once=True)
        self._ask_at_ms = now_ms + self.config.heartbeat_interval_ms

    def _fail(self, why: str, at_once: bool = False) -> Iterator[Effect]:
        # Whatever was urgent waits like the rest: nobody asks at once who was just turned away.
        self._is_urgent = False
        self._failures += 1
        self._obstacle = why
        is_news = at_once or self._failures >= NOISY_FAILURES
        if is_news and why != self._told_obstacle:
            self._told_obstacle = why
            yield Note(why)

    # --- what the metadata says --------------------------------------------------------------

    def _applied(self, metadata: MetadataApplied) -> Iterator[Effect]:
        before, self.metadata = self.metadata, metadata
        match self.standing:
            case Registered(own, epoch) | Amending(own, epoch) if metadata.offset >= epoch:
                yield from self._judge(own, epoch)
                has_arrived = before.offset < epoch
                if has_arrived or before.cordoned != metadata.cordoned:
                    yield from self._hurry()
            case _:
                # It speaks of lives before this one, or there is no such life.
                return

    def _judge(self, own: Uuid, epoch: int) -> Iterator[Effect]:
        """See what our registration is worth, whenever it or the level is another.

        Called with metadata that has reached our registration: what lies before is about somebody
        else, be it an earlier life of ours.
        """
        registration, level = self.metadata.registration, self.metadata.level
        before, self._judged = self._judged, (registration, level)
        if before == self._judged:
            return
        is_pending = isinstance(self.state, PendingControlledShutdown)
        if registration is None:
            yield Note(f"unregistered by somebody else, was of epoch {epoch}")
            if is_pending:
                # Whoever is not registered leads nothing.
                yield self._become(ShuttingDown())
                return
            self.standing = Gone()
            yield DrawIncarnation()
        elif registration.incarnation_id != own:
            why = (
                f"{self.config}: another process has registered under this node.id with epoch "
                f"{registration.epoch}, this one had epoch {epoch}; stop one of them, or give it "
                f"an id of its own"
            )
            yield self._become(ShuttingDown("" if is_pending else why))
        elif registration.epoch != epoch or (
            level >= DIRECTORIES and not registration.directories and not is_pending
        ):
            # An attempt of ours came late, and was taken for the first of a new life; or the
            # cluster learned of directories (3.7-IV2) after we had registered.
            yield Note(f"registers again: metadata.version {level}, epoch {registration.epoch}")
            self.standing = Amending(own, registration.epoch)
            yield from self._hurry()
        else:
            was_fenced = before is None or before[0] is None or before[0].fenced
            if registration.fenced and not was_fenced and isinstance(self.state, Running):
                yield Note(f"fenced by the controller, and asks to be let in again: epoch {epoch}")
                yield from self._hurry()

    # --- what the node says ------------------------------------------------------------------

    def _directory_failed(self, directory: Uuid, now_ms: int) -> Iterator[Effect]:
        assert directory in self.config.directory_ids, f"{uuid_text(directory)} is not ours"
        if directory in self._offline:
            return
        self._offline[directory] = now_ms + self.config.directory_failure_timeout_ms
        if len(self._offline) == len(self.config.directory_ids):
            yield self._become(ShuttingDown(f"{self.config}: every log directory has failed"))
        elif isinstance(self.standing, Registered):
            yield from self._hurry()

    def _stop_asked(self, now_ms: int) -> Iterator[Effect]:
        match self.state:
            case PendingControlledShutdown() | ShuttingDown():
                return
            case Running() if self.config.controlled_shutdown and self.epoch is not None:
                until_ms = now_ms + self.config.shutdown_timeout_ms
                yield self._become(PendingControlledShutdown(until_ms))
                yield from self._hurry()
            case _:
                # Who never served is missed by nobody, nor who is not registered.
                yield self._become(ShuttingDown())

    def _called(self, directory: Uuid) -> str:
        """Return what an operator calls a directory."""
        paths = [path for path, id_ in self.config.directories.items() if id_ == directory]
        return f"{paths[0]} ({uuid_text(directory)})"

    def _become(self, state: State) -> Became:
        assert type(state) in NEXT[type(self.state)], f"{self.state} may not become {state}"
        self.state = state
        return Became(state)


def advice_on(error: ErrorCode, config: BrokerConfig) -> str:
    """Return what an operator can do about a registration that is refused; nothing if nothing.

    The answer holds a code and no word more.
    """
    match error:
        case ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            return (
                f"if {config} was killed a moment ago, its session has to expire first "
                f"(broker.session.timeout.ms); else stop the other process, or give this one "
                f"another node.id"
            )
        case ErrorCode.INCONSISTENT_CLUSTER_ID:
            return (
                f"this broker's directories are of cluster {config.cluster_id}; point "
                f"controller.quorum.bootstrap.servers at its controllers, or format anew"
            )
        case ErrorCode.INVALID_REGISTRATION:
            ids = ", ".join(
                f"{path} {uuid_text(id_)}" for path, id_ in sorted(config.directories.items())
            )
            return f"another broker may have one of these log directories: {ids}"
        case ErrorCode.UNSUPPORTED_VERSION:
            features = ", ".join(
                f"{name} {least}-{most}"
                for name, (least, most) in sorted(config.supported_features.items())
            )
            return f"the cluster may be at a level that this build does not know: {features}"
        case _:
            return ""
