"""A controller makes itself known to its cluster (KIP-919): where it is, and what it can.

    Idle ── not registered, and the level has words for it ──▶ Asking ── acknowledged ──▶ Idle
                                                                │  ▲
                                                         refused│  │ in a while
                                                                ▼  │
                                                               Pausing

Every controller registers with whoever leads, once in its life, and again if the metadata show that
its registration is gone or another life's.  What counts is the record in the log: an acknowledged
request is no registration yet, and asking again would not make it one any sooner.

Driven by the shell: what the metadata say, the answers, one timer.

Fixed by Kafka's ControllerRegistrationManager.scala.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from barnabas.metadata.cluster import ControllerRegistration
from barnabas.metadata.levels import CONTROLLER_REGISTRATION
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.value import value

# How long after a first failure it is asked again; each failure more doubles that.
RETRY_MS: Final = 100
RETRY_MS_MAX: Final = 120_000


# --- What can happen ------------------------------------------------------------------------------


@value
class Told:
    """The metadata are others."""

    level: int | None
    registration: ControllerRegistration | None
    """Of this controller's id."""


@value
class Answered:
    """Who leads has answered."""

    error: ErrorCode
    why: str = ""


@value
class Unanswered:
    """Nobody could be asked, or nobody has answered."""

    why: str


@value
class TimerFired:
    """The time is up."""


Event: TypeAlias = Told | Answered | Unanswered | TimerFired

# --- What is to be done about it ------------------------------------------------------------------


@value
class Register:
    """Ask who leads to register this controller."""


@value
class SetTimer:
    """Fire in a while."""

    after_ms: int


@value
class Note:
    """Something that an operator will look for."""

    text: str


Effect: TypeAlias = Register | SetTimer | Note

# --- What it is at --------------------------------------------------------------------------------


@value
class Idle:
    """Nothing is under way."""


@value
class Asking:
    """A request is under way: there is never more than one."""


@value
class Pausing:
    """The last one failed."""


State: TypeAlias = Idle | Asking | Pausing

NEXT: Final[Mapping[type[State], frozenset[type[State]]]] = {
    Idle: frozenset({Asking}),
    Asking: frozenset({Idle, Pausing}),
    Pausing: frozenset({Asking, Idle}),
}


class Presence:
    """One life of a controller, as its cluster knows it."""

    def __init__(self, incarnation_id: Uuid) -> None:
        self.state: State = Idle()
        self.incarnation_id: Final = incarnation_id
        self.is_registered = False
        """Whether the log says so."""
        self._level: int | None = None
        self._failures = 0

    def step(self, event: Event) -> list[Effect]:
        """Take one event; return what to do about it, in order."""
        match self.state, event:
            case _, Told(level, registration):
                self._level = level
                notes = self._look_at(registration)
                return [*notes, *(self._considered() if isinstance(self.state, Idle) else ())]
            case Asking(), Answered(ErrorCode.NONE):
                self._failures = 0
                self._become(Idle())
                return [Note("registration acknowledged")]
            case Asking(), Answered(error, why):
                return self._failed(f"{error.name}: {why or error.words}")
            case Asking(), Unanswered(why):
                return self._failed(why)
            case Pausing(), TimerFired():
                effects = self._considered()
                if not effects:
                    self._become(Idle())
                return effects
            case state, event:
                raise AssertionError(f"{event} cannot happen to a controller that is {state}")

    def _look_at(self, registration: ControllerRegistration | None) -> list[Effect]:
        was = self.is_registered
        self.is_registered = (
            registration is not None and registration.incarnation_id == self.incarnation_id
        )
        if self.is_registered == was:
            return []
        if self.is_registered:
            return [Note("registered")]
        return [Note("registration gone" if registration is None else "another life is registered")]

    def _considered(self) -> list[Effect]:
        if self.is_registered or (self._level or 0) < CONTROLLER_REGISTRATION:
            return []
        self._become(Asking())
        return [Register()]

    def _failed(self, why: str) -> list[Effect]:
        after_ms = min(RETRY_MS << self._failures, RETRY_MS_MAX)
        self._failures = min(self._failures + 1, RETRY_MS_MAX.bit_length())
        self._become(Pausing())
        return [Note(f"registration failed, again in {after_ms} ms: {why}"), SetTimer(after_ms)]

    def _become(self, state: State) -> None:
        assert type(state) in NEXT[type(self.state)], f"{self.state} cannot become {state}"
        self.state = state
