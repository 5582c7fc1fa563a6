"""The ``control`` profile: plans of clusters, of what people do to them and of what goes wrong."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from barnabas.model.features import LATEST_PRODUCTION
from barnabas.sim.link import TAIL_FACTOR
from barnabas.sim.nemesis import Kind, draw_faults
from barnabas.sim.plan import (
    SPEAKER,
    Fault,
    Operation,
    Param,
    Phases,
    Plan,
    draw_settings,
    draw_times,
)
from barnabas.sim.profile import Mutant, Scene
from barnabas.sim.profiles.control.marks import MUST_SEE
from barnabas.sim.profiles.control.mutants import MUTANTS
from barnabas.sim.profiles.control.scene import ADMINISTRATOR, SLACK_MS, TWIN, ControlScene
from barnabas.sim.profiles.raft.profile import PROFILE as QUORUM
from barnabas.sim.tape import stream
from barnabas.sim.world import Settings, World

# Steps worth striking at: a claim, what a controller begins with, a broker that turns.
MOMENTS: Final = (
    "controller.claimed",
    "controller.claimed",
    "controller.activated",
    "broker.became",
    "broker.became",
    "broker.assigned",
    "raft.leads",
)

# How often each operation is drawn, in proportion.
WEIGHTS: Final[Mapping[str, int]] = {
    "create": 16,
    "delete": 6,
    "grow": 4,
    "reassign": 10,
    "cancel": 4,
    "elect": 6,
    "config": 6,
    "unregister": 1,
    "level": 2,
    "silence": 8,
    "twin": 2,
    "lose": 2,
}

BOUNCES: Final = ("crash-kill", "crash-power", "stop-clean", "stop-clean", "pause", "isolate")

# What a cluster needs before anything can happen in it.
FOUNDING: Final = ("create", "create", "create")

SEEDS: Final = 1 << 40


class ControlProfile:
    """Plans and worlds of clusters."""

    name: Final = "control"
    mutants: Final[Sequence[Mutant]] = MUTANTS
    must_see: Final[Sequence[str]] = MUST_SEE
    kinds: Final[Mapping[str, Kind]] = {
        name: kind for name, kind in QUORUM.kinds.items() if name not in ("wipe", "disk-fail")
    }

    def plan(self, seed: int, mutant: str) -> Plan:
        """Draw a plan."""
        source = stream(seed, "plan")
        settings = draw_settings(source)
        knobs = draw_knobs(source, settings)
        nodes = (
            *(f"n{at + 1}" for at in range(knobs["voters"])),
            *(f"b{at + 1}" for at in range(knobs["brokers"])),
        )
        patience_ms = knobs["election_ms"] + knobs["fetch_ms"] + knobs["session_ms"]
        phases = Phases(
            boot_ms=60_000 + 40 * patience_ms,
            warm_up_ms=knobs["session_ms"],
            chaos_ms=source.choice((8, 16, 30)) * patience_ms,
            recovery_ms=20 * patience_ms + SLACK_MS,
            quiesce_ms=knobs["session_ms"],
        )
        faults = draw_faults(
            source,
            self.kinds,
            nodes,
            phases.chaos_ms,
            mean_gap_ms=phases.chaos_ms // source.choice((4, 10, 20)),
            moments=MOMENTS,
        )
        return Plan(
            profile=self.name,
            seed=seed,
            mutant=mutant,
            hosts=(*nodes, TWIN, ADMINISTRATOR),
            settings=settings,
            phases=phases,
            faults=(*faults, *draw_bounces(source, nodes, knobs, phases.chaos_ms)),
            workload=draw_workload(source, knobs, nodes, phases.chaos_ms),
            knobs=tuple(knobs.items()),
        )

    def build(self, world: World, plan: Plan) -> Scene:
        """Start the processes."""
        return ControlScene(world, plan)


def draw_knobs(source: Random, settings: Settings) -> dict[str, int]:
    """Draw how large a cluster is, and how patient: never less than its network and disks need."""
    slowest_ms = (
        2 * settings.sync_ns + 4 * (settings.latency_ns + settings.spread_ns)
    ) // 1_000_000
    latest_ms = 2 * TAIL_FACTOR * (settings.latency_ns + settings.spread_ns) // 1_000_000
    election_ms = max(source.choice((400, 1_000)), 6 * slowest_ms)
    fetch_ms = max(election_ms * source.choice((1, 2)), latest_ms)
    # A heartbeat has to be committed before the next is due.
    beat_ms = max(source.choice((100, 200, 500)), 2 * slowest_ms)
    newest = LATEST_PRODUCTION.level
    return {
        "voters": source.choice((1, 1, 2, 3, 3, 3, 3, 5)),
        "brokers": source.choice((2, 3, 3, 4, 4, 6)),
        "election_ms": election_ms,
        "fetch_ms": fetch_ms,
        "beat_ms": beat_ms,
        "session_ms": beat_ms * source.choice((4, 6, 10)),
        "registration_ms": beat_ms * source.choice((60, 120)),
        "slowest_ms": 20 * slowest_ms + latest_ms + 1_000,
        "idle_ms": source.choice((50, 500, 500)),
        "snapshot_bytes": source.choice((3_000, 20_000, 200_000)),
        "retention_bytes": source.choice((3_000, 20_000)),
        "directories": source.choice((1, 2, 2, 3)),
        "level": source.choice((newest, newest, newest, newest, 23, 19, 14, 9)),
        "elr": source.choice((0, 1, 1, 1)),
        "min_in_sync": source.choice((1, 1, 2)),
    }


def draw_bounces(
    source: Random, nodes: Sequence[str], knobs: Mapping[str, int], length_ms: int
) -> tuple[Fault, ...]:
    """Draw what tells most of the lives of brokers: bounces, stops, freezes, and failovers.

    Some brokers come back before their session is over; some sleep through it.
    """
    brokers = [host for host in nodes if host.startswith("b")]
    session_ms = knobs["session_ms"]
    faults = []
    for at_ms in draw_times(source, length_ms, length_ms // source.choice((3, 6, 12))):
        kind = source.choice(BOUNCES)
        host = source.choice(brokers)
        for_ms = source.choice((session_ms // 10, session_ms // 2, 2 * session_ms))
        on = ""
        if source.random() < 0.25:
            # Whoever decides, in the middle of what others ask.
            host, on = SPEAKER, source.choice(("controller.activated", "raft.leads"))
        elif source.random() < 0.2:
            # Whoever decides is heard late: heartbeats wait behind the disk.
            kind, host, for_ms = "fsync-stall", nodes[0], 2 * session_ms
        params = (("profile", "prefix"),) if kind == "crash-power" else ()
        faults.append(Fault(kind, at_ms, (host,), for_ms, params, on=on))
    return tuple(faults)


def draw_workload(
    source: Random, knobs: Mapping[str, int], nodes: Sequence[str], length_ms: int
) -> tuple[Operation, ...]:
    """Draw what people do, and what happens to directories."""
    weights = {what: weight * source.choice((0, 1, 1, 2)) for what, weight in WEIGHTS.items()} | {
        "create": WEIGHTS["create"]
    }
    gap_ms = max(50, length_ms // source.choice((30, 60, 120)))
    operations = [Operation(0, "people", what, (source.randrange(SEEDS),)) for what in FOUNDING]
    for at_ms in draw_times(source, length_ms, gap_ms):
        (what,) = source.choices(list(weights), list(weights.values()))
        arguments = draw_arguments(source, what, nodes, knobs)
        operations.append(Operation(at_ms, "people", what, arguments))
    return tuple(operations)


def draw_arguments(
    source: Random, what: str, nodes: Sequence[str], knobs: Mapping[str, int]
) -> tuple[Param, ...]:
    """Draw whom or what an operation is about."""
    brokers = [host for host in nodes if host.startswith("b")]
    session_ms = knobs["session_ms"]
    match what:
        case "silence":
            return (source.choice(brokers), source.choice((1, 4)) * session_ms)
        case "twin":
            return (source.choice((1, 4, 8)) * session_ms,)
        case "lose":
            return (source.choice(brokers), source.randrange(3))
        case _:
            return (source.randrange(SEEDS),)


PROFILE: Final = ControlProfile()
