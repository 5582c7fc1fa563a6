"""Seeds by the hundred: what they find, whether they can be believed, which mutants they kill."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from barnabas.model.value import value
from barnabas.sim.driver.failure import Failure, failure_of
from barnabas.sim.driver.jobs import Answer, Job
from barnabas.sim.driver.pool import BrokenRunError, NoResultError, Pool
from barnabas.sim.driver.report import say
from barnabas.sim.kernel import MARK_EVENTS
from barnabas.sim.plan import Plan
from barnabas.sim.profile import Mutant
from barnabas.sim.run import Outcome, Window
from barnabas.sim.shrink import Shrinker
from barnabas.sim.tape import Deviations

# One seed in so many is run on both sides, unless all are.
DOUBLE_EVERY: Final = 20

SHRINK_RUNS: Final = 600

# With so many seeds, what a profile must see has to be seen.
SEEN_WITHIN_SEEDS: Final = 200


@dataclass(slots=True)
class Tally:
    """What a campaign came to."""

    profile: str
    must_see: Sequence[str] = ()
    seeds: int = 0
    runs: int = 0
    virtual_ms: int = 0
    events: int = 0
    faults: int = 0
    states: set[str] = field(default_factory=set)
    # How often each mark was made, and in how many runs.
    seen: Counter[str] = field(default_factory=Counter)
    seen_in: Counter[str] = field(default_factory=Counter)
    failing: list[Answer] = field(default_factory=list)
    infrastructure: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    divergent: list[int] = field(default_factory=list)
    doubled: int = 0
    started: float = field(default_factory=time.monotonic)

    def add(self, answer: Answer) -> None:
        """Count one run."""
        outcome = answer.outcome
        self.runs += 1
        self.virtual_ms += outcome.virtual_ms
        self.events += outcome.events
        self.faults += sum(outcome.faults.values())
        self.states.update(outcome.states)
        self.seen.update(outcome.seen)
        self.seen_in.update(outcome.seen.keys())

    @property
    def unseen(self) -> list[str]:
        """What must be seen and was not, so far."""
        return [what for what in self.must_see if not self.seen[what]]

    @property
    def blind(self) -> bool:
        """Whether so many seeds ought to have seen more."""
        return self.seeds >= SEEN_WITHIN_SEEDS and bool(self.unseen)

    @property
    def well(self) -> bool:
        """Whether nothing was found, where there was something to find."""
        return not (self.failing or self.broken or self.divergent or self.blind)

    def miss(self, error: NoResultError) -> None:
        """Count a run that came to no result."""
        into = self.broken if isinstance(error, BrokenRunError) else self.infrastructure
        into.append(str(error))

    def row(self, mutants_killed: int = 0, mutants: int = 0) -> dict[str, object]:
        """Return the row that a campaign ends with."""
        real_s = time.monotonic() - self.started
        return {
            "profile": self.profile,
            "seeds": self.seeds,
            "virtual_hours": round(self.virtual_ms / 3_600_000, 3),
            "real_seconds": round(real_s, 1),
            "faults": self.faults,
            "states": len(self.states),
            "failures": len(self.failing) + len(self.broken),
            "divergences": len(self.divergent),
            "mutants_killed": mutants_killed,
            "mutants": mutants,
            "doubled": self.doubled,
            "infrastructure": len(self.infrastructure),
            "seen": len(self.must_see) - len(self.unseen),
            "unseen": len(self.unseen),
            "events": self.events,
            "events_per_s": round(self.events / real_s) if real_s else 0,
        }


def seeds(
    pool: Pool,
    profile: str,
    first: int,
    count: int,
    double_all: bool,
    must_see: Sequence[str] = (),
) -> Tally:
    """Run seeds, some or all of them on both sides."""
    tally = Tally(profile, must_see)
    firsts: dict[int, Answer] = {}

    def alone(answer: Answer | NoResultError) -> None:
        if isinstance(answer, NoResultError):
            tally.miss(answer)
            return
        tally.add(answer)
        if answer.outcome.infrastructure:
            tally.infrastructure.append(f"seed {answer.plan.seed}: {answer.outcome.story}")
        elif answer.outcome.signature:
            tally.failing.append(answer)

    def one_of_two(answer: Answer | NoResultError) -> None:
        if isinstance(answer, NoResultError):
            tally.miss(answer)
            return
        other = firsts.pop(answer.plan.seed, None)
        if other is None:
            firsts[answer.plan.seed] = answer
            alone(answer)
            return
        tally.add(answer)
        tally.doubled += 1
        if other.outcome.fingerprint != answer.outcome.fingerprint:
            tally.divergent.append(answer.plan.seed)

    for seed in range(first, first + count):
        tally.seeds += 1
        if double_all or seed % DOUBLE_EVERY == 0:
            for side in (0, 1):
                pool.submit(Job(profile, seed), one_of_two, side)
        else:
            pool.submit(Job(profile, seed), alone)
    pool.work()
    tally.failing.sort(key=lambda answer: answer.plan.seed)
    tally.divergent.sort()
    return tally


def first_difference(pool: Pool, job: Job) -> str:
    """Run a job on both sides and tell the first event that is not the same."""
    both = [pool.run(replace(job, full=True), side) for side in (0, 1)]
    marks = [answer.outcome.marks for answer in both]
    same = 0
    for one, other in zip(*marks, strict=False):
        if one != other:
            break
        same += 1
    # Between the last mark that is the same and the first that is not.
    window = Window(same * MARK_EVENTS, (same + 1) * MARK_EVENTS)
    told = [pool.run(replace(job, window=window), side).described for side in (0, 1)]
    for one, other in zip(*told, strict=False):
        if one != other:
            return f"{one}\n{other}"
    return f"no event differs in {window}: the two end differently ({len(told[0])} events told)"


@value
class Killed:
    """What became of a mutant: how many seeds it took, and the failure of the last of them."""

    mutant: Mutant
    seeds: int
    answer: Answer | None

    def row(self) -> dict[str, object]:
        """Return the row of a mutant."""
        return {
            "id": self.mutant.id,
            "budget": self.mutant.budget_seeds,
            "seeds_to_kill": self.seeds if self.answer is not None else None,
            "oracle": self.answer.outcome.oracle if self.answer is not None else None,
            "killed": self.answer is not None,
        }


def hunt(pool: Pool, profile: str, mutant: Mutant, first: int) -> Killed:
    """Run seeds with a mutant until one fails; the lowest such seed counts."""
    failing: dict[int, Answer] = {}

    def done(answer: Answer | NoResultError) -> None:
        if isinstance(answer, BrokenRunError):
            raise answer
        if isinstance(answer, Answer) and answer.outcome.signature:
            failing[answer.plan.seed] = answer
            # Those before it are with a worker already; those after it do not matter.
            pool.drop()

    for seed in range(first, first + mutant.budget_seeds):
        pool.submit(Job(profile, seed, mutant.id), done)
    pool.work()
    if not failing:
        return Killed(mutant, mutant.budget_seeds, None)
    lowest = min(failing)
    return Killed(mutant, lowest - first + 1, failing[lowest])


def shrunk(pool: Pool, answer: Answer, runs_max: int = SHRINK_RUNS) -> Failure:
    """Return a failure made small."""
    plan = answer.plan

    def runner(candidate: Plan, played: Deviations | None) -> Outcome:
        job = Job(plan.profile, candidate.seed, plan.mutant, candidate, played, full=True)
        return pool.run(job).outcome

    shrinker = Shrinker(runner, answer.outcome.signature, runs_max)
    started = time.monotonic()
    small = shrinker.shrink(plan, answer.outcome)
    took_s = time.monotonic() - started
    say(
        f"{answer.outcome.signature}: {plan.size} entries became {small.plan.size} "
        f"in {shrinker.runs} runs ({took_s:.0f} s)"
    )
    return played(pool, small.plan, small.tape)


def played(pool: Pool, plan: Plan, tape: Deviations) -> Failure:
    """Return the failure that a plan and a tape end in: what the file of it is to say."""
    outcome = pool.run(Job(plan.profile, plan.seed, plan.mutant, plan, tape, full=True)).outcome
    return failure_of(plan, tape, outcome)


def replayed(pool: Pool, failure: Failure) -> Sequence[Outcome]:
    """Play a failure again, on both sides."""
    plan = failure.plan
    job = Job(plan.profile, plan.seed, plan.mutant, plan, failure.tape, full=True)
    return [pool.run(job, side).outcome for side in (0, 1)]


def same(failure: Failure, outcome: Outcome) -> bool:
    """Tell whether a replay came out the same in every respect."""
    return (failure.signature, failure.trace_hash, failure.fingerprint) == (
        outcome.signature,
        outcome.trace_hash,
        outcome.fingerprint,
    )
