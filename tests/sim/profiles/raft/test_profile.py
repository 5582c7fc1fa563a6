"""The raft profile: plans are what they say, and the product passes."""

import pytest

from barnabas.sim.driver.profiles import load
from barnabas.sim.plan import as_json, from_json
from barnabas.sim.profiles.raft.profile import CHANGES, PROFILE, WEIGHTS
from barnabas.sim.run import run


def test_the_profile_is_known_by_its_name() -> None:
    assert load("raft") is PROFILE


def test_a_plan_survives_being_written_down() -> None:
    for seed in range(5):
        plan = PROFILE.plan(seed, "")
        assert from_json(as_json(plan)) == plan


def test_every_operation_and_every_fault_is_drawn_by_somebody() -> None:
    plans = [PROFILE.plan(seed, "") for seed in range(150)]
    assert {op.what for plan in plans for op in plan.workload} == {*WEIGHTS, *CHANGES}
    assert {fault.kind for plan in plans for fault in plan.faults} == set(PROFILE.kinds)
    sizes = {plan.knob("voters", 0) for plan in plans}
    assert sizes == {1, 2, 3, 4, 5, 7}
    assert {plan.knob("static", 2) for plan in plans} == {0, 1}


def test_nobody_is_less_patient_than_its_disks_are_slow() -> None:
    for seed in range(50):
        plan = PROFILE.plan(seed, "")
        slowest_ms = 2 * plan.settings.sync_ns // 1_000_000
        assert plan.knob("election_ms", 0) >= 6 * slowest_ms


@pytest.mark.slow
def test_the_product_passes_a_few_seeds() -> None:
    outcomes = [run(PROFILE, PROFILE.plan(seed, "")) for seed in range(1, 6)]
    assert [outcome.story for outcome in outcomes if outcome.oracle] == []
    assert all(outcome.moments["table.committed"] for outcome in outcomes)
