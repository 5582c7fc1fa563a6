"""Virtual time and turns, with nodes that are nothing but a queue of calls."""

from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.sim.kernel import EVENT_LIMIT, SPINNING, Kernel


class Machine:
    """A node whose handles are plain functions."""

    def __init__(self, kernel: Kernel, name: str, salt: int = 1) -> None:
        self.name = name
        self.ready: deque[Callable[[], None]] = deque()
        self.salt = salt
        self.alive = True
        self.paused = False
        self.queued = False
        self.streak = 0
        self.cost_ns = 0
        self.free_at_ns = 0
        self._kernel = kernel

    def run_next(self) -> None:
        self.ready.popleft()()

    def soon(self, call: Callable[[], None]) -> None:
        self.ready.append(call)
        if not self.queued:
            self._kernel.wake(self)


@given(st.lists(st.integers(0, 20), max_size=60))
def test_entries_are_taken_by_time_and_then_in_the_order_made(times: list[int]) -> None:
    kernel = Kernel()
    taken: list[tuple[int, int]] = []
    for number, at_ns in enumerate(times):
        kernel.at(at_ns, taken.append, (at_ns, number))
    kernel.run(100)
    assert taken == sorted((at_ns, number) for number, at_ns in enumerate(times))
    assert kernel.now_ns == 100


def test_a_node_runs_first_in_first_out_and_nodes_take_turns() -> None:
    kernel = Kernel()
    said: list[str] = []
    machines = [Machine(kernel, name) for name in "ab"]
    for machine in machines:
        for number in range(3):
            machine.soon(lambda line=f"{machine.name}{number}": said.append(line))  # type: ignore[misc]  # -- a default binds early
    kernel.run(1)
    assert said == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_a_handle_keeps_its_node_busy_for_what_it_costs() -> None:
    kernel = Kernel()
    times: list[tuple[str, int]] = []
    slow, fast = Machine(kernel, "slow"), Machine(kernel, "fast")
    slow.cost_ns, fast.cost_ns = 100, 30
    for machine in (slow, fast):
        for _ in range(3):
            machine.soon(lambda name=machine.name: times.append((name, kernel.now_ns)))  # type: ignore[misc]  # -- a default binds early
    kernel.run(1_000)
    assert [at for name, at in times if name == "slow"] == [0, 100, 200]
    assert [at for name, at in times if name == "fast"] == [0, 30, 60]


def test_what_a_handle_charges_comes_before_its_own_cost() -> None:
    kernel = Kernel()
    machine = Machine(kernel, "a")
    machine.cost_ns = 10
    times: list[int] = []

    def slow() -> None:
        machine.free_at_ns = kernel.now_ns + 500

    machine.soon(slow)
    machine.soon(lambda: times.append(kernel.now_ns))
    kernel.run(1_000)
    assert times == [510]


def test_the_fast_way_round_the_heap_changes_nothing() -> None:
    def history(crowded: bool) -> list[int]:
        kernel = Kernel()
        machine = Machine(kernel, "a")
        machine.cost_ns = 10
        times: list[int] = []
        for _ in range(5):
            machine.soon(lambda: times.append(kernel.now_ns))
        if crowded:
            # Something in the heap before each turn, so that the slow way is taken.
            for at_ns in range(0, 60, 5):
                kernel.at(at_ns, lambda _: None, None)
        kernel.run(1_000)
        return times

    assert history(crowded=True) == history(crowded=False) == [0, 10, 20, 30, 40]


def test_slack_lets_what_is_due_soon_be_due_together() -> None:
    def order(slack_ns: int) -> list[str]:
        kernel = Kernel(slack_ns=slack_ns)
        said: list[str] = []
        a = Machine(kernel, "a")
        kernel.at(10, lambda _: a.soon(lambda: said.append("a runs")), None)
        kernel.at(15, lambda _: said.append("b is due"), None)
        kernel.run(100)
        return said

    assert order(0) == ["a runs", "b is due"]
    assert order(5) == ["b is due", "a runs"]


def test_a_node_that_never_waits_is_found_spinning() -> None:
    kernel = Kernel()
    machine = Machine(kernel, "a")

    def again() -> None:
        machine.soon(again)

    machine.soon(again)
    kernel.run(10**12)
    assert kernel.stopped is not None
    assert kernel.stopped.reason == SPINNING


@pytest.mark.slow
def test_waiting_that_takes_no_time_is_spinning_as_well() -> None:
    kernel = Kernel()
    machine = Machine(kernel, "a")

    def again(_: object) -> None:
        machine.soon(lambda: kernel.after(0, again, None))

    again(None)
    kernel.run(10**12)
    assert kernel.stopped is not None
    assert kernel.stopped.reason == SPINNING
    assert "time stood still" in kernel.stopped.story
    assert kernel.now_ns == 0


def test_a_run_that_does_too_much_is_stopped() -> None:
    kernel = Kernel()
    kernel.event_limit = 5_000
    machine = Machine(kernel, "a")
    machine.cost_ns = 1

    def again(_: object) -> None:
        machine.soon(lambda: kernel.after(10, again, None))

    again(None)
    kernel.run(10**12)
    assert kernel.stopped is not None
    assert kernel.stopped.reason == EVENT_LIMIT
    assert 5_000 <= kernel.events < 6_100


def test_dead_and_paused_nodes_do_not_run() -> None:
    kernel = Kernel()
    said: list[str] = []
    dead, paused = Machine(kernel, "dead"), Machine(kernel, "paused")
    for machine in (dead, paused):
        machine.soon(lambda: said.append("ran"))
    dead.alive = False
    paused.paused = True
    kernel.run(100)
    assert said == []
    paused.paused = False
    kernel.wake(paused)
    kernel.run(200)
    assert said == ["ran"]


def test_cancelled_timers_are_swept_before_they_are_due() -> None:
    class Timer:
        dead = False

    fired: list[Timer] = []

    def due(timer: Timer) -> None:
        if not timer.dead:
            fired.append(timer)

    kernel = Kernel()
    timers = [Timer() for _ in range(4_000)]
    for number, timer in enumerate(timers):
        kernel.at(10_000 + number, due, timer)
    for timer in timers[:3_000]:
        timer.dead = True
        kernel.timer_died(due)
    assert len(kernel._heap) < 2_000
    kernel.run(20_000)
    assert fired == timers[3_000:]


def test_the_trace_hash_depends_on_who_ran_and_when() -> None:
    def hashed(salts: tuple[int, ...], delay_ns: int = 0) -> int:
        kernel = Kernel()
        for salt in salts:
            machine = Machine(kernel, "a", salt)
            kernel.at(delay_ns, machine.soon, _nothing)
        kernel.run(100)
        return kernel.trace_hash

    assert hashed((1, 2)) == hashed((1, 2))
    assert len({hashed((1, 2)), hashed((2, 1)), hashed((1, 2), 1), hashed((1,))}) == 4


def _nothing() -> None:
    """Do nothing."""
