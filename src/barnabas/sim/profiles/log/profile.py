"""The ``log`` profile: plans of operations and faults, and the scene they happen in."""

from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Final

from barnabas.runtime.runtime import Runtime
from barnabas.sim.disk_faults import Latencies, Law
from barnabas.sim.nemesis import Kind, draw_faults
from barnabas.sim.plan import Fault, Operation, Param, Phases, Plan, draw_settings, draw_times
from barnabas.sim.probes import Moment
from barnabas.sim.process import Process
from barnabas.sim.profile import Mutant, Scene
from barnabas.sim.profiles.log.drive import Drive
from barnabas.sim.profiles.log.faults import HOST, KINDS_HERE
from barnabas.sim.profiles.log.layout import LED, LOGS, PATHS
from barnabas.sim.profiles.log.mutants import MUTANTS, plant
from barnabas.sim.profiles.log.story import MUST_SEE, Story
from barnabas.sim.tape import stream
from barnabas.sim.world import Checker, Violation, World

# What a plan may consist of for the most part: rare among all the kinds, and the point of this
# profile.
TELLING: Final[Mapping[str, int]] = {
    "crash-power": 9,
    "sync-fail": 2,
    "disk-fail": 2,
    "disk-flaky": 1,
    "disk-trouble": 1,
    "disk-fill": 1,
    "directory-trouble": 1,
    "visitor": 1,
}
# What destroys, in some plans only: of a log that was damaged less is asked.
DECAYING: Final[Mapping[str, int]] = {"rot": 6, "bad-sector": 2, "misdirect": 1, "wipe": 1}
# The operation that such a fault has to meet: a tear something to tear, rot somebody who copies.
COMPANIONS: Final = {"crash-power": "burst", "rot": "compact"}

UNFLUSHED: Final = "log.unflushed"
MOMENTS: Final = ("log.did", "log.opened", "log.failed", UNFLUSHED)

# How often each operation is drawn, in proportion.
WEIGHTS: Final[Mapping[str, int]] = {
    "append": 10,
    "table": 4,
    "burst": 4,
    "produce": 14,
    "retry": 4,
    "end": 7,
    "end-unindexed": 1,
    "fence": 1,
    "stale": 2,
    "fetch": 10,
    "serve": 6,
    "flush": 4,
    "flush-behind": 4,
    "flush-failing": 1,
    "roll": 2,
    "truncate": 3,
    "redo": 1,
    "retain": 3,
    "compact": 2,
    "checkpoint": 3,
}


class LogScene:
    """One machine with its logs."""

    def __init__(self, world: World, plan: Plan) -> None:
        plant(plan.mutant)
        self._world: Final = world
        self._plan: Final = plan
        self._left: Final = list(plan.workload)
        self._story: Final = Story(world, world.hosts[HOST].disk, self._take)
        self._chaos_from_ms: int | None = None
        # What is still to work since everything was healed; before that, there is the plan.
        self._wanted: list[Operation] | None = None
        self._opened: Final[dict[str, None]] = {}
        # Which lives hold a directory.
        self._claims: Final[dict[str, dict[int, None]]] = {path: {} for path in PATHS}
        world.on("log.opened", self._note_opened)
        world.on("log.did", self._note_done)
        world.on("log.claimed", self._note_claimed)
        world.on("log.released", self._note_released)
        world.on("log.in-use", lambda _: self._story.asked("S-17"))
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
        """Ask for one operation of each log; on a slow disk many others may be left undone.

        And for a reader of everything: damage that nobody came across is found now, if ever.
        """
        self._wanted = [
            Operation(0, HOST, "append", ("plain", 1, 10)),
            Operation(0, HOST, "fetch", ("copy", 0)),
            Operation(0, HOST, "compact", ("keyed",)),
            *(Operation(0, HOST, "serve", (name,)) for name in LOGS),
        ]
        # Stalls of the disk that overlapped may have left each other behind.
        sync_ns = self._plan.settings.sync_ns
        self._story.disk.latencies = Latencies(sync=Law(sync_ns, 500, jitter_ns=sync_ns))

    def recovered(self) -> bool:
        """Tell whether what was asked for since healing is done."""
        return self._wanted == []

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
            if not world.run_until(self.ready, self._plan.phases.recovery_ms):
                raise Violation("SL-1", f"open are {', '.join(self._opened)}, and no more")
            self._story.asked("SL-1")

    def _take(self, served: Collection[str]) -> Operation | None:
        """Take the next operation, if there is one for a log that is in service."""
        if self._wanted is not None:
            return next((op for op in self._wanted if op.arguments[0] in served), None)
        if self._chaos_from_ms is None or not self._left:
            return None
        if self._world.now_ms < self._chaos_from_ms + self._left[0].at_ms:
            return None
        operation = self._left.pop(0)
        # Whoever asks a broker for a log in a failed directory is sent away.
        return operation if operation.arguments[0] in served else None

    def _note_opened(self, moment: Moment) -> None:
        self._opened[str(moment.facts["log"])] = None

    def _note_done(self, moment: Moment) -> None:
        done = moment.facts["what"], moment.facts["log"]
        if self._wanted is not None:
            self._wanted = [op for op in self._wanted if (op.what, op.arguments[0]) != done]

    def _note_claimed(self, moment: Moment) -> None:
        """See that no two processes that live hold one directory: S-17."""
        claims = self._claims[str(moment.facts["directory"])]
        living = {process.life for process in self._world.hosts[HOST].processes}
        others = [life for life in claims if life in living]
        if others:
            story = f"{moment} while {others} hold it"
            self._world.found(Violation("S-17", story))
        claims[moment.life] = None

    def _note_released(self, moment: Moment) -> None:
        del self._claims[str(moment.facts["directory"])][moment.life]

    async def _live(self, runtime: Runtime) -> None:
        await Drive(runtime, self._story).live()


class LogProfile:
    """Plans and worlds of log directories."""

    name: Final = "log"
    mutants: Final[Sequence[Mutant]] = MUTANTS
    must_see: Final[Sequence[str]] = MUST_SEE
    kinds: Final[Mapping[str, Kind]] = KINDS_HERE

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
        for share, telling, gaps in ((0.7, TELLING, 6), (0.4, DECAYING, 20)):
            if source.random() < share:
                (name,) = source.choices(list(telling), list(telling.values()))
                companion = COMPANIONS.get(name)
                if companion is not None:
                    weights[companion] = max(weights[companion], 12)
                for at_ms in draw_times(source, phases.chaos_ms, phases.chaos_ms // gaps):
                    faults = (*faults, self._fault(source, name, at_ms))
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

    def _fault(self, source: Random, name: str, at_ms: int) -> Fault:
        drawn = self.kinds[name].draw(source, (HOST,))
        # Right when several blocks wait to be written, some of which will be.
        on = UNFLUSHED if name == "crash-power" and source.random() < 0.7 else ""
        return Fault(name, at_ms, drawn.target, drawn.duration_ms, drawn.params, on)

    def build(self, world: World, plan: Plan) -> Scene:
        """Start the process."""
        return LogScene(world, plan)


def draw_operation(source: Random, at_ms: int, weights: Mapping[str, int]) -> Operation:
    """Draw one thing to do to one log."""
    (what,) = source.choices(list(weights), list(weights.values()))
    led = source.choice(LED)
    arguments: tuple[Param, ...]
    # Now and then larger than a segment, which is refused.
    size = source.choice((0, 10, 100, 500, 1_500, 4_000, 7_000))
    match what:
        case "append" | "table":
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
        case "burst":
            arguments = (led, source.randint(1, 4))
        case "fence" | "stale":
            arguments = (led, source.randint(1, 3))
        case "redo":
            arguments = ("plain", source.randint(1, 3), source.choice((1, 2, 5)))
        case "truncate":
            arguments = ("plain", source.choice((0, 1, 3, 10, 40)))
        case "retain":
            arguments = ("plain", source.choice((0, 0, 5, 30, 200)))
        case "compact":
            arguments = ("keyed",)
        case _:
            arguments = (source.choice(LOGS),)
    return Operation(at_ms, HOST, what, arguments)


PROFILE: Final = LogProfile()
