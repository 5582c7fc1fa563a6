"""What a leader tells of its quorum, and what everybody else does."""

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.raft.asking import TOPIC
from barnabas.raft.config import RaftConfig
from barnabas.raft.describe import Now, describe
from barnabas.raft.events import Started
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import Outline
from barnabas.raft.progress import OBSERVER_MS, Leadership, Progress
from barnabas.raft.states import Leader
from barnabas.raft.voters import RECONFIGURABLE, Endpoint, History, ReplicaKey, Voter, VoterSet
from barnabas.wire.codec import decode, encode
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from tests.raft.words import directory

OURS = ReplicaKey(1, directory("a"))
OTHER = ReplicaKey(2, directory("b"))
LOST = ReplicaKey(2, directory("z"))
BROKER = ReplicaKey(7, directory("g"))

NOW = Now(now_ms=10_000, wall_ms=1_700_000_000_000)


def place(port: int) -> Endpoint:
    """Return where a voter is reached."""
    return Endpoint("CONTROLLER", "here", port)


VOTERS = VoterSet.of([Voter(OURS, (place(1),)), Voter(OTHER, (place(2),))])


def replica(voters: VoterSet = VOTERS) -> RaftNode:
    """Return a replica that has just started."""
    node = RaftNode(
        RaftConfig(OURS, "the-cluster", (place(1),)),
        None,
        Outline(0, 30, [(4, 0)]),
        History(voters, RECONFIGURABLE),
    )
    node.step(Started(), NOW.now_ms)
    return node


def leader(voters: VoterSet = VOTERS) -> RaftNode:
    """Return a replica that leads epoch 5 and has heard of some."""
    node = replica(voters)
    node.state = Leader(5, 29)
    node.leading = Leadership(5, 29, high_watermark=20)
    node.leading.progress = {
        BROKER: Progress(25, 9_000, 8_000, 28),
        OTHER: Progress(20, 9_500, -1, 25),
    }
    return node


def asked(node: RaftNode, version: int = 2, *, topic: str = TOPIC) -> DescribeQuorumResponse:
    """Return the answer as it arrives."""
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    request = DescribeQuorumRequest(
        topics=[DescribeQuorumRequest.TopicData(topic_name=topic, partitions=[partition])]
    )
    response = describe(node, request, version, NOW)
    return decode(DescribeQuorumResponse, version, encode(response, version))


def rows(
    states: "list[DescribeQuorumResponse.ReplicaState]",
) -> list[tuple[int, bytes, int, int, int]]:
    """Return what is told of replicas, their times by the distance from now."""
    return [
        (
            it.replica_id,
            it.replica_directory_id[:1],
            it.log_end_offset,
            ago(it.last_fetch_timestamp),
            ago(it.last_caught_up_timestamp),
        )
        for it in states
    ]


def ago(at_ms: int) -> int:
    """Return how long ago something was; -1 stays what it is."""
    return at_ms if at_ms < 0 else NOW.wall_ms - at_ms


def test_a_leader_tells_how_far_everybody_is() -> None:
    response = asked(leader())
    assert response.error_code == ErrorCode.NONE
    (partition,) = response.topics[0].partitions
    assert partition.error_code == ErrorCode.NONE
    assert (partition.leader_id, partition.leader_epoch) == (1, 5)
    assert partition.high_watermark == 20
    assert rows(list(partition.current_voters)) == [
        (1, b"a", 30, 0, 0),
        (2, b"b", 20, 500, -1),
    ]
    assert rows(list(partition.observers)) == [(7, b"g", 25, 1_000, 2_000)]
    reached = [(it.node_id, [at.port for at in it.listeners]) for it in response.nodes]
    assert reached == [(1, [1]), (2, [2])]


def test_a_leader_without_a_commit_of_its_epoch_tells_no_high_watermark() -> None:
    node = leader()
    assert node.leading is not None
    node.leading.high_watermark = None
    assert asked(node).topics[0].partitions[0].high_watermark == -1


def test_a_voter_that_has_not_fetched_in_this_epoch_is_nowhere() -> None:
    node = leader()
    assert node.leading is not None
    del node.leading.progress[OTHER]
    voters = asked(node).topics[0].partitions[0].current_voters
    assert rows(list(voters))[1] == (2, b"b", -1, -1, -1)


def test_a_voter_with_another_disk_is_an_observer() -> None:
    node = leader()
    assert node.leading is not None
    node.leading.progress[LOST] = Progress(3, 9_900, -1, 3)
    (partition,) = asked(node).topics[0].partitions
    assert [key[:2] for key in rows(list(partition.observers))] == [(2, b"z"), (7, b"g")]
    assert rows(list(partition.current_voters))[1][2] == 20


def test_a_configured_voter_is_told_with_what_the_replica_of_its_id_has_done() -> None:
    static = VoterSet.of([Voter(ReplicaKey(1), (place(1),)), Voter(ReplicaKey(2), (place(2),))])
    (partition,) = asked(leader(static)).topics[0].partitions
    assert rows(list(partition.current_voters)) == [
        (1, b"\0", 30, 0, 0),
        (2, b"\0", 20, 500, -1),
    ]
    assert [it.replica_id for it in partition.observers] == [7]


def test_a_leader_that_votes_no_more_observes_itself() -> None:
    node = leader(VoterSet.of([Voter(OTHER, (place(2),))]))
    (partition,) = asked(node).topics[0].partitions
    assert [it.replica_id for it in partition.current_voters] == [2]
    assert rows(list(partition.observers))[0] == (1, b"a", 30, 0, 0)


def test_an_observer_that_was_silent_for_long_is_not_told() -> None:
    node = leader()
    assert node.leading is not None
    node.leading.progress[BROKER].fetched_ms = NOW.now_ms - OBSERVER_MS - 1
    assert not asked(node).topics[0].partitions[0].observers


def test_who_does_not_lead_says_so_beside_the_partition() -> None:
    response = asked(replica())
    assert response.error_code == ErrorCode.NONE
    (partition,) = response.topics[0].partitions
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.error_message == ErrorCode.NOT_LEADER_OR_FOLLOWER.words
    assert not partition.current_voters


def test_there_is_no_quorum_of_another_topic() -> None:
    response = asked(leader(), topic="orders")
    assert response.topics[0].topic_name == "orders"
    (partition,) = response.topics[0].partitions
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [0, 1])
def test_older_versions_are_told_no_directories_and_no_places(version: int) -> None:
    response = asked(leader(), version)
    assert not response.nodes
    (partition,) = response.topics[0].partitions
    (voter, other) = partition.current_voters
    assert voter.replica_directory_id == other.replica_directory_id == ZERO_UUID
    assert ago(other.last_fetch_timestamp) == (-1 if version == 0 else 500)
