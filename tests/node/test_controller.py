"""A node that controls: it begins its cluster, is known to it, and answers who asks."""

import asyncio

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.net.peers import Peers
from barnabas.node.config import node_config
from barnabas.node.controller import controller_config
from barnabas.node.format import Wish, format_storage
from barnabas.node.node import run_node
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from tests.node.test_node import CLUSTER, LINES, formatted_and_run, silent, told
from tests.sim.worlds import world_of

LIMIT_MS = 60_000


def test_it_is_told_by_the_names_and_defaults_of_kafka() -> None:
    config = controller_config(told(), "cluster")
    assert (config.session_timeout_ms, config.idle_interval_ms) == (9_000, 500)
    assert (config.rebalances, config.rebalance_check_ms) == (True, 300_000)
    lines = {"leader.imbalance.check.interval.seconds": "7", "num.partitions": "3"}
    config = controller_config(node_config(LINES | lines), "cluster")
    assert (config.rebalance_check_ms, config.num_partitions) == (7_000, 3)
    assert config.static["num.partitions"] == "3"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(Misconfigured, match=r"num\.partitions"):
        controller_config(node_config(LINES | {"num.partitions": "0"}), "cluster")


def test_a_cluster_begins_with_what_its_first_controller_was_formatted_with() -> None:
    answers: list[object] = []

    async def ask(runtime: Runtime) -> None:
        peers, place = Peers(runtime, "operator"), Address("n1", 9093)
        while not answers:
            await runtime.clock.sleep_ms(500)
            request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
            try:
                told_ = await peers.ask(place, request, 5_000)
            except OSError:
                # It does not listen yet.
                continue
            assert isinstance(told_, ApiVersionsResponse)
            if any(each.name == "metadata.version" for each in told_.finalized_features):
                answers.append(told_)
        topic = CreateTopicsRequest.CreatableTopic(name="a", num_partitions=1, replication_factor=1)
        answers.append(await peers.ask(place, CreateTopicsRequest(topics=[topic]), 5_000))
        # A process that ends is started again.
        await asyncio.get_running_loop().create_future()

    with world_of("n1", "n2") as world:
        registered: list[bool] = []
        world.on("controller.activated", lambda _: registered.append(True))
        world.start("n1", formatted_and_run)
        world.start("n2", ask)
        assert world.run_until(lambda: len(answers) == 2, LIMIT_MS), world.story[-1]
        created = answers[1]
        assert isinstance(created, CreateTopicsResponse)
        # There is no broker yet that could hold it.
        assert created.topics[0].error_code == 38
        assert registered


def test_a_leader_hears_its_followers_while_they_make_themselves_known() -> None:
    places = ",".join(f"{each}@n{each}:9093" for each in (1, 2, 3))

    async def live(runtime: Runtime) -> None:
        host = runtime.tasks.name.partition(".")[0]
        config = node_config(
            {name: text for name, text in LINES.items() if "bootstrap" not in name}
            | {
                "node.id": host[1:],
                "listeners": f"CONTROLLER://{host}:9093",
                "controller.quorum.voters": places,
            }
        )
        wish = Wish(CLUSTER, ignore_formatted=True)
        await format_storage(runtime.disk, runtime.clock, runtime.entropy, config, wish, silent)
        await run_node(runtime, config)

    with world_of("n1", "n2", "n3") as world:
        leads: list[int] = []
        world.on("raft.leads", lambda _: leads.append(world.now_ms))
        for host in ("n1", "n2", "n3"):
            world.start(host, live)
        assert world.run_until(lambda: bool(leads), LIMIT_MS), world.story[-1]
        world.run_ms(20_000)
        assert len(leads) == 1, leads
        assert all(process.death is None for process in world.processes)
