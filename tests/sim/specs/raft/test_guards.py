"""Every guard says something of its own."""

from barnabas.sim.specs.raft.guards import Guard, without
from barnabas.sim.specs.rules import Rules


def test_rules_without_a_guard_have_all_the_others() -> None:
    assert without(Guard.MAJORITY) == Rules(frozenset({Guard.MAJORITY}))


def test_every_guard_has_a_text_of_its_own() -> None:
    # An enumeration takes two members with one value for one member with two names.
    assert len({guard.value for guard in Guard}) == len(Guard.__members__)
