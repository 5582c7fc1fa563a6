"""The clocks of this machine."""

import asyncio
import time
from functools import partial

import pytest

from barnabas.host.clock import HostClock


def fail(place: str, error: BaseException) -> None:
    """Take a failure that should not be."""
    pytest.fail(f"{place}: {error!r}")


def test_both_clocks_are_the_machine_s() -> None:
    clock = HostClock("test", fail)
    before = time.monotonic_ns()
    now_ns, now_ms = clock.now_ns(), clock.now_ms()
    assert before <= now_ns <= time.monotonic_ns()
    assert now_ns // 1_000_000 <= now_ms <= time.monotonic_ns() // 1_000_000
    assert abs(clock.wall_ms() - time.time() * 1_000) < 1_000


def test_nothing_is_early_by_the_clock_it_was_asked_of() -> None:
    async def main() -> None:
        clock = HostClock("test", fail)
        for duration_ms in (0, 1, 2, 3):
            for _ in range(10):
                began_ns = clock.now_ns()
                await clock.sleep_ms(duration_ms)
                assert clock.now_ns() - began_ns >= duration_ms * 1_000_000
                at_ms = clock.now_ms() + duration_ms
                await clock.sleep_until(at_ms)
                assert clock.now_ms() >= at_ms
                made = asyncio.Event()
                at_ms = clock.now_ms() + duration_ms
                clock.call_at(at_ms, made.set)
                await made.wait()
                assert clock.now_ms() >= at_ms

    asyncio.run(main())


def test_sleeping_until_a_moment_that_has_passed_returns() -> None:
    async def main() -> None:
        clock = HostClock("test", fail)
        await clock.sleep_until(clock.now_ms() - 1_000)
        await clock.sleep_until(0)

    asyncio.run(main())


def test_calls_of_the_same_millisecond_are_made_in_the_order_they_were_asked_for() -> None:
    async def main() -> None:
        clock = HostClock("test", fail)
        made: list[tuple[int, int]] = []
        done = asyncio.Event()
        start_ms = clock.now_ms() + 2
        # Asked for in an order of moments that is not theirs.
        for index in range(300):
            at_ms = start_ms + index * 7 % 3
            clock.call_at(at_ms, partial(made.append, (at_ms, index)))
        clock.call_at(start_ms + 3, done.set)
        await done.wait()
        assert made == sorted(made)
        assert len(made) == 300

    asyncio.run(main())


def test_a_cancelled_call_is_not_made_and_the_others_are() -> None:
    async def main() -> None:
        clock = HostClock("test", fail)
        made: list[int] = []
        done = asyncio.Event()
        at_ms = clock.now_ms() + 2
        timers = [clock.call_at(at_ms, partial(made.append, index)) for index in range(9)]
        alone = clock.call_at(at_ms + 1, lambda: made.append(99))
        for timer in (timers[0], timers[4], timers[8], timers[4], alone):
            timer.cancel()
        # The row of a moment that was emptied can be filled again.
        clock.call_at(at_ms + 1, lambda: made.append(10))
        clock.call_at(at_ms + 2, done.set)
        await done.wait()
        assert made == [1, 2, 3, 5, 6, 7, 10]
        for timer in (*timers, alone):
            timer.cancel()

    asyncio.run(main())


def test_a_call_may_cancel_those_behind_it_and_ask_for_more() -> None:
    async def main() -> None:
        clock = HostClock("test", fail)
        made: list[str] = []
        done = asyncio.Event()
        at_ms = clock.now_ms() + 2

        def first() -> None:
            made.append("first")
            second.cancel()
            clock.call_at(at_ms, lambda: made.append("asked for late"))
            clock.call_at(at_ms, done.set)

        clock.call_at(at_ms, first)
        second = clock.call_at(at_ms, lambda: made.append("second"))
        clock.call_at(at_ms, lambda: made.append("third"))
        await done.wait()
        assert made == ["first", "third", "asked for late"]

    asyncio.run(main())


def test_a_call_that_raises_is_reported_and_holds_up_nobody() -> None:
    failures: list[tuple[str, BaseException]] = []
    bug = ValueError("a bug")

    def raising() -> None:
        raise bug

    async def main() -> None:
        clock = HostClock("node 1", lambda place, error: failures.append((place, error)))
        done = asyncio.Event()
        at_ms = clock.now_ms()
        clock.call_at(at_ms, raising)
        clock.call_at(at_ms, done.set)
        await done.wait()

    asyncio.run(main())
    assert failures == [("node 1/timer", bug)]
