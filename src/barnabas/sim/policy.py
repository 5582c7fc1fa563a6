"""Whose turn it is when several nodes could run: the part of scheduling that may be anything.

``fifo``     whoever has waited longest; draws nothing
``random``   anybody
``pct``      fixed random priorities that change at a few random moments.  A bug that needs d
             orderings to come out right is found with a probability that has a floor (Burckhardt
             et al., ASPLOS 2010), where uniform choice may need forever.
``starve``   one node waits while anybody else can run
``burst``    whoever runs goes on until it has nothing left
"""

from collections import deque
from typing import Final

from barnabas.sim.kernel import Node, Policy
from barnabas.sim.tape import Tape

NAMES: Final = ("fifo", "random", "pct", "starve", "burst")

# Picks between two changes of priority, on average, and between two victims of starving.
PICKS_PER_CHANGE: Final = 2_000


class RandomPolicy:
    """Anybody; with ``burst``, anybody until it has nothing left."""

    def __init__(self, tape: Tape, burst: bool) -> None:
        self.burst = burst
        self._site = tape.site("schedule")

    def pick(self, runnable: deque[Node]) -> int:
        """Return the index of any node."""
        return self._site.below(len(runnable))


class PriorityPolicy:
    """The node of highest priority; now and then a random node falls to the bottom."""

    burst = False

    def __init__(self, tape: Tape) -> None:
        self._site = tape.site("schedule")
        self._changes = tape.site("schedule/change")
        self._priorities: dict[str, int] = {}
        self._lowest = 0

    def pick(self, runnable: deque[Node]) -> int:
        """Return the index of the node of highest priority."""
        priorities = self._priorities
        for node in runnable:
            if node.name not in priorities:
                priorities[node.name] = 1 + self._site.below(1_000_000)
        best = max(range(len(runnable)), key=lambda index: priorities[runnable[index].name])
        if self._changes.chance(1_000_000 // PICKS_PER_CHANGE):
            self._lowest -= 1
            priorities[runnable[best].name] = self._lowest
        return best


class StarvePolicy:
    """The first node that is not the victim of the day."""

    burst = False

    def __init__(self, tape: Tape) -> None:
        self._site = tape.site("schedule")
        self._changes = tape.site("schedule/change")
        self._victim = ""

    def pick(self, runnable: deque[Node]) -> int:
        """Return the index of the first node that is not starved."""
        if self._changes.chance(1_000_000 // PICKS_PER_CHANGE):
            self._victim = runnable[self._site.below(len(runnable))].name
        return 1 if runnable[0].name == self._victim else 0


def policy(name: str, tape: Tape) -> Policy | None:
    """Return the policy of this name; None is first in, first out, the kernel's own."""
    match name:
        case "fifo":
            return None
        case "random":
            return RandomPolicy(tape, burst=False)
        case "pct":
            return PriorityPolicy(tape)
        case "starve":
            return StarvePolicy(tape)
        case "burst":
            return RandomPolicy(tape, burst=True)
        case _:
            raise AssertionError(f"no policy is called {name!r}; there are {', '.join(NAMES)}")
