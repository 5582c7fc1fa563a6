"""The process of the profile: it does what the plan says, and goes on where it may."""

from dataclasses import replace

from barnabas.sim.plan import Fault, Operation
from barnabas.sim.profiles.log.faults import HOST
from barnabas.sim.profiles.log.layout import PATHS
from barnabas.sim.profiles.log.profile import PROFILE
from barnabas.sim.profiles.log.story import UNREADABLE
from barnabas.sim.run import Outcome, run


def after(*faults: Fault, workload: tuple[Operation, ...] = ()) -> Outcome:
    """Return what becomes of a quiet plan with these faults."""
    plan = PROFILE.plan(1, "")
    work = tuple(
        Operation(20 * number, HOST, what, (log, number % 3, 900))
        for number in range(20)
        for what, log in (("append", "plain"), ("append", "keyed"))
    )
    return run(PROFILE, replace(plan, faults=faults, workload=workload or work))


def test_a_life_does_what_the_plan_says_and_stops_when_it_is_asked() -> None:
    plan = replace(PROFILE.plan(1, ""), faults=(Fault("stop-clean", 500, (HOST,), 50),))
    outcome = run(PROFILE, plan)
    assert outcome.oracle == "", outcome.story
    assert outcome.moments["log.did"] > 10
    # Three logs: when the process begins, after the stop, and twice in the audit.
    assert outcome.moments["log.opened"] >= 12


def test_a_directory_that_fails_leaves_the_other_at_work() -> None:
    params = (("directory", PATHS[0]), ("trouble", "vanished"))
    outcome = after(Fault("directory-trouble", 100, (HOST,), 150, params))
    assert outcome.oracle == "", outcome.story
    assert outcome.seen["S-16 asked"]
    failed = next(i for i, line in enumerate(outcome.narrative) if "log.failed" in line)
    lines = outcome.narrative[failed : failed + 8]
    assert any("log.did" in line and "keyed" in line for line in lines)


def test_a_sector_that_cannot_be_read_costs_a_log_and_not_the_broker() -> None:
    serve = tuple(Operation(50 * n, HOST, "serve", ("plain",)) for n in range(1, 30))
    append = tuple(Operation(1, HOST, "append", ("plain", 1, 3_000)) for _ in range(8))
    flush = Operation(10, HOST, "flush", ("plain",))
    workload = (*append, flush, *serve)
    sectors = [Fault("bad-sector", 300 + 50 * n, (HOST,), 1) for n in range(6)]
    outcome = after(*sectors, workload=workload)
    assert outcome.oracle == "", outcome.story
    assert outcome.seen[UNREADABLE]
