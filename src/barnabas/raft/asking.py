"""What this replica asks, as messages of the protocol, and what the answers say.

Which version a question travels in is agreed upon by the connection (``net.peers``); a question
that a version cannot carry, such as a pre-vote before version 2, comes back as
UNSUPPORTED_VERSION.  An answer that makes no sense is the peer's error, and counts as none.
"""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

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
from barnabas.raft.voters import Endpoint, Endpoints
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

T = TypeVar("T")

TOPIC: Final = "__cluster_metadata"
TOPIC_ID: Final = Uuid(bytes(15) + b"\x01")
PARTITION: Final = 0

NO_LEADER: Final = -1

# What a feature of voters is called where versions are told.
KRAFT_VERSION: Final = "kraft.version"

SOFTWARE_NAME: Final = "barnabas"
SOFTWARE_VERSION: Final = "1"


def request_of(question: Question, config: RaftConfig) -> Request:
    """Return the message that asks a question."""
    cluster = config.cluster_id
    match question:
        case Vote(candidate, voter, epoch, last, pre_vote):
            return VoteRequest(
                cluster_id=cluster,
                voter_id=voter.id,
                topics=[
                    VoteRequest.TopicData(
                        topic_name=TOPIC,
                        partitions=[
                            VoteRequest.PartitionData(
                                partition_index=PARTITION,
                                replica_epoch=epoch,
                                replica_id=candidate.id,
                                replica_directory_id=candidate.directory_id,
                                voter_directory_id=voter.directory_id,
                                last_offset_epoch=last.epoch,
                                last_offset=last.end_offset,
                                pre_vote=pre_vote,
                            )
                        ],
                    )
                ],
            )
        case BeginQuorumEpoch(leader_id, epoch, endpoints, voter):
            return BeginQuorumEpochRequest(
                cluster_id=cluster,
                voter_id=voter.id,
                topics=[
                    BeginQuorumEpochRequest.TopicData(
                        topic_name=TOPIC,
                        partitions=[
                            BeginQuorumEpochRequest.PartitionData(
                                partition_index=PARTITION,
                                voter_directory_id=voter.directory_id,
                                leader_id=leader_id,
                                leader_epoch=epoch,
                            )
                        ],
                    )
                ],
                leader_endpoints=[
                    BeginQuorumEpochRequest.LeaderEndpoint(
                        name=each.listener, host=each.host, port=each.port
                    )
                    for each in endpoints
                ],
            )
        case EndQuorumEpoch(leader_id, epoch, endpoints, preferred):
            return EndQuorumEpochRequest(
                cluster_id=cluster,
                topics=[
                    EndQuorumEpochRequest.TopicData(
                        topic_name=TOPIC,
                        partitions=[
                            EndQuorumEpochRequest.PartitionData(
                                partition_index=PARTITION,
                                leader_id=leader_id,
                                leader_epoch=epoch,
                                preferred_successors=[key.id for key in preferred],
                                preferred_candidates=[
                                    EndQuorumEpochRequest.ReplicaInfo(
                                        candidate_id=key.id, candidate_directory_id=key.directory_id
                                    )
                                    for key in preferred
                                ],
                            )
                        ],
                    )
                ],
                leader_endpoints=[
                    EndQuorumEpochRequest.LeaderEndpoint(
                        name=each.listener, host=each.host, port=each.port
                    )
                    for each in endpoints
                ],
            )
        case Fetch():
            return fetch_request(question, cluster)
        case FetchSnapshot(replica, epoch, snapshot, position, max_bytes):
            return FetchSnapshotRequest(
                cluster_id=cluster,
                replica_id=replica.id,
                max_bytes=max_bytes,
                topics=[
                    FetchSnapshotRequest.TopicSnapshot(
                        name=TOPIC,
                        partitions=[
                            FetchSnapshotRequest.PartitionSnapshot(
                                partition=PARTITION,
                                current_leader_epoch=epoch,
                                snapshot_id=FetchSnapshotRequest.SnapshotId(
                                    end_offset=snapshot.end_offset, epoch=snapshot.epoch
                                ),
                                position=position,
                                replica_directory_id=replica.directory_id,
                            )
                        ],
                    )
                ],
            )
        case AddVoter(voter, endpoints, timeout_ms, ack_when_committed):
            return AddRaftVoterRequest(
                cluster_id=cluster,
                timeout_ms=timeout_ms,
                voter_id=voter.id,
                voter_directory_id=voter.directory_id,
                listeners=[
                    AddRaftVoterRequest.Listener(name=each.listener, host=each.host, port=each.port)
                    for each in endpoints
                ],
                ack_when_committed=ack_when_committed,
            )
        case RemoveVoter(voter):
            return RemoveRaftVoterRequest(
                cluster_id=cluster, voter_id=voter.id, voter_directory_id=voter.directory_id
            )
        case UpdateVoter(epoch, voter):
            low, high = voter.versions
            return UpdateRaftVoterRequest(
                cluster_id=cluster,
                current_leader_epoch=epoch,
                voter_id=voter.key.id,
                voter_directory_id=voter.key.directory_id,
                listeners=[
                    UpdateRaftVoterRequest.Listener(
                        name=each.listener, host=each.host, port=each.port
                    )
                    for each in voter.endpoints
                ],
                kraft_version_feature=UpdateRaftVoterRequest.KRaftVersionFeature(
                    min_supported_version=low, max_supported_version=high
                ),
            )
        case ApiVersions():
            return ApiVersionsRequest(
                client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION
            )


def fetch_request(fetch: Fetch, cluster_id: str) -> FetchRequest:
    """Return the message that fetches; it names the topic by its id, so in version 13 at least."""
    return FetchRequest(
        cluster_id=cluster_id,
        replica_state=FetchRequest.ReplicaState(replica_id=fetch.replica.id),
        max_wait_ms=fetch.max_wait_ms,
        min_bytes=0,
        max_bytes=fetch.max_bytes,
        topics=[
            FetchRequest.FetchTopic(
                topic=TOPIC,
                topic_id=TOPIC_ID,
                partitions=[
                    FetchRequest.FetchPartition(
                        partition=PARTITION,
                        current_leader_epoch=fetch.epoch,
                        fetch_offset=fetch.offset,
                        last_fetched_epoch=fetch.last_epoch,
                        partition_max_bytes=0,
                        replica_directory_id=fetch.replica.directory_id,
                        high_watermark=fetch.high_watermark,
                    )
                ],
            )
        ],
    )


def failed(question: Question, error: ErrorCode) -> Answer:
    """Return the answer to a question that could not be put, or was refused as a whole."""
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
            return VoterAnswer(error)
        case ApiVersions():
            return VersionsAnswer(error, (0, 0))


def answer_of(question: Question, response: Response, config: RaftConfig) -> Answer:
    """Return what a response says; ``RemoteProtocolError`` if it does not answer this.

    The records of a ``FetchAnswer`` are left out: whoever knows the log judges them.
    """
    listener = config.listener
    match response:
        case AddRaftVoterResponse() | RemoveRaftVoterResponse():
            return VoterAnswer(code(response.error_code), response.error_message or "")
        case ApiVersionsResponse():
            for feature in response.supported_features:
                if feature.name == KRAFT_VERSION:
                    range_ = feature.min_version, feature.max_version
                    return VersionsAnswer(code(response.error_code), range_)
            return VersionsAnswer(code(response.error_code), (0, 0))
        case UpdateRaftVoterResponse():
            leader = response.current_leader
            error = code(response.error_code)
            known = None if leader.leader_id < 0 else leader.leader_id
            endpoints = (Endpoint(listener, leader.host, leader.port),) if leader.host else ()
            return EpochAnswer(Standing(error, leader.leader_epoch, known, endpoints))
        case VoteResponse() | BeginQuorumEpochResponse() | EndQuorumEpochResponse():
            if response.error_code != ErrorCode.NONE:
                return failed(question, code(response.error_code))
            said = only(only(response.topics).partitions)
            standing = standing_of(
                said.error_code, said.leader_epoch, said.leader_id, response.node_endpoints, config
            )
            if isinstance(said, VoteResponse.PartitionData):
                return VoteAnswer(standing, said.vote_granted)
            return EpochAnswer(standing)
        case FetchResponse():
            if response.error_code != ErrorCode.NONE:
                return failed(question, code(response.error_code))
            return fetch_answer(response, config)
        case FetchSnapshotResponse():
            if response.error_code != ErrorCode.NONE:
                return failed(question, code(response.error_code))
            part = only(only(response.topics).partitions)
            current = part.current_leader
            standing = standing_of(
                part.error_code,
                current.leader_epoch,
                current.leader_id,
                response.node_endpoints,
                config,
            )
            snapshot = SnapshotId(part.snapshot_id.end_offset, part.snapshot_id.epoch)
            data = bytes(part.unaligned_records or b"")
            return SnapshotAnswer(standing, snapshot, part.size, part.position, data)
        case _:
            raise RemoteProtocolError(f"{type(response).__name__} answers {question}")


def fetch_answer(response: FetchResponse, config: RaftConfig) -> FetchAnswer:
    """Return what the answer to a fetch says beside its records."""
    part = only(only(response.responses).partitions)
    current = part.current_leader
    standing = standing_of(
        part.error_code,
        current.leader_epoch,
        current.leader_id,
        response.node_endpoints,
        config,
    )
    diverging, snapshot = part.diverging_epoch, part.snapshot_id
    if diverging.epoch >= 0 or diverging.end_offset >= 0:
        if diverging.epoch < 0 or diverging.end_offset < 0:
            raise RemoteProtocolError(f"diverging epoch {diverging!r}")
        diverges = Diverges(diverging.epoch, diverging.end_offset)
        return FetchAnswer(standing, part.high_watermark, diverges)
    if snapshot.epoch >= 0 or snapshot.end_offset >= 0:
        if snapshot.epoch < 0 or snapshot.end_offset < 0:
            raise RemoteProtocolError(f"snapshot {snapshot!r}")
        needed = NeedsSnapshot(SnapshotId(snapshot.end_offset, snapshot.epoch))
        return FetchAnswer(standing, part.high_watermark, needed)
    return FetchAnswer(standing, part.high_watermark, NO_BATCHES)


def records_of(response: FetchResponse) -> bytes:
    """Return the records in the answer to a fetch."""
    return bytes(only(only(response.responses).partitions).records or b"")


class Node(Protocol):
    """A place that an answer tells of."""

    @property
    def node_id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


def standing_of(
    error: int, epoch: int, leader_id: int, nodes: Sequence[Node], config: RaftConfig
) -> Standing:
    """Return an answer's standing; a leader may be known without its place."""
    if leader_id < 0:
        return Standing(code(error), epoch, None, ())
    found: Endpoints = tuple(
        Endpoint(config.listener, node.host, node.port)
        for node in nodes
        if node.node_id == leader_id and node.host
    )
    return Standing(code(error), epoch, leader_id, found[:1])


def only(found: Sequence[T]) -> T:
    """Return the one element: there is one topic, and it has one partition."""
    if len(found) != 1:
        raise RemoteProtocolError(f"{len(found)} topics or partitions, where there is one")
    return found[0]


def code(error: int) -> ErrorCode:
    """Return an error by its number; of later versions there may be more."""
    try:
        return ErrorCode(error)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
