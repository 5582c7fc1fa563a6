"""What a leader tells of its quorum, and what everybody else does."""

from collections.abc import Sequence

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.raft.asking import TOPIC
from barnabas.raft.describe import Now, describe
from barnabas.raft.events import Asked
from barnabas.raft.messages import RemoveVoter
from barnabas.raft.progress import OBSERVER_MS
from barnabas.raft.voters import STATIC, ReplicaKey, VoterSet
from barnabas.wire.codec import decode, encode
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from tests.raft.elected import LOST, OURS, Quorum, leader, voter

NOW = Now(now_ms=10_000, wall_ms=1_700_000_000_000)


def asked(
    quorum: Quorum, version: int = 2, *, topic: str = TOPIC, now: Now = NOW
) -> DescribeQuorumResponse:
    """Return the answer as it arrives."""
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    request = DescribeQuorumRequest(
        topics=[DescribeQuorumRequest.TopicData(topic_name=topic, partitions=[partition])]
    )
    response = describe(quorum.node, request, version, now)
    return decode(DescribeQuorumResponse, version, encode(response, version))


def rows(
    states: Sequence[DescribeQuorumResponse.ReplicaState],
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
    assert partition.high_watermark == 30
    # Who had everything when it fetched last has caught up with that moment by its next fetch.
    assert rows(partition.current_voters) == [
        (1, b"a", 33, 0, 0),
        (2, b"b", 30, 500, 2_500),
    ]
    assert rows(partition.observers) == [(7, b"g", 31, 1_000, 2_000)]
    reached = [(it.node_id, [at.port for at in it.listeners]) for it in response.nodes]
    assert reached == [(1, [1]), (2, [2])]


def test_a_leader_without_a_commit_of_its_epoch_tells_no_high_watermark() -> None:
    (partition,) = asked(Quorum().elect()).topics[0].partitions
    assert partition.error_code == ErrorCode.NONE
    assert partition.high_watermark == -1


def test_a_voter_that_has_not_fetched_in_this_epoch_is_nowhere() -> None:
    voters = asked(Quorum().elect()).topics[0].partitions[0].current_voters
    assert rows(voters)[1] == (2, b"b", -1, -1, -1)


def test_a_voter_with_another_disk_is_an_observer() -> None:
    quorum = leader()
    quorum.fetch(LOST, 3, 9_900)
    (partition,) = asked(quorum).topics[0].partitions
    # It has fetched, and never had everything.
    assert rows(partition.observers)[0] == (2, b"z", 3, 100, -1)
    assert [key[:2] for key in rows(partition.observers)] == [(2, b"z"), (7, b"g")]
    assert rows(partition.current_voters)[1][2] == 30


def test_a_configured_voter_is_told_with_what_the_replica_of_its_id_has_done() -> None:
    static = VoterSet.of([voter(ReplicaKey(1), 1), voter(ReplicaKey(2), 2)])
    (partition,) = asked(leader(static, STATIC)).topics[0].partitions
    assert rows(partition.current_voters) == [
        (1, b"\0", 33, 0, 0),
        (2, b"\0", 30, 500, 2_500),
    ]
    assert [it.replica_id for it in partition.observers] == [7]


def test_a_leader_that_votes_no_more_observes_itself() -> None:
    quorum = leader()
    quorum.happen(Asked(2, RemoveVoter(OURS)), 9_600)
    (partition,) = asked(quorum).topics[0].partitions
    assert [it.replica_id for it in partition.current_voters] == [2]
    assert rows(partition.observers)[0] == (1, b"a", 34, 0, 0)


def test_an_observer_that_was_silent_for_long_is_not_told() -> None:
    for silent_ms, told in [(OBSERVER_MS, 1), (OBSERVER_MS + 1, 0)]:
        now = Now(9_000 + silent_ms, NOW.wall_ms)
        assert len(asked(leader(), now=now).topics[0].partitions[0].observers) == told


def test_who_does_not_lead_says_so_beside_the_partition() -> None:
    response = asked(Quorum())
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
    (own, other) = partition.current_voters
    assert own.replica_directory_id == other.replica_directory_id == ZERO_UUID
    assert ago(other.last_fetch_timestamp) == (-1 if version == 0 else 500)
