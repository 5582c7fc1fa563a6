"""Guards are asked in order, and those that are lifted always hold."""

from barnabas.sim.specs.raft.guards import ALL, Blocked, Guard, without


def test_the_first_guard_that_does_not_hold_blocks() -> None:
    guards = (Guard.LEADS, True), (Guard.MAJORITY, False), (Guard.OWN_EPOCH, False)
    assert ALL.blocked(*guards) == Blocked(Guard.MAJORITY)
    assert ALL.blocked(guards[0]) is None
    assert ALL.blocked() is None


def test_a_lifted_guard_always_holds() -> None:
    rules = without(Guard.MAJORITY)
    guards = (Guard.MAJORITY, False), (Guard.OWN_EPOCH, False)
    assert rules.blocked(*guards) == Blocked(Guard.OWN_EPOCH)
    assert rules.demand(Guard.OWN_EPOCH)
    assert not rules.demand(Guard.MAJORITY)


def test_a_block_says_what_must_be() -> None:
    assert str(Blocked(Guard.LEADS)) == "blocked, because it must be that it leads"


def test_every_guard_has_a_text_of_its_own() -> None:
    # An enumeration takes two members with one value for one member with two names.
    assert len({guard.value for guard in Guard}) == len(Guard.__members__)
