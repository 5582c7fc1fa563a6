"""Time, as a node knows it: two clocks, both integers.

``now_ms`` never goes back and has no relation to any calendar or to any other node: timeouts,
intervals and deadlines use it.  ``wall_ms`` is the calendar, steps in either direction, and is
only ever written down (record timestamps, log lines).
"""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that will be made unless it is cancelled first."""

    def cancel(self) -> None:
        """Make sure the call is not made; harmless when it was made already."""


class Clock(Protocol):
    """The clocks of one host."""

    def now_ms(self) -> int:
        """Return monotonic milliseconds since some moment in this process's life."""
        ...

    def now_ns(self) -> int:
        """Return the same clock in nanoseconds, for measuring."""
        ...

    def wall_ms(self) -> int:
        """Return milliseconds since 1970 as this host believes them to be."""
        ...

    async def sleep_ms(self, duration_ms: int) -> None:
        """Return no earlier than ``duration_ms`` from now."""

    async def sleep_until(self, at_ms: int) -> None:
        """Return no earlier than monotonic ``at_ms``."""

    def call_at(self, at_ms: int, call: Callable[[], None]) -> Timer:
        """Make the call on this node's loop, no earlier than monotonic ``at_ms``.

        Calls due at the same millisecond are made in the order they were asked for.
        """
        ...
