"""DescribeCluster tells of controllers, and of nothing else."""

from barnabas.model.errors import ErrorCode
from barnabas.raft.cluster import ALL_OPERATIONS, UNASKED_OPERATIONS, describe_cluster
from barnabas.raft.config import RaftConfig
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import Outline
from barnabas.raft.states import Election
from barnabas.raft.voters import Endpoint, History, ReplicaKey, Voter, VoterSet
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest

PLACES = {each: Endpoint("CONTROLLER", f"node{each}", 9090 + each) for each in (1, 2, 3)}
VOTERS = VoterSet.of(Voter(ReplicaKey(each), (place,)) for each, place in PLACES.items())


def node(leader_id: int | None = None) -> RaftNode:
    config = RaftConfig(ReplicaKey(1), "cluster", (PLACES[1],))
    return RaftNode(config, Election(5, leader_id), Outline(), History(VOTERS))


def test_voters_are_told_with_their_places_and_their_leader() -> None:
    request = DescribeClusterRequest(endpoint_type=2)
    told = describe_cluster(node(leader_id=2), request, 1, "CONTROLLER")
    assert (told.error_code, told.cluster_id, told.controller_id) == (0, "cluster", 2)
    assert told.endpoint_type == 2
    assert [(each.broker_id, each.host, each.port) for each in told.brokers] == [
        (1, "node1", 9091),
        (2, "node2", 9092),
        (3, "node3", 9093),
    ]
    assert told.cluster_authorized_operations == UNASKED_OPERATIONS


def test_a_leader_that_nobody_could_reach_is_not_told() -> None:
    request = DescribeClusterRequest(endpoint_type=2)
    told = describe_cluster(node(leader_id=2), request, 1, "OTHER")
    assert (told.controller_id, list(told.brokers)) == (-1, [])
    assert describe_cluster(node(), request, 1, "CONTROLLER").controller_id == -1


def test_everything_is_allowed_while_nobody_forbids_it() -> None:
    request = DescribeClusterRequest(endpoint_type=2, include_cluster_authorized_operations=True)
    told = describe_cluster(node(), request, 1, "CONTROLLER")
    assert told.cluster_authorized_operations == ALL_OPERATIONS == 8096


def test_who_asks_for_brokers_is_refused() -> None:
    request = DescribeClusterRequest(endpoint_type=1)
    told = describe_cluster(node(), request, 1, "CONTROLLER")
    assert told.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    told = describe_cluster(node(), request, 0, "CONTROLLER")
    assert told.error_code == ErrorCode.INVALID_REQUEST


def test_who_asks_for_what_there_is_not_is_refused() -> None:
    request = DescribeClusterRequest(endpoint_type=7)
    told = describe_cluster(node(), request, 1, "CONTROLLER")
    assert told.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
    assert told.error_message is not None
    assert "7" in told.error_message
