"""A second process is refused, or keeps the first one out."""

from dataclasses import replace

from barnabas.sim.plan import Fault
from barnabas.sim.profiles.log.faults import HOST
from barnabas.sim.profiles.log.mutants import plant
from barnabas.sim.profiles.log.profile import PROFILE
from barnabas.sim.run import Outcome, run


def visited(mutant: str, *before: Fault) -> Outcome:
    """Return what becomes of a plan in which a second process comes."""
    plan = replace(PROFILE.plan(1, mutant), mutant=mutant)
    visit = Fault("visitor", 300, (HOST,), 200)
    try:
        return run(PROFILE, replace(plan, faults=(*before, visit), workload=()))
    finally:
        plant("")


def test_a_second_process_is_refused_while_the_first_lives() -> None:
    outcome = visited("")
    assert outcome.oracle == "", outcome.story
    assert outcome.moments["log.in-use"] == 2


def test_and_while_it_is_paused() -> None:
    outcome = visited("", Fault("pause", 200, (HOST,), 400))
    assert outcome.oracle == "", outcome.story
    assert outcome.seen["S-17 asked"] == 2


def test_the_first_is_refused_while_the_second_has_what_was_free() -> None:
    outcome = visited("", Fault("crash-kill", 290, (HOST,), 100))
    assert outcome.oracle == "", outcome.story
    assert "log.in-use" not in outcome.moments
    assert any("log.failed" in line and "BlockingIO" in line for line in outcome.narrative)


def test_two_that_both_get_in_are_noticed() -> None:
    assert visited("MS-17").oracle == "S-17"
