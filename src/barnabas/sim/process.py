"""A process: one life, with its loop, its runtime and its tasks.

    start ──▶ main runs ──▶ exited      main returned, by itself or because it was stopped
                       ├──▶ failed      an exception nobody caught: a bug, or a disk that broke
                       ├──▶ killed      nothing more runs; the kernel of its host goes on
                       └──▶ unpowered   nothing more runs; nothing of its host goes on

A process that dies runs no ``finally``: its coroutines are kept, suspended as they are, until the
world is taken down (the *graveyard*).  Python would run them when they are collected, and a
process killed with signal 9 does not tidy up.  Whatever a dead process asks of its runtime raises
``DeadIncarnation``.

Non-obvious:

- Being stopped is being cancelled: ``stop`` cancels the main task, as asyncio does on SIGINT, and
  main's own ``finally`` closes what it opened.
- A fault may strike in the middle of a handle, at a ``trace``.  What that handle goes on to compute
  has no effect, since every way out raises.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, Protocol, TypeAlias

from barnabas.model.value import value
from barnabas.runtime.probes import Fact
from barnabas.runtime.runtime import Runtime
from barnabas.runtime.tasks import TaskScope
from barnabas.sim.clock import HostClock, SimClock
from barnabas.sim.disk import SimDisk
from barnabas.sim.entropy import SimEntropy
from barnabas.sim.kernel import Kernel
from barnabas.sim.loop import DeadIncarnation, NodeLoop
from barnabas.sim.network import Fabric, HostNetwork
from barnabas.sim.probes import SimProbes, Suggestions
from barnabas.sim.tape import Tape, stream

Main: TypeAlias = Callable[[Runtime], Coroutine[Any, Any, None]]  # Any: what it is sent, by asyncio
# Awaits in the ``finally`` blocks of one coroutine that are gone past when it is let go.
CLOSES_MAX: Final = 10

Ending: TypeAlias = Literal["exited", "failed", "killed", "unpowered"]


@value
class Death:
    """How a process ended; ``error`` is there if it failed."""

    ending: Ending
    where: str = ""
    error: BaseException | None = None


class Surroundings(Protocol):
    """What a process is born into."""

    @property
    def kernel(self) -> Kernel:
        """What everything runs in."""
        ...

    @property
    def tape(self) -> Tape:
        """Where choices come from."""
        ...

    @property
    def fabric(self) -> Fabric:
        """The network."""
        ...

    @property
    def suggestions(self) -> Suggestions:
        """Which unusual things are to be done."""
        ...

    def hear(self, process: "Process", kind: str, facts: dict[str, Fact]) -> None:
        """Take a trace of a process."""

    def mourn(self, process: "Process") -> None:
        """Learn that a process died."""


class Process:
    """One life of a process on a host."""

    def __init__(
        self,
        world: Surroundings,
        host: str,
        life: int,
        number: int,
        clock: HostClock,
        disk: SimDisk,
        cpu_ns: int,
    ) -> None:
        self.host: Final = host
        self.life: Final = life
        self.name: Final = f"{host}.{life}"
        self.death: Death | None = None
        self._world: Final = world
        self.loop: Final = NodeLoop(  # type: ignore[abstract]  # -- those doors stay closed
            host, number, world.kernel, clock, world.tape, self.fail
        )
        self.loop.cost_ns = cpu_ns
        self.network: Final = HostNetwork(world.fabric, host, self)
        alive = self.assert_alive
        own_clock = SimClock(clock, self.loop, alive)
        self._disk: Final = disk.process(alive, self.loop.charge, own_clock.sleep_ns)
        seed = world.tape.seed
        self.runtime: Final = Runtime(
            clock=own_clock,
            entropy=SimEntropy(
                world.tape.site(f"entropy/{host}"), stream(seed, f"octets/{self.name}"), alive
            ),
            disk=self._disk,
            network=self.network,
            tasks=TaskScope(self.name, self.fail),
            probes=SimProbes(self._hear, world.suggestions, alive),
        )
        self._main: asyncio.Task[None] | None = None
        self._stopping = False
        self._buried: list[asyncio.Task[Any]] = []  # Any: tasks of every kind lie here.

    def __repr__(self) -> str:
        return f"<{self.name} {self.death.ending if self.death else 'alive'}>"

    @property
    def alive(self) -> bool:
        """Whether it can still do anything."""
        return self.death is None

    def assert_alive(self) -> None:
        """Raise ``DeadIncarnation`` if the process is dead."""
        if self.death is not None:
            raise DeadIncarnation(f"{self.name} was {self.death.ending} and asks for something")

    def begin(self, main: Main) -> None:
        """Start the main task."""
        self.loop.input(self._begin, main)

    def stop(self) -> None:
        """Ask it to stop, as SIGTERM does: cancel its main task."""
        self.loop.input(self._cancel)

    def kill(self) -> None:
        """End it between two instructions; its host's kernel closes what it had open."""
        self._die(Death("killed"))

    def cut_power(self) -> None:
        """End it with its host: nobody is told."""
        self._die(Death("unpowered"))

    def fail(self, where: str, error: BaseException) -> None:
        """End it because of an exception that nobody caught."""
        self._die(Death("failed", where, error))

    def bury(self) -> None:
        """Close the coroutines that were kept, once the world stands still for good."""
        living = [task for task in asyncio.all_tasks(self.loop) if task not in self._buried]
        self.loop.alive = False
        if self.death is None:
            self.death = Death("killed")
        with _silent():
            for task in self._buried + living:
                # The task itself stays pending, and asyncio would complain about that.
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # -- no public way
                _close(task)
            self._buried.clear()

    def _begin(self, main: Main) -> None:
        self._main = self.runtime.tasks.spawn(self._run(main), "main")

    async def _run(self, main: Main) -> None:
        try:
            await main(self.runtime)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        self.loop.input(self._die, Death("exited"))

    def _cancel(self) -> None:
        self._stopping = True
        if self._main is None or self._main.done():
            self._die(Death("exited"))
        else:
            self._main.cancel()

    def _hear(self, kind: str, facts: dict[str, Fact]) -> None:
        self._world.hear(self, kind, facts)

    def _die(self, death: Death) -> None:
        if self.death is not None:
            return
        self.death = death
        # Held here, or their ``finally`` would run as soon as nobody else holds them.
        self._buried = list(asyncio.all_tasks(self.loop))
        self.loop.alive = False
        if death.ending == "unpowered":
            self.network.vanish()
        else:
            self.network.orphan()
        self._disk.die()
        self._world.mourn(self)


def _close(task: "asyncio.Task[Any]") -> None:  # Any: whatever it would have returned
    """Close a dead task's coroutine; what it tries on the way out comes to nothing."""
    coroutine = task.get_coro()
    for _ in range(CLOSES_MAX):
        try:
            coroutine.close()
        except (DeadIncarnation, RuntimeError):
            # It asked for something, or awaited something, in a ``finally``: too late for either.
            continue
        return


@contextmanager
def _silent() -> Iterator[None]:
    """Let generators that were in the middle of something end without a word.

    Python closes them with the coroutine that they belong to, and nobody can catch what they raise:
    what a dead process asks for in a ``finally`` comes to nothing there, too.
    """
    heard = sys.unraisablehook

    def hear(unraisable: "sys.UnraisableHookArgs") -> None:
        # A coroutine that another has awaited ends by itself, and may still want to wait.
        if not isinstance(unraisable.exc_value, DeadIncarnation | RuntimeError):
            heard(unraisable)

    sys.unraisablehook = hear
    try:
        yield
    finally:
        sys.unraisablehook = heard
