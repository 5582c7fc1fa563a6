"""Every guard and every difference says something of its own."""

from barnabas.sim.specs.replication.guards import BUILT, SPECIFIED, Difference, Guard


def test_every_text_is_said_once() -> None:
    # An enumeration takes two members with one value for one member with two names.
    assert len({guard.value for guard in Guard}) == len(Guard.__members__)
    assert len({each.value for each in Difference}) == len(Difference.__members__)


def test_what_is_specified_differs_in_nothing_and_what_is_built_in_everything() -> None:
    assert not any(SPECIFIED.has(each) for each in Difference)
    assert all(BUILT.has(each) for each in Difference)
    assert all(SPECIFIED.demand(guard) and BUILT.demand(guard) for guard in Guard)
