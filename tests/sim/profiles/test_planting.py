"""Planting bugs, and taking them out again."""

from barnabas.sim.profiles.planting import Bed


class Product:
    """Something that works."""

    def one(self) -> int:
        """Return 1."""
        return 1

    @staticmethod
    def two() -> int:
        """Return 2."""
        return 2


class Module:
    """Something else."""

    three = 3


def wrong(_: object) -> int:
    product: int = BED.product(Product, "one")(_)
    return product + 10


BED = Bed(
    {
        "B-1": [(Product, "one", wrong), (Module, "three", 13)],
        "B-2": [(Product, "two", staticmethod(lambda: 12))],
    }
)


def test_a_planted_bug_is_in_place_until_the_next_run_begins() -> None:
    BED.plant("B-1")
    assert (Product().one(), Product().two(), Module.three) == (11, 2, 13)
    BED.plant("B-2")
    assert (Product().one(), Product().two(), Module.three) == (1, 12, 3)
    BED.plant("")
    assert (Product().one(), Product().two(), Module.three) == (1, 2, 3)


def test_what_stands_in_the_product_can_be_asked_for_while_a_bug_is_planted() -> None:
    BED.plant("B-2")
    assert BED.product(Product, "two")() == 2
    BED.plant("")
