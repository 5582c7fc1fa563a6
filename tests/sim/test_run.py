"""Runs: the same for the same plan and tape, through all phases, judged throughout."""

from dataclasses import replace

import pytest

from barnabas.sim.kernel import WALL_LIMIT, Kernel
from barnabas.sim.plan import Fault, Phases
from barnabas.sim.run import Window, run
from tests.sim.register.profile import PROFILE, RECOVERED, UNKNOWN
from tests.sim.register.replica import LATE
from tests.sim.worlds import first_failure


@pytest.mark.slow
def test_a_run_is_the_same_twice_and_from_its_own_tape() -> None:
    for seed in range(1, 4):
        plan = PROFILE.plan(seed, "")
        one, other = run(PROFILE, plan), run(PROFILE, plan)
        assert one == other
        again = run(PROFILE, plan, one.tape)
        assert again.trace_hash == one.trace_hash
        assert again.narrative == one.narrative
        assert again.tape == one.tape


def test_a_run_goes_through_every_phase() -> None:
    outcome = run(PROFILE, PROFILE.plan(3, ""))
    notes = [line.rpartition("* ")[2] for line in outcome.narrative if "  * " in line]
    phases = [note for note in notes if note in ("heal", "quiesce", "audit")]
    assert phases == ["heal", "quiesce", "audit"]
    assert outcome.oracle == ""
    assert outcome.events > 100
    assert outcome.moments["client.return"] > 10
    assert outcome.states


def test_what_never_comes_up_is_a_violation_and_so_is_what_does_not_recover() -> None:
    plan = PROFILE.plan(3, "")
    early = run(PROFILE, replace(plan, phases=Phases(boot_ms=1)))
    assert early.signature == "L-boot"
    # Nothing heals an unlucky client in no time at all.
    late = run(PROFILE, replace(plan, core=(), phases=replace(plan.phases, recovery_ms=0)))
    assert late.signature == "L-recovery"


def test_a_core_must_work_while_the_others_stay_apart() -> None:
    plan = replace(PROFILE.plan(3, ""), faults=())
    for core in (("r1", "r2", "c1"), ("r2", "r3", "c1")):
        outcome = run(PROFILE, replace(plan, core=core))
        assert outcome.oracle == ""
        assert any(f"heal core: {', '.join(core)}" in line for line in outcome.narrative)
    # A client and one replica of three are no majority, and do not pretend to be.
    outcome = run(PROFILE, replace(plan, core=("r1", "c1")), {})
    assert outcome.signature == "L-core"


def test_a_violation_ends_the_run_there() -> None:
    _, outcome = first_failure(LATE)
    assert outcome.signature == "H-linear not linearizable"
    assert outcome.failed_at_ms == outcome.virtual_ms
    assert "violation of H-linear" in outcome.narrative[-1]


def test_faults_that_were_done_are_counted() -> None:
    plan = replace(
        PROFILE.plan(3, ""),
        faults=(Fault("crash-kill", 10, ("r1",), 50), Fault("pause", 20, ("r2",), 50)),
    )
    assert run(PROFILE, plan).faults == {"crash-kill": 1, "pause": 1}


def test_what_came_about_is_counted() -> None:
    outcome = run(PROFILE, replace(PROFILE.plan(3, ""), faults=()))
    # All three start anew in the audit.
    assert outcome.seen == {RECOVERED: 3, UNKNOWN: outcome.moments["client.unknown"]}


def test_a_run_that_is_stopped_from_outside_is_infrastructure() -> None:
    def started(kernel: Kernel) -> None:
        kernel.at(1_000_000_000, lambda _: kernel.stop(WALL_LIMIT, "too slow"), None)

    outcome = run(PROFILE, PROFILE.plan(3, ""), started=started)
    assert outcome.infrastructure
    assert outcome.oracle == ""
    assert outcome.story == "too slow"


def test_a_window_is_told_event_by_event() -> None:
    told: list[str] = []
    outcome = run(PROFILE, PROFILE.plan(3, ""), window=Window(50, 60), described=told)
    assert [int(line.split()[0]) for line in told] == list(range(50, 61))
    assert outcome.fingerprint == run(PROFILE, PROFILE.plan(3, "")).fingerprint
