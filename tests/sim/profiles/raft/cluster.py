"""A simulated quorum to tell a story about: started, well, and judged by every oracle throughout.

with cluster(voters=3) as quorum:
    old = quorum.leader
    quorum.cut_off(old)
    written = quorum.write("a", at=quorum.new_leader(than=old))
    quorum.heal()
    assert quorum.settled() and written.end == "done"
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from barnabas.sim.link import Link
from barnabas.sim.plan import Operation, Params, Phases, Plan
from barnabas.sim.profiles.raft.drive import Controller
from barnabas.sim.profiles.raft.history import Written
from barnabas.sim.profiles.raft.liveness import Healing
from barnabas.sim.profiles.raft.scene import RaftScene
from barnabas.sim.tape import Tape
from barnabas.sim.tripwires import Tripwires
from barnabas.sim.world import Settings, World

ELECTION_MS = 400
FETCH_MS = 800
LIMIT_MS = 120_000


class Cluster:
    """A quorum, and what a story does to it."""

    def __init__(self, world: World, scene: RaftScene) -> None:
        self.world = world
        self.scene = scene
        self._cut: list[Link] = []

    # --- who is there --------------------------------------------------------------------------

    def at(self, host: str) -> Controller:
        """Return what runs on a host."""
        found = self.scene.living(host)
        assert found is not None, f"nothing runs on {host}"
        return found

    @property
    def leader(self) -> str:
        """The host that leads the newest epoch."""
        return host_of(self.scene.leaders(self.scene.hosts)[-1])

    def new_leader(self, than: str) -> str:
        """Wait until another host leads and says so; return it."""

        def found() -> bool:
            return any(host_of(each) != than for each in self.scene.claimants())

        self.until(found)
        return next(host_of(each) for each in self.scene.claimants() if host_of(each) != than)

    def others(self, *hosts: str) -> list[str]:
        """Return the controllers that are none of these."""
        return [host for host in self.scene.hosts if host.startswith("n") and host not in hosts]

    # --- what happens --------------------------------------------------------------------------

    def run(self, duration_ms: int) -> None:
        """Let time pass."""
        self.world.run_ms(duration_ms)

    def until(self, reached: Callable[[], bool], limit_ms: int = LIMIT_MS) -> None:
        """Let time pass until something is so."""
        came = self.world.run_until(reached, limit_ms)
        assert came, f"it did not come: {self.world.violation or list(self.world.story)[-5:]}"

    def write(self, text: str, at: str) -> Written:
        """Write a value at a host that says that it leads."""
        claimants = [host_of(each) for each in self.scene.claimants()]
        return self.scene.write("key", (text,), claimants.index(at))

    def done(self, written: Written) -> bool:
        """Wait until a write has ended; tell whether it was done."""
        self.until(lambda: written.end != "waits")
        return written.end == "done"

    def ask(self, what: str, *arguments: str | int) -> None:
        """Let people do something to the quorum."""
        self.scene.perform(Operation(0, "people", what, arguments))

    def cut_off(self, *hosts: str) -> None:
        """Cut hosts off from all others, both ways."""
        apart = [
            link
            for link in self.world.fabric.links.all()
            if (link.source in hosts) != (link.target in hosts)
        ]
        self.world.fabric.cut(apart)
        self._cut += apart

    def part(self, one: str, other: str) -> None:
        """Cut two hosts off from each other, both ways."""
        ways = ((one, other), (other, one))
        apart = [self.world.fabric.links.between(*way) for way in ways]
        self.world.fabric.cut(apart)
        self._cut += apart

    def heal(self) -> None:
        """Let everybody reach everybody again."""
        self.world.fabric.heal(self._cut)
        self._cut = []

    def settled(self) -> bool:
        """Wait until everybody follows one leader and has what it has."""
        healing = Healing(self.scene, self.scene.hosts, for_core=False)
        self.until(healing.is_over)
        return True


def host_of(controller: Controller) -> str:
    """Return where a process runs."""
    return controller.name.partition(".")[0]


@contextmanager
def cluster(
    voters: int = 3,
    spares: int = 0,
    observers: int = 0,
    seed: int = 1,
    knobs: Params = (),
    settings: Settings | None = None,
    fails: bool = False,
) -> Iterator[Cluster]:
    """Yield a quorum that works, and see that no oracle objects to what becomes of it.

    Unless it ``fails``: then the story looks at what was found.
    """
    hosts = [f"n{at + 1}" for at in range(voters + spares)]
    hosts += [f"o{at + 1}" for at in range(observers)]
    told = {"voters": voters, "election_ms": ELECTION_MS, "fetch_ms": FETCH_MS} | dict(knobs)
    settings = settings or Settings()
    plan = Plan("raft", seed, tuple(hosts), settings, Phases(), knobs=tuple(told.items()))
    world = World(Tape(seed), settings)
    try:
        for host in hosts:
            world.add_host(host)
        with Tripwires(world.kernel):
            scene = RaftScene(world, plan)
            world.watch(scene.checkers)
            world.excuses = scene.excuses
            quorum = Cluster(world, scene)
            quorum.until(scene.ready)
            yield quorum
        assert fails or world.violation is None, f"{world.violation}"
    finally:
        world.close()
