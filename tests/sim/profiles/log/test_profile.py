"""The log's profile: plans are what they say, and the product passes."""

import pytest

from barnabas.sim.driver.profiles import load
from barnabas.sim.plan import as_json, from_json
from barnabas.sim.profiles.log.profile import PROFILE, WEIGHTS
from barnabas.sim.run import run


def test_the_profile_is_known_by_its_name() -> None:
    assert load("log") is PROFILE


def test_a_plan_survives_being_written_down() -> None:
    for seed in range(5):
        plan = PROFILE.plan(seed, "")
        assert from_json(as_json(plan)) == plan


def test_every_operation_and_every_fault_is_drawn_by_somebody() -> None:
    plans = [PROFILE.plan(seed, "") for seed in range(200)]
    assert {op.what for plan in plans for op in plan.workload} == set(WEIGHTS)
    assert {fault.kind for plan in plans for fault in plan.faults} == set(PROFILE.kinds)


@pytest.mark.slow
def test_the_product_passes_a_dozen_seeds() -> None:
    outcomes = [run(PROFILE, PROFILE.plan(seed, "")) for seed in range(1, 13)]
    assert [outcome.story for outcome in outcomes if outcome.oracle] == []
    assert all(outcome.moments["log.did"] for outcome in outcomes)
