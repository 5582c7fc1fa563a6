"""A controller as simple as can be, a log, and a network that loses and delays: for one machine.

The controller registers, fences and lets go by Kafka's rules and knows nothing else.  What it
decides is in its log at once; how far the broker has read that is for the test to say.
"""

from collections import Counter
from dataclasses import dataclass, replace

from barnabas.broker.lifecycle import (
    Became,
    Denied,
    DrawIncarnation,
    Event,
    GivenEpoch,
    Heartbeat,
    HeartbeatTaken,
    IncarnationDrawn,
    Lifecycle,
    MetadataApplied,
    Register,
    SetTimer,
    ShuttingDown,
    Started,
    Unanswered,
)
from barnabas.metadata.cluster import BrokerRegistration
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from tests.broker.kit import CONFIG, registered


class Controller:
    """Who decides, and the log of what was decided."""

    def __init__(self) -> None:
        self.level = 15
        self.registration: BrokerRegistration | None = None
        # Of what is registered, the offset of the last record that registered it.
        self.record_offset = -1
        self.has_session = False
        self.is_led = True
        """Whether the broker leads partitions, which somebody else has to lead before it goes."""
        self.log: list[tuple[BrokerRegistration | None, int]] = [(None, 15)]
        self.epochs: dict[Uuid, list[int]] = {}

    @property
    def end_offset(self) -> int:
        """The offset of the last record."""
        return len(self.log) - 1

    def write(self, registration: BrokerRegistration | None) -> None:
        """Decide how the broker is registered."""
        self.registration = registration
        self.log.append((registration, self.level))

    def fence(self) -> None:
        """Give up on a broker that has not been heard of."""
        self.has_session = False
        if self.registration is not None and not self.registration.fenced:
            self.write(replace(self.registration, fenced=True))

    def register(self, incarnation_id: Uuid, directories: tuple[Uuid, ...]) -> Event:
        """Take a registration on the three grounds there are."""
        known = self.registration
        same = known is not None and known.incarnation_id == incarnation_id
        if known is not None and self.has_session and not same:
            return Denied(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        epoch = known.epoch if known is not None and same else self.end_offset + 1
        fenced = known.fenced if known is not None and same else True
        listed = directories if self.level >= 17 else ()
        self.write(registered(epoch, incarnation_id, fenced, listed))
        self.record_offset, self.has_session = self.end_offset, True
        if not same:
            self.epochs.setdefault(incarnation_id, []).append(epoch)
        return GivenEpoch(epoch)

    def heartbeat(self, beat: Heartbeat) -> Event:
        """Take a heartbeat."""
        known = self.registration
        if known is None or known.epoch != beat.epoch:
            return Denied(ErrorCode.STALE_BROKER_EPOCH)
        self.has_session = True
        caught_up = beat.metadata_offset >= self.record_offset
        let_go = beat.want_shut_down and (known.fenced or not self.is_led)
        if let_go and not known.fenced:
            self.write(replace(known, fenced=True))
        elif known.fenced and not (beat.want_fence or let_go) and caught_up:
            self.write(replace(known, fenced=False))
        elif not known.fenced and beat.want_fence:
            self.write(replace(known, fenced=True))
        standing = self.registration
        assert standing is not None
        return HeartbeatTaken(caught_up, standing.fenced, let_go)

    def answer(self, request: Register | Heartbeat) -> Event:
        """Do what is asked."""
        if isinstance(request, Register):
            return self.register(request.incarnation_id, request.directories)
        return self.heartbeat(request)


@dataclass
class Life:
    """A machine, its timer, and the request that it has in flight."""

    broker: Lifecycle
    controller: Controller
    seen: Counter[str]
    now_ms: int = 0
    timer_ms: int | None = None
    request: Register | Heartbeat | None = None
    drawn: int = 0

    @staticmethod
    def begun(seen: Counter[str]) -> "Life":
        """Return a life that has just begun."""
        life = Life(Lifecycle(CONFIG, Uuid(b"i%15d" % 0)), Controller(), seen)
        life.happen(Started())
        return life

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return isinstance(self.broker.state, ShuttingDown)

    def happen(self, event: Event) -> None:
        """Let something happen, and see that what is done about it is what may be done."""
        self.seen[type(event).__name__] += 1
        for effect in self.broker.step(event, self.now_ms):
            self.seen[type(effect).__name__] += 1
            match effect:
                case Register() | Heartbeat():
                    assert self.request is None, f"{self.request} and {effect} in flight (B-10)"
                    self.request = effect
                    self.check(effect)
                case SetTimer(at_ms):
                    self.timer_ms = at_ms
                case Became(state):
                    self.seen[type(state).__name__] += 1
                    if isinstance(state, ShuttingDown) and state.failure:
                        self.seen[" ".join(state.failure.split()[2:6])] += 1
                case DrawIncarnation():
                    self.drawn += 1
                    self.happen(IncarnationDrawn(Uuid(b"i%15d" % self.drawn)))
                case _:
                    pass

    def check(self, request: Register | Heartbeat) -> None:
        """See that a request is one that this broker may make."""
        if isinstance(request, Register):
            return
        known = [epoch for epochs in self.controller.epochs.values() for epoch in epochs]
        assert request.epoch in known, f"{request} with an epoch that nobody gave"
        if not request.want_fence:
            assert self.broker.is_storage_ready
            assert request.metadata_offset >= request.epoch, f"{request} is too early (B-04)"

    def answered(self, answer: Event) -> None:
        """Hand over an answer."""
        self.request = None
        self.happen(answer)

    def deliver(self) -> None:
        """Let the request arrive, and its answer."""
        assert self.request is not None
        self.answered(self.controller.answer(self.request))

    def lose(self) -> Register | Heartbeat:
        """Let nobody answer; return the request, which may arrive yet."""
        request = self.request
        assert request is not None
        self.answered(Unanswered("lost"))
        return request

    def read_to(self, offset: int) -> None:
        """Apply the metadata up to an offset."""
        registration, level = self.controller.log[offset]
        self.happen(MetadataApplied(offset, level, registration))
