"""A node's life, on simulated hosts: started from what it is told, stopped in good order."""

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.node.config import NodeConfig, node_config
from barnabas.node.format import Wish, format_storage
from barnabas.node.node import run_node
from barnabas.runtime.runtime import Runtime
from tests.sim.worlds import run_in_world, world_of

LINES = {
    "process.roles": "controller",
    "node.id": "1",
    "log.dirs": "/data",
    "listeners": "CONTROLLER://n1:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "n1:9093",
}
CLUSTER = "5Nt_67aCRU6aKtpHOgzdBA"
LIMIT_MS = 60_000


def told(**more: str) -> NodeConfig:
    """Return a node's configuration; underscores are dots."""
    return node_config(LINES | {name.replace("_", "."): text for name, text in more.items()})


def silent(_: str) -> None:
    """Say nothing of what is formatted."""


async def formatted_and_run(runtime: Runtime) -> None:
    """Be a node that is formatted when it starts for the first time."""
    wish = Wish(CLUSTER, ignore_formatted=True, standalone=True)
    await format_storage(runtime.disk, runtime.clock, runtime.entropy, told(), wish, silent)
    await run_node(runtime, told())


def test_a_formatted_node_leads_its_quorum_and_stops_when_it_is_asked_to() -> None:
    with world_of("n1") as world:
        leading: list[bool] = []
        world.on("raft.leads", lambda _: leading.append(True))
        process = world.start("n1", formatted_and_run)
        assert world.run_until(lambda: bool(leading), LIMIT_MS), world.story[-1]
        world.stop("n1")
        assert world.run_until(lambda: process.death is not None, LIMIT_MS)
        assert process.death is not None
        assert process.death.error is None
        leading.clear()
        world.restart("n1")
        assert world.run_until(lambda: bool(leading), LIMIT_MS), world.story[-1]


def test_directories_that_are_not_formatted_are_refused_with_what_to_do() -> None:
    async def main(runtime: Runtime) -> None:
        with pytest.raises(Misconfigured, match="barnabas storage format"):
            await run_node(runtime, told())

    run_in_world(main)


def test_directories_of_another_node_are_refused() -> None:
    async def main(runtime: Runtime) -> None:
        wish = Wish(CLUSTER, standalone=True)
        await format_storage(runtime.disk, runtime.clock, runtime.entropy, told(), wish, silent)
        with pytest.raises(Misconfigured, match="belongs to node 1"):
            await run_node(runtime, told(node_id="2"))

    run_in_world(main)
