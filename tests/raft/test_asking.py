"""What answers of other replicas say, sense and nonsense; the way there and back is next door."""

import pytest

import barnabas
from barnabas.model.errors import ErrorCode, RemoteProtocolError
from barnabas.raft.asking import KRAFT_VERSION, TOPIC, TOPIC_ID, answer_of, failed, request_of
from barnabas.raft.messages import (
    ApiVersions,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Question,
    SnapshotAnswer,
    Standing,
    UpdateVoter,
    VersionsAnswer,
    Vote,
    VoteAnswer,
)
from barnabas.raft.outline import SnapshotId
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.fetch import FetchResponse
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotResponse
from barnabas.wire.messages.update_raft_voter import UpdateRaftVoterResponse
from barnabas.wire.messages.vote import VoteResponse
from barnabas.wire.structs import Response
from tests.raft.words import US

PartitionData = FetchResponse.PartitionData

VOTE = Vote(US.key, ReplicaKey(2), 5, SnapshotId(10, 4), False)
FETCH = Fetch(US.key, 5, 10, 4, 8, 500, 1_000)
LED = VoteResponse.PartitionData(leader_id=2, leader_epoch=5)
EMPTY = PartitionData()
SNAPSHOT = FetchSnapshot(US.key, 5, SnapshotId(10, 4), 0, 1_000)


def voted(partition: VoteResponse.PartitionData | None = None) -> VoteResponse:
    """Return an answer to a request for a vote."""
    partition = partition or LED
    return VoteResponse(topics=[VoteResponse.TopicData(topic_name=TOPIC, partitions=[partition])])


def sent(partition: PartitionData) -> FetchResponse:
    """Return an answer to a fetch."""
    topic = FetchResponse.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])
    return FetchResponse(responses=[topic])


def test_who_leads_nobody_has_no_place() -> None:
    answer = answer_of(VOTE, voted(VoteResponse.PartitionData(leader_id=-1, leader_epoch=5)), US)
    assert answer == VoteAnswer(Standing(ErrorCode.NONE, 5, None, ()), False)


def test_only_the_place_of_the_leader_is_believed() -> None:
    node = VoteResponse.NodeEndpoint
    response = VoteResponse(
        topics=voted().topics,
        node_endpoints=[
            node(node_id=3, host="elsewhere", port=1),
            node(node_id=2, host="", port=2),
            node(node_id=2, host="there", port=3),
        ],
    )
    answer = answer_of(VOTE, response, US)
    assert isinstance(answer, VoteAnswer)
    assert answer.standing.endpoints == (Endpoint("CONTROLLER", "there", 3),)


def test_an_error_of_the_future_is_an_unknown_one() -> None:
    answer = answer_of(VOTE, voted(VoteResponse.PartitionData(error_code=9_999)), US)
    assert isinstance(answer, VoteAnswer)
    assert answer.standing.error is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    "response",
    [
        VoteResponse(),
        VoteResponse(topics=[VoteResponse.TopicData(topic_name="orders")]),
        VoteResponse(topics=[*voted().topics, *voted().topics]),
        voted(VoteResponse.PartitionData(partition_index=1)),
    ],
)
def test_a_vote_about_anything_else_is_no_answer(response: VoteResponse) -> None:
    with pytest.raises(RemoteProtocolError, match="not about __cluster_metadata-0 alone"):
        answer_of(VOTE, response, US)


@pytest.mark.parametrize(
    "response",
    [
        FetchResponse(),
        FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic=TOPIC)]),
        FetchResponse(responses=[*sent(EMPTY).responses, *sent(EMPTY).responses]),
        sent(PartitionData(partition_index=1)),
    ],
)
def test_records_of_anything_else_are_no_answer(response: FetchResponse) -> None:
    with pytest.raises(RemoteProtocolError, match="not about __cluster_metadata-0 alone"):
        answer_of(FETCH, response, US)


@pytest.mark.parametrize(
    "said",
    [
        PartitionData(diverging_epoch=FetchResponse.EpochEndOffset(epoch=3)),
        PartitionData(diverging_epoch=FetchResponse.EpochEndOffset(end_offset=3)),
        PartitionData(snapshot_id=FetchResponse.SnapshotId(epoch=3)),
        PartitionData(snapshot_id=FetchResponse.SnapshotId(end_offset=3)),
    ],
)
def test_half_a_point_of_a_log_is_no_answer(said: PartitionData) -> None:
    with pytest.raises(RemoteProtocolError, match="half of"):
        answer_of(FETCH, sent(said), US)


@pytest.mark.parametrize("topic", ["orders", TOPIC])
def test_a_part_of_anything_else_is_no_answer(topic: str) -> None:
    part = FetchSnapshotResponse.PartitionSnapshot(index=1)
    response = FetchSnapshotResponse(
        topics=[FetchSnapshotResponse.TopicSnapshot(name=topic, partitions=[part])]
    )
    with pytest.raises(RemoteProtocolError, match="not about __cluster_metadata-0 alone"):
        answer_of(SNAPSHOT, response, US)


def test_an_update_is_answered_with_the_leader_and_its_place() -> None:
    leader = UpdateRaftVoterResponse.CurrentLeader
    update = UpdateVoter(5, Voter(US.key, ()))
    for said, endpoints in [
        (leader(leader_id=2, leader_epoch=5, host="there", port=3),
         (Endpoint("CONTROLLER", "there", 3),)),
        (leader(leader_id=2, leader_epoch=5), ()),
    ]:  # fmt: skip
        answer = answer_of(update, UpdateRaftVoterResponse(current_leader=said), US)
        assert not isinstance(answer, VersionsAnswer)
        assert getattr(answer, "standing", None) == Standing(ErrorCode.NONE, 5, 2, endpoints)


def test_versions_are_asked_for_by_name_and_found_among_the_features() -> None:
    request = request_of(ApiVersions(), US)
    assert isinstance(request, ApiVersionsRequest)
    assert request.client_software_name == "barnabas"
    assert request.client_software_version == barnabas.__version__
    feature = ApiVersionsResponse.SupportedFeatureKey
    response = ApiVersionsResponse(
        supported_features=[
            feature(name="metadata.version", min_version=7, max_version=29),
            feature(name=KRAFT_VERSION, min_version=0, max_version=1),
        ]
    )
    assert answer_of(ApiVersions(), response, US) == VersionsAnswer(ErrorCode.NONE, (0, 1))


def test_who_tells_no_feature_knows_the_first_version_alone() -> None:
    answer = answer_of(ApiVersions(), ApiVersionsResponse(), US)
    assert answer == VersionsAnswer(ErrorCode.NONE, (0, 0))


@pytest.mark.parametrize("question", [VOTE, FETCH, SNAPSHOT, ApiVersions()], ids=str)
def test_a_question_that_was_never_put_has_an_answer_of_nobody(question: Question) -> None:
    answer = failed(question, ErrorCode.UNSUPPORTED_VERSION)
    match answer:
        case VoteAnswer() | FetchAnswer() | SnapshotAnswer():
            assert answer.standing == Standing(ErrorCode.UNSUPPORTED_VERSION, -1, None, ())
        case _:
            assert answer == VersionsAnswer(ErrorCode.UNSUPPORTED_VERSION, (0, 0))


@pytest.mark.parametrize("response", [VoteResponse(), ApiVersionsResponse()], ids=str)
def test_an_answer_to_another_question_is_none(response: Response) -> None:
    with pytest.raises(RemoteProtocolError, match="answers Fetch"):
        answer_of(FETCH, response, US)
