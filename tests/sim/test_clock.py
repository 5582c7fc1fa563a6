"""Clocks that disagree."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.runtime.runtime import Runtime
from barnabas.sim.clock import HostClock
from barnabas.sim.kernel import Kernel
from tests.sim.worlds import run_in_world, world_of


@given(st.integers(-200_000, 250_000), st.integers(0, 10**15), st.integers(0, 10**14))
def test_a_timer_set_by_a_clock_finds_the_clock_there(rate: int, began: int, ahead: int) -> None:
    kernel = Kernel()
    clock = HostClock(kernel, rate, began, 0)
    kernel.now_ns = clock.kernel_ns(began + ahead)
    assert began + ahead <= clock.monotonic_ns() <= began + ahead + 2
    kernel.now_ns -= 2
    assert clock.monotonic_ns() < began + ahead or ahead == 0


def test_a_change_of_rate_does_not_turn_time_back() -> None:
    kernel = Kernel()
    clock = HostClock(kernel, 0, 500, 0)
    shown = [clock.monotonic_ns()]
    for rate in (250_000, -200_000, 0):
        clock.set_rate(rate)
        shown.append(clock.monotonic_ns())
        kernel.now_ns += 1_000
        shown.append(clock.monotonic_ns())
    assert shown == [500, 500, 1_750, 1_750, 2_550, 2_550, 3_550]


def test_the_calendar_steps_and_the_other_clock_does_not() -> None:
    kernel = Kernel()
    clock = HostClock(kernel, 0, 10**12, 0)
    before_ms, shown_ns = clock.wall_ms(), clock.monotonic_ns()
    clock.step_wall(-3_600_000)
    assert clock.wall_ms() == before_ms - 3_600_000
    assert clock.monotonic_ns() == shown_ns


def test_a_reboot_begins_to_count_anew_and_keeps_the_calendar() -> None:
    kernel = Kernel()
    clock = HostClock(kernel, 0, 10**12, 0)
    kernel.now_ns = 10**9
    before_ms = clock.wall_ms()
    clock.reboot(7)
    assert clock.monotonic_ns() == 7
    assert abs(clock.wall_ms() - before_ms) <= 1


def test_a_process_sleeps_no_less_than_it_asked_for() -> None:
    async def main(runtime: Runtime) -> None:
        clock = runtime.clock
        began_ms = clock.now_ms()
        await clock.sleep_ms(100)
        assert 100 <= clock.now_ms() - began_ms <= 101
        await clock.sleep_until(began_ms + 500)
        assert 500 <= clock.now_ms() - began_ms <= 501
        await clock.sleep_until(began_ms)
        called: list[int] = []
        timers = [
            clock.call_at(began_ms + 600, lambda number=number: called.append(number))  # type: ignore[misc]  # -- a default binds early
            for number in range(5)
        ]
        timers[3].cancel()
        await clock.sleep_ms(200)
        assert called == [0, 1, 2, 4]
        assert clock.now_ns() // 1_000_000 == clock.now_ms()

    run_in_world(main)


def test_hosts_disagree_about_everything() -> None:
    with world_of("a", "b") as world:
        clocks = [host.clock for host in world.hosts.values()]
        assert abs(clocks[0].monotonic_ns() - clocks[1].monotonic_ns()) > 10**11
