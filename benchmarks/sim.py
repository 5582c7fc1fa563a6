"""The simulator: how much of a bare heap is left, and how much faster than life a cluster runs.

The kernel's rivals are what it is made of: a heap of entries that are calls, and asyncio's own
loop.  Virtual time over real time has no rival; its goals are those of the simulator's design,
reached here by nodes that do nothing but exchange frames: product code comes on top.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush

from barnabas.runtime.network import Address, Connection
from barnabas.runtime.runtime import Runtime
from barnabas.sim.clock import HostClock
from barnabas.sim.kernel import Kernel
from barnabas.sim.loop import NodeLoop
from barnabas.sim.tape import Tape
from barnabas.sim.world import World
from benchmarks.report import Row, interleaved

ENTRIES = 300_000
# Not so many that a node is taken for one that spins.
SWITCHES = 60_000
NODES = 7
PORT = 9_000
HEARTBEAT_MS = 500
FRAME = bytes(100)


def run(repetitions: int) -> Iterator[Row]:
    """Measure the kernel, then worlds."""
    ours, theirs = interleaved(repetitions, kernel_entries, heap_entries)
    yield row("heap entries that are calls", "entries/s", ours, theirs, "a bare heap", ">= 0.3")
    ours, theirs = interleaved(repetitions, partial(switches, simulated), partial(switches, real))
    yield row("tasks handing over", "switches/s", ours, theirs, "asyncio's own loop", ">= 0.5")
    (idle,) = interleaved(repetitions, lambda: faster(heartbeat, 120_000)[0])
    yield row("7 idle nodes, heartbeats of 500 ms", "virtual s/s", idle, None, "", ">= 100")
    (mesh,) = interleaved(repetitions, lambda: faster(chatter, 2_000)[0])
    yield row("7 nodes, 42 echoes in flight", "virtual s/s", mesh, None, "", "")
    (calls,) = interleaved(repetitions, lambda: faster(chatter, 2_000)[1])
    yield row("7 nodes, 42 echoes in flight", "RPC/s", calls, None, "", ">= 12500")
    (events,) = interleaved(repetitions, lambda: faster(chatter, 2_000)[2])
    yield row("7 nodes, 42 echoes in flight", "events/s", events, None, "", "")


def row(case: str, unit: str, ours: float, theirs: float | None, against: str, goal: str) -> Row:
    """Return a figure of which more is better."""
    return Row("sim", case, unit, ours, theirs, against, goal, "more")


# ---- the kernel and what it is made of


def kernel_entries() -> float:
    """Return entries of the kernel's heap per second, a thousand of them waiting at a time."""
    kernel = Kernel()

    def again(step_ns: int) -> None:
        kernel.after(step_ns, again, step_ns)

    for number in range(1_000):
        kernel.at(number, again, 1_000 + number % 7)
    started = time.perf_counter()
    kernel.run(ENTRIES // 1_000 * 1_003)
    return ENTRIES / (time.perf_counter() - started)


def heap_entries() -> float:
    """Return what the same takes with a heap and nothing else."""
    heap: list[tuple[int, int, Callable[[int, int], None], int]] = []
    sequence = 0

    def again(now_ns: int, step_ns: int) -> None:
        nonlocal sequence
        sequence += 1
        heappush(heap, (now_ns + step_ns, sequence, again, step_ns))

    for number in range(1_000):
        again(number, 1_000 + number % 7)
    started = time.perf_counter()
    for _ in range(ENTRIES):
        now_ns, _, call, step_ns = heappop(heap)
        call(now_ns, step_ns)
    return ENTRIES / (time.perf_counter() - started)


def switches(runner: Callable[[], float]) -> float:
    """Return how often a second two tasks hand over to each other."""
    return 2 * SWITCHES / runner()


async def ping_pong() -> None:
    """Let two tasks hand something to and fro."""
    there: asyncio.Queue[int] = asyncio.Queue()
    back: asyncio.Queue[int] = asyncio.Queue()

    async def other() -> None:
        while await there.get():
            back.put_nowait(1)

    task = asyncio.get_running_loop().create_task(other())
    for _ in range(SWITCHES):
        there.put_nowait(1)
        await back.get()
    there.put_nowait(0)
    await task


def simulated() -> float:
    """Return how long it takes on a node's loop."""
    kernel = Kernel()

    def fail(where: str, error: BaseException) -> None:
        raise error

    loop = NodeLoop(  # type: ignore[abstract]  # -- those doors stay closed
        "a", 1, kernel, HostClock(kernel, 0, 0, 0), Tape(1), fail
    )
    loop.cost_ns = 10_000
    task = loop.create_task(ping_pong())
    started = time.perf_counter()
    kernel.run(10**15)
    took_s = time.perf_counter() - started
    task.result()
    return took_s


def real() -> float:
    """Return how long it takes on asyncio's own loop."""

    async def timed() -> float:
        started = time.perf_counter()
        await ping_pong()
        return time.perf_counter() - started

    return asyncio.run(timed())


# ---- worlds


class Echo:
    """Sends back what it gets."""

    connection: Connection

    def opened(self, connection: Connection) -> None:
        """Take the connection."""
        self.connection = connection

    def received(self, data: memoryview) -> int:
        """Send it back."""
        self.connection.send((data,))
        return len(data)

    def closed(self, error: Exception | None) -> None:
        """Have nothing to tidy up."""


class Caller(Echo):
    """Asks, waits for the whole answer, and lets somebody know."""

    def __init__(self) -> None:
        self.answers = 0
        self._waiter: asyncio.Future[None] | None = None

    def received(self, data: memoryview) -> int:
        """Take a whole answer."""
        if len(data) < len(FRAME):
            return 0
        self.answers += 1
        if self._waiter is not None:
            self._waiter.set_result(None)
            self._waiter = None
        return len(FRAME)

    async def call(self) -> None:
        """Ask and return when it was answered."""
        self._waiter = asyncio.get_running_loop().create_future()
        self.connection.send((FRAME,))
        await self._waiter


async def heartbeat(runtime: Runtime, host: str, callers: list[Caller]) -> None:
    """Send a heartbeat to every other node, twice a second."""
    while True:
        for caller in callers:
            await caller.call()
        await runtime.clock.sleep_ms(HEARTBEAT_MS)


async def chatter(runtime: Runtime, host: str, callers: list[Caller]) -> None:
    """Ask every other node without a pause."""

    async def ask(caller: Caller) -> None:
        while True:
            await caller.call()

    for number, caller in enumerate(callers):
        runtime.tasks.spawn(ask(caller), f"ask-{number}")
    await asyncio.Event().wait()


def faster(
    work: Callable[[Runtime, str, list[Caller]], object], length_ms: int
) -> tuple[float, float, float]:
    """Return virtual over real time, answers a second and events a second of seven nodes."""
    world = World(Tape(1))
    names = [f"node-{number}" for number in range(NODES)]
    every: list[Caller] = []

    async def main(runtime: Runtime, host: str) -> None:
        await runtime.network.listen(Address("", PORT), Echo)
        await runtime.clock.sleep_ms(10)
        mine = []
        for other in names:
            if other != host:
                caller = Caller()
                await runtime.network.connect(Address(other, PORT), caller, 10_000)
                mine.append(caller)
        every.extend(mine)
        done = work(runtime, host, mine)
        assert asyncio.iscoroutine(done)
        await done

    for name in names:
        world.add_host(name)
        world.start(name, partial(main, host=name))
    world.run_ms(1_000)
    answers, events = sum(caller.answers for caller in every), world.kernel.events
    started = time.perf_counter()
    world.run_ms(length_ms)
    took_s = time.perf_counter() - started
    world.close()
    assert world.violation is None, world.violation
    answers = sum(caller.answers for caller in every) - answers
    return length_ms / 1_000 / took_s, answers / took_s, (world.kernel.events - events) / took_s
