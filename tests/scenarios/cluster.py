"""A simulated cluster for stories about brokers.

    with Cluster(controllers=1, brokers=1) as cluster:
        cluster.until_running("b1")
        cluster.world.kill("b1")

Hosts are ``c1`` … and ``b1`` …; a broker's node id is 10 more than the number of its host.
"""

from collections.abc import Callable
from functools import partial
from types import TracebackType

from barnabas.broker.lifecycle import NUMBERS, Running, ShuttingDown, State
from barnabas.net.peers import Peers
from barnabas.node.config import NodeConfig, node_config
from barnabas.node.format import Wish, format_storage
from barnabas.node.node import run_node
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.sim.probes import Moment
from barnabas.sim.process import Process
from barnabas.sim.tape import Tape
from barnabas.sim.tripwires import Tripwires
from barnabas.sim.world import World
from barnabas.wire.structs import Request, Response
from tests.scenarios.controllers import Wishes, controller_node

CLUSTER = "5Nt_67aCRU6aKtpHOgzdBA"
LIMIT_MS = 120_000


def silent(_: str) -> None:
    """Say nothing of what is formatted."""


class Registration:
    """A registration as the controller has written it."""

    def __init__(self, moment: Moment) -> None:
        self.epoch = number(moment, "epoch")
        self.incarnation = moment.facts["incarnation"]


class Cluster:
    """Controllers and brokers; the brokers are the product's own nodes from top to bottom."""

    def __init__(
        self, controllers: int = 1, brokers: int = 1, seed: int = 1, cluster_id: str = CLUSTER
    ) -> None:
        self.world = World(Tape(seed))
        self.wishes: Wishes = {}
        # By their offsets, since every controller tells of them.
        self._registered: dict[int, Registration] = {}
        self._fencing: dict[int, int] = {}
        self.previous: list[int] = []
        """What brokers told of their last lives, each time one asked to be registered."""
        self.states: dict[str, list[tuple[int, int | None]]] = {}
        self.voters = ",".join(f"{n}@c{n}:9093" for n in range(1, controllers + 1))
        self.controllers = [f"c{n}" for n in range(1, controllers + 1)]
        self.leader = ""
        self.world.on("asked", lambda it: self.previous.append(number(it, "previous")))
        self.world.on("registered", self._was_registered)
        self.world.on("fencing", self._was_fenced)
        self.world.on("broker.became", self._became)
        self.world.on("raft.leads", self._leads)
        for node_id, host in enumerate(self.controllers, 1):
            self.world.add_host(host)
            self.world.start(host, partial(self._controller, node_id))
        for count in range(1, brokers + 1):
            self.add_broker(f"b{count}", 10 + count, cluster_id)

    def add_broker(self, host: str, node_id: int, cluster_id: str = CLUSTER) -> None:
        """Start one more broker, on a host of its own."""
        self.world.add_host(host)
        self.world.start(host, partial(self._broker, host, node_id, cluster_id))

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

    # --- how it stands -----------------------------------------------------------------------

    @property
    def registrations(self) -> list[Registration]:
        """The registrations in the log."""
        return [each for _, each in sorted(self._registered.items())]

    @property
    def fences(self) -> int:
        """How often a broker was fenced."""
        return list(self._fencing.values()).count(1)

    @property
    def unfences(self) -> int:
        """How often a broker was let in."""
        return list(self._fencing.values()).count(-1)

    def ask(self, request: Request) -> Response:
        """Ask the controller that leads, as an operator would."""
        answers: list[Response] = []

        async def operate(runtime: Runtime) -> None:
            peers = Peers(runtime, "operator")
            answers.append(await peers.ask(Address(self.leader, 9093), request, 5_000))
            await peers.close()

        self.world.visit(self.leader, operate)
        self.until(lambda: bool(answers))
        return answers[0]

    def epoch(self, host: str) -> int | None:
        """Return the epoch that a broker was in when it last became something."""
        return self.states[host][-1][1]

    def is_in(self, host: str, state: type[State]) -> bool:
        """Tell whether a broker is in a state."""
        told = self.states.get(host, [])
        return bool(told) and told[-1][0] == NUMBERS[state]

    def until(self, reached: Callable[[], bool], limit_ms: int = LIMIT_MS) -> None:
        """Let time pass until something is so."""
        assert self.world.run_until(reached, limit_ms), list(self.world.story)[-8:]

    def until_running(self, *hosts: str) -> None:
        """Let time pass until brokers serve."""
        self.until(lambda: all(self.is_in(host, Running) for host in hosts))

    def until_ended(self, host: str) -> Process:
        """Let time pass until the last process on a host is over, and return it."""
        process = [each for each in self.world.processes if each.host == host][-1]
        self.until(lambda: process.death is not None)
        assert self.is_in(host, ShuttingDown)
        return process

    def snapshots_on(self, host: str) -> list[str]:
        """Return the snapshots that are on a host's disk."""
        found: list[list[str]] = []

        async def look(runtime: Runtime) -> None:
            found.append(runtime.disk.names("/data/__cluster_metadata-0"))

        self.world.visit(host, look)
        self.until(lambda: bool(found))
        return [name for name in found[0] if name.endswith(".checkpoint")]

    # --- processes ---------------------------------------------------------------------------

    async def _controller(self, node_id: int, runtime: Runtime) -> None:
        config = node_config(
            {
                "process.roles": "controller",
                "node.id": str(node_id),
                "log.dirs": "/data",
                "listeners": f"CONTROLLER://c{node_id}:9093",
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": self.voters,
                "metadata.log.max.record.bytes.between.snapshots": "2000",
                "metadata.max.retention.bytes": "4000",
                "metadata.log.segment.bytes": str(8 << 20),
            }
        )
        await formatted(runtime, config, CLUSTER)
        await controller_node(runtime, config, self.wishes)

    async def _broker(self, host: str, node_id: int, cluster_id: str, runtime: Runtime) -> None:
        config = node_config(
            {
                "process.roles": "broker",
                "node.id": str(node_id),
                "log.dirs": "/data,/more",
                "listeners": f"PLAINTEXT://{host}:9092",
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": self.voters,
            }
        )
        await formatted(runtime, config, cluster_id)
        await run_node(runtime, config)

    # --- what is heard -----------------------------------------------------------------------

    def _became(self, moment: Moment) -> None:
        epoch = None if moment.facts["epoch"] is None else number(moment, "epoch")
        self.states.setdefault(moment.host, []).append((number(moment, "state"), epoch))

    def _was_registered(self, moment: Moment) -> None:
        self._registered[number(moment, "offset")] = Registration(moment)

    def _was_fenced(self, moment: Moment) -> None:
        self._fencing[number(moment, "offset")] = number(moment, "fenced")

    def _leads(self, moment: Moment) -> None:
        self.leader = moment.host


def number(moment: Moment, name: str) -> int:
    """Return a number that somebody has told."""
    told = moment.facts[name]
    assert isinstance(told, int)
    return told


async def formatted(runtime: Runtime, config: NodeConfig, cluster_id: str) -> None:
    """Format a node's directories when it starts for the first time."""
    wish = Wish(cluster_id, ignore_formatted=True)
    await format_storage(runtime.disk, runtime.clock, runtime.entropy, config, wish, silent)
