"""Randomness, drawn by shells and handed into cores as plain numbers."""

from collections.abc import Callable
from typing import Final, Protocol


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
        """Return the sixteen bytes of a version 4 UUID that Kafka could have drawn.

        Not one of the reserved ones, and not one whose text begins with a dash.
        """
        ...


# Kafka writes a UUID in base64url and never draws one whose text begins with "-", which a command
# line would take for an option (org.apache.kafka.common.Uuid).  That is the 62nd letter, so the
# upper six bits of the first byte.
DASH: Final = 62


def drawn_uuid(octets: Callable[[int], bytes]) -> bytes:
    """Make a UUID from random bytes, as every world does.

    Kafka reserves the UUIDs whose number is below 100 (Uuid.ZERO_UUID, the metadata topic's, and
    those of DirectoryId); the version in a version 4 UUID keeps it far from them.
    """
    while True:
        drawn = bytearray(octets(16))
        if drawn[0] >> 2 != DASH:
            break
    drawn[6] = drawn[6] & 0x0F | 0x40
    drawn[8] = drawn[8] & 0x3F | 0x80
    return bytes(drawn)
