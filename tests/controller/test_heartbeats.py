"""Sessions: who was heard of when, and what follows from silence."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.heartbeats import Heartbeat, Life, Sessions, life_of
from barnabas.controller.state import ControllerState
from tests.controller.kit import broker, cluster

TIMEOUT_MS = 9_000


def alive(**stopping: bool) -> ControllerState:
    """Return a cluster of three brokers, the third of them fenced."""
    return cluster(broker(1), broker(2, **stopping), broker(3, fenced=True))


def told(life: Life, offset: int, shutdown: int | None = None, stops: bool = False) -> Heartbeat:
    """Return what a heartbeat tells."""
    return Heartbeat(life, offset, shutdown, stops)


def test_a_broker_is_alive_for_the_sessions_time_and_not_longer() -> None:
    sessions, life = Sessions(TIMEOUT_MS), Life(1, 100)
    sessions.heard(alive(), *life, 1_000)
    assert sessions.is_valid(life, 10_000)
    assert sessions.expired(10_000) is None
    assert sessions.due_ms() == 10_001
    assert not sessions.is_valid(life, 10_001)
    assert sessions.expired(10_001) == life


def test_a_new_controller_gives_everybody_who_may_be_alive_a_whole_session() -> None:
    sessions = Sessions(TIMEOUT_MS)
    sessions.activated(alive(), 5_000)
    assert sessions.is_valid(Life(1, 100), 14_000)
    assert not sessions.is_valid(Life(3, 300), 5_000)
    assert sessions.due_ms() == 14_001


def test_who_was_heard_of_longest_ago_expires_first() -> None:
    sessions, state = Sessions(TIMEOUT_MS), alive()
    for now_ms, who in ((0, 1), (1, 2), (2, 1)):
        sessions.heard(state, who, who * 100, now_ms)
    assert sessions.expired(50_000) == Life(2, 200)
    sessions.ended(Life(2, 200))
    assert sessions.expired(50_000) == Life(1, 100)
    sessions.ended(Life(1, 100))
    assert sessions.expired(50_000) is None
    assert sessions.due_ms() is None


def test_a_former_life_and_a_stranger_keep_nobody_alive() -> None:
    sessions, state = Sessions(TIMEOUT_MS), alive()
    sessions.heard(state, 1, 99, 0)
    sessions.heard(state, 7, 700, 0)
    assert sessions.due_ms() is None
    assert not sessions.is_valid(Life(1, 100), 0)


def test_a_broker_that_was_told_to_stop_has_no_session() -> None:
    sessions, life = Sessions(TIMEOUT_MS), Life(1, 100)
    sessions.heard(alive(), *life, 0)
    sessions.note(told(life, 5, stops=True))
    assert not sessions.is_valid(life, 0)
    assert sessions.due_ms() is None


def test_the_offset_of_a_shutdown_is_fixed_once() -> None:
    sessions, life = Sessions(TIMEOUT_MS), Life(1, 100)
    assert sessions.shutdown_offset(life) is None
    sessions.note(told(life, 5, shutdown=40))
    sessions.note(told(life, 6, shutdown=50))
    assert sessions.shutdown_offset(life) == 40
    assert sessions.shutdown_offset(Life(1, 101)) is None


def test_how_far_all_have_read_is_asked_of_active_brokers_alone() -> None:
    sessions = Sessions(TIMEOUT_MS)
    state = cluster(broker(1), broker(2), broker(3, fenced=True), broker(4, stopping=True))
    brokers = state.image.cluster.brokers
    for who, offset in ((1, 70), (3, 1), (4, 2)):
        sessions.note(told(Life(who, who * 100), offset))
    assert sessions.lowest_active_offset(brokers) == -1
    sessions.note(told(Life(2, 200), 60))
    assert sessions.lowest_active_offset(brokers) == 60
    assert sessions.lowest_active_offset({3: brokers[3]}) is None
    assert life_of(brokers[3]) == Life(3, 300)


@given(st.lists(st.tuples(st.integers(0, 4_000), st.integers(1, 3)), max_size=30))
def test_the_next_session_to_end_is_the_one_that_looking_at_all_would_find(
    heard: list[tuple[int, int]],
) -> None:
    sessions, state, now_ms = Sessions(TIMEOUT_MS), alive(), 0
    last: dict[Life, int] = {}
    for later_ms, who in heard:
        now_ms += later_ms
        sessions.heard(state, who, who * 100, now_ms)
        last[Life(who, who * 100)] = now_ms
        oldest = min(last.values())
        assert sessions.due_ms() == oldest + TIMEOUT_MS + 1
        found = sessions.expired(now_ms)
        assert (found is not None) == (now_ms - oldest > TIMEOUT_MS)
        assert found is None or last[found] == oldest
