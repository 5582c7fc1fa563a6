"""A small cluster of the ``control`` profile to tell stories about.

with Cluster(controllers=3, brokers=2) as cluster:
    cluster.until_well()
    cluster.ask(creation("orders", 1, 2, {}))
"""

from collections.abc import Callable
from types import TracebackType

from barnabas.metadata.topics import PartitionRegistration
from barnabas.sim.plan import Phases, Plan
from barnabas.sim.profiles.control.people import Administrator
from barnabas.sim.profiles.control.scene import ADMINISTRATOR, TWIN, ControlScene
from barnabas.sim.tape import Tape
from barnabas.sim.tripwires import Tripwires
from barnabas.sim.world import Settings, World
from barnabas.wire.structs import Request, Response

LIMIT_MS = 60_000


class Cluster:
    """Controllers, brokers and an administrator; nothing goes wrong by itself."""

    def __init__(self, controllers: int = 1, brokers: int = 2, seed: int = 1, **knobs: int) -> None:
        hosts = (
            *(f"n{at + 1}" for at in range(controllers)),
            *(f"b{at + 1}" for at in range(brokers)),
            TWIN,
            ADMINISTRATOR,
        )
        plan = Plan("control", seed, hosts, Settings(), Phases(), knobs=tuple(knobs.items()))
        self.world = World(Tape(seed))
        for host in hosts:
            self.world.add_host(host)
        self.scene = ControlScene(self.world, plan)
        self.world.excuses = self.scene.excuses

    def __enter__(self) -> "Cluster":
        self._tripwires = Tripwires(self.world.kernel)
        self._tripwires.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tripwires.__exit__(kind, error, trace)
        self.world.close()
        if kind is None:
            assert self.world.violation is None, self.world.violation

    @property
    def administrator(self) -> Administrator:
        """Whoever runs the cluster."""
        found = self.scene._administrator
        assert found is not None
        return found

    def until(self, reached: Callable[[], bool], limit_ms: int = LIMIT_MS) -> None:
        """Let time pass until something is so."""
        assert self.world.run_until(reached, limit_ms), list(self.world.story)[-8:]

    def until_well(self) -> None:
        """Let time pass until nothing is owed."""
        self.until(lambda: not self.scene.owed())

    def ask(self, request: Request) -> Response | None:
        """Let the administrator ask, and return the answer."""
        self.scene._ask(request)
        count = len(self.administrator.settled)
        self.until(lambda: len(self.administrator.settled) > count)
        return self.administrator.settled[-1][1]

    def partition(self, topic: str, number: int = 0) -> PartitionRegistration:
        """Return what is committed of a partition."""
        found = self.scene.ledger.image.topics.named(topic)
        assert found is not None
        partition = found.partition(number)
        assert partition is not None
        return partition
