"""What the simulator may hear and may suggest.  On a host both are silence.

``trace`` is called wherever a specification would take a step; the simulator's oracles listen.
``buggify`` is asked wherever doing the legal but unusual thing (answer early, send less, yield
here) would widen a window; only the simulator ever says yes.
"""

from typing import Protocol, TypeAlias

Fact: TypeAlias = int | str | bytes | bool | tuple["Fact", ...] | None


class Probes(Protocol):
    """One process's line to its observers."""

    @property
    def listening(self) -> bool:
        """Whether anybody hears ``trace``: ask before gathering facts that cost something."""
        ...

    def trace(self, kind: str, **facts: Fact) -> None:
        """Say that a step was taken."""

    def buggify(self, point: str) -> bool:
        """Ask whether to do the unusual but legal thing at this named point."""
        ...
