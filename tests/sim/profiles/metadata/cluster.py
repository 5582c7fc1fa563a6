"""A simulated cluster to tell a story about: founded, well, and judged by every oracle throughout.

with cluster(voters=3, observers=1) as story:
    story.decide("topic")
    story.cut_off("o1")
    ...
    story.heal()
    assert story.settled()
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from barnabas.metadata.image import MetadataImage
from barnabas.sim.link import Link
from barnabas.sim.plan import Operation, Param, Params, Phases, Plan
from barnabas.sim.profiles.metadata.drive import Node
from barnabas.sim.profiles.metadata.mutants import plant
from barnabas.sim.profiles.metadata.scene import MetadataScene
from barnabas.sim.profiles.raft.liveness import Healing
from barnabas.sim.profiles.raft.stage import host_of
from barnabas.sim.tape import Tape
from barnabas.sim.tripwires import Tripwires
from barnabas.sim.world import Settings, World
from barnabas.wire.structs import Message

ELECTION_MS = 400
FETCH_MS = 800
LIMIT_MS = 120_000


class Story:
    """A cluster, and what a story does to it."""

    def __init__(self, world: World, scene: MetadataScene) -> None:
        self.world = world
        self.scene = scene
        self._cut: list[Link] = []
        self._seed = 0

    # --- who is there --------------------------------------------------------------------------

    def at(self, host: str) -> Node:
        """Return what runs on a host."""
        found = self.scene.living(host)
        assert found is not None, f"nothing runs on {host}"
        return found

    def image(self, host: str) -> MetadataImage:
        """Return what the cluster is, by a host."""
        return self.at(host).metadata.image

    @property
    def leader(self) -> str:
        """The host that leads the newest epoch."""
        return host_of(self.scene.leaders(self.scene.hosts)[-1])

    def new_leader(self, than: str) -> str:
        """Wait until another host leads and writes; return it."""

        def found() -> list[str]:
            return [host for each in self.scene.claimants() if (host := host_of(each)) != than]

        self.until(lambda: bool(found()))
        return found()[0]

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

    def ask(self, what: str, *arguments: Param) -> None:
        """Let people do something."""
        self.scene.perform(Operation(0, "people", what, arguments))

    def decide(self, what: str, times: int = 1) -> None:
        """Let the controller decide on something, so often; numbers differ."""
        for _ in range(times):
            self._seed += 1
            self.ask("decide", what, self._seed, 1, 0)
            self.run(20)

    def put(self, *records: Message, at: str = "") -> None:
        """Let the controller write these records in one batch, and wait until that is committed."""
        node = self.at(at or self.leader)
        ended: list[str] = []

        async def writes() -> None:
            ended.append(await node.scribe.put(records))

        self.scene.input(node, node.spawn, writes(), "story")
        self.until(lambda: bool(ended))
        assert ended == ["done"]

    def cut_off(self, *hosts: str) -> None:
        """Cut hosts off from all others, both ways."""
        apart = [
            link
            for link in self.world.fabric.links.all()
            if (link.source in hosts) != (link.target in hosts)
        ]
        self.world.fabric.cut(apart)
        self._cut += apart

    def heal(self) -> None:
        """Let everybody reach everybody again."""
        self.world.fabric.heal(self._cut)
        self._cut = []

    def settled(self) -> bool:
        """Wait until everybody has what the leader has; compare all of it."""
        healing = Healing(self.scene, self.scene.hosts, for_core=False)
        self.until(healing.is_over)
        self.until(self.scene.is_calm)
        self.scene.judges.quiet(self.scene.all_living(), again=True)
        return True

    def topics(self, host: str) -> Sequence[str]:
        """Return the names of the topics, by a host."""
        return sorted(self.image(host).topics.names)


@contextmanager
def cluster(
    voters: int = 3,
    spares: int = 0,
    observers: int = 0,
    seed: int = 1,
    knobs: Params = (),
    settings: Settings | None = None,
    mutant: str = "",
    fails: bool = False,
) -> Iterator[Story]:
    """Yield a cluster that works, and see that no oracle objects to what becomes of it.

    Unless it ``fails``: then the story looks at what was found.
    """
    hosts = [f"n{at + 1}" for at in range(voters + spares)]
    hosts += [f"o{at + 1}" for at in range(observers)]
    told = {"voters": voters, "election_ms": ELECTION_MS, "fetch_ms": FETCH_MS} | dict(knobs)
    settings = settings or Settings()
    plan = Plan(
        "metadata", seed, tuple(hosts), settings, Phases(), knobs=tuple(told.items()), mutant=mutant
    )
    world = World(Tape(seed), settings)
    try:
        for host in hosts:
            world.add_host(host)
        with Tripwires(world.kernel):
            scene = MetadataScene(world, plan)
            world.watch(scene.checkers)
            world.excuses = scene.excuses
            story = Story(world, scene)
            story.until(scene.ready)
            yield story
        assert fails or world.violation is None, f"{world.violation}"
    finally:
        world.close()
        plant("")
