"""Jobs and answers survive the way to a worker and back."""

import json

from barnabas.sim.driver.jobs import (
    Answer,
    Job,
    answer_as_json,
    answer_from_json,
    job_as_json,
    job_from_json,
)
from barnabas.sim.run import Window, run
from tests.sim.register.profile import PROFILE
from tests.sim.register.replica import LATE
from tests.sim.worlds import first_failure


def test_a_job_survives_its_way() -> None:
    plan = PROFILE.plan(3, "m")
    tape = {"net/a>b": [(1, 2), (5, 9)]}
    for job in (
        Job("register", 3),
        Job("register", 3, "m", plan, tape, Window(1, 2), full=True, wall_s=5),
    ):
        assert job_from_json(json.loads(json.dumps(job_as_json(job)))) == job


def test_an_answer_survives_its_way() -> None:
    plan = PROFILE.plan(3, "")
    answer = Answer(run(PROFILE, plan), plan, 0.5, ("told",))
    assert answer_from_json(json.loads(json.dumps(answer_as_json(answer, full=True)))) == answer


def test_tape_and_story_travel_only_where_they_are_wanted() -> None:
    plan = PROFILE.plan(3, "")
    passed = answer_from_json(answer_as_json(Answer(run(PROFILE, plan), plan, 0.5, ()), False))
    assert (passed.outcome.tape, passed.outcome.narrative) == ({}, ())
    plan, outcome = first_failure(LATE)
    failed = answer_from_json(answer_as_json(Answer(outcome, plan, 0.5, ()), full=False))
    assert failed.outcome == outcome
