"""A member's parts: it listens on each endpoint, and tells what it can work with."""

from functools import partial

from barnabas.net.peers import Peers
from barnabas.node.member import Member, open_member
from barnabas.raft.config import RaftConfig
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from tests.raft.members import voter
from tests.sim.worlds import run_in_world

PLACES = (Endpoint("FIRST", "here", 9093), Endpoint("SECOND", "here", 9094))
CONFIG = RaftConfig(voter(1).key, "cluster", PLACES, listener="FIRST")
ALONE = VoterSet.of([Voter(ReplicaKey(1), PLACES)])


async def opened(runtime: Runtime) -> Member:
    """Return a member that has two endpoints and votes alone."""
    runtime.disk.make_directory("/metadata")
    return await open_member(runtime, CONFIG, "/metadata", [at.address for at in PLACES], ALONE)


def test_it_answers_on_each_of_its_endpoints_with_what_is_seen_there() -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        assert [server.address for server in member.servers] == [at.address for at in PLACES]
        peers = Peers(runtime, "operator")
        ask = partial(peers.ask, request=DescribeClusterRequest(endpoint_type=2), timeout_ms=1_000)
        for place in PLACES:
            told = await ask(place.address)
            assert isinstance(told, DescribeClusterResponse)
            assert [(node.host, node.port) for node in told.brokers] == [("here", place.port)]
        await peers.close()
        await member.close(1_000)

    run_in_world(main)


def test_it_tells_which_kraft_versions_it_knows_and_nothing_that_it_does_not_serve() -> None:
    async def main(runtime: Runtime) -> None:
        member = await opened(runtime)
        peers = Peers(runtime, "operator")
        request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
        told = await peers.ask(Address("here", 9093), request, 1_000)
        assert isinstance(told, ApiVersionsResponse)
        (feature,) = told.supported_features
        assert (feature.name, feature.min_version, feature.max_version) == ("kraft.version", 0, 1)
        keys = [api.api_key for api in told.api_keys]
        assert keys == [1, 18, 52, 53, 54, 55, 59, 60, 80, 81, 82]
        await peers.close()
        await member.close(1_000)

    run_in_world(main)
