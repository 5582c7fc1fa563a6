"""Our replica answers what Kafka's controllers answer, asked the same thing in the same situation.

Quorums of three of Kafka's controllers, dynamic and static, with a snapshot and more than one
epoch behind them, stand still.  Every case of ``raft_cases`` is put to one of them over the wire,
and to its twin (``raft_twin``): our replica on a copy of its log, in its role.  Both answers have
to be the same, field by field and byte by byte, but for what ``told`` leaves out.

Where we differ on purpose, ``DIFFERENT`` says so, and why.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.raft.asking import answer_of, records_of, request_of
from barnabas.raft.config import RaftConfig
from barnabas.raft.messages import (
    Answer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Question,
    SnapshotAnswer,
)
from barnabas.raft.outline import NeedsSnapshot, SnapshotId
from barnabas.raft.voters import ReplicaKey
from barnabas.records.batch import batches
from barnabas.wire.messages.fetch import FetchResponse
from barnabas.wire.structs import Request, Response, Struct
from tests.compat.asker import ask
from tests.compat.controllers import QUIET, SNAPSHOTS, Controllers
from tests.compat.kafka_node import Node
from tests.compat.raft_cases import (
    CASES,
    DISRUPTIVE,
    LONE,
    STRANGER,
    Case,
    begin,
    fetch,
    nobody,
    remove,
    vote,
)
from tests.compat.raft_twin import LISTENER, Asked, Situation, Twin, lone_situation, situation_of

SETTINGS: Final = {**QUIET, **SNAPSHOTS}

LEFT_OUT: Final = {
    "error_message": "words are our own",
    "last_fetch_timestamp": "a time",
    "last_caught_up_timestamp": "a time",
    "observers": "who asked before, which a twin has not seen",
    "log_start_offset": "a replica of the quorum has no use for it, and is not told",
}

PARTITION: Final = "responses[0].partitions[0].error_code"
DIFFERENT: Final[dict[tuple[str, str], dict[str, tuple[object, object]]]] = {
    # To Kafka it is an IllegalStateException that somebody catches.
    ("Fetch: by who is asked", "leader"): {
        PARTITION: (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR)
    },
    ("Fetch: by the id of who is asked", "leader"): {
        PARTITION: (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR)
    },
}
"""Field by field, where we differ: ours, theirs."""

# To a replica of another cluster Kafka tells who leads this one, here alone; we tell nobody.
TELLS_STRANGERS: Final = "UpdateRaftVoter: of another cluster"

SNAPSHOT_ERRORS: Final = {
    "FetchSnapshot: of a stale epoch": ErrorCode.FENCED_LEADER_EPOCH,
    "FetchSnapshot: of a later epoch": ErrorCode.UNKNOWN_LEADER_EPOCH,
    "FetchSnapshot: one that never was": ErrorCode.SNAPSHOT_NOT_FOUND,
    "FetchSnapshot: the formatted one": ErrorCode.SNAPSHOT_NOT_FOUND,
    "FetchSnapshot: from before its beginning": ErrorCode.POSITION_OUT_OF_RANGE,
    "FetchSnapshot: from its end": ErrorCode.POSITION_OUT_OF_RANGE,
    "FetchSnapshot: from behind its end": ErrorCode.POSITION_OUT_OF_RANGE,
    "FetchSnapshot: of another topic": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    "FetchSnapshot: of another partition": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
"""What Kafka's handler means where it refuses a part of a snapshot (KafkaRaftClient.java).

It never arrives: Kafka 4.3 leaves the records of such an answer null, cannot write that, and
answers UNKNOWN_SERVER_ERROR without a word about the partition instead.
"""


@pytest.fixture(scope="module", params=["dynamic", "static"])
def quorum(request: pytest.FixtureRequest) -> Iterator[Controllers]:
    """Three of Kafka's controllers that have had two leaders."""
    static = request.param == "static"
    with (
        TemporaryDirectory() as place,
        Controllers(Path(place), [Node] * 3, static=static, settings=SETTINGS) as running,
    ):
        leader = running.leader()
        leader.stop()
        running.leader()
        leader.start()
        running.quiet_state(still_s=3)
        yield running


def told(held: object, place: str = "") -> dict[str, object]:
    """Return what an answer says, field by field, without what cannot be the same."""
    if isinstance(held, Struct):
        names = [name for name in type(held).FIELDS if name not in LEFT_OUT]
        parts = [(f"{place}.{name}".lstrip("."), getattr(held, name)) for name in names]
    elif isinstance(held, list | tuple):
        # What is listed by id is listed in any order.
        parts = [(f"{place}[{at}]", each) for at, each in enumerate(sorted(held, key=repr))]
    else:
        return {place: bytes(held) if isinstance(held, memoryview) else held}
    return {path: said for where, each in parts for path, said in told(each, where).items()}


def answers(at: Situation, case: Case) -> tuple[dict[str, object], dict[str, object]]:
    """Ask our twin and then the controller; return what each said."""
    ((ours, theirs),) = conversation(at, [case(at)])
    return ours, theirs


def conversation(at: Situation, asked: Asked) -> list[tuple[dict[str, object], dict[str, object]]]:
    """Ask our twin one thing after the other, and then the controller; return what each said."""
    ours = Twin(at).answers(asked)
    theirs = [ask(at.asked.controller, request, version) for request, version in asked]
    return [(told(mine), told(other)) for mine, other in zip(ours, theirs, strict=True)]


def differences(
    ours: dict[str, object], theirs: dict[str, object]
) -> dict[str, tuple[object, object]]:
    """Return what two answers say differently: ours, theirs."""
    fields = sorted(ours.keys() | theirs.keys())
    pairs = {field: (ours.get(field), theirs.get(field)) for field in fields}
    return {field: pair for field, pair in pairs.items() if pair[0] != pair[1]}


def meant(name: str, role: str) -> ErrorCode | None:
    """Return the error that Kafka means and cannot say; None if it can."""
    error = SNAPSHOT_ERRORS.get(name)
    if error is None and name.startswith("FetchSnapshot: ") and "cluster" not in name:
        return None if role == "leader" else ErrorCode.NOT_LEADER_OR_FOLLOWER
    found = (ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE)
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if role != "leader" and error in found else error


@pytest.mark.parametrize("role", ["leader", "follower"])
@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_kafkas(quorum: Controllers, role: str, name: str) -> None:
    at = situation_of(quorum, asks_leader=role == "leader")
    ours, theirs = answers(at, CASES[name])
    unsaid = meant(name, role)
    if unsaid is not None:
        assert ours["topics[0].partitions[0].error_code"] == unsaid
        assert theirs == {"throttle_time_ms": 0, "error_code": ErrorCode.UNKNOWN_SERVER_ERROR}
    elif name == TELLS_STRANGERS:
        assert ours["error_code"] == theirs["error_code"] == ErrorCode.INCONSISTENT_CLUSTER_ID
        assert (ours["current_leader.leader_id"], theirs["current_leader.leader_id"]) == (
            -1,
            at.leader_id,
        )
    else:
        assert differences(ours, theirs) == DIFFERENT.get((name, role), {})
    assert situation_of(quorum, asks_leader=role == "leader") == at, "this should change nothing"


@pytest.mark.parametrize("role", ["leader", "follower"])
@pytest.mark.parametrize("name", DISRUPTIVE)
def test_the_answer_at_the_end_of_an_epoch_is_kafkas(
    quorum: Controllers, role: str, name: str
) -> None:
    quorum.quiet_state(still_s=1)
    at = situation_of(quorum, asks_leader=role == "leader")
    ours, theirs = answers(at, DISRUPTIVE[name])
    assert differences(ours, theirs) == {}


@pytest.mark.parametrize("version", range(13, 19))
def test_a_replica_of_kafkas_is_read_through_its_snapshot(
    quorum: Controllers, version: int
) -> None:
    at = situation_of(quorum, asks_leader=True)
    replica = ReplicaKey(200 + version, STRANGER.directory_id)
    config = RaftConfig(replica, quorum.cluster_id, (), LISTENER)

    def answered(question: Question, asked: tuple[Request, int]) -> tuple[Answer, Response]:
        response = ask(at.asked.controller, *asked)
        return answer_of(question, response, config), response

    def fetched(offset: int, last_epoch: int) -> tuple[Answer, Response]:
        question = Fetch(replica, at.epoch, offset, last_epoch, 0, 0, 1)
        made = fetch(at, version, replica=replica, offset=offset, last_epoch=last_epoch)
        return answered(question, made)

    first, _ = fetched(0, 0)
    assert isinstance(first, FetchAnswer)
    assert isinstance(first.content, NeedsSnapshot)
    snapshot = first.content.snapshot
    data, size = b"", 1
    while len(data) < size:
        part = FetchSnapshot(replica, at.epoch, snapshot, len(data), 100)
        answer, _ = answered(part, (request_of(part, config), 1))
        assert isinstance(answer, SnapshotAnswer)
        assert isinstance(answer.data, bytes)
        assert (answer.snapshot, answer.position) == (snapshot, len(data))
        data, size = data + answer.data, answer.size_bytes
    name = f"{snapshot.end_offset:020}-{snapshot.epoch:010}.checkpoint"
    assert data == (at.asked.metadata / name).read_bytes()

    offset, last_epoch, records = snapshot.end_offset, snapshot.epoch, b""
    while offset < at.end_offset:
        answer, response = fetched(offset, last_epoch)
        assert isinstance(answer, FetchAnswer)
        assert answer.standing.error is ErrorCode.NONE
        assert answer.high_watermark == at.end_offset
        assert isinstance(response, FetchResponse)
        came = records_of(response)
        header = [header for _, header in batches(came)][-1]
        offset, last_epoch, records = header.next_offset, header.leader_epoch, records + came
    log = (at.asked.metadata / f"{'0' * 20}.log").read_bytes()
    assert log.endswith(records)


# --- who knows of nobody --------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["dynamic", "static"])
def lone(request: pytest.FixtureRequest) -> Iterator[Controllers]:
    """One of three of Kafka's controllers; the others never started."""
    static = request.param == "static"
    with TemporaryDirectory() as place:
        quorum = Controllers(Path(place), [Node] * 3, static=static, settings=SETTINGS)
        quorum.voters[0].start()
        yield quorum
        quorum.voters[0].kill()


@pytest.mark.parametrize("name", LONE)
def test_who_has_no_leader_answers_as_kafkas(lone: Controllers, name: str) -> None:
    ours, theirs = answers(lone_situation(lone), LONE[name])
    assert differences(ours, theirs) == {}


def test_a_vote_is_given_once_an_epoch_and_again_to_whom_it_was_given(lone: Controllers) -> None:
    at = lone_situation(lone)
    start, other = SnapshotId(0, 0), ReplicaKey(101, STRANGER.directory_id)
    other_disk = ReplicaKey(STRANGER.id, Uuid(b"another disk now"))
    asked = [
        vote(at, last=start),
        vote(at, epoch=1, last=start, pre_vote=False),
        vote(at, epoch=1, last=start, pre_vote=False, candidate=other),
        vote(at, epoch=1, last=start, pre_vote=False),
        vote(at, epoch=1, last=start, pre_vote=False, candidate=other_disk),
        vote(at, epoch=1, last=start, candidate=other),
        begin(at, epoch=1, leader_id=77, endpoints=nobody()),
        vote(at, epoch=1, last=start, pre_vote=False, candidate=other),
        vote(at, epoch=1, last=start, candidate=other),
        vote(at, epoch=2, last=start, pre_vote=False, candidate=other),
        vote(at, epoch=1, last=start, pre_vote=False),
    ]
    said = conversation(at, asked)
    for number, (ours, theirs) in enumerate(said):
        assert differences(ours, theirs) == {}, f"answer {number}"
    granted = [theirs.get("topics[0].partitions[0].vote_granted") for _, theirs in said]
    assert granted == [True, True, False, True, False, True, None, False, True, True, False]


def test_the_only_voter_is_not_removed(tmp_path: Path) -> None:
    with Controllers(tmp_path, [Node], settings=SETTINGS) as alone:
        alone.quiet_state(still_s=3)
        at = situation_of(alone, asks_leader=True)
        ours, theirs = answers(at, lambda at: remove(at, voter=at.key(1)))
        assert differences(ours, theirs) == {}
        assert theirs["error_code"] == ErrorCode.VOTER_NOT_FOUND
