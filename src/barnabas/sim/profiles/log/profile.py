"""The ``log`` profile: plans of operations and faults, and the scene they happen in."""

import errno
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from barnabas.runtime.runtime import Runtime
from barnabas.sim.disk_faults import DiskFaults, Injection, Latencies, Law
from barnabas.sim.nemesis import KINDS, Kind, Undo, draw_faults, one
from barnabas.sim.plan import Fault, Operation, Param, Phases, Plan, draw_settings, draw_times
from barnabas.sim.probes import Moment
from barnabas.sim.process import Process
from barnabas.sim.profile import Mutant, Scene
from barnabas.sim.profiles.log.drive import LOGS, PATH, Drive, Story
from barnabas.sim.profiles.log.mutants import MUTANTS, plant
from barnabas.sim.tape import stream
from barnabas.sim.world import Checker, World

HOST: Final = "broker"

# Faults of one machine and its disk, those included that a cluster only meets now and then.
BEARABLE: Final = (
    "crash-kill",
    "crash-power",
    "stop-clean",
    "pause",
    "wall-step",
    "fsync-stall",
    "disk-slow",
    "disk-fail",
    "disk-trouble",
)
TELLING: Final = (
    "crash-power",
    "crash-power",
    "sync-fail",
    "disk-fail",
    "disk-flaky",
    "disk-trouble",
)
MOMENTS: Final = ("log.did", "log.opened", "log.failed")

# How often each operation is drawn, in proportion.
WEIGHTS: Final[Mapping[str, int]] = {
    "append": 10,
    "produce": 14,
    "retry": 4,
    "end": 7,
    "end-unindexed": 1,
    "fetch": 10,
    "flush": 4,
    "flush-behind": 4,
    "flush-failing": 1,
    "roll": 2,
    "truncate": 3,
    "retain": 1,
    "compact": 2,
    "checkpoint": 3,
}


def flaky_writes(world: World, fault: Fault) -> Undo:
    """Let writes and syncs of the disk fail now and then.

    Not reads: a sector that cannot be read stays so, and with its only copy no log can go on.
    """
    disk = world.hosts[HOST].disk
    rate = fault.param("per_million", 1_000)
    disk.faults = DiskFaults(write_error=rate, write_full=rate, sync_error=rate, sync_stall=rate)
    return disk.heal


def fail_sync(world: World, fault: Fault) -> None:
    """Let one of the next syncs of a log's data fail, after which the kernel forgets its pages."""
    disk = world.hosts[HOST].disk
    under = f"{PATH}/plain-0"
    disk.inject(Injection("sync", under, error=errno.EIO, after=fault.param("after")))


class LogScene:
    """One machine with its logs."""

    def __init__(self, world: World, plan: Plan) -> None:
        plant(plan.mutant)
        self._world: Final = world
        self._plan: Final = plan
        self._left: Final = list(plan.workload)
        self._story: Final = Story(self._take, world.found, world.hosts[HOST].disk)
        self._chaos_from_ms: int | None = None
        self._opened: Final[dict[str, None]] = {}
        self._works = False
        world.on("log.opened", self._note_opened)
        world.on("log.did", self._note_done)
        world.start(HOST, self._live)

    @property
    def checkers(self) -> Sequence[Checker]:
        """None: the ghosts are told, and do not have to listen."""
        return ()

    def ready(self) -> bool:
        """Tell whether every log is open."""
        if len(self._opened) < len(LOGS):
            return False
        if self._chaos_from_ms is None:
            self._chaos_from_ms = self._world.now_ms + self._plan.phases.warm_up_ms
        return True

    def healed(self, hosts: Sequence[str]) -> None:
        """Ask for one operation of each log; on a slow disk many others may be left undone."""
        self._works = False
        self._left[:] = [
            Operation(0, HOST, "append", ("plain", 1, 10)),
            Operation(0, HOST, "fetch", ("copy", 0)),
            Operation(0, HOST, "compact", ("keyed",)),
        ]
        # Stalls of the disk that overlapped may have left each other behind.
        sync_ns = self._plan.settings.sync_ns
        self._story.disk.latencies = Latencies(sync=Law(sync_ns, 500, jitter_ns=sync_ns))

    def recovered(self) -> bool:
        """Tell whether what was asked for since healing is done."""
        return self._works and not self._left

    def permits(self, world: World, fault: Fault) -> bool:
        """Permit everything: what was promised survives whatever is in these plans."""
        return True

    def excuses(self, process: Process) -> bool:
        """Excuse nothing: a failing disk ends a life in good order."""
        return False

    def audit(self, world: World) -> None:
        """Kill and power off once more, and let everything be compared again."""
        for cut in (False, True):
            self._opened.clear()
            if cut:
                world.cut_power(HOST, "block")
            else:
                world.kill(HOST)
            world.restart(HOST)
            world.run_until(self.ready, self._plan.phases.recovery_ms)

    def _take(self) -> Operation | None:
        """Take the next operation, if chaos has begun and it is time."""
        if self._chaos_from_ms is None or not self._left:
            return None
        if self._world.now_ms < self._chaos_from_ms + self._left[0].at_ms:
            return None
        return self._left.pop(0)

    def _note_opened(self, moment: Moment) -> None:
        self._opened[str(moment.facts["log"])] = None

    def _note_done(self, moment: Moment) -> None:
        self._works = True

    async def _live(self, runtime: Runtime) -> None:
        await Drive(runtime, self._story).live()


class LogProfile:
    """Plans and worlds of log directories."""

    name: Final = "log"
    mutants: Final[Sequence[Mutant]] = MUTANTS
    must_see: Final = ()
    kinds: Final[Mapping[str, Kind]] = {
        name: Kind(kind.draw, kind.do, kind.timely, kind.personal, weight=kind.weight)
        for name, kind in KINDS.items()
        if name in BEARABLE
    } | {
        "disk-flaky": Kind(KINDS["disk-flaky"].draw, flaky_writes),
        "sync-fail": Kind(one(1, 1, after=(0, 0, 1, 3)), fail_sync),
    }

    def plan(self, seed: int, mutant: str) -> Plan:
        """Draw a plan: what is done to the logs, what goes wrong."""
        source = stream(seed, "plan")
        phases = Phases(warm_up_ms=50, chaos_ms=source.choice((2_000, 5_000, 12_000)))
        weights = {what: weight * source.choice((0, 1, 1, 3)) for what, weight in WEIGHTS.items()}
        weights["append"] += 1
        times = draw_times(source, phases.chaos_ms, source.choice((10, 25, 60)))
        faults = draw_faults(
            source,
            self.kinds,
            (HOST,),
            phases.chaos_ms,
            mean_gap_ms=source.choice((200, 600, 2_000)),
            moments=MOMENTS,
        )
        if source.random() < 0.6:
            # Rare among all the kinds, and the point of this profile.
            name = source.choice(TELLING)
            for at_ms in draw_times(source, phases.chaos_ms, phases.chaos_ms // 3):
                drawn = self.kinds[name].draw(source, (HOST,))
                error = Fault(name, at_ms, drawn.target, drawn.duration_ms, drawn.params)
                faults = (*faults, error)
        return Plan(
            profile=self.name,
            seed=seed,
            mutant=mutant,
            hosts=(HOST,),
            settings=draw_settings(source),
            phases=phases,
            faults=faults,
            workload=tuple(draw_operation(source, at_ms, weights) for at_ms in times),
        )

    def build(self, world: World, plan: Plan) -> Scene:
        """Start the process."""
        return LogScene(world, plan)


def draw_operation(source: Random, at_ms: int, weights: Mapping[str, int]) -> Operation:
    """Draw one thing to do to one log."""
    (what,) = source.choices(list(weights), list(weights.values()))
    led = source.choice(("plain", "keyed"))
    arguments: tuple[Param, ...]
    # Now and then larger than a segment, which is refused.
    size = source.choice((0, 10, 100, 500, 1_500, 4_000, 7_000))
    match what:
        case "append":
            arguments = (led, source.randint(1, 6), size)
        case "produce":
            arguments = (led, source.randint(1, 3), source.randint(1, 6), size)
        case "retry":
            arguments = (led, source.randint(1, 3), source.randint(1, 5))
        case "end":
            arguments = (led, source.randint(1, 2), source.randint(0, 1))
        case "end-unindexed":
            arguments = (led, source.randint(1, 2))
        case "fetch":
            arguments = ("copy", source.choice((0, 0, 0, source.randint(1, 2_000))))
        case "flush-failing":
            # It appends, which is not for followers.
            arguments = (led,)
        case "truncate":
            arguments = ("plain", source.choice((0, 1, 3, 10, 40)))
        case "retain":
            arguments = ("plain",)
        case "compact":
            arguments = ("keyed",)
        case _:
            arguments = (source.choice(LOGS),)
    return Operation(at_ms, HOST, what, arguments)


PROFILE: Final = LogProfile()
