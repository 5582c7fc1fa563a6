"""The oracles of brokers' lives see what they are there for."""

from typing import Any  # Any: fields of messages

import pytest

from barnabas.controller.brokers import Answered
from barnabas.controller.heartbeats import Heartbeat, Life
from barnabas.controller.state import ControllerState
from barnabas.model.errors import ErrorCode, Refused
from barnabas.sim.profiles.control import marks
from barnabas.sim.profiles.control.lives import Lives, Term
from barnabas.sim.world import Violation
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.structs import Message, Request
from tests.controller.kit import broker, cluster, incarnation, partition

STATE = cluster(broker(1), broker(2), broker(3, fenced=True), partition(0, [1, 2]))
SESSION_MS = 1_000


def oracle(
    record: Message,
    request: Request | None = None,
    *,
    now_ms: int = 0,
    state: ControllerState = STATE,
    heard_ms: int | None = None,
) -> str:
    """Return who complains of a record at offset 500; nobody is an empty name."""
    term = Term(0)
    if heard_ms is not None:
        term.hear(1, 100, heard_ms)
    lives = Lives(SESSION_MS, lambda _: None)
    try:
        lives.appended(term, now_ms, request, state.image, 500, [record])
    except Violation as violation:
        return violation.oracle
    return ""


def change(broker_id: int, **said: Any) -> BrokerRegistrationChangeRecord:  # noqa: ANN401 -- fields
    """Return a change of a broker."""
    return BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=said.pop("epoch", 100 * broker_id), **said
    )


def life(broker_id: int, epoch: int, **said: Any) -> RegisterBrokerRecord:  # noqa: ANN401 -- fields
    """Return the registration of another life of a broker."""
    return RegisterBrokerRecord(
        broker_id=broker_id, broker_epoch=epoch, incarnation_id=incarnation(77), **said
    )


def beat(broker_id: int, **said: Any) -> BrokerHeartbeatRequest:  # noqa: ANN401 -- fields
    """Return a heartbeat of a broker that has read everything."""
    told = {"broker_epoch": 100 * broker_id, "current_metadata_offset": 400} | said
    return BrokerHeartbeatRequest(broker_id=broker_id, **told)


def test_another_life_waits_for_the_end_of_the_session() -> None:
    assert oracle(life(1, 500), now_ms=1_000) == "B-02"
    assert oracle(life(1, 500), now_ms=1_001) == ""
    assert oracle(life(1, 500), now_ms=1_500, heard_ms=600) == "B-02"
    assert oracle(life(3, 500)) == ""


def test_a_new_life_begins_at_its_offset_and_fenced() -> None:
    assert oracle(life(4, 499)) == "B-01"
    assert oracle(life(4, 500, fenced=False)) == "B-04"
    assert oracle(life(4, 500, in_controlled_shutdown=True)) == "B-04"


def test_the_same_life_stands_where_it_stood() -> None:
    again = RegisterBrokerRecord(broker_id=1, broker_epoch=500, incarnation_id=incarnation(1))
    assert oracle(again) == "B-01"


def test_who_was_heard_of_is_not_fenced_unless_it_wants_to_be() -> None:
    assert oracle(change(1, fenced=1), now_ms=900) == "B-11"
    assert oracle(change(1, fenced=1), now_ms=1_001) == ""
    assert oracle(change(1, fenced=1), now_ms=1_500, heard_ms=600) == "B-11"
    assert oracle(change(1, fenced=1), beat(1, want_fence=True)) == ""
    assert oracle(change(1, fenced=1, epoch=99), beat(1, want_fence=True)) == "B-03"


def test_a_broker_is_let_in_when_it_wants_it_and_has_read_its_registration() -> None:
    assert oracle(change(3, fenced=-1), beat(3)) == ""
    assert oracle(change(3, fenced=-1), beat(3, want_fence=True)) == "B-04"
    assert oracle(change(3, fenced=-1), beat(3, current_metadata_offset=299)) == "B-04"
    assert oracle(change(3, fenced=-1)) == "B-04"


def decided(request: Request, reply: object, *records: Message, begun: int = -1) -> None:
    """Let the oracles look at an answer; broker 2 has read to 400."""
    lives, term = Lives(SESSION_MS, lambda _: None), Term(0)
    lives.begun[Life(2, 200)] = begun
    term.offsets[Life(1, 100)] = 400
    stopping = STATE.apply([change(2, in_controlled_shutdown=1)])
    lives.decided(term, request, stopping.image, Decision(records, reply))


def answer(**said: Any) -> Answered:  # noqa: ANN401 -- fields
    """Return an answer to a heartbeat."""
    return Answered(
        BrokerHeartbeatResponse(**said), Heartbeat(Life(2, 200), 400, None, stops=False)
    )


def test_who_may_stop_leads_nothing_and_all_others_know_it() -> None:
    decided(beat(2, want_shut_down=True), answer(should_shut_down=True), begun=400)
    with pytest.raises(Violation, match="B-12"):
        decided(beat(2, want_shut_down=True), answer(should_shut_down=True), begun=401)
    with pytest.raises(Violation, match="and leads"):
        decided(beat(1, want_shut_down=True), answer(should_shut_down=True))
    with pytest.raises(Violation, match="may not stop"):
        decided(beat(3, want_shut_down=True), answer())


def test_a_life_that_is_over_changes_nothing_and_is_told_so() -> None:
    seen: list[str] = []
    stale = beat(1, broker_epoch=99)
    refused = Refused(ErrorCode.STALE_BROKER_EPOCH, "gone")
    lives = Lives(SESSION_MS, seen.append)
    lives.decided(Term(0), stale, STATE.image, Decision((), refused))
    assert seen == [marks.STALE]
    with pytest.raises(Violation, match="B-03"):
        decided(stale, refused, change(1, fenced=1))
    with pytest.raises(Violation, match="B-03"):
        decided(stale, answer())
