"""Guards are asked in order, and those that are lifted always hold."""

from enum import StrEnum

from barnabas.sim.specs.rules import Blocked, Rules


class Guard(StrEnum):
    """Guards of nothing in particular."""

    LEADS = "it leads"
    MAJORITY = "a majority has it"
    OWN_EPOCH = "it is of this epoch"


def test_the_first_guard_that_does_not_hold_blocks() -> None:
    guards = (Guard.LEADS, True), (Guard.MAJORITY, False), (Guard.OWN_EPOCH, False)
    assert Rules().blocked(*guards) == Blocked(Guard.MAJORITY)
    assert Rules().blocked(guards[0]) is None
    assert Rules().blocked() is None


def test_a_lifted_guard_always_holds() -> None:
    rules = Rules(frozenset({Guard.MAJORITY}))
    guards = (Guard.MAJORITY, False), (Guard.OWN_EPOCH, False)
    assert rules.blocked(*guards) == Blocked(Guard.OWN_EPOCH)
    assert rules.demand(Guard.OWN_EPOCH)
    assert not rules.demand(Guard.MAJORITY)


def test_a_block_says_what_must_be() -> None:
    assert str(Blocked(Guard.LEADS)) == "blocked, because it must be that it leads"
