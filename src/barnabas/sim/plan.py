"""What will happen in a run, written out: a human reads the plan, not the seed.

    seed ──expand──▶ Plan ──▶ world, faults, workload ──▶ run
                       │
                       └── JSON: stored with a failure, made smaller by the minimiser

A plan says everything that is decided beforehand: the hosts, the knobs, each fault with its moment
(a time, or the n-th time that somebody takes a step of some kind), its target and its duration, and
each operation of the workload.  What is decided on the way (delays, whose turn it is) is on the
tape.

Each seed enables a random part of the fault kinds only (*swarm* testing, Groce et al., ISSTA 2012):
many bugs need one kind of fault to be absent, and a run with all of them at once is every time the
same kind of mess.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from random import Random
from typing import Final, TypeAlias

from barnabas.model.value import value
from barnabas.sim.policy import NAMES as POLICIES
from barnabas.sim.world import Settings

Param: TypeAlias = int | str
Params: TypeAlias = tuple[tuple[str, Param], ...]


@value
class Fault:
    """One entry of a plan: what is done to whom, when, and for how long.

    ``at_ms`` counts from the beginning of chaos.  With ``on`` it is the ``nth`` moment of that kind
    after ``at_ms`` that sets the fault off, and ``SPEAKER`` in ``target`` is the host it is of.
    """

    kind: str
    at_ms: int
    target: tuple[str, ...] = ()
    duration_ms: int = 0
    params: Params = ()
    on: str = ""
    nth: int = 1

    def param(self, name: str, default: int = 0) -> int:
        """Return a parameter that is a number."""
        found = dict(self.params).get(name, default)
        assert isinstance(found, int), f"{self.kind}: {name} is {found!r} and must be a number"
        return found

    def word(self, name: str, default: str) -> str:
        """Return a parameter that is a word."""
        found = dict(self.params).get(name, default)
        assert isinstance(found, str), f"{self.kind}: {name} is {found!r} and must be a word"
        return found

    def __str__(self) -> str:
        when = f"{self.at_ms} ms" if not self.on else f"{self.at_ms} ms, {self.nth}. {self.on}"
        what = " ".join([self.kind, ">".join(self.target), *(f"{k}={v}" for k, v in self.params)])
        return f"{when}: {what} for {self.duration_ms} ms"


@value
class Operation:
    """One thing a client of the workload does: after ``at_ms`` of chaos, and in this order."""

    at_ms: int
    client: str
    what: str
    arguments: tuple[Param, ...] = ()


@value
class Phases:
    """How long each part of a run lasts, or may last."""

    boot_ms: int = 30_000
    warm_up_ms: int = 1_000
    chaos_ms: int = 60_000
    recovery_ms: int = 60_000
    quiesce_ms: int = 2_000


@value
class Plan:
    """Everything about a run that is decided before it begins."""

    profile: str
    seed: int
    hosts: tuple[str, ...]
    settings: Settings
    phases: Phases
    faults: tuple[Fault, ...] = ()
    workload: tuple[Operation, ...] = ()
    knobs: Params = ()
    # The hosts that are healed first, while the others stay cut off: they must do without them.
    # Empty where everything is healed at once.
    core: tuple[str, ...] = ()
    # The planted bug that this run carries; empty for the product as it is.
    mutant: str = ""

    def knob(self, name: str, default: int) -> int:
        """Return a knob of the profile."""
        found = dict(self.knobs).get(name, default)
        assert isinstance(found, int), f"knob {name} is {found!r} and must be a number"
        return found

    @property
    def size(self) -> int:
        """How many entries a human has to read: faults and operations."""
        return len(self.faults) + len(self.workload)


SPEAKER: Final = "@speaker"


def some(source: Random, choices: Sequence[str], at_least: int = 1) -> list[str]:
    """Return a random part of the choices, in their order."""
    count = source.randint(min(at_least, len(choices)), len(choices))
    chosen = source.sample(range(len(choices)), count)
    return [choices[index] for index in sorted(chosen)]


def draw_settings(source: Random) -> Settings:
    """Return a world's knobs: mostly ordinary, now and then at an end of the scale."""
    return Settings(
        policy=source.choice(POLICIES),
        slack_ns=source.choice((0, 0, 10_000, 100_000, 1_000_000)),
        cpu_ns=source.choice((0, 5_000, 20_000, 50_000)),
        latency_ns=source.choice((20_000, 200_000, 200_000, 5_000_000)),
        spread_ns=source.choice((50_000, 300_000, 300_000, 20_000_000)),
        sync_ns=source.choice((100_000, 5_000_000, 50_000_000, 200_000_000)),
        window_bytes=source.choice((4_096, 65_536, 262_144)),
        patience_ms=source.choice((5_000, 20_000)),
        buggify=source.random() < 0.5,
    )


def draw_times(source: Random, length_ms: int, mean_gap_ms: int) -> list[int]:
    """Return moments within a length, apart from each other by ``mean_gap_ms`` on average."""
    times: list[int] = []
    at_ms = 0
    while True:
        at_ms += 1 + int(source.expovariate(1 / mean_gap_ms))
        if at_ms >= length_ms:
            return times
        times.append(at_ms)


# ---- plans as JSON: lists and dicts of plain things, and back


def as_json(plan: Plan) -> dict[str, object]:
    """Return a plan as what ``json`` can write."""
    return {
        "profile": plan.profile,
        "seed": plan.seed,
        "mutant": plan.mutant,
        "hosts": list(plan.hosts),
        "settings": asdict(plan.settings),
        "phases": asdict(plan.phases),
        "knobs": dict(plan.knobs),
        "core": list(plan.core),
        "faults": [_without_defaults(fault) for fault in plan.faults],
        "workload": [[op.at_ms, op.client, op.what, *op.arguments] for op in plan.workload],
    }


def from_json(stored: Mapping[str, object]) -> Plan:
    """Return the plan that ``as_json`` stored."""
    match stored:
        case {
            "profile": str(profile),
            "seed": int(seed),
            "mutant": str(mutant),
            "hosts": list(hosts),
            "settings": dict(settings),
            "phases": dict(phases),
            "knobs": dict(knobs),
            "faults": list(faults),
            "workload": list(workload),
            **later,
        }:
            # Files from before there was a core have none.
            core = later.get("core", [])
            assert isinstance(core, list), f"a core is a list of hosts, and not {core!r}"
            return Plan(
                profile=profile,
                seed=seed,
                mutant=mutant,
                hosts=tuple(hosts),
                settings=Settings(**settings),
                phases=Phases(**phases),
                knobs=tuple(knobs.items()),
                core=tuple(core),
                faults=tuple(_fault(entry) for entry in faults),
                workload=tuple(
                    Operation(at_ms, client, what, tuple(arguments))
                    for at_ms, client, what, *arguments in workload
                ),
            )
        case _:
            raise ValueError(f"this is no plan: it has {', '.join(map(str, stored))}")


def _without_defaults(fault: Fault) -> dict[str, object]:
    entry: dict[str, object] = {
        "kind": fault.kind,
        "at_ms": fault.at_ms,
        "target": list(fault.target),
        "duration_ms": fault.duration_ms,
        "params": dict(fault.params),
    }
    if fault.on:
        entry |= {"on": fault.on, "nth": fault.nth}
    return entry


def _fault(entry: Mapping[str, object]) -> Fault:
    match entry:
        case {
            "kind": str(kind),
            "at_ms": int(at_ms),
            "target": list(target),
            "duration_ms": int(duration_ms),
            "params": dict(params),
            **trigger,
        }:
            on, nth = trigger.get("on", ""), trigger.get("nth", 1)
            assert isinstance(on, str)
            assert isinstance(nth, int)
            return Fault(kind, at_ms, tuple(target), duration_ms, tuple(params.items()), on, nth)
        case _:
            raise ValueError(f"this is no fault: {entry}")
