"""The planted bugs of the log."""

from collections.abc import Sequence
from typing import Final

from barnabas.sim.profile import Mutant

MUTANTS: Final[Sequence[Mutant]] = ()


def plant(mutant: str) -> None:
    """Plant a bug."""
