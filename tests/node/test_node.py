"""A node's life, on simulated hosts: started from what it is told, stopped in good order."""

from functools import partial

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.node.config import NodeConfig, node_config
from barnabas.node.format import Wish, format_storage
from barnabas.node.node import run_node
from barnabas.runtime.probes import Fact
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


BOTH = told(process_roles="broker,controller", listeners="PLAINTEXT://n1:9092,CONTROLLER://n1:9093")


async def formatted_and_run(runtime: Runtime, config: NodeConfig | None = None) -> None:
    """Be a node that is formatted when it starts for the first time; a controller by default."""
    config = config or told()
    wish = Wish(CLUSTER, ignore_formatted=True, standalone=True)
    await format_storage(runtime.disk, runtime.clock, runtime.entropy, config, wish, silent)
    await run_node(runtime, config)


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


def test_a_node_that_is_broker_and_controller_is_a_cluster_of_its_own() -> None:
    with world_of("n1") as world:
        states: list[Fact] = []
        world.on("broker.became", lambda moment: states.append(moment.facts["state"]))
        epochs: list[Fact] = []
        world.on("broker.became", lambda moment: epochs.append(moment.facts["epoch"]))
        process = world.start("n1", partial(formatted_and_run, config=BOTH))
        assert world.run_until(lambda: 3 in states, LIMIT_MS), world.story[-1]
        # A whole session of its own later it is what it was.
        world.run_ms(30_000)
        world.stop("n1")
        assert world.run_until(lambda: process.death is not None, LIMIT_MS)
        assert process.death is not None
        assert process.death.error is None
        assert states == [1, 2, 3, 6, 7]
        world.restart("n1")
        assert world.run_until(lambda: states[5:] == [1, 2, 3], LIMIT_MS), world.story[-1]
        assert len({*epochs} - {None}) == 2


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
