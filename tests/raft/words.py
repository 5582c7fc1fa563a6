"""Questions and answers to draw, and what of them each version of the protocol can carry.

``carried`` and ``carried_answer`` are the stupid twins of ``asking`` and ``serving``: a list of
what each version lacks, from the history of Kafka's message definitions, and no wire at all.
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
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
    Vote,
    VoteAnswer,
    VoterAnswer,
)
from barnabas.raft.outline import Diverges, NeedsSnapshot, SnapshotId
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter
from barnabas.wire.apis import APIS, ApiKey

US = RaftConfig(
    ReplicaKey(1, Uuid(b"the directory 01")),
    "the-cluster",
    (Endpoint("CONTROLLER", "here", 9093),),
)


def directory(letter: str) -> Uuid:
    """Return an id that is known again in a failure."""
    return Uuid(letter.encode() * 16)


keys = st.builds(
    ReplicaKey, st.integers(0, 5), st.sampled_from([ZERO_UUID, *map(directory, "abc")])
)
epochs = st.integers(0, 2**31 - 1)
offsets = st.integers(0, 2**63 - 1)
points = st.builds(SnapshotId, offsets, epochs)
ports = st.integers(1, 65_535)
listeners = st.sampled_from(["CONTROLLER", "CONTROLLER_SSL"])
endpoints = st.lists(
    st.builds(Endpoint, listeners, st.sampled_from(["here", "there"]), ports),
    max_size=2,
    unique_by=lambda at: at.listener,
).map(tuple)
sizes = st.integers(0, 2**31 - 1)

QUESTIONS: dict[type[Any], st.SearchStrategy[Question]] = {
    Vote: st.builds(Vote, keys, keys, epochs, points, st.booleans()),
    BeginQuorumEpoch: st.builds(BeginQuorumEpoch, sizes, epochs, endpoints, keys),
    EndQuorumEpoch: st.builds(
        EndQuorumEpoch,
        sizes,
        epochs,
        endpoints,
        st.lists(keys, max_size=3).map(tuple),
        st.just(US.key),
    ),
    Fetch: st.builds(Fetch, keys, epochs, offsets, epochs, offsets, sizes, sizes),
    FetchSnapshot: st.builds(FetchSnapshot, keys, epochs, points, offsets, sizes),
    AddVoter: st.builds(AddVoter, keys, endpoints, sizes, st.booleans()),
    RemoveVoter: st.builds(RemoveVoter, keys),
    UpdateVoter: st.builds(
        UpdateVoter,
        epochs,
        st.builds(Voter, keys, endpoints, st.tuples(st.integers(0, 3), st.integers(0, 3))),
    ),
}

API_KEYS: dict[type[Any], ApiKey] = {
    Vote: ApiKey.VOTE,
    BeginQuorumEpoch: ApiKey.BEGIN_QUORUM_EPOCH,
    EndQuorumEpoch: ApiKey.END_QUORUM_EPOCH,
    Fetch: ApiKey.FETCH,
    FetchSnapshot: ApiKey.FETCH_SNAPSHOT,
    AddVoter: ApiKey.ADD_RAFT_VOTER,
    RemoveVoter: ApiKey.REMOVE_RAFT_VOTER,
    UpdateVoter: ApiKey.UPDATE_RAFT_VOTER,
}

VERSIONS = [
    (question, version) for question, key in API_KEYS.items() for version in APIS[key].versions
]
"""Every question in every version that is served."""


def cases(versions: list[tuple[type[Any], int]]) -> pytest.MarkDecorator:
    """Return questions and versions as the cases of a test."""
    names = [f"{kind.__name__}-{version}" for kind, version in versions]
    return pytest.mark.parametrize(("kind", "version"), versions, ids=names)


# What a follower is taken to know that does not say: more than anybody.
UNTOLD = 2**63 - 1


def bare(key: ReplicaKey) -> ReplicaKey:
    """Return a key as versions have it that know no directories."""
    return ReplicaKey(key.id)


def carried(question: Question, version: int) -> Question | None:
    """Return what arrives of a question in a version; None if it cannot be asked in that."""
    match question:
        case Vote(candidate, _, epoch, last, pre_vote) if version == 0:
            return None if pre_vote else Vote(bare(candidate), US.key, epoch, last, False)
        case Vote(pre_vote=pre_vote) if version == 1:
            return None if pre_vote else question
        case BeginQuorumEpoch(leader_id, epoch) if version == 0:
            return BeginQuorumEpoch(leader_id, epoch, (), US.key)
        case EndQuorumEpoch(leader_id, epoch, _, preferred) if version == 0:
            return EndQuorumEpoch(leader_id, epoch, (), tuple(map(bare, preferred)), US.key)
        case Fetch() if version < 15:
            # Before, who asks stood elsewhere, and before 13 topics had no ids.
            return None
        case Fetch(replica) if version < 17:
            return replace(question, replica=bare(replica), high_watermark=UNTOLD)
        case Fetch() if version == 17:
            return replace(question, high_watermark=UNTOLD)
        case FetchSnapshot(replica) if version == 0:
            return replace(question, replica=bare(replica))
        case AddVoter(ack_when_committed=False) if version == 0:
            return None
        case _:
            return question


errors = st.sampled_from(
    [
        ErrorCode.NONE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ]
)


@st.composite
def standings(draw: st.DrawFn) -> Standing:
    """Draw a standing; nobody knows the place of nobody."""
    leader_id = draw(st.none() | st.integers(0, 5))
    places = () if leader_id is None else draw(endpoints)
    return Standing(draw(errors), draw(epochs), leader_id, places)


votes = st.builds(VoteAnswer, standings(), st.booleans())
epoch_answers = st.builds(EpochAnswer, standings())
# Records are judged by whoever knows the log, so that an answer arrives without.
contents = st.just(NO_BATCHES) | st.builds(Diverges, epochs, offsets) | points.map(NeedsSnapshot)
voter_answers = errors.map(
    lambda error: VoterAnswer(error, "" if error is ErrorCode.NONE else "for a reason")
)

ANSWERS: dict[type[Any], st.SearchStrategy[Answer]] = {
    Vote: votes,
    BeginQuorumEpoch: epoch_answers,
    EndQuorumEpoch: epoch_answers,
    Fetch: st.builds(FetchAnswer, standings(), st.integers(-1, 2**63 - 1), contents),
    FetchSnapshot: st.builds(
        SnapshotAnswer, standings(), points, offsets, offsets, st.binary(max_size=50)
    ),
    AddVoter: voter_answers,
    RemoveVoter: voter_answers,
    UpdateVoter: epoch_answers,
}


def carried_answer(question: Question, answer: Answer, version: int) -> Answer:
    """Return what arrives of an answer in a version."""
    if isinstance(answer, VoterAnswer) or isinstance(question, ApiVersions):
        return answer
    match question:
        case Fetch():
            places = version >= 17
        case UpdateVoter():
            places = True
        case _:
            places = version >= 1
    assert isinstance(answer, VoteAnswer | EpochAnswer | FetchAnswer | SnapshotAnswer)
    standing = answer.standing
    found = [at for at in standing.endpoints if at.listener == US.listener] if places else []
    return replace(answer, standing=replace(standing, endpoints=tuple(found)))
