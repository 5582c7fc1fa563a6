"""What a worker is asked and what it answers: one JSON object a line each way."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.plan import Plan, as_json, from_json
from barnabas.sim.run import Outcome, Window
from barnabas.sim.tape import Deviations

# ``Any``: JSON, before it is taken apart below.
Json: TypeAlias = dict[str, Any]

# Answers of a worker whose child did not: it took too long, or it broke.
INFRASTRUCTURE: Final = "infrastructure"
BROKEN: Final = "broken"


@value
class Job:
    """One run to make.  Without a plan, the profile draws it from the seed."""

    profile: str
    seed: int
    mutant: str = ""
    plan: Plan | None = None
    tape: Deviations | None = None
    window: Window | None = None
    # Whether the answer is to have everything, or the tape and story of failures only.
    full: bool = False
    wall_s: int = 120


@value
class Answer:
    """What came of a job; ``events`` describe the window that was asked for."""

    outcome: Outcome
    plan: Plan
    real_s: float
    described: tuple[str, ...]


def job_as_json(job: Job) -> Json:
    """Return a job as what ``json`` can write."""
    return {
        "profile": job.profile,
        "seed": job.seed,
        "mutant": job.mutant,
        "plan": None if job.plan is None else as_json(job.plan),
        "tape": job.tape,
        "window": None if job.window is None else [job.window.first, job.window.last],
        "full": job.full,
        "wall_s": job.wall_s,
    }


def job_from_json(stored: Json) -> Job:
    """Return the job that ``job_as_json`` stored."""
    plan, tape, window = stored["plan"], stored["tape"], stored["window"]
    return Job(
        profile=stored["profile"],
        seed=stored["seed"],
        mutant=stored["mutant"],
        plan=None if plan is None else from_json(plan),
        tape=None if tape is None else tape_from_json(tape),
        window=None if window is None else Window(*window),
        full=stored["full"],
        wall_s=stored["wall_s"],
    )


def answer_as_json(answer: Answer, full: bool) -> Json:
    """Return an answer as what ``json`` can write; tape and story only where they are wanted."""
    outcome = asdict(answer.outcome)
    if not full and not answer.outcome.signature:
        outcome |= {"tape": {}, "narrative": [], "marks": []}
    return {
        "outcome": outcome,
        "plan": as_json(answer.plan),
        "real_s": answer.real_s,
        "described": list(answer.described),
    }


def answer_from_json(stored: Json) -> Answer:
    """Return the answer that ``answer_as_json`` stored."""
    outcome = dict(stored["outcome"])
    outcome["tape"] = tape_from_json(outcome["tape"])
    for name in ("states", "marks", "narrative"):
        outcome[name] = tuple(outcome[name])
    return Answer(
        outcome=Outcome(**outcome),
        plan=from_json(stored["plan"]),
        real_s=stored["real_s"],
        described=tuple(stored["described"]),
    )


def tape_from_json(stored: Mapping[str, list[list[int]]]) -> Deviations:
    """Return a tape whose pairs are tuples again."""
    return {site: [(index, drawn) for index, drawn in draws] for site, draws in stored.items()}
