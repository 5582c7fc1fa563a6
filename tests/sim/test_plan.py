"""Plans: drawn from a seed, stored, read back."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.sim.plan import (
    SPEAKER,
    Fault,
    Operation,
    Phases,
    Plan,
    as_json,
    draw_settings,
    draw_times,
    from_json,
    some,
)
from barnabas.sim.world import Settings
from tests.sim.register.profile import PROFILE


@given(st.integers(0, 10**9))
def test_a_plan_survives_being_stored(seed: int) -> None:
    plan = PROFILE.plan(seed, "a mutant")
    assert from_json(json.loads(json.dumps(as_json(plan)))) == plan


def test_a_plan_of_everything_survives_being_stored() -> None:
    plan = Plan(
        profile="p",
        seed=1,
        hosts=("a",),
        settings=Settings(policy="pct", buggify=True),
        phases=Phases(chaos_ms=7),
        faults=(Fault("pause", 3, (SPEAKER,), 10, (("factor", 2), ("how", "x")), "step", 4),),
        workload=(Operation(5, "c", "write", (1, "two")),),
        knobs=(("racks", 3),),
        core=("a",),
        mutant="m",
    )
    assert from_json(json.loads(json.dumps(as_json(plan)))) == plan
    assert plan.size == 2
    assert (plan.knob("racks", 1), plan.knob("rows", 1)) == (3, 1)
    assert str(plan.faults[0]) == "3 ms, 4. step: pause @speaker factor=2 how=x for 10 ms"


def test_a_plan_from_before_there_was_a_core_has_none() -> None:
    stored = as_json(PROFILE.plan(1, ""))
    del stored["core"]
    assert from_json(stored).core == ()


def test_what_is_no_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="this is no plan: it has seed"):
        from_json({"seed": 1})
    stored = as_json(PROFILE.plan(1, ""))
    with pytest.raises(ValueError, match="this is no fault"):
        from_json(stored | {"faults": [{"kind": "pause"}]})


def test_parameters_have_the_type_they_are_asked_for() -> None:
    fault = Fault("k", 0, params=(("n", 3), ("w", "x")))
    assert (fault.param("n"), fault.param("m", 9), fault.word("w", "")) == (3, 9, "x")
    with pytest.raises(AssertionError, match="must be a number"):
        fault.param("w")
    with pytest.raises(AssertionError, match="must be a word"):
        fault.word("n", "")


@given(st.integers(0, 1_000), st.integers(1, 10_000), st.integers(1, 500))
def test_times_are_in_order_and_within_the_length(seed: int, length: int, gap: int) -> None:
    times = draw_times(Random(seed), length, gap)
    assert times == sorted(times)
    assert all(0 < at_ms < length for at_ms in times)


def test_every_part_of_the_choices_comes_up() -> None:
    source = Random(1)
    parts = {tuple(some(source, ("a", "b", "c"))) for _ in range(300)}
    assert len(parts) == 7, "every part but the empty one"
    assert all(list(part) == sorted(part) for part in parts)


def test_knobs_vary_from_seed_to_seed() -> None:
    drawn = [draw_settings(Random(seed)) for seed in range(100)]
    assert len({knobs.policy for knobs in drawn}) == 5
    assert len(set(drawn)) > 90
