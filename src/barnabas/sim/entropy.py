"""Randomness of one process: numbers from the tape, octets from a stream.

Numbers steer behaviour (jitter of an election, a choice among brokers), so they are on the tape and
shrink to 0 with everything else.  Octets are names: they have to differ, so they come from a
stream of their own and no tape can make two processes share an id.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from barnabas.runtime.entropy import drawn_uuid
from barnabas.sim.tape import Site


class SimEntropy:
    """Random numbers of one process: ``runtime.Entropy``."""

    def __init__(self, site: Site, source: Random, assert_alive: Callable[[], None]) -> None:
        self._site: Final = site
        self._source: Final = source
        self._assert_alive: Final = assert_alive

    def below(self, limit: int) -> int:
        """Return an integer from 0 to ``limit`` - 1, each as likely."""
        self._assert_alive()
        return self._site.below(limit)

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both possible, each as likely."""
        self._assert_alive()
        return low + self._site.below(high - low + 1)

    def octets(self, count: int) -> bytes:
        """Return ``count`` random bytes."""
        self._assert_alive()
        return self._source.randbytes(count)

    def uuid(self) -> bytes:
        """Return the sixteen bytes of a version 4 UUID; Kafka reserves none of those."""
        self._assert_alive()
        return drawn_uuid(self._source.randbytes)
