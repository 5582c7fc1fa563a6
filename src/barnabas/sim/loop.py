"""One node's asyncio, on the kernel's time.

Product code runs on this loop unmodified: tasks, futures, ``asyncio.sleep``, ``asyncio.timeout``,
queues, locks, events and conditions are asyncio's own and only ask their loop for ``call_soon``,
``call_at`` and ``time``.  There is one loop per life of a process, so that a process can stop
dead while others go on.

    call_soon ──▶ ready ──▶ kernel picks this node ──▶ run_next ──▶ the handle runs
    call_at ──▶ kernel's heap ──▶ due ──▶ ready

Why not asyncio's loop with another selector: its timers of equal deadline are not first in, first
out (the heap compares nothing but the deadline), its selector touches the operating system, and
one loop cannot be several hosts.

Non-obvious:

- Deadlines are this host's monotonic nanoseconds.  A host's clock may run fast or slow, so a timer
  that the kernel thinks due asks the host's clock again and is put back if it came too early.
- While a node is paused nothing runs, but timers come due and input arrives.  On waking a real
  process may see either first, so the order is drawn.
- Names of tasks come from a counter of this loop; asyncio's own counts across all of them.
- Whatever reaches the world past ``barnabas.runtime`` (``create_connection``, ``add_reader``,
  ``subprocess_exec``, signals and the rest) is not here: ``AbstractEventLoop`` raises.
- An exception that escapes a callback is a bug in the product and ends the process; it is never
  logged and forgotten.
"""

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, Final, Protocol, TypeVar, TypeVarTuple

from barnabas.sim.kernel import Kernel
from barnabas.sim.tape import Tape

# ``Any`` in this module is asyncio's: its loop takes callbacks of every shape, and says so.

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

NS_PER_S: Final = 1_000_000_000
# What an executor's thread may take for one call.
EXECUTOR_NS_MAX: Final = 2_000_000


class DeadIncarnation(BaseException):
    """A process asked something of the world after it died.

    It derives from ``BaseException`` so that no ``except Exception`` goes on as if nothing
    happened; what a dead process does can have no effect.
    """


class HostTime(Protocol):
    """The monotonic clock of a loop's host."""

    def monotonic_ns(self) -> int:
        """Return the host's monotonic nanoseconds at this moment."""
        ...

    def kernel_ns(self, monotonic_ns: int) -> int:
        """Return when, in the kernel's time, the host's clock will show this, rate as it is."""
        ...


class SimHandle(asyncio.Handle):
    """A callback in a node's queue."""

    __slots__ = ("args", "call", "context", "dead")

    def __init__(self, call: Callable[..., Any], args: tuple[Any, ...], context: Context) -> None:
        self.call = call
        self.args = args
        self.context = context
        self.dead = False

    def cancel(self) -> None:
        """Make sure it does not run."""
        self.dead = True

    def cancelled(self) -> bool:
        """Tell whether it was cancelled."""
        return self.dead

    def __repr__(self) -> str:
        return f"<SimHandle {describe(self.call)}>"


class SimTimer(asyncio.TimerHandle):
    """A callback that becomes ready when the host's clock shows ``when_ns``."""

    __slots__ = ("args", "call", "context", "dead", "node", "waiting", "when_ns")

    def __init__(
        self,
        when_ns: int,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        node: "NodeLoop",
        context: Context,
    ) -> None:
        self.when_ns = when_ns
        self.call = call
        self.args = args
        self.node = node
        self.context = context
        self.dead = False
        self.waiting = True

    def cancel(self) -> None:
        """Make sure it does not run."""
        if not self.dead:
            self.dead = True
            if self.waiting:
                self.node.kernel.timer_died(timer_due)

    def cancelled(self) -> bool:
        """Tell whether it was cancelled."""
        return self.dead

    def when(self) -> float:
        """Return the deadline in the loop's seconds."""
        return self.when_ns / NS_PER_S

    def __repr__(self) -> str:
        return f"<SimTimer at {self.when_ns} {describe(self.call)}>"

    __hash__ = object.__hash__


def timer_due(timer: SimTimer) -> None:
    """Make a timer's callback ready, unless it was cancelled or its node died."""
    node = timer.node
    if timer.dead or not node.alive:
        return
    if node.time_source.monotonic_ns() < timer.when_ns:
        # The host's clock was slowed after the timer was set.
        node.kernel.at(node.time_source.kernel_ns(timer.when_ns), timer_due, timer)
        return
    timer.waiting = False
    if node.paused:
        node.held_timers.append(timer)
        return
    node.ready.append(timer)
    if not node.queued:
        node.kernel.wake(node)


class NodeLoop(asyncio.AbstractEventLoop):
    """The event loop of one life of one process."""

    def __init__(
        self,
        name: str,
        number: int,
        kernel: Kernel,
        time_source: HostTime,
        tape: Tape,
        on_failure: Callable[[str, BaseException], None],
    ) -> None:
        self.name = name
        self.kernel: Final = kernel
        self.time_source: Final = time_source
        self.ready: deque[SimHandle | SimTimer] = deque()
        self.held_timers: list[SimTimer] = []
        self.alive = True
        self.paused = False
        self.queued = False
        self.streak = 0
        self.cost_ns = 0
        self.free_at_ns = 0
        # Spread over the word, so that neighbours do not cancel out in the trace hash.
        self.salt = number * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        self._on_failure: Final = on_failure
        self._tasks_started = 0
        self._thaw: Final = tape.site(f"thaw/{name}")
        self._executor: Final = tape.site(f"executor/{name}")

    # ---- what the kernel does with it

    def run_next(self) -> None:
        """Run the first handle of ``ready``."""
        handle = self.ready.popleft()
        if handle.dead:
            return
        # A handle that ran cannot be cancelled any more; asyncio never asks, but tasks hold on.
        events._set_running_loop(self)
        try:
            handle.context.run(handle.call, *handle.args)
        except DeadIncarnation:
            assert not self.alive, f"{self.name} lives and was told that it is dead"
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - the top of everything a node does
            self._on_failure(describe(handle.call), error)
        finally:
            events._set_running_loop(None)

    def input(self, call: Callable[[*Ts], object], *args: *Ts) -> None:
        """Queue what the outside world has for this node: bytes, an answer of the disk."""
        if not self.alive:
            return
        self.ready.append(SimHandle(call, args, copy_context()))
        if not self.queued and not self.paused:
            self.kernel.wake(self)

    def pause(self) -> None:
        """Run nothing until ``thaw``."""
        self.paused = True

    def thaw(self) -> None:
        """Run again; whether timers or input are seen first is drawn."""
        if not self.paused:
            return
        self.paused = False
        if self._thaw.below(2):
            self.ready.extendleft(reversed(self.held_timers))
        else:
            self.ready.extend(self.held_timers)
        self.held_timers = []
        if self.ready and not self.queued:
            self.kernel.wake(self)

    def charge(self, duration_ns: int) -> None:
        """Keep the node busy for so long, as a call does that blocks the process."""
        now_ns = self.kernel.now_ns
        start_ns = self.free_at_ns if self.free_at_ns > now_ns else now_ns
        self.free_at_ns = start_ns + duration_ns

    @property
    def charged_ns(self) -> int:
        """How long the present handle has kept the node busy by waiting in plain calls."""
        return max(0, self.free_at_ns - self.kernel.now_ns)

    def timer_at(
        self,
        when_ns: int,
        call: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> SimTimer:
        """Queue a callback for when the host's clock shows ``when_ns``."""
        timer = SimTimer(when_ns, call, args, self, context or copy_context())
        self.kernel.at(self.time_source.kernel_ns(when_ns), timer_due, timer)
        return timer

    # ---- what asyncio does with it

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Queue a callback after everything queued before it."""
        handle = SimHandle(callback, args, copy_context() if context is None else context)
        self.ready.append(handle)
        if not self.queued and not self.paused and self.alive:
            self.kernel.wake(self)
        return handle

    # There is one thread: whoever calls is already in it.
    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Queue a callback for ``delay`` seconds from now."""
        when_ns = self.time_source.monotonic_ns() + round(delay * NS_PER_S)
        return self.timer_at(when_ns, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Queue a callback for when ``time()`` is ``when``."""
        return self.timer_at(round(when * NS_PER_S), callback, *args, context=context)

    def time(self) -> float:
        """Return the host's monotonic time in seconds, as asyncio wants it."""
        return self.time_source.monotonic_ns() / NS_PER_S

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Start a coroutine; its name, if it has none, comes from this loop's own counter."""
        self._tasks_started += 1
        label = f"task-{self._tasks_started}" if name is None else str(name)
        return asyncio.Task(coro, loop=self, name=label, context=context)

    def run_in_executor(
        self, executor: object, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run a function as one event, a drawn while later; there are no threads here."""
        future: asyncio.Future[T] = self.create_future()

        def work(_: None) -> None:
            if not self.alive:
                return
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - it belongs to whoever awaits the future
                self.input(_refuse, future, error)
            else:
                self.input(_fulfil, future, result)

        self.kernel.after(self._executor.below(EXECUTOR_NS_MAX), work, None)
        return future

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """End the process: an exception nobody awaited is a bug."""
        error = context.get("exception")
        message = str(context.get("message", "asyncio complained"))
        if self.alive and not isinstance(error, DeadIncarnation):
            self._on_failure(message, error or RuntimeError(message))

    call_exception_handler = default_exception_handler

    def get_exception_handler(self) -> None:
        """Return none: the handler is the loop's own."""

    def is_running(self) -> bool:
        """Tell asyncio what it wants to hear: inside a handle the loop runs."""
        return self.alive

    def is_closed(self) -> bool:
        """Tell whether the process is dead."""
        return not self.alive

    def get_debug(self) -> bool:
        """Decline: debug mode looks at the wall clock."""
        return False

    def get_task_factory(self) -> None:
        """Return none: tasks are asyncio's own."""

    async def shutdown_asyncgens(self) -> None:
        """Have nothing to do: generators are closed by whoever iterates them."""

    async def shutdown_default_executor(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - asyncio's signature
    ) -> None:
        """Have nothing to do: there is no executor."""


def describe(call: object) -> str:
    """Return a name for a callback that is the same in every run: no addresses."""
    owner = getattr(call, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return owner.get_name()
    return getattr(call, "__qualname__", type(call).__name__)


def _fulfil(future: "asyncio.Future[T]", result: T) -> None:
    if not future.done():
        future.set_result(result)


def _refuse(future: "asyncio.Future[T]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
