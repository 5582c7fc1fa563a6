"""The control profile: plans are what they say, and the product passes."""

import pytest

from barnabas.sim.driver.profiles import load
from barnabas.sim.plan import as_json, from_json
from barnabas.sim.profiles.control.profile import PROFILE, WEIGHTS
from barnabas.sim.profiles.control.scene import ADMINISTRATOR, TWIN
from barnabas.sim.run import run


def test_the_profile_is_known_by_its_name() -> None:
    assert load("control") is PROFILE


def test_a_plan_survives_being_written_down() -> None:
    for seed in range(5):
        plan = PROFILE.plan(seed, "")
        assert from_json(as_json(plan)) == plan


def test_every_operation_every_fault_and_every_size_is_drawn_by_somebody() -> None:
    plans = [PROFILE.plan(seed, "") for seed in range(150)]
    assert {op.what for plan in plans for op in plan.workload} == set(WEIGHTS)
    assert {fault.kind for plan in plans for fault in plan.faults} == set(PROFILE.kinds)
    assert {plan.knob("voters", 0) for plan in plans} == {1, 2, 3, 5}
    assert {plan.knob("brokers", 0) for plan in plans} == {2, 3, 4, 6}


def test_nothing_happens_to_the_administrator() -> None:
    for seed in range(50):
        plan = PROFILE.plan(seed, "")
        assert plan.hosts[-2:] == (TWIN, ADMINISTRATOR)
        assert not any({TWIN, ADMINISTRATOR} & set(fault.target) for fault in plan.faults)


def test_two_heartbeats_at_least_fit_a_session() -> None:
    for seed in range(50):
        plan = PROFILE.plan(seed, "")
        assert 2 * plan.knob("beat_ms", 0) <= plan.knob("session_ms", 0)


@pytest.mark.slow
def test_the_product_passes_a_few_seeds() -> None:
    outcomes = [run(PROFILE, PROFILE.plan(seed, "")) for seed in (1, 2, 7)]
    assert [outcome.story for outcome in outcomes if outcome.oracle] == []
    assert all(outcome.moments["controller.claimed"] for outcome in outcomes)
