"""Whatever a stranger asks is answered once, or waits; and a refusal changes nothing.

Requests are drawn in two ways: nearly right ones, of about this epoch and these replicas, and
anything that a frame can hold.  They come over the wire to a leader, a follower, and a replica
that knows of nobody.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.errors import ErrorCode, Refused
from barnabas.raft.asking import answer_of, request_of
from barnabas.raft.effects import Effect, Reply
from barnabas.raft.events import Asked
from barnabas.raft.messages import (
    NO_BATCHES,
    AddVoter,
    Answer,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Lent,
    Question,
    RemoveVoter,
    SnapshotAnswer,
    UpdateVoter,
    VersionsAnswer,
    Vote,
    VoterAnswer,
)
from barnabas.raft.outline import SnapshotId
from barnabas.raft.serving import question_of, refusal_of, response_of
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter
from barnabas.wire.apis import APIS, request_class
from barnabas.wire.codec import decode, encode
from barnabas.wire.structs import Message, Request
from tests.raft.elected import BROKER, LOST, OTHER, OURS, Quorum, leader, place
from tests.raft.words import API_KEYS
from tests.wire.instances import messages

NOW_MS = 9_900

# A vote for another directory still tells of an epoch, which is taken on.
MAY_TELL_AN_EPOCH = (ErrorCode.NONE, ErrorCode.INVALID_VOTER_KEY)


def follower() -> Quorum:
    """Return a replica that follows."""
    quorum = Quorum()
    quorum.happen(Asked(0, BeginQuorumEpoch(2, 5, (place(2),), OURS)), 6_500)
    return quorum


small = st.integers(-1, 7)
times = st.integers(-1, 1)
replicas = st.sampled_from([OURS, OTHER, LOST, BROKER, ReplicaKey(-1), ReplicaKey(2)])
places = st.sampled_from([(), (place(2),), (Endpoint("ELSEWHERE", "here", 1),)])
logs = st.builds(SnapshotId, st.integers(-1, 40), small)
versions = st.tuples(st.integers(-1, 2), st.integers(-1, 2))

NEARLY_RIGHT: dict[type[Any], st.SearchStrategy[Question]] = {
    Vote: st.builds(Vote, replicas, replicas, small, logs, st.booleans()),
    BeginQuorumEpoch: st.builds(BeginQuorumEpoch, small, small, places, replicas),
    EndQuorumEpoch: st.builds(
        EndQuorumEpoch, small, small, places, st.lists(replicas).map(tuple), st.just(OURS)
    ),
    Fetch: st.builds(Fetch, replicas, small, st.integers(-1, 40), small, small, times, times),
    FetchSnapshot: st.builds(FetchSnapshot, replicas, small, logs, times, times),
    AddVoter: st.builds(AddVoter, replicas, places, times, st.booleans()),
    RemoveVoter: st.builds(RemoveVoter, replicas),
    UpdateVoter: st.builds(UpdateVoter, small, st.builds(Voter, replicas, places, versions)),
}


def requests(kind: type[Any], version: int) -> st.SearchStrategy[Message]:
    """Draw what a stranger may ask."""
    nearly = NEARLY_RIGHT[kind].map(lambda question: request_of(question, Quorum().node.config))
    return nearly | messages(request_class(API_KEYS[kind]), version)


@pytest.mark.slow
@pytest.mark.parametrize("role", [Quorum, follower, leader])
@pytest.mark.parametrize("kind", API_KEYS)
@given(data=st.data())
def test_a_stranger_gets_one_answer_and_a_refusal_changes_nothing(
    kind: type[Any], role: Callable[[], Quorum], data: st.DataObject
) -> None:
    quorum, version = role(), APIS[API_KEYS[kind]].versions.stop - 1
    asked = data.draw(st.lists(requests(kind, version), min_size=1, max_size=5))
    answered: Counter[int] = Counter()
    for token, request in enumerate(asked, 100):
        assert isinstance(request, Request)
        try:
            question = question_of(request, quorum.node.config)
        except Refused as refused:
            encode(refusal_of(request, refused), version)
            continue
        quorum.happen(Asked(token, question), NOW_MS)
        answered.update(it.token for it in quorum.effects if isinstance(it, Reply))
        for reply in replies(quorum.effects, token):
            response = response_of(request, version, read_out(reply.answer), "CONTROLLER")
            arrived = decode(type(response), version, encode(response, version))
            answer = answer_of(question, arrived, quorum.node.config)
            if error_of(answer) not in MAY_TELL_AN_EPOCH:
                assert quorum.effects == [reply], "a refusal changes nothing"
        if not isinstance(question, Fetch | AddVoter | RemoveVoter):
            assert answered[token] == 1, "there is nothing to wait for"
    assert max(answered.values(), default=1) == 1, "nobody is answered twice"


def replies(effects: list[Effect], token: int) -> list[Reply]:
    """Return the answers to one question."""
    return [it for it in effects if isinstance(it, Reply) and it.token == token]


def read_out(answer: Answer) -> Answer:
    """Return an answer with what it lends read, from a log that is empty."""
    match answer:
        case FetchAnswer(content=Lent()):
            return replace(answer, content=NO_BATCHES)
        case SnapshotAnswer(data=Lent()):
            return replace(answer, data=b"")
        case _:
            return answer


def error_of(answer: Answer) -> ErrorCode:
    """Return the error in an answer of any kind."""
    if isinstance(answer, VoterAnswer | VersionsAnswer):
        return answer.error
    return answer.standing.error
