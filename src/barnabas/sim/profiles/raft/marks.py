"""What many runs together must have come upon: the raft row of the oracle book's coverage list."""

from typing import Final

MUST_SEE: Final = ()
