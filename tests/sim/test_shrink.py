"""Minimising, against a runner that is nothing but a rule."""

from dataclasses import replace

import pytest

from barnabas.sim.plan import Fault, Operation, Plan
from barnabas.sim.run import Outcome, run
from barnabas.sim.shrink import Shrinker
from barnabas.sim.tape import Deviations
from barnabas.sim.world import Settings
from tests.sim.register.profile import PROFILE
from tests.sim.register.replica import LATE
from tests.sim.worlds import first_failure

BLANK = run(PROFILE, PROFILE.plan(1, ""))


def failing(tape: Deviations, at_ms: int = 900) -> Outcome:
    """Return the outcome of a run that failed."""
    return replace(
        BLANK, oracle="O", signature="O here", failed_at_ms=at_ms, chaos_from_ms=100, tape=tape
    )


def big_plan() -> Plan:
    """Return a plan with a hundred entries, of which three matter."""
    return replace(
        PROFILE.plan(1, ""),
        settings=Settings(policy="pct"),
        faults=tuple(Fault("pause", number * 10, ("r1",), 4_000) for number in range(100)),
        workload=tuple(Operation(number, "c1", "write", (number,)) for number in range(100)),
    )


def culprits(plan: Plan, played: Deviations | None) -> Outcome:
    """Fail if two certain faults and one certain operation are there, and one draw is."""
    tape = {"net": [(1, 5), (2, 6), (9, 7)], "cpu": [(0, 1)]} if played is None else played
    faults = {fault.at_ms for fault in plan.faults}
    operations = {operation.arguments for operation in plan.workload}
    if {120, 770} <= faults and (42,) in operations and (9, 7) in tape.get("net", []):
        return failing(tape)
    return BLANK


def test_what_does_not_matter_goes_and_what_matters_stays() -> None:
    plan = big_plan()
    shrinker = Shrinker(culprits, "O here", 2_000)
    small = shrinker.shrink(plan, culprits(plan, None))
    assert [fault.at_ms for fault in small.plan.faults] == [120, 770]
    assert [fault.duration_ms for fault in small.plan.faults] == [1, 1]
    assert [operation.arguments for operation in small.plan.workload] == [(42,)]
    assert small.plan.settings.policy == "fifo"
    assert small.tape == {"net": [(9, 7)]}
    assert small.outcome.signature == "O here"
    assert shrinker.runs < 600


def test_a_smaller_plan_that_fails_otherwise_does_not_count() -> None:
    def other(plan: Plan, played: Deviations | None) -> Outcome:
        if len(plan.faults) < 100:
            return replace(failing({}), signature="O elsewhere")
        return failing({})

    plan = big_plan()
    small = Shrinker(other, "O here", 500).shrink(plan, replace(failing({}), failed_at_ms=10**6))
    assert len(small.plan.faults) == 100


def test_the_number_of_runs_is_kept() -> None:
    shrinker = Shrinker(culprits, "O here", 7)
    shrinker.shrink(big_plan(), culprits(big_plan(), None))
    assert shrinker.runs == 7


def test_what_was_to_come_after_the_failure_is_cut_off() -> None:
    seen: list[int] = []

    def early(plan: Plan, played: Deviations | None) -> Outcome:
        seen.append(max((fault.at_ms for fault in plan.faults), default=0))
        return failing({}, at_ms=300)

    Shrinker(early, "O here", 1).shrink(big_plan(), failing({}, at_ms=300))
    assert seen == [200]


@pytest.mark.slow
def test_a_planted_bug_shrinks_to_a_few_entries() -> None:
    plan, outcome = first_failure(LATE)

    def runner(candidate: Plan, played: Deviations | None) -> Outcome:
        return run(PROFILE, candidate, played)

    small = Shrinker(runner, outcome.signature, 120).shrink(plan, outcome)
    assert small.plan.size <= 8
    assert run(PROFILE, small.plan, small.tape) == small.outcome
