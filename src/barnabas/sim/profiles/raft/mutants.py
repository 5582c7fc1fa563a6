"""The planted bugs of the quorum."""

from collections.abc import Sequence
from typing import Final

from barnabas.sim.profile import Mutant

MUTANTS: Final[Sequence[Mutant]] = ()


def plant(mutant: str) -> None:
    """Put the product back as it is, and then a mutant's code in its place, if one is named."""
    assert not mutant
