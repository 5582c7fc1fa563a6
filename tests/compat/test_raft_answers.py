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
from typing import Any, Final, TypeVar

import pytest

from barnabas.wire.codec import decode, encode
from barnabas.wire.structs import Message, Struct
from tests.compat.asker import ask
from tests.compat.kafka_quorum import QUIET, KafkaQuorum
from tests.compat.raft_cases import CASES, DISRUPTIVE, Case
from tests.compat.raft_twin import Situation, Twin, situation_of

M = TypeVar("M", bound=Message)

# A snapshot as soon as there is anything to put into one.
SETTINGS: Final = {**QUIET, "metadata.log.max.record.bytes.between.snapshots": "100"}

LEFT_OUT: Final = {
    "error_message": "words are our own",
    "last_fetch_timestamp": "a time",
    "last_caught_up_timestamp": "a time",
    "log_start_offset": "a replica of the quorum has no use for it, and is not told",
}


@pytest.fixture(scope="module", params=["dynamic", "static"])
def quorum(request: pytest.FixtureRequest) -> Iterator[KafkaQuorum]:
    """Three of Kafka's controllers that have had two leaders."""
    static = request.param == "static"
    with TemporaryDirectory() as place:
        with KafkaQuorum(Path(place), 3, static=static, settings=SETTINGS) as running:
            leader = running.leader()
            leader.stop()
            running.leader()
            leader.start()
            running.quiet_state(still_s=3)
            yield running


def told(message: Struct) -> dict[str, Any]:
    """Return what an answer says, without what cannot be the same."""
    return {
        name: plain(getattr(message, name)) for name in type(message).FIELDS if name not in LEFT_OUT
    }


def plain(held: object) -> object:
    """Return what a field holds so that it can be compared."""
    if isinstance(held, Struct):
        return told(held)
    if isinstance(held, list | tuple):
        return sorted(map(plain, held), key=str)
    return bytes(held) if isinstance(held, memoryview) else held


def answers(at: Situation, case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ask our twin and then the controller; return what each said."""
    request, version = case(at)
    ours = Twin(at).answer(as_sent(request, version), version)
    theirs = ask(at.asked.controller, request, version)
    return told(as_sent(ours, version)), told(theirs)


def as_sent(message: M, version: int) -> M:
    """Return a message as it arrives."""
    return decode(type(message), version, encode(message, version))


@pytest.mark.parametrize("role", ["leader", "follower"])
@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_kafkas(quorum: KafkaQuorum, role: str, name: str) -> None:
    at = situation_of(quorum, asks_leader=role == "leader")
    ours, theirs = answers(at, CASES[name])
    assert ours == theirs
    assert situation_of(quorum, asks_leader=role == "leader") == at, "this should change nothing"


@pytest.mark.parametrize("role", ["leader", "follower"])
@pytest.mark.parametrize("name", DISRUPTIVE)
def test_the_answer_at_the_end_of_an_epoch_is_kafkas(
    quorum: KafkaQuorum, role: str, name: str
) -> None:
    quorum.quiet_state(still_s=1)
    at = situation_of(quorum, asks_leader=role == "leader")
    ours, theirs = answers(at, DISRUPTIVE[name])
    assert ours == theirs
