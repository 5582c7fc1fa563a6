"""The port is one: nothing falls under all its rules, and something does without each of them."""

import pytest

from barnabas.sim.specs.raft.guards import Guard
from barnabas.sim.specs.raft.proof import FALLS, QUICK, SCOPES, SPARE, Fall, explored, shown

# How many states the small worlds have.  A change of the port that changes one of these changes
# what may happen: see that it was meant.
STATES = {
    "pair": 1105,
    "pair, crashes": 3987,
    "pair, disks": 10357,
    "pair, resignation": 2201,
    "pair, discovery": 4490,
    "pair, snapshots": 4163,
    "pair and observer": 260,
    "one epoch": 2264,
    "stable": 450,
}


def named(fall: Fall) -> str:
    """Return what a case is called."""
    return " and ".join(guard.name for guard in fall.guards)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_no_state_of_a_small_world_breaks_a_property(name: str) -> None:
    found = explored(SCOPES[name], states_max=100_000)
    assert not found.broken, str(found)
    assert found.is_complete
    assert found.states == STATES[name]


@pytest.mark.slow
@pytest.mark.parametrize("fall", FALLS, ids=named)
def test_a_property_falls_without_its_guard(fall: Fall) -> None:
    found = shown(fall)
    assert found.broken == fall.broken, str(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fall", "guard"),
    [(fall, guard) for fall in FALLS if len(fall.guards) > 1 for guard in fall.guards],
    ids=lambda case: named(case) if isinstance(case, Fall) else case.name,
)
def test_of_two_guards_that_back_each_other_up_one_is_enough(fall: Fall, guard: Guard) -> None:
    alone = Fall((guard,), fall.broken, fall.scope, fall.then, fall.ignored)
    # As far as what falls without both is, and further.
    assert shown(alone, states_max=shown(fall).states + 1_000).broken != fall.broken


def test_every_guard_is_shown_to_matter_or_said_to_be_spare() -> None:
    proven = {guard for fall in FALLS for guard in fall.guards}
    assert proven | set(SPARE) == set(Guard)
    assert not proven & set(SPARE)
