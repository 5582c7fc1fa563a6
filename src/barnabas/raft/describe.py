"""What the quorum is, told to an operator: DescribeQuorum, versions 0 to 2.

A leader tells how far everybody is whom it knows: the voters in force, and the observers that have
fetched in this epoch and not been silent for too long.  Who does not lead knows none of it and
says NOT_LEADER_OR_FOLLOWER; a broker or a client finds the leader and asks there.

Version 1 added when a replica last fetched and when it last had everything (KIP-836), version 2
the directories, and where the voters are reached (KIP-853).

Non-obvious:

- The machine's times are of a clock that nobody else has, so they are told by their distance from
  now on the calendar; what never happened stays -1.
- The leader has by its own account always just fetched, and has everything.
- A voter of unknown directory (static voters) is told with what the replica of its id has done.

Fixed by Kafka's handleDescribeQuorumRequest and RaftUtil.singletonDescribeQuorumResponse.
"""

from typing import Final

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.model.value import value
from barnabas.raft.asking import PARTITION, TOPIC, sole
from barnabas.raft.node import RaftNode
from barnabas.raft.progress import OBSERVER_MS, Leadership, Progress
from barnabas.raft.voters import ReplicaKey
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse

NODES_SINCE: Final = 2
DIRECTORIES_SINCE: Final = 2

# What is told of what never happened.
NEVER: Final = -1
NO_OFFSET: Final = -1

ReplicaState = DescribeQuorumResponse.ReplicaState


@value
class Now:
    """The same moment on the machine's clock and on the calendar."""

    now_ms: int
    wall_ms: int

    def on_calendar(self, at_ms: int) -> int:
        """Return when something was that the machine remembers; -1 if it never was."""
        return NEVER if at_ms < 0 else self.wall_ms - (self.now_ms - at_ms)


def describe(
    node: RaftNode, request: DescribeQuorumRequest, version: int, now: Now
) -> DescribeQuorumResponse:
    """Return what this replica knows of its quorum."""
    if sole(request.topics) is None:
        return unknown(request)
    leading = node.leading
    if leading is None:
        return DescribeQuorumResponse(
            topics=[
                DescribeQuorumResponse.TopicData(
                    topic_name=TOPIC,
                    partitions=[in_error(PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)],
                )
            ]
        )
    high_watermark = leading.high_watermark
    partition = DescribeQuorumResponse.PartitionData(
        partition_index=PARTITION,
        leader_id=node.config.key.id,
        leader_epoch=node.epoch,
        high_watermark=NO_OFFSET if high_watermark is None else high_watermark,
        current_voters=voters(node, leading, version, now),
        observers=observers(node, leading, version, now),
    )
    topic = DescribeQuorumResponse.TopicData(topic_name=TOPIC, partitions=[partition])
    return DescribeQuorumResponse(
        topics=[topic], nodes=nodes(node) if version >= NODES_SINCE else []
    )


def voters(node: RaftNode, leading: Leadership, version: int, now: Now) -> list[ReplicaState]:
    """Return how far the voters are."""
    own = node.config.key
    return [
        itself(node, voter.key, version, now)
        if voter.key.matches(own)
        else replica(voter.key, leading.of(voter), version, now)
        for voter in node.voters.current.voters
    ]


def observers(node: RaftNode, leading: Leadership, version: int, now: Now) -> list[ReplicaState]:
    """Return how far everybody else is; a leader that votes no more is one of them (R-22)."""
    current, own = node.voters.current, node.config.key
    found = [
        replica(key, progress, version, now)
        for key, progress in sorted(
            leading.progress.items(), key=lambda item: (item[0].id, item[0].directory_id)
        )
        if not current.contains(key) and now.now_ms - progress.fetched_ms <= OBSERVER_MS
    ]
    return found if current.contains(own) else [itself(node, own, version, now), *found]


def itself(node: RaftNode, key: ReplicaKey, version: int, now: Now) -> ReplicaState:
    """Return how far the leader is."""
    return state(key, node.outline.end_offset, now.wall_ms, now.wall_ms, version)


def replica(key: ReplicaKey, progress: Progress | None, version: int, now: Now) -> ReplicaState:
    """Return how far somebody else is, as far as this epoch has seen."""
    if progress is None:
        return state(key, NO_OFFSET, NEVER, NEVER, version)
    fetched_ms = now.on_calendar(progress.fetched_ms)
    caught_up_ms = now.on_calendar(progress.caught_up_ms)
    return state(key, progress.end_offset, fetched_ms, caught_up_ms, version)


def state(
    key: ReplicaKey, end_offset: int, fetched_ms: int, caught_up_ms: int, version: int
) -> ReplicaState:
    """Return one row of the description."""
    return ReplicaState(
        replica_id=key.id,
        replica_directory_id=key.directory_id if version >= DIRECTORIES_SINCE else ZERO_UUID,
        log_end_offset=end_offset,
        last_fetch_timestamp=fetched_ms,
        last_caught_up_timestamp=caught_up_ms,
    )


def nodes(node: RaftNode) -> list[DescribeQuorumResponse.Node]:
    """Return where the voters are reached."""
    return [
        DescribeQuorumResponse.Node(
            node_id=voter.key.id,
            listeners=[
                DescribeQuorumResponse.Listener(name=at.listener, host=at.host, port=at.port)
                for at in voter.endpoints
            ],
        )
        for voter in node.voters.current.voters
    ]


def unknown(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """Return that there are no such quorums here."""
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeQuorumResponse(
        topics=[
            DescribeQuorumResponse.TopicData(
                topic_name=topic.topic_name,
                partitions=[in_error(part.partition_index, error) for part in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def in_error(index: int, error: ErrorCode) -> DescribeQuorumResponse.PartitionData:
    """Return a partition of which only an error is told."""
    return DescribeQuorumResponse.PartitionData(
        partition_index=index, error_code=error, error_message=error.words
    )
