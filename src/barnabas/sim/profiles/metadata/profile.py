"""The ``metadata`` profile: plans of clusters, of what people do in them and of what goes wrong."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from barnabas.model.features import LATEST_TESTING, MINIMUM_VERSION
from barnabas.sim.link import TAIL_FACTOR
from barnabas.sim.nemesis import Kind
from barnabas.sim.plan import Operation, Param, Plan, draw_times
from barnabas.sim.profile import Mutant, Scene
from barnabas.sim.profiles.metadata.drive import FIRST, REPLICAS, VITAL
from barnabas.sim.profiles.metadata.marks import MUST_SEE
from barnabas.sim.profiles.metadata.mutants import MUTANTS
from barnabas.sim.profiles.metadata.scene import MetadataScene
from barnabas.sim.profiles.metadata.writing import KINDS
from barnabas.sim.profiles.raft.profile import PROFILE as QUORUM
from barnabas.sim.profiles.raft.profile import draw_plan
from barnabas.sim.world import Settings, World

# Steps worth striking at: a claim, what a leader begins with, a commit, a snapshot.
MOMENTS: Final = (
    "raft.persisted",
    "table.claimed",
    "table.active",
    "table.committed",
    "table.committed",
    "table.snapshot",
    "table.loaded",
    "table.lends",
)

# How often each operation is drawn, in proportion; the last are for quorums that may change.
WEIGHTS: Final[Mapping[str, int]] = {
    "decide": 60,
    "transact": 8,
    "alter": 10,
    "write": 6,
    "hurry": 1,
    "resign": 2,
    "slow": 2,
    "poison": 1,
    "stumble": 2,
    "come": 3,
    "leave": 1,
    "swap": 1,
}
CHANGES: Final[Mapping[str, int]] = {"add": 2, "remove": 1}

# Who comes late, and who may raise.
LATECOMERS: Final = ("late", "later")
STUMBLERS: Final = (FIRST, VITAL, REPLICAS, *LATECOMERS, *LATECOMERS)

# What a cluster needs before anything can happen in it.
FOUNDING: Final = ("register", "register", "register", "topic", "topic")

SEEDS: Final = 1 << 40


class MetadataProfile:
    """Plans and worlds of clusters."""

    name: Final = "metadata"
    mutants: Final[Sequence[Mutant]] = MUTANTS
    must_see: Final[Sequence[str]] = MUST_SEE
    kinds: Final[Mapping[str, Kind]] = QUORUM.kinds

    def plan(self, seed: int, mutant: str) -> Plan:
        """Draw a plan."""
        return draw_plan(self.name, seed, mutant, self.kinds, MOMENTS, draw_knobs, draw_workload)

    def build(self, world: World, plan: Plan) -> Scene:
        """Start the processes."""
        return MetadataScene(world, plan)


def draw_knobs(source: Random, settings: Settings) -> dict[str, int]:
    """Draw how large a cluster is, and how patient; snapshots are due often."""
    slowest_ms = (
        2 * settings.sync_ns + 4 * (settings.latency_ns + settings.spread_ns)
    ) // 1_000_000
    election_ms = max(source.choice((150, 400, 1_000)), 6 * slowest_ms)
    # One segment of a thousand is as late as this, which is no reason for another leader (RL-5).
    latest_ms = 2 * TAIL_FACTOR * (settings.latency_ns + settings.spread_ns) // 1_000_000
    fetch_ms = max(election_ms * source.choice((1, 2, 2, 3)), latest_ms)
    levels = range(MINIMUM_VERSION.level, LATEST_TESTING.level + 1)
    return {
        "voters": source.choice((1, 3, 3, 3, 3, 5)),
        "spares": source.choice((0, 0, 0, 1)),
        "observers": source.choice((0, 1, 1, 2, 2)),
        "static": int(source.random() < 0.2),
        "auto_join": int(source.random() < 0.2),
        "election_ms": election_ms,
        "fetch_ms": fetch_ms,
        "fetch_bytes": source.choice((1_024, 4_096, 65_536)),
        "segment_bytes": source.choice((8_192, 8_192, 65_536)),
        "snapshot_bytes": source.choice((600, 1_500, 4_096, 30_000)),
        "retention_bytes": source.choice((0, 0, 4_096)),
        "level": source.choice((levels[-1], levels[-1], levels[-2], source.choice(levels))),
        "one_by_one": int(source.random() < 0.3),
    }


def draw_workload(
    source: Random, knobs: Mapping[str, int], hosts: Sequence[str], length_ms: int
) -> tuple[Operation, ...]:
    """Draw what people do."""
    weights = {what: weight * source.choice((0, 1, 1, 2)) for what, weight in WEIGHTS.items()} | {
        "decide": WEIGHTS["decide"]
    }
    if not knobs["static"]:
        eager = source.choice((0, 0, 1, 2))
        weights |= {what: weight * eager for what, weight in CHANGES.items()}
    # What is drawn of all there is: few kinds, often.
    favourites = source.sample(sorted(KINDS), source.choice((4, 8, len(KINDS))))
    gap_ms = max(20, length_ms // source.choice((60, 150, 300)))
    operations = [
        Operation(0, "people", "decide", (what, source.randrange(SEEDS), 1, 0)) for what in FOUNDING
    ]
    for at_ms in draw_times(source, length_ms, gap_ms):
        (what,) = source.choices(list(weights), list(weights.values()))
        arguments = draw_arguments(source, what, hosts, knobs, favourites)
        operations.append(Operation(at_ms, "people", what, arguments))
    return tuple(operations)


def draw_arguments(
    source: Random,
    what: str,
    hosts: Sequence[str],
    knobs: Mapping[str, int],
    favourites: Sequence[str],
) -> tuple[Param, ...]:
    """Draw whom or what an operation is about."""
    controllers = [host for host in hosts if host.startswith("n")]
    match what:
        case "decide":
            kind = source.choice(favourites)
            count = source.choice((1, 1, 1, 2, 4))
            return (kind, source.randrange(SEEDS), count, source.randint(0, 3))
        case "transact":
            gap_ms = source.choice((1, 10, knobs["election_ms"], 4 * knobs["election_ms"]))
            parts = source.choice((1, 2, 3, 5))
            ends = source.randint(0, 1)
            return (source.randrange(SEEDS), parts, gap_ms, ends, source.randint(0, 3))
        case "alter":
            late_ms = source.choice((0, 0, 1, knobs["fetch_ms"]))
            return (source.choice(list(hosts)), source.randrange(SEEDS), late_ms)
        case "write":
            return (source.choice((1, 1, 3)), source.randint(0, 3))
        case "add" | "remove":
            return (source.choice(controllers), source.randint(0, 3))
        case "slow":
            delay_ms = source.choice((10, knobs["election_ms"], 3 * knobs["fetch_ms"]))
            return (source.choice(list(hosts)), delay_ms, 10 * knobs["election_ms"])
        case "stumble":
            return (source.choice(list(hosts)), source.choice(STUMBLERS))
        case "come" | "leave" | "swap":
            return (source.choice(list(hosts)), source.choice(LATECOMERS))
        case _:
            return (source.choice(list(hosts)),)


PROFILE: Final = MetadataProfile()
