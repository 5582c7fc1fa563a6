"""What a leader tells of its quorum, and what everybody else does."""

from collections.abc import Sequence

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.raft.asking import TOPIC
from barnabas.raft.config import RaftConfig
from barnabas.raft.describe import Now, describe
from barnabas.raft.effects import Ask, Effect
from barnabas.raft.events import (
    Alarm,
    Answered,
    AppendAsked,
    Asked,
    Event,
    Flushed,
    Started,
    TimerFired,
)
from barnabas.raft.messages import Fetch, RemoveVoter, Standing, Vote, VoteAnswer
from barnabas.raft.node import RaftNode
from barnabas.raft.outline import Outline
from barnabas.raft.progress import OBSERVER_MS
from barnabas.raft.states import Election
from barnabas.raft.voters import (
    RECONFIGURABLE,
    STATIC,
    Endpoint,
    History,
    ReplicaKey,
    Voter,
    VoterSet,
)
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


def voter(key: ReplicaKey, port: int) -> Voter:
    """Return a voter of a version that has nothing to say that its log does not."""
    return Voter(key, (place(port),), (STATIC, RECONFIGURABLE))


VOTERS = VoterSet.of([voter(OURS, 1), voter(OTHER, 2)])


class Quorum:
    """A replica on its way to lead epoch 5, and what happens to it."""

    def __init__(self, voters: VoterSet = VOTERS, version: int = RECONFIGURABLE) -> None:
        history = History(voters, version)
        if version == RECONFIGURABLE:
            history.add_version(1, version)
            history.add_voters(2, voters)
        config = RaftConfig(OURS, "the-cluster", (place(1),))
        self.node = RaftNode(config, Election(4), Outline(0, 29, [(4, 0)]), history)
        self.effects: list[Effect] = []
        self.happen(Started(), 6_000)

    def happen(self, event: Event, now_ms: int) -> None:
        """Let something happen."""
        self.effects = self.node.step(event, now_ms)

    def elect(self) -> "Quorum":
        """Let it be elected; its epoch begins at 29, and it has flushed that."""
        self.happen(TimerFired(Alarm.ELECTION), 7_000)
        while asks := [it for it in self.effects if isinstance(it, Ask) and is_vote(it)]:
            standing = Standing(ErrorCode.NONE, self.node.epoch, None, ())
            self.happen(Answered(asks[0].request, VoteAnswer(standing, True)), 7_000)
        self.happen(Flushed(0, 30), 7_000)
        return self

    def fetch(self, replica: ReplicaKey, offset: int, now_ms: int) -> None:
        """Let somebody fetch who has everything below an offset."""
        epoch = 5 if offset > 29 else 4
        self.happen(Asked(1, Fetch(replica, 5, offset, epoch, 0, 0, 1_000)), now_ms)


def is_vote(ask: Ask) -> bool:
    """Tell whether a vote is asked for."""
    return isinstance(ask.question, Vote)


def leader(voters: VoterSet = VOTERS, version: int = RECONFIGURABLE) -> Quorum:
    """Return a leader that has committed something, and is fetched from."""
    quorum = Quorum(voters, version).elect()
    quorum.fetch(OTHER, 30, 7_500)
    quorum.fetch(BROKER, 30, 8_000)
    quorum.happen(AppendAsked(3), 8_500)
    quorum.fetch(BROKER, 31, 9_000)
    quorum.fetch(OTHER, 30, 9_500)
    return quorum


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
