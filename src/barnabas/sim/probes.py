"""What a process tells its observers, and what the simulator suggests to it.

A *moment* is one ``trace`` of one process.  Checkers and triggers of the plan hear it while the
process is still in the middle of its handle, so that a fault may strike between two lines;
checkers look at the world only afterwards.
"""

from collections.abc import Callable
from typing import Final

from barnabas.model.value import value
from barnabas.runtime.probes import Fact
from barnabas.sim.tape import Tape

# How many of a hundred points of the product are armed in a run, and how often an armed one says
# yes.  Points that always fire hide what only happens when they do not.
ARMED_PER_MILLION: Final = 250_000
FIRED_PER_MILLION: Final = 100_000


@value
class Moment:
    """A step that a process says it took."""

    at_ms: int
    host: str
    life: int
    kind: str
    facts: dict[str, Fact]

    def __str__(self) -> str:
        told = " ".join(f"{name}={fact!r}" for name, fact in self.facts.items())
        return f"{self.at_ms:>9} ms  {self.host}.{self.life:<3} {self.kind} {told}".rstrip()


class Suggestions:
    """Which ``buggify`` points are armed in this run: the same for every process."""

    def __init__(self, tape: Tape, enabled: bool) -> None:
        self._tape: Final = tape
        self._enabled: Final = enabled
        self._armed: Final[dict[str, bool]] = {}

    def yes(self, point: str) -> bool:
        """Tell whether to do the unusual but legal thing here and now."""
        if not self._enabled:
            return False
        armed = self._armed.get(point)
        if armed is None:
            armed = self._tape.chance(f"buggify/{point}/armed", ARMED_PER_MILLION)
            self._armed[point] = armed
        return armed and self._tape.chance(f"buggify/{point}", FIRED_PER_MILLION)


class SimProbes:
    """One process's line to its observers: ``runtime.Probes``."""

    # Somebody always hears: the trace is part of what two runs are compared by.
    listening: Final = True

    def __init__(
        self,
        hear: Callable[[str, dict[str, Fact]], None],
        suggestions: Suggestions,
        assert_alive: Callable[[], None],
    ) -> None:
        self._hear: Final = hear
        self._suggestions: Final = suggestions
        self._assert_alive: Final = assert_alive

    def trace(self, kind: str, **facts: Fact) -> None:
        """Say that a step was taken."""
        self._assert_alive()
        self._hear(kind, facts)

    def buggify(self, point: str) -> bool:
        """Ask whether to do the unusual but legal thing at this named point."""
        self._assert_alive()
        return self._suggestions.yes(point)
