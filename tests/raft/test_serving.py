"""Both ends at once: what is asked here is what is heard there, in every version that is served."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.errors import ErrorCode, Refused, UnsupportedVersionError
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.raft.asking import TOPIC, TOPIC_ID, answer_of, records_of, request_of
from barnabas.raft.messages import (
    AddVoter,
    Batches,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
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
from barnabas.raft.outline import SnapshotId
from barnabas.raft.serving import question_of, refusal_of, response_of
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter
from barnabas.wire.codec import decode, encode
from barnabas.wire.messages.add_raft_voter import AddRaftVoterResponse
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from barnabas.wire.messages.vote import VoteRequest, VoteResponse
from barnabas.wire.structs import Request, Struct
from tests.raft.words import (
    ANSWERS,
    QUESTIONS,
    UNTOLD,
    US,
    VERSIONS,
    carried,
    carried_answer,
    cases,
    directory,
)

ASKED: dict[type[Any], Question] = {
    Vote: Vote(ReplicaKey(2, directory("b")), US.key, 5, SnapshotId(10, 4), False),
    BeginQuorumEpoch: BeginQuorumEpoch(2, 5, (), US.key),
    EndQuorumEpoch: EndQuorumEpoch(2, 5, (), (), US.key),
    Fetch: Fetch(ReplicaKey(2, directory("b")), 5, 10, 4, 8, 500, 1_000),
    FetchSnapshot: FetchSnapshot(ReplicaKey(2, directory("b")), 5, SnapshotId(10, 4), 0, 1_000),
    AddVoter: AddVoter(ReplicaKey(2, directory("b")), (), 1_000, True),
    RemoveVoter: RemoveVoter(ReplicaKey(2, directory("b"))),
    UpdateVoter: UpdateVoter(5, Voter(ReplicaKey(2, directory("b")), (), (0, 1))),
}

# A fetch of a version that knows no ids of topics is not answered, but refused.
ANSWERED = [(kind, version) for kind, version in VERSIONS if kind is not Fetch or version >= 13]

THERE = (Endpoint("CONTROLLER", "there", 9094), Endpoint("CONTROLLER_SSL", "there", 9095))
STANDING = Standing(ErrorCode.NONE, 5, 2, THERE)


@cases(VERSIONS)
@given(data=st.data())
def test_a_question_arrives_as_far_as_its_version_carries_it(
    kind: type[Any], version: int, data: st.DataObject
) -> None:
    question = data.draw(QUESTIONS[kind])
    request = request_of(question, US)
    expected = carried(question, version)
    if expected is None:
        with pytest.raises(UnsupportedVersionError):
            encode(request, version)
    else:
        arrived = decode(type(request), version, encode(request, version))
        assert question_of(arrived, US) == expected


@cases(ANSWERED)
@given(data=st.data())
def test_an_answer_arrives_as_far_as_its_version_carries_it(
    kind: type[Any], version: int, data: st.DataObject
) -> None:
    question, answer = data.draw(QUESTIONS[kind]), data.draw(ANSWERS[kind])
    response = response_of(request_of(question, US), version, answer, US.listener)
    arrived = decode(type(response), version, encode(response, version))
    assert answer_of(question, arrived, US) == carried_answer(question, answer, version)


@cases(ANSWERED)
def test_a_refusal_of_the_whole_is_heard_and_tells_of_no_epoch(
    kind: type[Any], version: int
) -> None:
    refused = Refused(ErrorCode.INCONSISTENT_CLUSTER_ID, "of another cluster")
    response = refusal_of(request_of(ASKED[kind], US), refused)
    arrived = decode(type(response), version, encode(response, version))
    answer = answer_of(ASKED[kind], arrived, US)
    if isinstance(answer, VoterAnswer):
        assert answer == VoterAnswer(ErrorCode.INCONSISTENT_CLUSTER_ID, "of another cluster")
    else:
        assert not isinstance(answer, VersionsAnswer)
        assert answer.standing == Standing(ErrorCode.INCONSISTENT_CLUSTER_ID, -1, None, ())


@pytest.mark.parametrize("kind", ASKED)
def test_a_request_of_another_cluster_is_refused_and_one_of_no_cluster_is_not(
    kind: type[Any],
) -> None:
    question = ASKED[kind]
    with pytest.raises(Refused, match="'elsewhere', and this one is 'the-cluster'") as refused:
        question_of(request_of(question, replace(US, cluster_id="elsewhere")), US)
    assert refused.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID
    request = request_of(question, US)
    anonymous = type(request)(**{**fields(request), "cluster_id": None})
    assert question_of(anonymous, US) == question


def fields(message: Struct) -> dict[str, Any]:
    """Return the fields of a message by name."""
    return {name: getattr(message, name) for name in type(message).FIELDS}


NAMED = [
    pytest.param(VoteRequest, id="Vote"),
    pytest.param(BeginQuorumEpochRequest, id="BeginQuorumEpoch"),
    pytest.param(EndQuorumEpochRequest, id="EndQuorumEpoch"),
]


@pytest.mark.parametrize("request_class", NAMED)
@pytest.mark.parametrize(
    "asked",
    [
        [],
        [("orders", [0])],
        [(TOPIC, [])],
        [(TOPIC, [1])],
        [(TOPIC, [0, 1])],
        [(TOPIC, [0]), (TOPIC, [0])],
    ],
    ids=str,
)
def test_an_election_is_about_the_one_partition_there_is(
    request_class: type[Any], asked: list[tuple[str, list[int]]]
) -> None:
    topics = [
        request_class.TopicData(
            topic_name=name,
            partitions=[request_class.PartitionData(partition_index=index) for index in indexes],
        )
        for name, indexes in asked
    ]
    request = request_class(cluster_id=US.cluster_id, topics=topics)
    assert code_of_refusal(request) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "asked",
    [
        [],
        [(ZERO_UUID, [0])],
        [(TOPIC_ID, [])],
        [(TOPIC_ID, [1])],
        [(TOPIC_ID, [0, 1])],
        [(TOPIC_ID, [0]), (TOPIC_ID, [0])],
    ],
)
def test_a_fetch_is_about_the_one_partition_there_is(asked: list[tuple[Uuid, list[int]]]) -> None:
    request = FetchRequest(
        topics=[
            FetchRequest.FetchTopic(
                topic=TOPIC,
                topic_id=topic_id,
                partitions=[FetchRequest.FetchPartition(partition=index) for index in indexes],
            )
            for topic_id, indexes in asked
        ]
    )
    assert code_of_refusal(request) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ([], ErrorCode.INVALID_REQUEST),
        ([(TOPIC, [])], ErrorCode.INVALID_REQUEST),
        ([(TOPIC, [0, 1])], ErrorCode.INVALID_REQUEST),
        ([(TOPIC, [1])], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([("orders", [0])], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_snapshot_is_of_the_one_partition_there_is(
    asked: list[tuple[str, list[int]]], error: ErrorCode
) -> None:
    request = FetchSnapshotRequest(
        topics=[
            FetchSnapshotRequest.TopicSnapshot(
                name=name,
                partitions=[
                    FetchSnapshotRequest.PartitionSnapshot(partition=index) for index in indexes
                ],
            )
            for name, indexes in asked
        ]
    )
    assert code_of_refusal(request) is error


def code_of_refusal(request: Request) -> ErrorCode:
    """Return why a request is refused before the node hears of it."""
    with pytest.raises(Refused) as refused:
        question_of(request, US)
    return refused.value.code


def test_that_there_is_no_snapshot_of_another_topic_is_said_beside_that_topic() -> None:
    part = FetchSnapshotRequest.PartitionSnapshot(partition=3)
    topic = FetchSnapshotRequest.TopicSnapshot(name="orders", partitions=[part])
    refused = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    response = refusal_of(FetchSnapshotRequest(topics=[topic]), refused)
    arrived = decode(FetchSnapshotResponse, 1, encode(response, 1))
    assert arrived.error_code == ErrorCode.NONE
    assert arrived.topics[0].name == "orders"
    assert arrived.topics[0].partitions[0].index == 3
    assert arrived.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_vote_that_names_no_voter_is_for_whoever_gets_it() -> None:
    question = ASKED[Vote]
    request = decode(VoteRequest, 0, encode(request_of(question, US), 0))
    assert request.voter_id == -1
    heard = question_of(request, US)
    assert isinstance(heard, Vote)
    assert heard.voter == US.key


def test_a_vote_for_another_voter_is_for_the_node_to_refuse() -> None:
    other = ReplicaKey(7, directory("z"))
    question = Vote(ReplicaKey(2), other, 5, SnapshotId(10, 4), True)
    assert question_of(request_of(question, US), US) == question


def test_successors_are_taken_by_directory_where_those_are_told() -> None:
    keys = (ReplicaKey(3, directory("c")), ReplicaKey(2, directory("b")))
    question = EndQuorumEpoch(1, 5, (), keys, US.key)
    assert question_of(request_of(question, US), US) == question
    old = decode(EndQuorumEpochRequest, 0, encode(request_of(question, US), 0))
    heard = question_of(old, US)
    assert isinstance(heard, EndQuorumEpoch)
    assert heard.preferred == (ReplicaKey(3), ReplicaKey(2))


def test_a_fetch_of_older_versions_says_elsewhere_who_asks() -> None:
    part = FetchRequest.FetchPartition(fetch_offset=10, last_fetched_epoch=4)
    topic = FetchRequest.FetchTopic(topic_id=TOPIC_ID, partitions=[part])
    old = decode(FetchRequest, 14, encode(FetchRequest(replica_id=7, topics=[topic]), 14))
    heard = question_of(old, US)
    assert isinstance(heard, Fetch)
    assert heard.replica == ReplicaKey(7)
    assert heard.high_watermark == UNTOLD


def test_a_leader_is_told_with_its_place_on_the_listener_that_was_asked() -> None:
    response = response_of(request_of(ASKED[Vote], US), 2, VoteAnswer(STANDING, True), US.listener)
    assert isinstance(response, VoteResponse)
    assert [(at.node_id, at.host, at.port) for at in response.node_endpoints] == [
        (2, "there", 9094)
    ]
    request, answer = request_of(ASKED[Vote], US), VoteAnswer(STANDING, True)
    response = response_of(request, 2, answer, "ELSEWHERE")
    assert isinstance(response, VoteResponse)
    assert not response.node_endpoints


def test_records_go_out_as_they_were_read() -> None:
    content = Batches(b"batches", 20, (), (), ())
    answer = FetchAnswer(STANDING, 20, content)
    response = response_of(request_of(ASKED[Fetch], US), 18, answer, US.listener)
    arrived = decode(FetchResponse, 18, encode(response, 18))
    assert records_of(arrived) == b"batches"


@pytest.mark.parametrize(
    "answer",
    [
        FetchAnswer(STANDING, 20, Lent(10, 20, 1_000)),
        SnapshotAnswer(STANDING, SnapshotId(10, 4), 100, 0, Lent(0, 0, 1_000)),
    ],
)
def test_what_was_only_lent_is_not_sent(answer: FetchAnswer | SnapshotAnswer) -> None:
    asked = ASKED[Fetch if isinstance(answer, FetchAnswer) else FetchSnapshot]
    with pytest.raises(AssertionError, match="was not read"):
        response_of(request_of(asked, US), 1, answer, US.listener)


def test_an_error_without_a_reason_is_told_in_the_words_of_its_code() -> None:
    answer = VoterAnswer(ErrorCode.DUPLICATE_VOTER)
    response = response_of(request_of(ASKED[AddVoter], US), 1, answer, US.listener)
    assert isinstance(response, AddRaftVoterResponse)
    assert response.error_message == ErrorCode.DUPLICATE_VOTER.words
    done = response_of(request_of(ASKED[AddVoter], US), 1, VoterAnswer(ErrorCode.NONE), US.listener)
    assert isinstance(done, AddRaftVoterResponse)
    assert done.error_message is None


def test_an_answer_to_something_else_is_our_bug() -> None:
    with pytest.raises(AssertionError, match="answers FetchRequest"):
        response_of(request_of(ASKED[Fetch], US), 18, VoteAnswer(STANDING, True), US.listener)
    with pytest.raises(AssertionError, match="DescribeQuorumRequest came to a quorum"):
        question_of(DescribeQuorumRequest(), US)
    with pytest.raises(AssertionError, match="DescribeQuorumRequest came to a quorum"):
        refusal_of(DescribeQuorumRequest(), Refused(ErrorCode.INVALID_REQUEST))
