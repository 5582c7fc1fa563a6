"""What others ask this replica, and its answers as messages of the protocol.

    request ── question_of ──▶ Question ── the node ──▶ Answer ── response_of ──▶ response
                    └── Refused ── refusal_of ─────────────────────────────────────▶ response

What is wrong with a request as a whole (another cluster, another topic) is refused here, before
the node hears of it: no state is touched (R-24).  What is wrong with what it *asks* is for the
node, since Kafka says first whether somebody leads at all.

Records and parts of snapshots that an answer lends (``Lent``) are read by the shell before it comes
here.

Non-obvious:

- A request that names no cluster is for whoever reads it, and one that names no voter is for us:
  so spoke replicas before those fields were there.
- An error about the quorum stands beside the partition, together with who leads; one about the
  request stands at the top, alone.  A snapshot of another topic is an error beside that topic.
- Who leads is told with its place on the listener by which it was asked, in versions that have
  room for it; older ones expect everybody to know the voters.

Fixed by Kafka's KafkaRaftClient.java (handle*Request) and RaftUtil.java.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import uuid_text
from barnabas.raft.asking import NO_LEADER, PARTITION, TOPIC, TOPIC_ID, P, Topic, sole
from barnabas.raft.config import RaftConfig
from barnabas.raft.messages import (
    AddVoter,
    Answer,
    Batches,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    EpochAnswer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
    Question,
    RemoveVoter,
    SnapshotAnswer,
    Standing,
    UpdateVoter,
    Vote,
    VoteAnswer,
    VoterAnswer,
)
from barnabas.raft.outline import Diverges, NeedsSnapshot, SnapshotId
from barnabas.raft.voters import Endpoint, Endpoints, ReplicaKey, Voter
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from barnabas.wire.messages.begin_quorum_epoch import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
)
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from barnabas.wire.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from barnabas.wire.messages.vote import VoteRequest, VoteResponse
from barnabas.wire.primitives import Buffer
from barnabas.wire.structs import Request, Response

# Since these versions an answer can say where the leader is.
PLACES_SINCE: Final = 1
FETCH_PLACES_SINCE: Final = 17

# --- Requests as questions ---------------------------------------------------------------------


def question_of(request: Request, config: RaftConfig) -> Question:
    """Return what is asked; ``Refused`` if it is not for this quorum."""
    match request:
        case VoteRequest():
            ours(request.cluster_id, config)
            return vote_question(request, config)
        case BeginQuorumEpochRequest():
            ours(request.cluster_id, config)
            return begin_question(request, config)
        case EndQuorumEpochRequest():
            ours(request.cluster_id, config)
            return end_question(request, config)
        case FetchRequest():
            ours(request.cluster_id, config)
            return fetch_question(request)
        case FetchSnapshotRequest():
            ours(request.cluster_id, config)
            return snapshot_question(request)
        case AddRaftVoterRequest():
            ours(request.cluster_id, config)
            return AddVoter(
                ReplicaKey(request.voter_id, request.voter_directory_id),
                endpoints_of(request.listeners),
                request.timeout_ms,
                request.ack_when_committed,
            )
        case RemoveRaftVoterRequest():
            ours(request.cluster_id, config)
            return RemoveVoter(ReplicaKey(request.voter_id, request.voter_directory_id))
        case UpdateRaftVoterRequest():
            ours(request.cluster_id, config)
            return update_question(request)
        case _:
            raise AssertionError(f"{type(request).__name__} came to a quorum")


def vote_question(request: VoteRequest, config: RaftConfig) -> Vote:
    """Return a request for a vote."""
    vote = the_partition(request.topics)
    return Vote(
        ReplicaKey(vote.replica_id, vote.replica_directory_id),
        meant(ReplicaKey(request.voter_id, vote.voter_directory_id), config),
        vote.replica_epoch,
        SnapshotId(vote.last_offset, vote.last_offset_epoch),
        vote.pre_vote,
    )


def begin_question(request: BeginQuorumEpochRequest, config: RaftConfig) -> BeginQuorumEpoch:
    """Return the news of an election."""
    begin = the_partition(request.topics)
    return BeginQuorumEpoch(
        begin.leader_id,
        begin.leader_epoch,
        endpoints_of(request.leader_endpoints),
        meant(ReplicaKey(request.voter_id, begin.voter_directory_id), config),
    )


def end_question(request: EndQuorumEpochRequest, config: RaftConfig) -> EndQuorumEpoch:
    """Return the news of a leader's end."""
    end = the_partition(request.topics)
    preferred = tuple(
        ReplicaKey(each.candidate_id, each.candidate_directory_id)
        for each in end.preferred_candidates
    )
    return EndQuorumEpoch(
        end.leader_id,
        end.leader_epoch,
        endpoints_of(request.leader_endpoints),
        preferred or tuple(map(ReplicaKey, end.preferred_successors)),
        config.key,
    )


def fetch_question(request: FetchRequest) -> Fetch:
    """Return what a fetch asks; the topic is known by its id alone.

    A follower that tells no high watermark is never answered early because of ours (KIP-1166):
    the default of the field is larger than any.
    """
    asked = [(topic.topic_id, part) for topic in request.topics for part in topic.partitions]
    if [(topic_id, part.partition) for topic_id, part in asked] != [(TOPIC_ID, PARTITION)]:
        names = [f"{uuid_text(topic_id)}-{part.partition}" for topic_id, part in asked]
        why = f"fetches {names}, by id, and not {TOPIC}-{PARTITION} alone"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    part = asked[0][1]
    replica_id = request.replica_id if request.replica_id >= 0 else request.replica_state.replica_id
    return Fetch(
        ReplicaKey(replica_id, part.replica_directory_id),
        part.current_leader_epoch,
        part.fetch_offset,
        part.last_fetched_epoch,
        part.high_watermark,
        request.max_wait_ms,
        request.max_bytes,
    )


def snapshot_question(request: FetchSnapshotRequest) -> FetchSnapshot:
    """Return what is asked of a snapshot."""
    asked = [(topic.name, part) for topic in request.topics for part in topic.partitions]
    if len(asked) != 1:
        why = f"asks for parts of {len(asked)} snapshots, not of one"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    ((name, part),) = asked
    if (name, part.partition) != (TOPIC, PARTITION):
        why = f"asks for a snapshot of {name}-{part.partition}, not of {TOPIC}-{PARTITION}"
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why)
    return FetchSnapshot(
        ReplicaKey(request.replica_id, part.replica_directory_id),
        part.current_leader_epoch,
        SnapshotId(part.snapshot_id.end_offset, part.snapshot_id.epoch),
        part.position,
        request.max_bytes,
    )


def update_question(request: UpdateRaftVoterRequest) -> UpdateVoter:
    """Return a voter's new description."""
    feature = request.kraft_version_feature
    voter = Voter(
        ReplicaKey(request.voter_id, request.voter_directory_id),
        endpoints_of(request.listeners),
        (feature.min_supported_version, feature.max_supported_version),
    )
    return UpdateVoter(request.current_leader_epoch, voter)


def ours(cluster_id: str | None, config: RaftConfig) -> None:
    """Refuse what was meant for another cluster."""
    if cluster_id is not None and cluster_id != config.cluster_id:
        why = f"it is for cluster {cluster_id!r}, and this one is {config.cluster_id!r}"
        raise Refused(ErrorCode.INCONSISTENT_CLUSTER_ID, why)


def the_partition(topics: Sequence[Topic[P]]) -> P:
    """Return what is asked of the quorum's log; refuse what is asked of anything else."""
    asked = sole(topics)
    if asked is None:
        names = [topic.topic_name for topic in topics]
        why = f"asks about {names}, not about {TOPIC}-{PARTITION} alone"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    return asked


def meant(voter: ReplicaKey, config: RaftConfig) -> ReplicaKey:
    """Return whom a request is for; before it could say so it was for whoever got it."""
    return voter if voter.id >= 0 else config.key


class Listed(Protocol):
    """A listener as a request lists it."""

    @property
    def name(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


def endpoints_of(listeners: Sequence[Listed]) -> Endpoints:
    """Return where somebody says that it is reached."""
    return tuple(Endpoint(each.name, each.host, each.port) for each in listeners)


# --- Answers as responses ----------------------------------------------------------------------


def response_of(request: Request, version: int, answer: Answer, listener: str) -> Response:
    """Return the message that answers a request which came, in some version, by some listener."""
    match request, answer:
        case VoteRequest(), VoteAnswer():
            return vote_response(answer, version, listener)
        case BeginQuorumEpochRequest(), EpochAnswer(standing):
            return begin_response(standing, version, listener)
        case EndQuorumEpochRequest(), EpochAnswer(standing):
            return end_response(standing, version, listener)
        case FetchRequest(), FetchAnswer():
            return fetch_response(answer, version, listener)
        case FetchSnapshotRequest(), SnapshotAnswer():
            return snapshot_response(answer, version, listener)
        case AddRaftVoterRequest(), VoterAnswer(error, why):
            return AddRaftVoterResponse(error_code=error, error_message=message_of(error, why))
        case RemoveRaftVoterRequest(), VoterAnswer(error, why):
            return RemoveRaftVoterResponse(error_code=error, error_message=message_of(error, why))
        case UpdateRaftVoterRequest(), EpochAnswer(standing):
            return update_response(standing, listener)
        case _:
            raise AssertionError(f"{answer} answers {type(request).__name__}")


def refusal_of(request: Request, refused: Refused) -> Response:
    """Return the message that says what is wrong with a request as a whole."""
    error = refused.code
    match request:
        case VoteRequest():
            return VoteResponse(error_code=error)
        case BeginQuorumEpochRequest():
            return BeginQuorumEpochResponse(error_code=error)
        case EndQuorumEpochRequest():
            return EndQuorumEpochResponse(error_code=error)
        case FetchRequest():
            return FetchResponse(error_code=error)
        case FetchSnapshotRequest() if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return unknown_snapshot_response(request)
        case FetchSnapshotRequest():
            return FetchSnapshotResponse(error_code=error)
        case AddRaftVoterRequest():
            return AddRaftVoterResponse(error_code=error, error_message=refused.why)
        case RemoveRaftVoterRequest():
            return RemoveRaftVoterResponse(error_code=error, error_message=refused.why)
        case UpdateRaftVoterRequest():
            return UpdateRaftVoterResponse(error_code=error)
        case _:
            raise AssertionError(f"{type(request).__name__} came to a quorum")


def vote_response(answer: VoteAnswer, version: int, listener: str) -> VoteResponse:
    """Return the message that votes."""
    standing = answer.standing
    partition = VoteResponse.PartitionData(
        partition_index=PARTITION,
        error_code=standing.error,
        leader_id=leader_of(standing),
        leader_epoch=standing.epoch,
        vote_granted=answer.granted,
    )
    return VoteResponse(
        topics=[VoteResponse.TopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=[
            VoteResponse.NodeEndpoint(node_id=leader_of(standing), host=at.host, port=at.port)
            for at in place_of(standing, listener)
            if version >= PLACES_SINCE
        ],
    )


def begin_response(standing: Standing, version: int, listener: str) -> BeginQuorumEpochResponse:
    """Return the message that acknowledges a leader."""
    partition = BeginQuorumEpochResponse.PartitionData(
        partition_index=PARTITION,
        error_code=standing.error,
        leader_id=leader_of(standing),
        leader_epoch=standing.epoch,
    )
    topic = BeginQuorumEpochResponse.TopicData(topic_name=TOPIC, partitions=[partition])
    node = BeginQuorumEpochResponse.NodeEndpoint
    return BeginQuorumEpochResponse(
        topics=[topic],
        node_endpoints=[
            node(node_id=leader_of(standing), host=at.host, port=at.port)
            for at in place_of(standing, listener)
            if version >= PLACES_SINCE
        ],
    )


def end_response(standing: Standing, version: int, listener: str) -> EndQuorumEpochResponse:
    """Return the message that acknowledges a leader's end."""
    partition = EndQuorumEpochResponse.PartitionData(
        partition_index=PARTITION,
        error_code=standing.error,
        leader_id=leader_of(standing),
        leader_epoch=standing.epoch,
    )
    topic = EndQuorumEpochResponse.TopicData(topic_name=TOPIC, partitions=[partition])
    node = EndQuorumEpochResponse.NodeEndpoint
    return EndQuorumEpochResponse(
        topics=[topic],
        node_endpoints=[
            node(node_id=leader_of(standing), host=at.host, port=at.port)
            for at in place_of(standing, listener)
            if version >= PLACES_SINCE
        ],
    )


def fetch_response(answer: FetchAnswer, version: int, listener: str) -> FetchResponse:
    """Return the message with records, or with where to cut, or which snapshot to fetch first."""
    standing = answer.standing
    records: Buffer = b""
    diverging, snapshot = FetchResponse.EpochEndOffset(), FetchResponse.SnapshotId()
    match answer.content:
        case Batches(data):
            records = data
        case Diverges(epoch, end_offset):
            diverging = FetchResponse.EpochEndOffset(epoch=epoch, end_offset=end_offset)
        case NeedsSnapshot(needed):
            snapshot = FetchResponse.SnapshotId(end_offset=needed.end_offset, epoch=needed.epoch)
        case Lent():
            raise AssertionError(f"{answer.content} was not read")
    partition = FetchResponse.PartitionData(
        partition_index=PARTITION,
        error_code=standing.error,
        high_watermark=answer.high_watermark,
        diverging_epoch=diverging,
        current_leader=FetchResponse.LeaderIdAndEpoch(
            leader_id=leader_of(standing), leader_epoch=standing.epoch
        ),
        snapshot_id=snapshot,
        records=records,
    )
    topic = FetchResponse.FetchableTopicResponse(
        topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition]
    )
    return FetchResponse(
        responses=[topic],
        node_endpoints=[
            FetchResponse.NodeEndpoint(node_id=leader_of(standing), host=at.host, port=at.port)
            for at in place_of(standing, listener)
            if version >= FETCH_PLACES_SINCE
        ],
    )


def snapshot_response(answer: SnapshotAnswer, version: int, listener: str) -> FetchSnapshotResponse:
    """Return the message with a part of a snapshot, or why there is none."""
    standing, data = answer.standing, answer.data
    assert not isinstance(data, Lent), f"{data} was not read"
    partition = FetchSnapshotResponse.PartitionSnapshot(
        index=PARTITION,
        error_code=standing.error,
        snapshot_id=FetchSnapshotResponse.SnapshotId(
            end_offset=answer.snapshot.end_offset, epoch=answer.snapshot.epoch
        ),
        current_leader=FetchSnapshotResponse.LeaderIdAndEpoch(
            leader_id=leader_of(standing), leader_epoch=standing.epoch
        ),
        size=answer.size_bytes,
        position=answer.position,
        unaligned_records=data,
    )
    return FetchSnapshotResponse(
        topics=[FetchSnapshotResponse.TopicSnapshot(name=TOPIC, partitions=[partition])],
        node_endpoints=[
            FetchSnapshotResponse.NodeEndpoint(
                node_id=leader_of(standing), host=at.host, port=at.port
            )
            for at in place_of(standing, listener)
            if version >= PLACES_SINCE
        ],
    )


def unknown_snapshot_response(request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    """Return the message that there are no snapshots of another topic."""
    topic = FetchSnapshotResponse.TopicSnapshot
    return FetchSnapshotResponse(
        topics=[
            topic(
                name=asked.name,
                partitions=[
                    FetchSnapshotResponse.PartitionSnapshot(
                        index=part.partition,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        unaligned_records=b"",
                    )
                    for part in asked.partitions
                ],
            )
            for asked in request.topics
        ]
    )


def update_response(standing: Standing, listener: str) -> UpdateRaftVoterResponse:
    """Return the message that takes a voter's new description, or does not."""
    host, port = next(((at.host, at.port) for at in place_of(standing, listener)), ("", 0))
    return UpdateRaftVoterResponse(
        error_code=standing.error,
        current_leader=UpdateRaftVoterResponse.CurrentLeader(
            leader_id=leader_of(standing), leader_epoch=standing.epoch, host=host, port=port
        ),
    )


def leader_of(standing: Standing) -> int:
    """Return the leader's id as the wire has it."""
    return NO_LEADER if standing.leader_id is None else standing.leader_id


def place_of(standing: Standing, listener: str) -> Endpoints:
    """Return where the leader is reached through a listener: one endpoint or none."""
    if standing.leader_id is None:
        return ()
    return tuple(at for at in standing.endpoints if at.listener == listener)[:1]


def message_of(error: ErrorCode, why: str) -> str | None:
    """Return what an operator is told beside a code; nothing if all is well."""
    return None if error is ErrorCode.NONE else why or error.words
