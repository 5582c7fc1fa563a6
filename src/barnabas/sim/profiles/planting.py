"""Planting bugs: code that is put in the place of the product's for the runs of one plan.

The product has no switch for its mutants.  Everything is first put back as it is, and so a run
without a mutant is always the product.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

# ``Any``: code of every shape is put in place.
Patch: TypeAlias = tuple[object, str, Any]
"""An object, the name of one of its attributes, and what is to stand there."""


class Bed:
    """The planted bugs of a profile, and what stands in their places in the product."""

    def __init__(self, patches: Mapping[str, Sequence[Patch]]) -> None:
        self._patches: Final = patches
        self._product: Final[dict[tuple[object, str], Any]] = {
            (place, name): vars(place)[name] for some in patches.values() for place, name, _ in some
        }

    def plant(self, mutant: str) -> None:
        """Put the product back as it is, and then a mutant's code in its place, if one is named."""
        for (place, name), original in self._product.items():
            setattr(place, name, original)
        for place, name, code in self._patches[mutant] if mutant else ():
            setattr(place, name, code)

    def product(self, place: object, name: str) -> Any:  # noqa: ANN401 -- code of every shape
        """Return what stands in a place in the product."""
        found = self._product[place, name]
        return found.__func__ if isinstance(found, staticmethod) else found
