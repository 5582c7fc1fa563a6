"""The register as a profile: three replicas, a few clients, every fault the world has."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from barnabas.runtime.runtime import Runtime
from barnabas.sim.nemesis import KINDS, Kind, draw_faults
from barnabas.sim.plan import Fault, Operation, Phases, Plan, draw_settings, draw_times
from barnabas.sim.probes import Moment
from barnabas.sim.process import Process
from barnabas.sim.profile import Mutant, Scene
from barnabas.sim.tape import stream
from barnabas.sim.world import Checker, World
from tests.sim.register.client import GIVES_UP, NO_REPAIR, Client, NoMajorityError
from tests.sim.register.history import History
from tests.sim.register.replica import EARLY, LATE, serve

REPLICAS: Final = ("r1", "r2", "r3")

# Time between two reads of a client whose planned operations are done.
IDLE_MS: Final = 1_000
# What its runs must see now and then, or nothing was tried.
UNKNOWN: Final = "an operation came to no known end"
RECOVERED: Final = "a replica came back with what it had stored"

MOMENTS: Final = ("replica.wrote", "client.return")


class RegisterScene:
    """One register with its clients."""

    def __init__(self, world: World, plan: Plan) -> None:
        self._world: Final = world
        self._plan: Final = plan
        self._clients: Final = [host for host in plan.hosts if host not in REPLICAS]
        self._history: Final = History()
        self._left: Final = {
            client: [each for each in plan.workload if each.client == client]
            for client in self._clients
        }
        self._calls = 0
        self._chaos_from_ms: int | None = None
        # Clients of the hosts that are whole, and which of them have completed an operation since.
        self._whole = tuple(self._clients)
        self._worked: Final[dict[str, None]] = {}
        world.on("client.return", self._note)
        world.on("client.unknown", lambda _: world.mark(UNKNOWN))
        world.on("replica.recovered", self._note_recovered)
        for host in REPLICAS:
            world.start(host, partial(serve, mutant=plan.mutant))
        for host in self._clients:
            world.start(host, partial(self._work, host=host))

    @property
    def checkers(self) -> Sequence[Checker]:
        """The oracle."""
        return (self._history,)

    def ready(self) -> bool:
        """Tell whether every client has completed an operation."""
        if not self.recovered():
            return False
        if self._chaos_from_ms is None:
            self._chaos_from_ms = self._world.now_ms + self._plan.phases.warm_up_ms
        return True

    def healed(self, hosts: Sequence[str]) -> None:
        """Count from now."""
        self._whole = tuple(host for host in self._clients if host in hosts)
        self._worked.clear()

    def recovered(self) -> bool:
        """Tell whether every client that can has completed an operation since healing."""
        return all(client in self._worked for client in self._whole)

    def permits(self, world: World, fault: Fault) -> bool:
        """Permit everything: what was synced survives whatever is in these plans."""
        return True

    def excuses(self, process: Process) -> bool:
        """Excuse nothing."""
        return False

    def audit(self, world: World) -> None:
        """Restart everything, and let every client read what survived."""
        for host in REPLICAS:
            world.kill(host)
            world.restart(host)
        self.healed(self._plan.hosts)
        world.run_until(self.recovered, self._plan.phases.recovery_ms)

    def _note(self, moment: Moment) -> None:
        self._worked[moment.host] = None

    def _note_recovered(self, moment: Moment) -> None:
        if moment.facts["counter"]:
            self._world.mark(RECOVERED)

    async def _work(self, runtime: Runtime, host: str) -> None:
        client = Client(runtime, REPLICAS, self._plan.mutant)
        client.connect()
        while True:
            operation = self._next(host)
            if operation is None:
                await self._do(runtime, client, "read", 0)
                await runtime.clock.sleep_ms(IDLE_MS)
                continue
            await runtime.clock.sleep_ms(self._due_in_ms(operation))
            number = operation.arguments[0] if operation.arguments else 0
            assert isinstance(number, int)
            await self._do(runtime, client, operation.what, number)

    def _next(self, host: str) -> Operation | None:
        """Take a client's next operation, if chaos has begun and there is one."""
        if self._chaos_from_ms is None or not self._left[host]:
            return None
        return self._left[host].pop(0)

    def _due_in_ms(self, operation: Operation) -> int:
        assert self._chaos_from_ms is not None, "operations wait for chaos"
        return max(0, self._chaos_from_ms + operation.at_ms - self._world.now_ms)

    async def _do(self, runtime: Runtime, client: Client, what: str, number: int) -> None:
        self._calls += 1
        operation = self._calls
        probes = runtime.probes
        probes.trace("client.call", operation=operation, what=what, number=number)
        try:
            if what == "write":
                await client.write(number)
            else:
                number = await client.read()
        except NoMajorityError:
            probes.trace("client.unknown", operation=operation, what=what)
            return
        probes.trace("client.return", operation=operation, what=what, number=number)


class RegisterProfile:
    """Plans and worlds of the register."""

    name: Final = "register"
    mutants: Final = (
        Mutant(EARLY, "a replica acknowledges a store before it is on disk", 200),
        Mutant(NO_REPAIR, "a read does not store what it returns", 200),
        Mutant(LATE, "a replica takes a store without comparing tags", 200),
        Mutant(GIVES_UP, "a client that is refused when it reconnects never tries again", 200),
    )
    kinds: Mapping[str, Kind] = KINDS
    must_see: Final = (UNKNOWN, RECOVERED)

    def plan(self, seed: int, mutant: str) -> Plan:
        """Draw a plan: who is there, what they do, what goes wrong."""
        source = stream(seed, "plan")
        clients = [f"c{number}" for number in range(1, source.randint(2, 4))]
        hosts = (*REPLICAS, *clients)
        phases = Phases(chaos_ms=source.choice((2_000, 5_000, 15_000)))
        gap_ms = source.choice((20, 100, 500))
        workload: list[Operation] = []
        for at_ms in draw_times(source, phases.chaos_ms, gap_ms):
            client = source.choice(clients)
            if source.random() < 0.5:
                workload.append(Operation(at_ms, client, "write", (len(workload) + 1,)))
            else:
                workload.append(Operation(at_ms, client, "read"))
        faults = draw_faults(
            source,
            self.kinds,
            hosts,
            phases.chaos_ms,
            mean_gap_ms=source.choice((300, 2_000)),
            moments=MOMENTS,
        )
        # Two replicas and a client are enough to go on, whatever has become of the others.
        core = (*source.sample(REPLICAS, 2), source.choice(clients))
        return Plan(
            profile=self.name,
            seed=seed,
            mutant=mutant,
            hosts=hosts,
            settings=draw_settings(source),
            phases=phases,
            faults=faults,
            workload=tuple(workload),
            core=core if source.random() < 0.5 else (),
        )

    def build(self, world: World, plan: Plan) -> Scene:
        """Start replicas and clients."""
        return RegisterScene(world, plan)


PROFILE: Final = RegisterProfile()
