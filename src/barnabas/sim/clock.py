"""Clocks that disagree: each host's own, and what a process sees of it.

``monotonic`` runs at a rate of its own (parts per million away from the kernel's) and starts
anywhere; ``wall`` is monotonic plus an offset that steps.  No two hosts agree, always by a little:
code that mixes two hosts' clocks, or the two clocks of one host, is found on the first run.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from barnabas.sim.kernel import Kernel
from barnabas.sim.loop import NodeLoop, SimTimer

MILLION: Final = 1_000_000
NS_PER_MS: Final = 1_000_000

# The moment at which the kernel's time is 0, in milliseconds since 1970: a day in 2026.
EPOCH_MS: Final = 1_767_225_600_000


class HostClock:
    """The clock chip of one host: it outlives processes, and its rate may change."""

    def __init__(self, kernel: Kernel, rate_ppm: int, started_ns: int, wall_offset_ms: int) -> None:
        self._kernel: Final = kernel
        self._anchor_kernel_ns = kernel.now_ns
        self._anchor_ns = started_ns
        self._rate = MILLION + rate_ppm
        self._wall_ms = EPOCH_MS + wall_offset_ms - started_ns // NS_PER_MS

    def monotonic_ns(self) -> int:
        """Return the host's monotonic nanoseconds at this moment."""
        passed_ns = self._kernel.now_ns - self._anchor_kernel_ns
        return self._anchor_ns + passed_ns * self._rate // MILLION

    def kernel_ns(self, monotonic_ns: int) -> int:
        """Return when, in the kernel's time, the host's clock will show this, rate as it is."""
        # Rounded up, so that the clock shows at least this much then.
        missing_ns = monotonic_ns - self._anchor_ns
        return self._anchor_kernel_ns - (-missing_ns * MILLION // self._rate)

    def wall_ms(self) -> int:
        """Return milliseconds since 1970 as this host believes them to be."""
        return self._wall_ms + self.monotonic_ns() // NS_PER_MS

    @property
    def rate_ppm(self) -> int:
        """How far, in parts per million, it runs from the kernel's time."""
        return self._rate - MILLION

    def set_rate(self, rate_ppm: int) -> None:
        """Run at another rate from now on."""
        self._anchor_ns = self.monotonic_ns()
        self._anchor_kernel_ns = self._kernel.now_ns
        self._rate = MILLION + rate_ppm

    def reboot(self, started_ns: int) -> None:
        """Begin to count anew, as a machine does that was switched off; the calendar goes on."""
        self._wall_ms += (self.monotonic_ns() - started_ns) // NS_PER_MS
        self._anchor_ns = started_ns
        self._anchor_kernel_ns = self._kernel.now_ns

    def step_wall(self, step_ms: int) -> None:
        """Put the calendar forward or back."""
        self._wall_ms += step_ms


class SimClock:
    """The host's clock as one process sees it: ``runtime.Clock``."""

    def __init__(self, clock: HostClock, loop: NodeLoop, assert_alive: Callable[[], None]) -> None:
        self._clock: Final = clock
        self._loop: Final = loop
        self._assert_alive: Final = assert_alive

    def now_ms(self) -> int:
        """Return monotonic milliseconds since some moment before this process began."""
        return self.now_ns() // NS_PER_MS

    def now_ns(self) -> int:
        """Return the same clock in nanoseconds, for measuring."""
        self._assert_alive()
        # A handle that waited for a disk finds that time has passed.
        return self._clock.monotonic_ns() + self._loop.charged_ns

    def wall_ms(self) -> int:
        """Return milliseconds since 1970 as this host believes them to be."""
        self._assert_alive()
        return self._clock.wall_ms()

    async def sleep_ms(self, duration_ms: int) -> None:
        """Return no earlier than ``duration_ms`` from now."""
        await self._sleep_until_ns(self.now_ns() + duration_ms * NS_PER_MS)

    async def sleep_until(self, at_ms: int) -> None:
        """Return no earlier than monotonic ``at_ms``."""
        await self._sleep_until_ns(at_ms * NS_PER_MS)

    def call_at(self, at_ms: int, call: Callable[[], None]) -> SimTimer:
        """Make the call on this process's loop, no earlier than monotonic ``at_ms``."""
        self._assert_alive()
        return self._loop.timer_at(at_ms * NS_PER_MS, call)

    async def sleep_ns(self, duration_ns: int) -> None:
        """Return after so long; for the disk."""
        await self._sleep_until_ns(self._clock.monotonic_ns() + duration_ns)

    async def _sleep_until_ns(self, at_ns: int) -> None:
        self._assert_alive()
        over = self._loop.create_future()
        timer = self._loop.timer_at(at_ns, _wake, over)
        try:
            await over
        finally:
            timer.cancel()


def _wake(over: "asyncio.Future[None]") -> None:
    if not over.done():
        over.set_result(None)
