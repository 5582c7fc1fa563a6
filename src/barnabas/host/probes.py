"""Silence: on a host nobody listens and nobody suggests."""

from barnabas.runtime.probes import Fact


class SilentProbes:
    """A line with nobody at the other end."""

    @property
    def listening(self) -> bool:
        """Nobody is."""
        return False

    def trace(self, kind: str, **facts: Fact) -> None:
        """Let it pass."""

    def buggify(self, point: str) -> bool:
        """Never suggest anything."""
        return False
