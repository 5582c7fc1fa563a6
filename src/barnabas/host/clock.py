"""The operating system's clocks, and timers on the running loop.

The loop keeps timers in a heap by time alone, so two timers of the same moment fire in any order.
The contract promises the order in which they were asked for.  Hence the calls of one millisecond
share one timer of the loop and stand in a row behind it, which also makes the common case, many
deadlines in the same millisecond, cheap.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from barnabas.runtime.tasks import OnFailure

# The loop compares floats of seconds and may fire a clock tick early.  A microsecond late is never
# a millisecond early.
MARGIN_NS: Final = 1_000


class HostClock:
    """The clocks of this machine.  A call that raises is a bug, reported to ``on_failure``."""

    def __init__(self, name: str, on_failure: OnFailure) -> None:
        self._name = name
        self._on_failure = on_failure
        self._rows: dict[int, Row] = {}

    def now_ms(self) -> int:
        """Return monotonic milliseconds."""
        return time.monotonic_ns() // 1_000_000

    def now_ns(self) -> int:
        """Return monotonic nanoseconds."""
        return time.monotonic_ns()

    def wall_ms(self) -> int:
        """Return milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    async def sleep_ms(self, duration_ms: int) -> None:
        """Return no earlier than ``duration_ms`` from now."""
        await asyncio.sleep((duration_ms * 1_000_000 + MARGIN_NS) / 1e9)

    async def sleep_until(self, at_ms: int) -> None:
        """Return no earlier than monotonic ``at_ms``."""
        # The current millisecond has begun already, so the nanoseconds decide.
        left_ns = at_ms * 1_000_000 - time.monotonic_ns()
        await asyncio.sleep(max(0.0, (left_ns + MARGIN_NS) / 1e9))

    def call_at(self, at_ms: int, call: Callable[[], None]) -> "HostTimer":
        """Make the call no earlier than monotonic ``at_ms``."""
        row = self._rows.get(at_ms)
        if row is None:
            row = self._rows[at_ms] = Row(self, at_ms)
        timer = HostTimer(row, call)
        row.timers[timer] = None
        return timer

    def made(self, row: "Row") -> None:
        """Make the calls of a row whose moment has come."""
        del self._rows[row.at_ms]
        while row.timers:
            timer = next(iter(row.timers))
            del row.timers[timer]
            try:
                timer.call()
            except Exception as error:  # noqa: BLE001 -- the top of what runs here
                # The calls behind it are owed their turn all the same.
                self._on_failure(f"{self._name}/timer", error)

    def emptied(self, row: "Row") -> None:
        """Forget a row all of whose calls were cancelled."""
        row.handle.cancel()
        if self._rows.get(row.at_ms) is row:
            del self._rows[row.at_ms]


class Row:
    """The calls due at one millisecond, in the order they were asked for."""

    __slots__ = ("at_ms", "clock", "handle", "timers")

    def __init__(self, clock: HostClock, at_ms: int) -> None:
        self.clock: Final = clock
        self.at_ms: Final = at_ms
        # A dict because it is ordered and forgets a timer at once; the values say nothing.
        self.timers: Final[dict[HostTimer, None]] = {}
        left_ns = at_ms * 1_000_000 - time.monotonic_ns()
        self.handle: Final = asyncio.get_running_loop().call_later(
            (left_ns + MARGIN_NS) / 1e9, clock.made, self
        )


class HostTimer:
    """A call that will be made unless it is cancelled first."""

    __slots__ = ("call", "row")

    def __init__(self, row: Row, call: Callable[[], None]) -> None:
        self.row: Final = row
        self.call: Final = call

    def cancel(self) -> None:
        """Make sure the call is not made; harmless when it was made already."""
        timers = self.row.timers
        if self in timers:
            del timers[self]
            if not timers:
                self.row.clock.emptied(self.row)
