"""Randomness, drawn by shells and handed into cores as plain numbers."""

from typing import Protocol


class Entropy(Protocol):
    """Random numbers of one process."""

    def below(self, limit: int) -> int:
        """Return an integer from 0 to ``limit`` - 1, each as likely; ``limit`` is positive."""
        ...

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both possible, each as likely."""
        ...

    def octets(self, count: int) -> bytes:
        """Return ``count`` random bytes, fit for secrets on a host."""
        ...

    def uuid(self) -> bytes:
        """Return the sixteen bytes of a version 4 UUID that is not one of Kafka's reserved ones."""
        ...
