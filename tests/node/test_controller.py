"""A node that controls: it begins its cluster, is known to it, and answers who asks."""

import asyncio

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.net.peers import Peers
from barnabas.node.config import node_config
from barnabas.node.controller import controller_config
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from tests.node.test_node import LINES, formatted_and_run, told
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
