"""What others ask this replica, and its answers as messages of the protocol.

    request ── question_of ──▶ Question ── the node ──▶ Answer ── response_of ──▶ response

What is wrong with a request as a whole (another cluster, another topic) is refused here, before
the node hears of it: no state is touched (R-24).
"""

from collections.abc import Sequence
from typing import Final

from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import ZERO_UUID
from barnabas.raft.asking import NO_LEADER, PARTITION, TOPIC, TOPIC_ID
from barnabas.raft.config import RaftConfig
from barnabas.raft.messages import (
    AddVoter,
    Answer,
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
    Vote,
    VoteAnswer,
    VoterAnswer,
)
from barnabas.raft.outline import Diverges, NeedsSnapshot, SnapshotId
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter
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

# A follower that tells no high watermark is never answered early because of ours (KIP-1166).
UNTOLD: Final = 2**63 - 1

# Since these versions an answer can say where the leader is.
ENDPOINTS_SINCE: Final = 1
FETCH_ENDPOINTS_SINCE: Final = 17
PREFERRED_CANDIDATES_SINCE: Final = 1


def question_of(request: Request, version: int, config: RaftConfig) -> Question:
    """Return what is asked; ``Refused`` if it is not for this quorum, or makes no sense."""
    if isinstance(request, VoteRequest):
        ours(request.cluster_id, config)
        vote = the_partition(request.topics)
        return Vote(
            ReplicaKey(vote.replica_id, vote.replica_directory_id),
            meant(request.voter_id, vote.voter_directory_id, config),
            vote.replica_epoch,
            SnapshotId(vote.last_offset, vote.last_offset_epoch),
            vote.pre_vote,
        )
    if isinstance(request, BeginQuorumEpochRequest):
        ours(request.cluster_id, config)
        begin = the_partition(request.topics)
        return BeginQuorumEpoch(
            begin.leader_id,
            begin.leader_epoch,
            endpoints_of(request.leader_endpoints),
            meant(request.voter_id, begin.voter_directory_id, config),
        )
    if isinstance(request, EndQuorumEpochRequest):
        ours(request.cluster_id, config)
        end = the_partition(request.topics)
        if version < PREFERRED_CANDIDATES_SINCE:
            preferred = tuple(ReplicaKey(node_id) for node_id in end.preferred_successors)
        else:
            preferred = tuple(
                ReplicaKey(each.candidate_id, each.candidate_directory_id)
                for each in end.preferred_candidates
            )
        return EndQuorumEpoch(
            end.leader_id,
            end.leader_epoch,
            endpoints_of(request.leader_endpoints),
            preferred,
            config.key,
        )
    if isinstance(request, FetchRequest):
        return fetch_of(request, config)
    if isinstance(request, FetchSnapshotRequest):
        ours(request.cluster_id, config)
        part = the_partition(request.topics, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return FetchSnapshot(
            ReplicaKey(request.replica_id, part.replica_directory_id),
            part.current_leader_epoch,
            SnapshotId(part.snapshot_id.end_offset, part.snapshot_id.epoch),
            part.position,
            request.max_bytes,
        )
    if isinstance(request, AddRaftVoterRequest):
        ours(request.cluster_id, config)
        return AddVoter(
            named(request.voter_id, request.voter_directory_id),
            endpoints_of(request.listeners),
            request.timeout_ms,
            request.ack_when_committed,
        )
    if isinstance(request, RemoveRaftVoterRequest):
        ours(request.cluster_id, config)
        return RemoveVoter(named(request.voter_id, request.voter_directory_id))
    assert isinstance(request, UpdateRaftVoterRequest), f"{type(request).__name__} came to a quorum"
    ours(request.cluster_id, config)
    feature = request.kraft_version_feature
    versions = feature.min_supported_version, feature.max_supported_version
    key = named(request.voter_id, request.voter_directory_id)
    if not 0 <= versions[0] <= versions[1]:
        raise Refused(ErrorCode.INVALID_REQUEST, f"a range of kraft.version {versions}")
    voter = Voter(key, endpoints_of(request.listeners), versions)
    return UpdateVoter(request.current_leader_epoch, voter)


def fetch_of(request: FetchRequest, config: RaftConfig) -> Fetch:
    """Return what a fetch asks; the topic is known by its id alone."""
    ours(request.cluster_id, config)
    if len(request.topics) != 1 or request.topics[0].topic_id != TOPIC_ID:
        raise Refused(ErrorCode.INVALID_REQUEST, f"fetches {request.topics!r}, not {TOPIC}")
    partitions = request.topics[0].partitions
    if len(partitions) != 1 or partitions[0].partition != PARTITION:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{TOPIC} has partition {PARTITION} alone")
    part = partitions[0]
    told = part.high_watermark
    return Fetch(
        ReplicaKey(
            max(request.replica_id, request.replica_state.replica_id), part.replica_directory_id
        ),
        part.current_leader_epoch,
        part.fetch_offset,
        part.last_fetched_epoch,
        told if told != UNTOLD else UNTOLD,
        request.max_wait_ms,
        request.max_bytes,
    )


def ours(cluster_id: str | None, config: RaftConfig) -> None:
    """Refuse what was meant for another cluster."""
    if cluster_id is not None and cluster_id != config.cluster_id:
        why = f"cluster {cluster_id!r} is not ours, {config.cluster_id!r}"
        raise Refused(ErrorCode.INCONSISTENT_CLUSTER_ID, why)
