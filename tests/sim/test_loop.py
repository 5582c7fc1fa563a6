"""One node's asyncio: unmodified coroutines on virtual time."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.sim.clock import HostClock
from barnabas.sim.kernel import Kernel
from barnabas.sim.loop import NodeLoop, describe
from barnabas.sim.tape import Tape

NS_PER_S = 1_000_000_000


class Node:
    """A kernel with one loop, and what failed there."""

    def __init__(self, seed: int = 1, cost_ns: int = 0) -> None:
        self.kernel = Kernel()
        self.failures: list[tuple[str, BaseException]] = []
        clock = HostClock(self.kernel, 0, 0, 0)
        self.loop = NodeLoop(  # type: ignore[abstract]  # -- those doors stay closed
            "node", 1, self.kernel, clock, Tape(seed), self._fail
        )
        self.loop.cost_ns = cost_ns

    def run(self, work: Coroutine[Any, Any, None], limit_s: int = 1_000) -> None:
        """Run a coroutine to its end."""
        task = self.loop.create_task(work)
        self.kernel.run(limit_s * NS_PER_S)
        assert task.done(), "the coroutine is still running"
        task.result()

    def _fail(self, where: str, error: BaseException) -> None:
        self.failures.append((where, error))


def test_asyncio_works_as_everywhere() -> None:
    said: list[str] = []

    async def worker(queue: "asyncio.Queue[int]", lock: asyncio.Lock) -> None:
        while (item := await queue.get()) >= 0:
            async with lock:
                await asyncio.sleep(1)
                said.append(f"{asyncio.get_running_loop().time():.0f} {item}")

    async def main() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(2)
        lock, event, condition = asyncio.Lock(), asyncio.Event(), asyncio.Condition()
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(worker(queue, lock))
            for item in (1, 2, 3, -1, -1):
                await queue.put(item)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await event.wait()
        asyncio.get_running_loop().call_later(1, event.set)
        await asyncio.wait_for(event.wait(), 5)
        async with condition:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(condition.wait(), 1)
        both = await asyncio.gather(asyncio.sleep(2, "b"), asyncio.sleep(1, "a"))
        assert list(both) == ["b", "a"]
        said.append(f"{asyncio.get_running_loop().time():.0f} end")

    Node().run(main())
    assert said == ["1 1", "2 2", "3 3", "12 end"]


@given(st.lists(st.sampled_from((1, 2, 3)), min_size=1, max_size=30))
def test_timers_of_one_deadline_fire_in_the_order_they_were_set(deadlines: list[int]) -> None:
    node = Node()
    fired: list[tuple[int, int]] = []
    for number, deadline in enumerate(deadlines):
        node.loop.call_at(deadline, fired.append, (deadline, number))
    node.kernel.run(10 * NS_PER_S)
    assert fired == sorted((deadline, number) for number, deadline in enumerate(deadlines))


def test_cancelled_callbacks_do_not_run() -> None:
    node = Node()
    ran: list[str] = []
    handle = node.loop.call_soon(ran.append, "soon")
    timer = node.loop.call_later(1, ran.append, "later")
    handle.cancel()
    timer.cancel()
    timer.cancel()
    assert handle.cancelled()
    assert timer.cancelled()
    node.kernel.run(10 * NS_PER_S)
    assert ran == []


def test_a_host_whose_clock_is_fast_is_early_and_one_whose_clock_slows_down_is_not() -> None:
    kernel = Kernel()
    clock = HostClock(kernel, 500_000, 0, 0)
    loop = NodeLoop(  # type: ignore[abstract]  # -- those doors stay closed
        "node", 1, kernel, clock, Tape(1), lambda where, error: None
    )
    fired: list[tuple[int, int]] = []
    loop.call_at(3, lambda: fired.append((kernel.now_ns, clock.monotonic_ns())))
    kernel.run(NS_PER_S)
    clock.set_rate(-500_000)
    kernel.run(10 * NS_PER_S)
    ((at_ns, shown_ns),) = fired
    assert shown_ns >= 3 * NS_PER_S
    assert at_ns == 4 * NS_PER_S, "one second at one and a half, three at a half"


def test_while_paused_things_come_due_and_either_order_is_seen_afterwards() -> None:
    def order(seed: int) -> tuple[str, ...]:
        node = Node(seed)
        said: list[str] = []
        node.loop.call_later(2, said.append, "timer")
        node.kernel.after(NS_PER_S, lambda _: node.loop.input(said.append, "input"), None)
        node.loop.pause()
        node.kernel.run(5 * NS_PER_S)
        assert said == []
        node.loop.thaw()
        node.kernel.run(6 * NS_PER_S)
        return tuple(said)

    assert {order(seed) for seed in range(20)} == {("input", "timer"), ("timer", "input")}


def test_an_escaping_exception_is_told_once_and_not_logged_away() -> None:
    node = Node()

    def fail() -> None:
        raise ValueError("bad")

    node.loop.call_soon(fail)
    node.kernel.run(1)
    ((where, error),) = node.failures
    assert "fail" in where
    assert isinstance(error, ValueError)


def test_an_executor_is_an_event_some_time_later() -> None:
    node = Node()

    def fail() -> None:
        raise ValueError("bad")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, max, 3, 5) == 5
        with pytest.raises(ValueError, match="bad"):
            await loop.run_in_executor(None, fail)
        assert await asyncio.to_thread(min, 3, 5) == 3

    node.run(main())
    assert node.kernel.now_ns > 0


def test_doors_to_the_world_are_closed() -> None:
    # AbstractEventLoop raises a RuntimeError of its own for all that a loop does not have.
    async def main() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(RuntimeError):
            await asyncio.open_connection("localhost", 1)
        with pytest.raises(RuntimeError):
            await asyncio.create_subprocess_exec("true")
        for door in (loop.add_reader, loop.add_writer, loop.add_signal_handler):
            with pytest.raises(RuntimeError):
                door(0, print)
        with pytest.raises(RuntimeError):
            await loop.getaddrinfo("localhost", 1)

    Node().run(main())


def test_names_of_tasks_are_counted_per_loop() -> None:
    async def named() -> str:
        task = asyncio.current_task()
        assert task is not None
        return task.get_name()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert await loop.create_task(named()) == "task-2"
        assert await loop.create_task(named(), name="mine") == "mine"

    for _ in range(2):
        Node().run(main())


def test_a_callback_is_described_without_addresses() -> None:
    loop = Node().loop
    handle = loop.call_soon(loop.pause)
    timer = loop.call_later(1, loop.thaw)
    assert "NodeLoop.pause" in repr(handle)
    assert "NodeLoop.thaw" in repr(timer)
    assert "0x" not in describe(loop.pause) + repr(handle) + repr(timer)


def test_busy_time_is_paid_before_the_next_handle() -> None:
    node = Node(cost_ns=1_000)
    times: list[int] = []

    def slow() -> None:
        node.loop.charge(5_000)
        assert node.loop.charged_ns == 5_000

    node.loop.call_soon(slow)
    node.loop.call_soon(lambda: times.append(node.kernel.now_ns))
    node.kernel.run(NS_PER_S)
    assert times == [6_000]
