"""The ``raft`` profile: plans of quorums, of what is done to them, and of what goes wrong."""

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from barnabas.sim.disk_faults import Injection
from barnabas.sim.disk_faults import Kind as DiskOperation
from barnabas.sim.nemesis import KINDS, Kind, Undo, cut_all, draw_faults, isolate, one
from barnabas.sim.plan import (
    SPEAKER,
    Fault,
    Operation,
    Param,
    Phases,
    Plan,
    draw_settings,
    draw_times,
    some,
)
from barnabas.sim.profile import Mutant, Scene
from barnabas.sim.profiles.raft.marks import MUST_SEE
from barnabas.sim.profiles.raft.mutants import MUTANTS
from barnabas.sim.profiles.raft.scene import RaftScene
from barnabas.sim.tape import stream
from barnabas.sim.world import Settings, World

BEARABLE: Final = (
    "crash-kill",
    "crash-power",
    "blackout",
    "stop-clean",
    "pause",
    "slow-cpu",
    "skew",
    "wall-step",
    "link-down",
    "partition",
    "slow-link",
    "reject",
    "reset-conns",
    "linger-conn",
    "chunking",
    "narrow-link",
    "late-fin",
    "fsync-stall",
    "disk-slow",
    "wipe",
)

LONELY: Final = ("crash-kill", "crash-power", "stop-clean", "pause", "fsync-stall", "disk-fail")

# Steps worth striking at: a vote on its way to the disk, a flush, a claim, a snapshot.
MOMENTS: Final = (
    "raft.persisted",
    "raft.persisted",
    "raft.flushed",
    "table.claimed",
    "table.committed",
    "table.snapshot",
    "table.lends",
)

# How often each operation is drawn, in proportion; the last column is for quorums that may change.
WEIGHTS: Final[Mapping[str, int]] = {
    "write": 60,
    "hurry": 3,
    "resign": 3,
    "slow": 1,
    "poison": 1,
    "mistake": 1,
}
CHANGES: Final[Mapping[str, int]] = {"add": 4, "remove": 3, "move": 1}

FAILING: Final[tuple[DiskOperation, ...]] = ("sync", "sync_directory")


def fail_disk(world: World, fault: Fault) -> Undo:
    """Let one of the next syncs of a host fail: its process ends, and is started again."""
    host = fault.target[0]
    word = fault.word("operation", "sync")
    operation = next(known for known in FAILING if known == word)
    disk = world.hosts[host].disk
    disk.inject(Injection(operation, error=errno.EIO, after=fault.param("after")))
    return lambda: world.restart(host)


def deafen(world: World, fault: Fault) -> Undo:
    """Let a host hear nobody, though everybody hears it."""
    host = fault.target[0]
    inward = [link for link in world.fabric.links.all() if link.target == host]
    return cut_all(world, inward)


class RaftProfile:
    """Plans and worlds of quorums."""

    name: Final = "raft"
    mutants: Final[Sequence[Mutant]] = MUTANTS
    must_see: Final[Sequence[str]] = MUST_SEE
    kinds: Final[Mapping[str, Kind]] = {
        name: Kind(kind.draw, kind.do, kind.timely, kind.personal, weight=kind.weight)
        for name, kind in KINDS.items()
        if name in BEARABLE
    } | {
        "disk-fail": Kind(
            one(500, 5_000, operation=("sync", "sync", "sync_directory"), after=(0, 0, 1, 3)),
            fail_disk,
            personal=True,
        ),
        "deafen": Kind(one(100, 20_000), deafen, personal=True),
        "isolate": Kind(one(100, 20_000), isolate, personal=True),
    }

    def plan(self, seed: int, mutant: str) -> Plan:
        """Draw a plan."""
        # Comparing with the specification takes half as long again.  A mutant is to be noticed by
        # the oracles, and the specification would see it first.
        traces = ("traces", int(not mutant and seed % 2 == 0))
        plan = draw_plan(self.name, seed, mutant, self.kinds, MOMENTS, draw_knobs, draw_workload)
        return replace(plan, knobs=(*plan.knobs, traces))

    def build(self, world: World, plan: Plan) -> Scene:
        """Start the processes."""
        return RaftScene(world, plan)


def draw_plan(
    profile: str,
    seed: int,
    mutant: str,
    all_kinds: Mapping[str, Kind],
    moments: Sequence[str],
    draw_knobs: Callable[[Random, Settings], dict[str, int]],
    draw_workload: Callable[[Random, Mapping[str, int], Sequence[str], int], tuple[Operation, ...]],
) -> Plan:
    """Draw a plan for a quorum and for whatever stands on its log."""
    source = stream(seed, "plan")
    settings = draw_settings(source)
    knobs = draw_knobs(source, settings)
    hosts = draw_hosts(source, knobs)
    controllers = [host for host in hosts if host.startswith("n")]
    election_ms, fetch_ms = knobs["election_ms"], knobs["fetch_ms"]
    beats = source.choice((20, 40, 80))
    owed_ms = 20 * (2 * election_ms + fetch_ms) + 60_000 + 60 * 2 * election_ms
    phases = Phases(
        boot_ms=60_000 + 40 * (election_ms + fetch_ms),
        warm_up_ms=election_ms,
        chaos_ms=beats * (election_ms + fetch_ms) // 2,
        recovery_ms=owed_ms,
        quiesce_ms=2 * fetch_ms,
    )
    # One machine alone has nobody to be cut off from.
    kinds = {name: kind for name, kind in all_kinds.items() if len(hosts) > 1 or name in LONELY}
    faults = draw_faults(
        source,
        kinds,
        hosts,
        phases.chaos_ms,
        mean_gap_ms=phases.chaos_ms // source.choice((4, 10, 25)),
        moments=moments,
    )
    return Plan(
        profile=profile,
        seed=seed,
        mutant=mutant,
        hosts=hosts,
        settings=settings,
        phases=phases,
        faults=(*faults, *draw_strikes(source, hosts, fetch_ms, phases.chaos_ms)),
        workload=draw_workload(source, knobs, hosts, phases.chaos_ms),
        knobs=tuple(knobs.items()),
        core=draw_core(source, knobs, controllers, hosts),
    )


def draw_strikes(
    source: Random, hosts: Sequence[str], fetch_ms: int, length_ms: int
) -> tuple[Fault, ...]:
    """Draw faults that hit a leader: one that has just begun, or sends a snapshot.

    Among all the others they would be rare, and they tell most.
    """
    if len(hosts) == 1 or source.random() < 0.4:
        return ()
    return tuple(
        Fault(
            source.choice(("deafen", "isolate", "crash-kill", "crash-power")),
            at_ms,
            (SPEAKER,),
            source.choice((4 * fetch_ms, 8 * fetch_ms)),
            on=source.choice(("table.claimed", "table.claimed", "table.lends")),
            nth=source.choice((1, 1, 2)),
        )
        for at_ms in draw_times(source, length_ms, length_ms // 3)
    )


def draw_knobs(source: Random, settings: Settings) -> dict[str, int]:
    """Draw how large a quorum is, and how patient: never less than its network and disks need."""
    slowest_ms = (
        2 * settings.sync_ns + 4 * (settings.latency_ns + settings.spread_ns)
    ) // 1_000_000
    election_ms = max(source.choice((150, 400, 1_000)), 6 * slowest_ms)
    return {
        "voters": source.choice((1, 2, 3, 3, 3, 3, 4, 5, 5, 7)),
        "spares": source.choice((0, 0, 1, 2)),
        "observers": source.choice((0, 0, 0, 1, 1, 3)),
        "static": int(source.random() < 0.2),
        "auto_join": int(source.random() < 0.3),
        "election_ms": election_ms,
        "fetch_ms": election_ms * source.choice((1, 2, 2, 3)),
        "fetch_bytes": source.choice((512, 2_048, 65_536)),
        "segment_bytes": source.choice((2_048, 8_192, 65_536)),
        "snapshot_bytes": source.choice((1_500, 4_096, 30_000)),
        "keys": source.choice((6, 6, 60)),
        "retention_bytes": source.choice((0, 2_048, 20_000)),
    }


def draw_hosts(source: Random, knobs: Mapping[str, int]) -> tuple[str, ...]:
    """Return the hosts of a quorum."""
    spares = 0 if knobs["static"] else knobs["spares"]
    controllers = [f"n{at + 1}" for at in range(knobs["voters"] + spares)]
    return (*controllers, *(f"o{at + 1}" for at in range(knobs["observers"])))


def draw_core(
    source: Random, knobs: Mapping[str, int], controllers: Sequence[str], hosts: Sequence[str]
) -> tuple[str, ...]:
    """Return the hosts that are healed first; none where all are."""
    if len(controllers) < 3 or source.random() < 0.4:
        return ()
    majority = knobs["voters"] // 2 + 1
    chosen = some(source, controllers, at_least=majority)
    observers = [host for host in hosts if host.startswith("o")]
    core = [*chosen, *(host for host in observers if source.random() < 0.5)]
    return () if len(core) == len(hosts) else tuple(core)


def draw_workload(
    source: Random, knobs: Mapping[str, int], hosts: Sequence[str], length_ms: int
) -> tuple[Operation, ...]:
    """Draw what clients and administrators do."""
    weights = {what: weight * source.choice((0, 1, 1, 2)) for what, weight in WEIGHTS.items()} | {
        "write": WEIGHTS["write"]
    }
    if not knobs["static"]:
        eager = source.choice((0, 1, 1, 4))
        weights |= {what: weight * eager for what, weight in CHANGES.items()}
    gap_ms = max(20, length_ms // source.choice((60, 150, 300)))
    operations = []
    for at_ms in draw_times(source, length_ms, gap_ms):
        (what,) = source.choices(list(weights), list(weights.values()))
        arguments = draw_arguments(source, what, hosts, knobs)
        operations.append(Operation(at_ms, "people", what, arguments))
    return tuple(operations)


def draw_arguments(
    source: Random, what: str, hosts: Sequence[str], knobs: Mapping[str, int]
) -> tuple[Param, ...]:
    """Draw whom or what an operation is about."""
    controllers = [host for host in hosts if host.startswith("n")]
    match what:
        case "write":
            key = f"k{source.randint(1, knobs['keys'])}"
            # Three of them have to fit a segment.
            size = source.choice(
                (0, 10, 100, 400, 400 if knobs["segment_bytes"] < 8_192 else 2_000)
            )
            return (key, size, source.choice((1, 1, 1, 2, 3)), source.randint(0, 3))
        case "add" | "remove":
            return (source.choice(controllers), source.randint(0, 3))
        case "move":
            return (source.choice(controllers),)
        case "mistake":
            return (source.choice(controllers), source.randint(0, 1))
        case "slow":
            delay_ms = source.choice((10, knobs["election_ms"], 3 * knobs["fetch_ms"]))
            return (source.choice(list(hosts)), delay_ms, 10 * knobs["election_ms"])
        case _:
            return (source.choice(list(hosts)),)


PROFILE: Final = RaftProfile()
