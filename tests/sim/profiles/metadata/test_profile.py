"""The metadata profile: plans are what they say, and the product passes."""

import pytest

from barnabas.sim.driver.profiles import load
from barnabas.sim.link import TAIL_FACTOR
from barnabas.sim.plan import as_json, from_json
from barnabas.sim.profiles.metadata.profile import CHANGES, PROFILE, WEIGHTS
from barnabas.sim.profiles.metadata.writing import KINDS
from barnabas.sim.run import run


def test_the_profile_is_known_by_its_name() -> None:
    assert load("metadata") is PROFILE


def test_a_plan_survives_being_written_down() -> None:
    for seed in range(5):
        plan = PROFILE.plan(seed, "")
        assert from_json(as_json(plan)) == plan


def test_every_operation_every_record_and_every_fault_is_drawn_by_somebody() -> None:
    plans = [PROFILE.plan(seed, "") for seed in range(150)]
    assert {op.what for plan in plans for op in plan.workload} == {*WEIGHTS, *CHANGES}
    decided = [op for plan in plans for op in plan.workload if op.what == "decide"]
    assert {op.arguments[0] for op in decided} == set(KINDS)
    assert {fault.kind for plan in plans for fault in plan.faults} == set(PROFILE.kinds)
    assert {plan.knob("voters", 0) for plan in plans} == {1, 3, 5}
    assert len({plan.knob("level", 0) for plan in plans}) > 15


def test_one_late_segment_is_no_reason_for_another_leader() -> None:
    for seed in range(50):
        plan = PROFILE.plan(seed, "")
        latest_ns = TAIL_FACTOR * (plan.settings.latency_ns + plan.settings.spread_ns)
        assert plan.knob("fetch_ms", 0) >= 2 * latest_ns // 1_000_000


@pytest.mark.slow
def test_the_product_passes_a_few_seeds() -> None:
    outcomes = [run(PROFILE, PROFILE.plan(seed, "")) for seed in range(1, 6)]
    assert [outcome.story for outcome in outcomes if outcome.oracle] == []
    assert all(outcome.moments["table.committed"] for outcome in outcomes)
