"""The port is one: nothing falls under all its rules, and something does without each of them."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.exploration import explore
from barnabas.sim.specs.replication.closed import Closed
from barnabas.sim.specs.replication.guards import Guard
from barnabas.sim.specs.replication.proof import (
    AWAITED,
    CHECKED,
    DEEP,
    FALLS,
    PAIR_TAKES_TURNS,
    QUICK,
    RETOLD,
    SPARE,
    WORLDS,
    Fall,
    World,
    explored,
    shown,
    trials,
    waited,
)

# How many states the small worlds have, and how far the last is from the first.  Those that are
# "specified" are what TLC counts of the original, with offsets, and what nobody reads, as said in
# the chapter on the simulator.  A change of the port that changes one of these changes what may
# happen: see that it was meant.
STATES = {
    "specified: pair": (14, 7),
    "specified: pair, fenced": (1307, 21),
    "specified: pair, loses": (9225, 30),
    "specified: pair, stops": (10531, 28),
    "specified: latecomer": (1367, 24),
    "specified: three, shrink": (14831, 25),
    "specified: spare broker": (10718, 28),
    "built: pair, fenced": (1521, 20),
    "built: pair, loses": (1950, 27),
    "built: pair, stops": (4383, 25),
    "built: latecomer, repeats": (1614, 21),
    "built: spare broker": (8906, 28),
    "built: one is enough": (1962, 25),
}


def named(fall: Fall) -> str:
    """Return what a case is called."""
    return " and ".join(guard.name for guard in fall.guards)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_no_state_of_a_small_world_breaks_a_property(name: str) -> None:
    found = explored(WORLDS[name], states_max=100_000)
    assert not found.broken, str(found)
    assert found.is_complete
    assert (found.states, found.depth) == STATES[name]


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
    alone = replace(fall, guards=(guard,))
    # As far as what falls without both is, and further.
    assert shown(alone, states_max=shown(fall).states + 1_000).broken != fall.broken


@pytest.mark.slow
@pytest.mark.parametrize("name", ["awaited: built, pair, fenced", "awaited: built, latecomer"])
def test_what_must_happen_happens_on_every_fair_way(name: str) -> None:
    found = waited(AWAITED[name], 10_000)
    assert not found.broken, str(found)


def test_every_guard_is_shown_to_matter_or_said_to_be_spare() -> None:
    proven = {guard for fall in FALLS for guard in fall.guards}
    assert proven | set(SPARE) == set(Guard)
    assert not proven & set(SPARE)


def test_of_the_guards_that_the_specification_marks_one_is_spare() -> None:
    assert len(CHECKED) == 10
    assert set(SPARE) & CHECKED == {Guard.FETCHES_ANEW}


@pytest.mark.slow
def test_without_the_one_that_is_spare_no_world_has_a_state_more() -> None:
    world = World(replace(PAIR_TAKES_TURNS, fences=1), exact=True)
    whole = explored(world, 20_000)
    lifted = replace(world.rules, lifted=frozenset({Guard.FETCHES_ANEW}))
    without = explore(Closed(world.scope, lifted, exact=True), 20_000)
    assert whole.is_complete
    assert without == whole


def test_everything_is_tried_once_under_a_name_of_its_own() -> None:
    names = [trial.name for trial in trials(deep=True)]
    assert len(names) == len(set(names))
    assert len(names) == sum(map(len, (WORLDS, DEEP, AWAITED, RETOLD, FALLS)))
    assert set(QUICK) <= set(WORLDS)
    assert set(STATES) == set(QUICK)
