"""Making a failure small enough to read.

    failing plan ──▶ cut the tail ──▶ fewer faults ──▶ fewer operations ──▶ duller numbers ──┐
         ▲                                                                                   │
         └────────────────────────── until nothing gets smaller ◀───────────────────────────┘
    and then: a duller tape

A candidate counts only if it fails with the same signature (oracle and place); a smaller plan that
fails otherwise is another bug.  Lists are made smaller by delta debugging (Zeller and Hildebrandt,
TSE 2002): halves, then quarters, and so on down to single entries.

Non-obvious:

- While the plan changes, choices are drawn afresh rather than played: taking a fault away moves
  everything after it, and yesterday's tape would say 0 from there on.  A candidate is tried with
  a few seeds for its streams, since the plan may be right and the luck not.
- The tape is made duller only at the end, when the plan stands still.  What is left on it is what
  the failure needs: the rest of the schedule is first in, first out, and every delay is the least.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

from barnabas.model.value import value
from barnabas.sim.plan import Fault, Operation, Plan
from barnabas.sim.run import Outcome
from barnabas.sim.tape import Deviations
from barnabas.sim.world import Settings

T = TypeVar("T")

# Other seeds that a candidate's streams are tried with.
LUCK: Final = 4
SEED_STEP: Final = 1_000_003


@value
class Small:
    """A plan, the tape that makes it fail, and how it does."""

    plan: Plan
    tape: Deviations
    outcome: Outcome


# Runs a plan; without a tape the choices are drawn from the plan's seed.
Runner: TypeAlias = Callable[[Plan, Deviations | None], Outcome]


class Shrinker:
    """Makes one failure smaller, within a number of runs."""

    def __init__(self, runner: Runner, signature: str, runs_max: int) -> None:
        self.runs = 0
        self._runner: Final = runner
        self._signature: Final = signature
        self._runs_max: Final = runs_max

    def shrink(self, plan: Plan, outcome: Outcome) -> Small:
        """Return the smallest failure found that is like this one."""
        best = Small(plan, outcome.tape, outcome)
        while True:
            size, dullness = best.plan.size, spice(best.plan)
            best = self._without_tail(best)
            best = self._fewer_faults(best)
            best = self._fewer_operations(best)
            best = self._duller_numbers(best)
            if (best.plan.size, spice(best.plan)) == (size, dullness) or self._spent:
                break
        return self._duller_tape(best)

    @property
    def _spent(self) -> bool:
        return self.runs >= self._runs_max

    def _try(self, plan: Plan) -> Small | None:
        """Return the plan as a failure, if it still fails in the same way under some seed."""
        for luck in range(LUCK):
            if self._spent:
                return None
            candidate = replace(plan, seed=plan.seed + luck * SEED_STEP)
            self.runs += 1
            outcome = self._runner(candidate, None)
            if outcome.signature == self._signature:
                return Small(candidate, outcome.tape, outcome)
        return None

    def _without_tail(self, best: Small) -> Small:
        """Drop what was to happen after the failure."""
        end_ms = max(1, best.outcome.failed_at_ms - best.outcome.chaos_from_ms + 1)
        plan = best.plan
        if end_ms >= plan.phases.chaos_ms:
            return best
        # Faults begin to count in chaos; those due later cannot have had a part in it.
        shorter = replace(
            plan,
            phases=replace(plan.phases, chaos_ms=end_ms),
            faults=tuple(fault for fault in plan.faults if fault.at_ms <= end_ms),
            workload=tuple(each for each in plan.workload if each.at_ms <= end_ms),
        )
        return self._try(shorter) or best

    def _fewer_faults(self, best: Small) -> Small:
        def with_faults(plan: Plan, faults: Sequence[Fault]) -> Plan:
            return replace(plan, faults=tuple(faults))

        return self._fewer(best, lambda plan: plan.faults, with_faults)

    def _fewer_operations(self, best: Small) -> Small:
        def with_operations(plan: Plan, operations: Sequence[Operation]) -> Plan:
            return replace(plan, workload=tuple(operations))

        return self._fewer(best, lambda plan: plan.workload, with_operations)

    def _fewer(
        self,
        best: Small,
        entries_of: Callable[[Plan], Sequence[T]],
        with_entries: Callable[[Plan, Sequence[T]], Plan],
    ) -> Small:
        """Take entries out of a list while the failure stays: large pieces first."""
        pieces = 1
        while entries_of(best.plan) and not self._spent:
            entries = entries_of(best.plan)
            length = -(-len(entries) // pieces)
            for start in range(0, len(entries), length):
                rest = [*entries[:start], *entries[start + length :]]
                smaller = self._try(with_entries(best.plan, rest))
                if smaller is not None:
                    best = smaller
                    pieces = max(1, pieces - 1)
                    break
            else:
                if length == 1:
                    break
                pieces = min(2 * pieces, len(entries))
        return best

    def _duller_numbers(self, best: Small) -> Small:
        """Try ordinary knobs, shorter durations and plain times instead of triggers."""
        dull = Settings(cpu_ns=best.plan.settings.cpu_ns)
        for settings in (dull, replace(best.plan.settings, policy="fifo", slack_ns=0)):
            if best.plan.settings != settings:
                best = self._try(replace(best.plan, settings=settings)) or best
        for index in range(len(best.plan.faults)):
            fault = best.plan.faults[index]
            for shorter_ms in (1, fault.duration_ms // 4, fault.duration_ms // 2):
                if 0 < shorter_ms < fault.duration_ms:
                    faults = list(best.plan.faults)
                    faults[index] = replace(fault, duration_ms=shorter_ms)
                    smaller = self._try(replace(best.plan, faults=tuple(faults)))
                    if smaller is not None:
                        best = smaller
                        break
        return best

    def _duller_tape(self, best: Small) -> Small:
        """Take choices back to the boring one: all, then whole sites, then parts of a site."""
        plan = best.plan
        best = self._played(plan, {}) or self._played(plan, best.tape) or best
        for site in sorted(best.tape):
            without = {name: draws for name, draws in best.tape.items() if name != site}
            best = self._played(plan, without) or best
        for site in sorted(best.tape):
            pieces = 2
            while pieces <= 2 * len(best.tape.get(site, ())) and not self._spent:
                draws = best.tape[site]
                length = -(-len(draws) // pieces)
                for start in range(0, len(draws), length):
                    rest = [*draws[:start], *draws[start + length :]]
                    duller = self._played(plan, {**best.tape, site: rest})
                    if duller is not None:
                        best = duller
                        break
                else:
                    pieces *= 2
        return best

    def _played(self, plan: Plan, tape: Deviations) -> Small | None:
        """Return the plan with this tape as a failure, if it still fails in the same way."""
        if self._spent:
            return None
        self.runs += 1
        outcome = self._runner(plan, tape)
        return Small(plan, tape, outcome) if outcome.signature == self._signature else None


def spice(plan: Plan) -> int:
    """Return how far a plan is from dull: the sum of what its faults last."""
    return sum(fault.duration_ms for fault in plan.faults) + (plan.settings != Settings())
