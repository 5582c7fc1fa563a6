"""A broker's life under everything that network, controllers and operators may do to it.

Choices are biased: where operators stop brokers as often as heartbeats are answered, no broker
lives to be fenced.  Every run ends by healing the world, and the broker has to end up where it
belongs.  What all runs together have reached is counted, and looked at by the last test.
"""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from barnabas.broker.lifecycle import (
    Denied,
    DirectoryFailed,
    Heartbeat,
    PendingControlledShutdown,
    Recovery,
    Register,
    Running,
    ShuttingDown,
    StopAsked,
    StorageReady,
    TimerFired,
)
from barnabas.model.errors import ErrorCode
from tests.broker.kit import B, uuid
from tests.broker.world import Life

HEALED_ROUNDS = 60

seen: Counter[str] = Counter()
"""What all runs have come upon."""


def seldom(one_in: int) -> st.SearchStrategy[bool]:
    """Draw a yes once in so many times."""
    return st.integers(0, one_in - 1).map(lambda drawn: drawn == one_in - 1)


class AnyOrder(RuleBasedStateMachine):
    """Whatever happens, the machine keeps its promises."""

    def __init__(self) -> None:
        super().__init__()
        self.life = Life.begun(seen)
        self.stragglers: list[Register | Heartbeat] = []
        self.is_replaced = False

    @property
    def _asks(self) -> bool:
        return self.life.request is not None

    # --- what the network does

    @precondition(lambda self: self._asks)
    @rule()
    def request_and_answer_arrive(self) -> None:
        self.life.deliver()

    @rule(rounds=st.integers(3, 12))
    def all_is_well_for_a_while(self, rounds: int) -> None:
        for _ in range(rounds):
            self._one_thing_goes_well()

    @precondition(lambda self: self._asks)
    @rule()
    def the_request_is_lost_or_late(self) -> None:
        self.stragglers.append(self.life.lose())

    @precondition(lambda self: self._asks)
    @rule()
    def the_answer_is_lost(self) -> None:
        request = self.life.request
        assert request is not None
        self.life.controller.answer(request)
        self.life.lose()

    @precondition(lambda self: self.stragglers)
    @rule(which=st.integers(0, 9))
    def a_late_request_arrives(self, which: int) -> None:
        seen["late request"] += 1
        request = self.stragglers.pop(which % len(self.stragglers))
        self.life.controller.answer(request)

    @precondition(lambda self: self._asks)
    @rule(
        error=st.sampled_from(
            [
                ErrorCode.NOT_CONTROLLER,
                ErrorCode.REQUEST_TIMED_OUT,
                ErrorCode.UNKNOWN_SERVER_ERROR,
            ]
        )
    )
    def the_controller_cannot(self, error: ErrorCode) -> None:
        self.life.answered(Denied(error))

    # --- what time does

    @precondition(lambda self: self.life.timer_ms is not None)
    @rule(late_ms=st.sampled_from([0, 0, 0, 1, 500]))
    def the_timer_fires(self, late_ms: int) -> None:
        life = self.life
        assert life.timer_ms is not None
        life.now_ms = max(life.now_ms, life.timer_ms) + late_ms
        life.timer_ms = None
        life.happen(TimerFired())

    @rule(passed_ms=st.sampled_from([0, 10, 100, 100, 3_000]))
    def time_passes(self, passed_ms: int) -> None:
        self.life.now_ms += passed_ms

    # --- what the metadata does

    @rule(step=st.integers(1, 5))
    def metadata_is_read(self, step: int) -> None:
        offset = self.life.broker.metadata.offset + step
        if offset <= self.life.controller.end_offset:
            self.life.read_to(offset)

    @rule()
    def all_metadata_is_read_at_once(self) -> None:
        if self.life.broker.metadata.offset < self.life.controller.end_offset:
            self.life.read_to(self.life.controller.end_offset)

    @rule()
    def something_else_is_decided(self) -> None:
        controller = self.life.controller
        controller.write(controller.registration)

    # --- what the controller decides

    @rule()
    def the_session_expires(self) -> None:
        self.life.controller.fence()

    @rule(up=seldom(4))
    def the_level_is_raised(self, up: bool) -> None:
        controller = self.life.controller
        if up and controller.level < 30:
            controller.level += 15
            controller.write(controller.registration)

    @rule(now=seldom(6))
    def an_operator_unregisters_it(self, now: bool) -> None:
        controller = self.life.controller
        if now and controller.registration is not None:
            seen["unregistered"] += 1
            controller.has_session = False
            controller.write(None)

    @rule(now=seldom(8))
    def it_sleeps_and_another_process_takes_its_place(self, now: bool) -> None:
        controller = self.life.controller
        if now:
            controller.fence()
            seen["replaced"] += 1
            controller.register(uuid("x"), (uuid("y"),))
            self.is_replaced = True

    @rule()
    def others_lead_what_it_led(self) -> None:
        self.life.controller.is_led = False

    # --- what happens on its node

    @precondition(lambda self: isinstance(self.life.broker.state, Recovery))
    @rule()
    def the_storage_is_ready(self) -> None:
        self.life.happen(StorageReady())

    @rule(now=seldom(12))
    def a_directory_fails(self, now: bool) -> None:
        if now:
            self.life.happen(DirectoryFailed(B))

    @precondition(lambda self: isinstance(self.life.broker.state, Running))
    @rule(now=seldom(3))
    def an_operator_stops_it_while_it_runs(self, now: bool) -> None:
        if now:
            self.life.happen(StopAsked())

    @rule(now=seldom(12))
    def an_operator_stops_it(self, now: bool) -> None:
        if now:
            seen[f"stopped while {type(self.life.broker.state).__name__}"] += 1
            self.life.happen(StopAsked())

    # --- what always holds

    @invariant()
    def it_never_waits_for_ever(self) -> None:
        life = self.life
        assert life.is_over or life.request is not None or life.timer_ms is not None

    @invariant()
    def who_is_registered_is_never_out_of_time(self) -> None:
        match self.life.broker.state:
            case ShuttingDown(failure) if "could not register" in failure:
                assert self.life.broker.last_epoch is None
                assert self.life.now_ms >= 60_000
            case ShuttingDown(failure) if "another process" in failure:
                # Our own late attempts, too, are somebody else's to an incarnation that followed.
                assert self.is_replaced or self.life.drawn
            case _:
                pass

    def teardown(self) -> None:
        """Heal the world: the broker runs unfenced, has left, or knows that it has to go."""
        life, controller = self.life, self.life.controller
        controller.is_led = False
        for _ in range(HEALED_ROUNDS):
            if not life.is_over:
                self._one_thing_goes_well()
        state = life.broker.state
        assert isinstance(state, Running | ShuttingDown), f"still {state} in a healed world"
        if isinstance(state, Running):
            registration = controller.registration
            assert registration is not None
            assert (registration.epoch, registration.fenced) == (life.broker.epoch, False)
            assert not life.broker.is_fenced

    def _one_thing_goes_well(self) -> None:
        life, controller = self.life, self.life.controller
        if controller.end_offset > life.broker.metadata.offset:
            life.read_to(controller.end_offset)
        elif life.request is not None:
            life.deliver()
        elif isinstance(life.broker.state, Recovery) and not life.broker.is_storage_ready:
            life.happen(StorageReady())
        elif life.timer_ms is not None:
            life.now_ms, life.timer_ms = max(life.now_ms, life.timer_ms), None
            life.happen(TimerFired())
            # Whoever took its place has died meanwhile: sessions end.
            if isinstance(life.request, Register):
                controller.fence()


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=300, stateful_step_count=50, deadline=None)


def test_the_runs_have_reached_every_state_and_every_misfortune() -> None:
    if not seen:
        TestAnyOrder("runTest").runTest()
    states = (Recovery, Running, PendingControlledShutdown, ShuttingDown)
    wanted = [kind.__name__ for kind in (*states, Heartbeat, Register, Denied)]
    wanted += ["unregistered", "replaced", "late request", "IncarnationDrawn", "DirectoryFailed"]
    wanted += ["could not register within", "another process has registered"]
    # What is drawn depends on what else is tested in the same run; each of these is usually seen
    # dozens of times.
    unseen = [what for what in wanted if not seen[what]]
    assert not unseen, f"of {dict(seen)}"
