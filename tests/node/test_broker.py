"""The broker of a node: what it listens on, what it tells, whom it takes for the controller."""

import asyncio

import pytest

from barnabas.broker.shell import BrokerFailed
from barnabas.metadata.shell import MetadataShell
from barnabas.model.ids import Uuid, uuid_text
from barnabas.net.peers import Peers
from barnabas.node.broker import BrokerRole, open_broker
from barnabas.node.config import NodeConfig, node_config
from barnabas.node.controller import mind_of
from barnabas.node.directories import claim
from barnabas.node.format import Wish, format_storage
from barnabas.node.member import open_member
from barnabas.node.meta_properties import identify
from barnabas.node.metadata import follow
from barnabas.raft.shell import Quorum
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.node.test_member import opened
from tests.node.test_metadata import LEVEL, reached, write
from tests.sim.worlds import run_in_world

LINES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "log.dirs": "/data",
    "metadata.log.dir": "/metadata",
    "listeners": "INTERNAL://here:0,CLIENTS://:9092,FIRST://here:9093,SECOND://here:9094",
    "advertised.listeners": "CLIENTS://far.away:19092,INTERNAL://here:0",
    "controller.listener.names": "FIRST,SECOND",
    "controller.quorum.voters": "1@here:9093",
    "inter.broker.listener.name": "INTERNAL",
    "listener.security.protocol.map": (
        "INTERNAL:PLAINTEXT,CLIENTS:PLAINTEXT,FIRST:PLAINTEXT,SECOND:PLAINTEXT"
    ),
    "broker.rack": "r1",
    "initial.broker.registration.timeout.ms": "5000",
}
CONFIG = node_config(LINES)
IDS = {"/data": Uuid(b"d" * 16)}


async def opened_broker(
    runtime: Runtime, quorum: Quorum, config: NodeConfig = CONFIG
) -> tuple[BrokerRole, MetadataShell]:
    """Return a broker beside a quorum of one that decides nothing."""
    runtime.disk.make_directory("/data")
    directories = await claim(runtime.disk, config, IDS)
    metadata = await follow(runtime, quorum, config)
    role = await open_broker(runtime, config, "the-cluster", directories, quorum, metadata)
    return role, metadata


async def asked(runtime: Runtime, address: Address) -> ApiVersionsResponse:
    """Ask what is served there."""
    peers = Peers(runtime, "client")
    request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    told = await peers.ask(address, request, 1_000)
    assert isinstance(told, ApiVersionsResponse)
    await peers.close()
    return told


def test_a_broker_tells_what_it_serves_and_what_the_cluster_agreed_upon() -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        role, metadata = await opened_broker(runtime, member.quorum)
        while member.quorum.node.promised_offset is None:
            await runtime.clock.sleep_ms(10)
        await write(member.quorum, LEVEL)
        await reached(runtime, metadata, member.quorum.high_watermark)
        assert [*role.servers] == ["INTERNAL", "CLIENTS"]
        for server in role.servers.values():
            told = await asked(runtime, Address("here", server.address.port))
            assert [api.api_key for api in told.api_keys] == [18]
            finalized = {each.name: each.max_version_level for each in told.finalized_features}
            assert finalized == {"metadata.version": 29}
            supported = {each.name: each.max_version for each in told.supported_features}
            assert supported["metadata.version"] == 30
            assert told.finalized_features_epoch == metadata.image.offset
        await role.close()
        await member.close(1_000)
        await metadata.stop()

    run_in_world(main)


def test_a_broker_registers_where_clients_are_told_to_go() -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        role, metadata = await opened_broker(runtime, member.quorum)
        config = role.broker.config
        first, second = config.listeners
        assert (first.name, first.host) == ("INTERNAL", "here")
        assert first.port == role.servers["INTERNAL"].address.port
        assert (second.name, second.host, second.port) == ("CLIENTS", "far.away", 19092)
        assert (config.rack, config.directories, config.previous_epoch) == ("r1", IDS, -1)
        await role.close()
        await member.close(1_000)
        await metadata.stop()

    run_in_world(main)


def test_a_session_that_one_late_heartbeat_ends_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        config = node_config(LINES | {"broker.heartbeat.interval.ms": "5000"})
        role, metadata = await opened_broker(runtime, member.quorum, config)
        await role.close()
        await member.close(1_000)
        await metadata.stop()

    with caplog.at_level("ERROR"):
        run_in_world(main)
    assert "broker.heartbeat.interval.ms=5000 leaves less than two heartbeats" in caplog.text


def test_a_controller_that_decides_nothing_about_brokers_is_named() -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        role, metadata = await opened_broker(runtime, member.quorum)
        with pytest.raises(BrokerFailed, match="BrokerRegistration is not served there"):
            await role.work()
        await role.close()
        await member.close(1_000)
        await metadata.stop()

    run_in_world(main)


TWO_DISKS = node_config(
    {
        "process.roles": "broker,controller",
        "node.id": "1",
        "log.dirs": "/data,/more",
        "listeners": "PLAINTEXT://here:9092,CONTROLLER://here:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": "here:9093",
    }
)


def test_a_directory_lost_while_it_runs_is_known_to_the_cluster_and_the_broker_lives() -> None:
    async def main(runtime: Runtime) -> None:
        wish = Wish(uuid_text(Uuid(b"the cluster's id")), standalone=True)
        disk, config = runtime.disk, TWO_DISKS
        await format_storage(disk, runtime.clock, runtime.entropy, config, wish, lambda _: None)
        dirs = config.log_dirs
        identity = await identify(disk, runtime.entropy, config.name, 1, dirs[0], dirs)
        directories = await claim(disk, config, identity.directory_ids)
        member = await open_member(
            runtime,
            config.raft(identity.cluster_id, identity.directory_ids["/data"]),
            "/data",
            [listener.bound for listener in config.own_controller_listeners],
            claims=False,
            mind=mind_of(runtime, config, identity.cluster_id),
        )
        metadata = await follow(runtime, member.quorum, config)
        role = await open_broker(
            runtime, config, identity.cluster_id, directories, member.quorum, metadata
        )
        work = asyncio.ensure_future(role.work())
        assert await role.broker.unfenced()
        first, second = identity.directory_ids["/data"], identity.directory_ids["/more"]
        assert {*metadata.image.cluster.brokers[1].directories} == {first, second}
        role.broker.directory_failed(second)
        await runtime.clock.sleep_ms(60_000)
        registration = metadata.image.cluster.brokers[1]
        assert registration.directories == (first,)
        assert (registration.epoch, registration.fenced) == (role.broker.epoch, False)
        assert not work.done()
        await role.close()
        await work
        await member.close(1_000)
        await metadata.stop()

    run_in_world(main)
