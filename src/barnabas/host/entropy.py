"""Randomness of the operating system, good enough for secrets."""

import os

from barnabas.runtime.entropy import drawn_uuid


class HostEntropy:
    """Random numbers nobody can foresee."""

    def below(self, limit: int) -> int:
        """Return an integer from 0 to ``limit`` - 1, each as likely; ``limit`` is positive."""
        assert limit > 0, f"nothing lies between 0 and {limit}"
        bits = (limit - 1).bit_length()
        count, excess = (bits + 7) // 8, -bits % 8
        # The smallest power of two above holds less than twice as many: draw until one fits.
        while (drawn := int.from_bytes(os.urandom(count)) >> excess) >= limit:
            pass
        return drawn

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both possible, each as likely."""
        return low + self.below(high - low + 1)

    def octets(self, count: int) -> bytes:
        """Return ``count`` random bytes."""
        return os.urandom(count)

    def uuid(self) -> bytes:
        """Return the sixteen bytes of a version 4 UUID that Kafka could have drawn."""
        return drawn_uuid(os.urandom)
