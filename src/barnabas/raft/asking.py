"""What this replica asks, as messages of the protocol, and what the answers say.

    Question ── request_of ──▶ request ─ ─ the other replica ─ ─▶ response ── answer_of ──▶ Answer

One row per API; a question below is one function there and back.

    Vote               who would lead             a pre-vote needs version 2 (KIP-996)
    BeginQuorumEpoch   who leads                  its endpoints since version 1
    EndQuorumEpoch     who led, to every voter    successors by directory since version 1
    Fetch              who follows                version 15: who asks stands in ReplicaState
    FetchSnapshot      who is far behind          its directory since version 1
    AddRaftVoter       who wants to vote          not waiting for the commit needs version 1
    RemoveRaftVoter    who votes with a lost disk
    UpdateRaftVoter    who has moved
    ApiVersions        a leader, of a new voter   features since version 3

Which version a question travels in is agreed upon by the connection (``net.peers``).  What that
version cannot carry is either left out, where Kafka's schema says that this is harmless, or comes
back as UNSUPPORTED_VERSION before anything was sent: ``failed`` makes an answer of it.  An answer
that makes no sense is the peer's error (``RemoteProtocolError``), and counts as none.

Fixed by Kafka's RaftUtil.java and the request builders of KafkaNetworkChannel.java.
"""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import barnabas
from barnabas.model.errors import ErrorCode, RemoteProtocolError
from barnabas.model.ids import Uuid
from barnabas.raft.config import RaftConfig
from barnabas.raft.messages import (
    NO_BATCHES,
    AddVoter,
    Answer,
    ApiVersions,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    EpochAnswer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Question,
    RemoveVoter,
    SnapshotAnswer,
    Standing,
    UpdateVoter,
    VersionsAnswer,
    Vote,
    VoteAnswer,
    VoterAnswer,
)
from barnabas.raft.outline import Diverges, NeedsSnapshot, SnapshotId
from barnabas.raft.voters import Endpoint
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
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
from barnabas.wire.structs import Request, Response

TOPIC: Final = "__cluster_metadata"
TOPIC_ID: Final = Uuid(bytes(15) + b"\x01")
PARTITION: Final = 0

# What the wire says where there is none.
NO_LEADER: Final = -1

# What a feature of voters is called where versions are told.
KRAFT_VERSION: Final = "kraft.version"

SOFTWARE_NAME: Final = "barnabas"

NOT_OURS: Final = f"an answer that is not about {TOPIC}-{PARTITION} alone"

P_co = TypeVar("P_co", covariant=True)

# --- Questions as requests ---------------------------------------------------------------------


def request_of(question: Question, config: RaftConfig) -> Request:
    """Return the message that asks a question."""
    cluster_id = config.cluster_id
    match question:
        case Vote():
            return vote_request(question, cluster_id)
        case BeginQuorumEpoch():
            return begin_request(question, cluster_id)
        case EndQuorumEpoch():
            return end_request(question, cluster_id)
        case Fetch():
            return fetch_request(question, cluster_id)
        case FetchSnapshot():
            return snapshot_request(question, cluster_id)
        case AddVoter():
            return add_request(question, cluster_id)
        case RemoveVoter(voter):
            return RemoveRaftVoterRequest(
                cluster_id=cluster_id, voter_id=voter.id, voter_directory_id=voter.directory_id
            )
        case UpdateVoter():
            return update_request(question, cluster_id)
        case ApiVersions():
            return ApiVersionsRequest(
                client_software_name=SOFTWARE_NAME, client_software_version=barnabas.__version__
            )


def vote_request(vote: Vote, cluster_id: str) -> VoteRequest:
    """Return the message that asks for a vote, or whether there would be one."""
    partition = VoteRequest.PartitionData(
        partition_index=PARTITION,
        replica_epoch=vote.epoch,
        replica_id=vote.candidate.id,
        replica_directory_id=vote.candidate.directory_id,
        voter_directory_id=vote.voter.directory_id,
        last_offset_epoch=vote.last.epoch,
        last_offset=vote.last.end_offset,
        pre_vote=vote.pre_vote,
    )
    topic = VoteRequest.TopicData(topic_name=TOPIC, partitions=[partition])
    return VoteRequest(cluster_id=cluster_id, voter_id=vote.voter.id, topics=[topic])


def begin_request(begin: BeginQuorumEpoch, cluster_id: str) -> BeginQuorumEpochRequest:
    """Return the message that tells of an election."""
    partition = BeginQuorumEpochRequest.PartitionData(
        partition_index=PARTITION,
        voter_directory_id=begin.voter.directory_id,
        leader_id=begin.leader_id,
        leader_epoch=begin.epoch,
    )
    topic = BeginQuorumEpochRequest.TopicData(topic_name=TOPIC, partitions=[partition])
    return BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=begin.voter.id,
        topics=[topic],
        leader_endpoints=[
            BeginQuorumEpochRequest.LeaderEndpoint(name=at.listener, host=at.host, port=at.port)
            for at in begin.endpoints
        ],
    )


def end_request(end: EndQuorumEpoch, cluster_id: str) -> EndQuorumEpochRequest:
    """Return the message that tells of a leader's end."""
    partition = EndQuorumEpochRequest.PartitionData(
        partition_index=PARTITION,
        leader_id=end.leader_id,
        leader_epoch=end.epoch,
        preferred_successors=[key.id for key in end.preferred],
        preferred_candidates=[
            EndQuorumEpochRequest.ReplicaInfo(
                candidate_id=key.id, candidate_directory_id=key.directory_id
            )
            for key in end.preferred
        ],
    )
    topic = EndQuorumEpochRequest.TopicData(topic_name=TOPIC, partitions=[partition])
    return EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[topic],
        leader_endpoints=[
            EndQuorumEpochRequest.LeaderEndpoint(name=at.listener, host=at.host, port=at.port)
            for at in end.endpoints
        ],
    )


def fetch_request(fetch: Fetch, cluster_id: str) -> FetchRequest:
    """Return the message that fetches."""
    partition = FetchRequest.FetchPartition(
        partition=PARTITION,
        current_leader_epoch=fetch.epoch,
        fetch_offset=fetch.offset,
        last_fetched_epoch=fetch.last_epoch,
        replica_directory_id=fetch.replica.directory_id,
        high_watermark=fetch.high_watermark,
    )
    topic = FetchRequest.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])
    return FetchRequest(
        cluster_id=cluster_id,
        replica_state=FetchRequest.ReplicaState(replica_id=fetch.replica.id),
        max_wait_ms=fetch.max_wait_ms,
        max_bytes=fetch.max_bytes,
        topics=[topic],
    )


def snapshot_request(fetch: FetchSnapshot, cluster_id: str) -> FetchSnapshotRequest:
    """Return the message that fetches a part of a snapshot."""
    partition = FetchSnapshotRequest.PartitionSnapshot(
        partition=PARTITION,
        current_leader_epoch=fetch.epoch,
        snapshot_id=FetchSnapshotRequest.SnapshotId(
            end_offset=fetch.snapshot.end_offset, epoch=fetch.snapshot.epoch
        ),
        position=fetch.position,
        replica_directory_id=fetch.replica.directory_id,
    )
    topic = FetchSnapshotRequest.TopicSnapshot(name=TOPIC, partitions=[partition])
    return FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=fetch.replica.id,
        max_bytes=fetch.max_bytes,
        topics=[topic],
    )


def add_request(add: AddVoter, cluster_id: str) -> AddRaftVoterRequest:
    """Return the message that asks for one more voter."""
    return AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=add.timeout_ms,
        voter_id=add.voter.id,
        voter_directory_id=add.voter.directory_id,
        listeners=[
            AddRaftVoterRequest.Listener(name=at.listener, host=at.host, port=at.port)
            for at in add.endpoints
        ],
        ack_when_committed=add.ack_when_committed,
    )


def update_request(update: UpdateVoter, cluster_id: str) -> UpdateRaftVoterRequest:
    """Return the message that says how a voter is reached, and what it can work with."""
    voter = update.voter
    low, high = voter.versions
    return UpdateRaftVoterRequest(
        cluster_id=cluster_id,
        current_leader_epoch=update.epoch,
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        listeners=[
            UpdateRaftVoterRequest.Listener(name=at.listener, host=at.host, port=at.port)
            for at in voter.endpoints
        ],
        kraft_version_feature=UpdateRaftVoterRequest.KRaftVersionFeature(
            min_supported_version=low, max_supported_version=high
        ),
    )


# --- Responses as answers ----------------------------------------------------------------------


def failed(question: Question, error: ErrorCode) -> Answer:
    """Return the answer to a question that could not be put, or was refused as a whole.

    Its standing is that of nobody: it tells no epoch that anybody could be in.
    """
    standing = Standing(error, -1, None, ())
    match question:
        case Vote():
            return VoteAnswer(standing, False)
        case BeginQuorumEpoch() | EndQuorumEpoch() | UpdateVoter():
            return EpochAnswer(standing)
        case Fetch():
            return FetchAnswer(standing, -1, NO_BATCHES)
        case FetchSnapshot(_, _, snapshot, position):
            return SnapshotAnswer(standing, snapshot, 0, position, b"")
        case AddVoter() | RemoveVoter():
            return VoterAnswer(error, error.words)
        case ApiVersions():
            return VersionsAnswer(error, (0, 0))


def answer_of(question: Question, response: Response, config: RaftConfig) -> Answer:
    """Return what a response says; ``RemoteProtocolError`` if it does not answer this.

    The records of a ``FetchAnswer`` are left out: ``records_of`` finds them, and whoever knows
    the log judges them.
    """
    match response:
        case (
            VoteResponse(error_code=error)
            | BeginQuorumEpochResponse(error_code=error)
            | EndQuorumEpochResponse(error_code=error)
            | FetchResponse(error_code=error)
            | FetchSnapshotResponse(error_code=error)
        ) if error != ErrorCode.NONE:
            return failed(question, code(error))
        case _:
            pass
    match question, response:
        case Vote(), VoteResponse():
            return vote_answer(response, config)
        case BeginQuorumEpoch(), BeginQuorumEpochResponse():
            return begin_answer(response, config)
        case EndQuorumEpoch(), EndQuorumEpochResponse():
            return end_answer(response, config)
        case Fetch(), FetchResponse():
            return fetch_answer(response, config)
        case FetchSnapshot(), FetchSnapshotResponse():
            return snapshot_answer(response, config)
        case AddVoter(), AddRaftVoterResponse():
            return VoterAnswer(code(response.error_code), response.error_message or "")
        case RemoveVoter(), RemoveRaftVoterResponse():
            return VoterAnswer(code(response.error_code), response.error_message or "")
        case UpdateVoter(), UpdateRaftVoterResponse():
            return update_answer(response, config)
        case ApiVersions(), ApiVersionsResponse():
            return versions_answer(response)
        case _:
            raise RemoteProtocolError(f"{type(response).__name__} answers {question}")


def vote_answer(response: VoteResponse, config: RaftConfig) -> VoteAnswer:
    """Return what was voted."""
    said = told(sole(response.topics))
    standing = standing_of(
        said.error_code, said.leader_epoch, said.leader_id, response.node_endpoints, config
    )
    return VoteAnswer(standing, said.vote_granted)


def begin_answer(response: BeginQuorumEpochResponse, config: RaftConfig) -> EpochAnswer:
    """Return what was made of the beginning of an epoch."""
    said = told(sole(response.topics))
    return EpochAnswer(
        standing_of(
            said.error_code, said.leader_epoch, said.leader_id, response.node_endpoints, config
        )
    )


def end_answer(response: EndQuorumEpochResponse, config: RaftConfig) -> EpochAnswer:
    """Return what was made of the end of an epoch."""
    said = told(sole(response.topics))
    return EpochAnswer(
        standing_of(
            said.error_code, said.leader_epoch, said.leader_id, response.node_endpoints, config
        )
    )


def fetch_answer(response: FetchResponse, config: RaftConfig) -> FetchAnswer:
    """Return what the answer to a fetch says beside its records."""
    part = fetched(response)
    current = part.current_leader
    standing = standing_of(
        part.error_code, current.leader_epoch, current.leader_id, response.node_endpoints, config
    )
    diverging, snapshot = part.diverging_epoch, part.snapshot_id
    if diverging.epoch >= 0 or diverging.end_offset >= 0:
        if diverging.epoch < 0 or diverging.end_offset < 0:
            raise RemoteProtocolError(f"half of a point where logs diverge: {diverging!r}")
        diverges = Diverges(diverging.epoch, diverging.end_offset)
        return FetchAnswer(standing, part.high_watermark, diverges)
    if snapshot.epoch >= 0 or snapshot.end_offset >= 0:
        if snapshot.epoch < 0 or snapshot.end_offset < 0:
            raise RemoteProtocolError(f"half of the name of a snapshot: {snapshot!r}")
        needed = NeedsSnapshot(SnapshotId(snapshot.end_offset, snapshot.epoch))
        return FetchAnswer(standing, part.high_watermark, needed)
    return FetchAnswer(standing, part.high_watermark, NO_BATCHES)


def records_of(response: FetchResponse) -> bytes:
    """Return the records in the answer to a fetch."""
    return bytes(fetched(response).records or b"")


def snapshot_answer(response: FetchSnapshotResponse, config: RaftConfig) -> SnapshotAnswer:
    """Return a part of a snapshot, or why there is none."""
    parts = [(topic.name, part) for topic in response.topics for part in topic.partitions]
    if [(name, part.index) for name, part in parts] != [(TOPIC, PARTITION)]:
        raise RemoteProtocolError(NOT_OURS)
    part = parts[0][1]
    current = part.current_leader
    standing = standing_of(
        part.error_code, current.leader_epoch, current.leader_id, response.node_endpoints, config
    )
    snapshot = SnapshotId(part.snapshot_id.end_offset, part.snapshot_id.epoch)
    data = bytes(part.unaligned_records or b"")
    return SnapshotAnswer(standing, snapshot, part.size, part.position, data)


def update_answer(response: UpdateRaftVoterResponse, config: RaftConfig) -> EpochAnswer:
    """Return what was made of a voter's new description."""
    leader, error = response.current_leader, code(response.error_code)
    if leader.leader_id < 0:
        return EpochAnswer(Standing(error, leader.leader_epoch, None, ()))
    endpoints = (Endpoint(config.listener, leader.host, leader.port),) if leader.host else ()
    return EpochAnswer(Standing(error, leader.leader_epoch, leader.leader_id, endpoints))


def versions_answer(response: ApiVersionsResponse) -> VersionsAnswer:
    """Return which kraft.versions somebody can work with; who says nothing knows the first."""
    error = code(response.error_code)
    for feature in response.supported_features:
        if feature.name == KRAFT_VERSION:
            return VersionsAnswer(error, (feature.min_version, feature.max_version))
    return VersionsAnswer(error, (0, 0))


# --- What all of them have in common -----------------------------------------------------------


class Partition(Protocol):
    """A partition by its number."""

    @property
    def partition_index(self) -> int: ...


class Topic(Protocol[P_co]):
    """A topic by its name, in a message of any kind."""

    @property
    def topic_name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[P_co]: ...


P = TypeVar("P", bound=Partition)


def sole(topics: Sequence[Topic[P]]) -> P | None:
    """Return what a message says of the quorum's log; None if it is about anything else."""
    if len(topics) != 1 or topics[0].topic_name != TOPIC:
        return None
    partitions = topics[0].partitions
    if len(partitions) != 1 or partitions[0].partition_index != PARTITION:
        return None
    return partitions[0]


def told(said: P | None) -> P:
    """Refuse an answer about anything but the quorum's log."""
    if said is None:
        raise RemoteProtocolError(NOT_OURS)
    return said


def fetched(response: FetchResponse) -> FetchResponse.PartitionData:
    """Return what an answer to a fetch says of the quorum's log, which has an id as well."""
    parts = [(topic.topic_id, part) for topic in response.responses for part in topic.partitions]
    if [(topic_id, part.partition_index) for topic_id, part in parts] != [(TOPIC_ID, PARTITION)]:
        raise RemoteProtocolError(NOT_OURS)
    return parts[0][1]


class Place(Protocol):
    """Where a node is, as far as an answer tells."""

    @property
    def node_id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


def standing_of(
    error: int, epoch: int, leader_id: int, places: Sequence[Place], config: RaftConfig
) -> Standing:
    """Return an answer's standing; a leader may be known without its place."""
    if leader_id < 0:
        return Standing(code(error), epoch, None, ())
    found = tuple(
        Endpoint(config.listener, place.host, place.port)
        for place in places
        if place.node_id == leader_id and place.host
    )
    return Standing(code(error), epoch, leader_id, found[:1])


def code(error: int) -> ErrorCode:
    """Return an error by its number; of later versions there may be more."""
    try:
        return ErrorCode(error)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
