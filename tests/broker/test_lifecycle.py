"""A broker's life, told as stories and then attacked at random."""

from dataclasses import replace

import pytest

from barnabas.broker.lifecycle import (
    CATCH_UP_MS,
    LEAVE_MS,
    NEXT,
    NUMBERS,
    RETRY_MS,
    Became,
    Denied,
    DirectoryFailed,
    DrawIncarnation,
    Effect,
    GivenEpoch,
    Gone,
    Heartbeat,
    HeartbeatTaken,
    IncarnationDrawn,
    Lifecycle,
    Note,
    PendingControlledShutdown,
    Recovery,
    Register,
    Registered,
    Running,
    SetTimer,
    ShuttingDown,
    Started,
    Starting,
    StopAsked,
    StorageReady,
    TimerFired,
    Unanswered,
)
from barnabas.metadata.levels import CORDONED_DIRECTORIES, DIRECTORIES
from barnabas.model.errors import ErrorCode
from tests.broker.kit import (
    CATCHING_UP,
    CAUGHT_UP,
    CONFIG,
    EPOCH,
    LET_GO,
    OURS,
    UNFENCED,
    A,
    B,
    applied,
    beating,
    catching_up,
    recovering,
    registered,
    running,
    starting,
    uuid,
)

INTERVAL_MS = CONFIG.heartbeat_interval_ms
FIRST = Register(OURS, previous_epoch=-1, directories=(A, B))


def asked(effects: list[Effect]) -> Register | Heartbeat | None:
    """Return what is asked, if anything is."""
    requests = [each for each in effects if isinstance(each, Register | Heartbeat)]
    assert len(requests) <= 1
    return requests[0] if requests else None


def heartbeat(effects: list[Effect]) -> Heartbeat:
    """Return the heartbeat among some effects."""
    found = asked(effects)
    assert isinstance(found, Heartbeat), effects
    return found


def ending(broker: Lifecycle) -> str:
    """Return why a broker has ended; nothing if it was asked to."""
    assert isinstance(broker.state, ShuttingDown), broker.state
    return broker.state.failure


def notes(effects: list[Effect]) -> str:
    """Return what an operator is told."""
    return " ".join(each.text for each in effects if isinstance(each, Note))


# --- how it begins ---------------------------------------------------------------------------


def test_a_broker_registers_catches_up_recovers_and_runs() -> None:
    broker = Lifecycle(CONFIG, OURS)
    assert broker.step(Started(), now_ms=0) == [Became(Starting()), FIRST, SetTimer(60_000)]
    assert broker.step(GivenEpoch(7), now_ms=5) == [
        Heartbeat(7, metadata_offset=-1, want_fence=True, want_shut_down=False)
    ]
    assert broker.step(CATCHING_UP, now_ms=6) == [SetTimer(2_006)]
    # Nobody asks again and again whether it has arrived: it knows itself.
    assert broker.step(applied(6), now_ms=7) == []
    assert heartbeat(broker.step(applied(7), now_ms=8)).metadata_offset == 7
    assert broker.step(CAUGHT_UP, now_ms=9) == [Became(Recovery()), SetTimer(2_009)]
    ready = heartbeat(broker.step(StorageReady(), now_ms=10))
    assert ready == Heartbeat(7, 7, want_fence=False, want_shut_down=False, cordoned=())
    assert broker.step(UNFENCED, now_ms=11) == [Became(Running()), SetTimer(2_011)]
    assert broker.step(TimerFired(), now_ms=2_011) == [ready]


def test_the_epoch_of_a_clean_life_is_shown_when_it_registers() -> None:
    config = replace(CONFIG, previous_epoch=41)
    effects = Lifecycle(config, OURS).step(Started(), now_ms=0)
    assert asked(effects) == Register(OURS, 41, (A, B))


def test_it_stays_fenced_by_its_own_wish_until_its_storage_is_ready() -> None:
    broker = recovering()
    assert heartbeat(broker.step(TimerFired(), now_ms=2_000)).want_fence
    # Whatever the controller says: nobody has asked it to let us in.
    broker.step(UNFENCED, now_ms=2_001)
    assert broker.state == Recovery()


def test_a_controller_with_a_later_registration_in_mind_is_asked_again_soon() -> None:
    # The first attempt was registered, its answer lost; the second amended it, further on.
    broker = catching_up()
    broker.step(applied(EPOCH), now_ms=0)
    heartbeat(broker.step(CATCHING_UP, now_ms=0))
    assert broker.step(CATCHING_UP, now_ms=0) == [SetTimer(CATCH_UP_MS)]


def test_metadata_may_be_ahead_of_the_answer_to_the_registration() -> None:
    broker = starting()
    broker.step(applied(EPOCH + 5, registered(fenced=True)), now_ms=0)
    assert heartbeat(broker.step(GivenEpoch(EPOCH), now_ms=1)).metadata_offset == EPOCH + 5
    assert broker.step(CAUGHT_UP, now_ms=2)[0] == Became(Recovery())


def test_earlier_lives_in_the_metadata_say_nothing() -> None:
    broker = starting()
    broker.step(applied(3, registered(3, uuid("x"))), now_ms=0)
    broker.step(GivenEpoch(EPOCH), now_ms=1)
    assert broker.step(applied(4, registered(4, uuid("y"))), now_ms=2) == []
    assert broker.standing == Registered(OURS, EPOCH)


# --- what keeps it from beginning ------------------------------------------------------------


def test_a_refused_registration_is_tried_again_with_the_same_incarnation() -> None:
    broker = starting()
    effects = broker.step(Denied(ErrorCode.DUPLICATE_BROKER_REGISTRATION), now_ms=10)
    assert "broker.session.timeout.ms" in notes(effects)
    assert effects[-1] == SetTimer(10 + INTERVAL_MS)
    assert asked(broker.step(TimerFired(), now_ms=10 + INTERVAL_MS)) == FIRST
    # The same words are not told twice.
    again = broker.step(Denied(ErrorCode.DUPLICATE_BROKER_REGISTRATION), now_ms=3_000)
    assert not notes(again)
    broker.step(TimerFired(), now_ms=5_000)
    assert "answers, after 2 failures" in notes(broker.step(GivenEpoch(EPOCH), now_ms=5_001))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.DUPLICATE_BROKER_REGISTRATION, "another node.id"),
        (ErrorCode.INCONSISTENT_CLUSTER_ID, "directories are of cluster the-cluster"),
        (ErrorCode.INVALID_REGISTRATION, "/data/a YWFhYWFhYWFhYWFhYWFhYQ, /data/b"),
        (ErrorCode.UNSUPPORTED_VERSION, "metadata.version 7-30"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "CLUSTER_AUTHORIZATION_FAILED"),
    ],
)
def test_what_cannot_register_ends_with_the_reason_when_its_time_is_up_and_not_before(
    error: ErrorCode, told: str
) -> None:
    broker = starting()
    now_ms = 1
    while now_ms < CONFIG.registration_timeout_ms:
        broker.step(Denied(error), now_ms)
        assert broker.state == Starting()
        now_ms += INTERVAL_MS
        broker.step(TimerFired(), min(now_ms, CONFIG.registration_timeout_ms))
    assert "broker 3 could not register within 60000 ms" in ending(broker)
    assert error.name in ending(broker)
    assert told in ending(broker)
    assert broker.step(GivenEpoch(EPOCH), now_ms=70_000) == []


def test_a_broker_that_nobody_answers_ends_too() -> None:
    broker = starting()
    assert broker.step(TimerFired(), now_ms=59_999) == [SetTimer(60_000)]
    broker.step(TimerFired(), now_ms=60_000)
    assert "nobody was asked yet" in ending(broker)


def test_once_registered_nothing_is_too_late() -> None:
    broker = catching_up()
    broker.step(Unanswered("lost"), now_ms=100_000)
    assert broker.state == Starting()


def test_who_is_not_answered_asks_again_soon_and_then_less_and_less_often() -> None:
    broker, now_ms, waits = starting(), 0, []
    for _ in range(8):
        effects = broker.step(Unanswered("refused"), now_ms)
        (timer,) = [each for each in effects if isinstance(each, SetTimer)]
        waits.append(timer.at_ms - now_ms)
        now_ms = timer.at_ms
        broker.step(TimerFired(), now_ms)
    assert waits == [RETRY_MS, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]


def test_a_broker_that_starts_before_there_is_a_leader_tells_nobody_at_first() -> None:
    broker, told = starting(), []
    for attempt in range(4):
        told.append(notes(broker.step(Unanswered("no leader"), now_ms=attempt * 5_000)))
        broker.step(TimerFired(), now_ms=attempt * 5_000 + 4_000)
    assert told == ["", "", "no leader", ""]


def test_a_controller_that_leads_no_more_is_not_asked_for_a_whole_interval() -> None:
    broker = beating()
    effects = broker.step(Denied(ErrorCode.NOT_CONTROLLER), now_ms=2_010)
    assert effects == [SetTimer(2_010 + RETRY_MS)]


# --- one request at a time -------------------------------------------------------------------


def test_what_comes_up_while_a_request_is_in_flight_goes_next() -> None:
    broker = beating()
    effects = broker.step(StopAsked(), now_ms=2_001)
    assert asked(effects) is None
    answered = broker.step(UNFENCED, now_ms=2_002)
    assert heartbeat(answered).want_shut_down


def test_who_was_just_turned_away_asks_nothing_at_once() -> None:
    broker = beating()
    broker.step(StopAsked(), now_ms=2_001)
    effects = broker.step(Denied(ErrorCode.REQUEST_TIMED_OUT), now_ms=2_002)
    assert asked(effects) is None
    assert effects[-1] == SetTimer(2_002 + INTERVAL_MS)


# --- fenced and let in again -----------------------------------------------------------------


def test_a_running_broker_that_is_fenced_asks_to_be_let_in_under_the_same_epoch() -> None:
    broker = running()
    effects = broker.step(applied(20, registered(fenced=True)), now_ms=500)
    assert broker.is_fenced
    assert "fenced" in notes(effects)
    assert heartbeat(effects) == Heartbeat(EPOCH, 20, False, False, cordoned=())
    broker.step(UNFENCED, now_ms=501)
    broker.step(applied(21, registered()), now_ms=502)
    assert not broker.is_fenced
    assert broker.state == Running()


def test_a_stale_epoch_is_told_and_tried_again_until_the_metadata_says_why() -> None:
    broker = beating()
    effects = broker.step(Denied(ErrorCode.STALE_BROKER_EPOCH), now_ms=2_010)
    assert "STALE_BROKER_EPOCH" in notes(effects)
    assert broker.state == Running()
    assert heartbeat(broker.step(TimerFired(), now_ms=4_010)).epoch == EPOCH


def test_a_process_that_took_its_place_ends_it() -> None:
    broker = running()
    broker.step(applied(57, registered(57, uuid("x"))), now_ms=500)
    assert "another process has registered under this node.id with epoch 57" in ending(broker)
    assert "this one had epoch 7" in ending(broker)


def test_one_that_leaves_anyway_is_not_offended_by_its_successor() -> None:
    broker = running()
    broker.step(StopAsked(), now_ms=0)
    broker.step(applied(57, registered(57, uuid("x"))), now_ms=500)
    assert ending(broker) == ""


# --- registering again -----------------------------------------------------------------------


def test_who_was_unregistered_comes_again_as_another_incarnation() -> None:
    broker = running()
    unregistered = replace(applied(20), registration=None)
    effects = broker.step(unregistered, now_ms=500)
    assert DrawIncarnation() in effects
    assert asked(effects) is None
    assert broker.standing == Gone()
    again = broker.step(IncarnationDrawn(uuid("n")), now_ms=500)
    assert asked(again) == Register(uuid("n"), -1, (A, B))
    # A new epoch is fenced until the metadata has reached it, whatever the state.
    assert heartbeat(broker.step(GivenEpoch(22), now_ms=501)).want_fence
    broker.step(CATCHING_UP, now_ms=502)
    arrived = broker.step(applied(22, registered(22, uuid("n"), fenced=True)), now_ms=503)
    assert not heartbeat(arrived).want_fence
    assert broker.state == Running()
    assert broker.last_epoch == 22


def test_the_last_life_is_shown_until_this_one_has_begun_and_never_again() -> None:
    broker = starting(replace(CONFIG, previous_epoch=41))
    broker.step(Unanswered("lost"), now_ms=0)
    assert asked(broker.step(TimerFired(), now_ms=RETRY_MS)) == Register(OURS, 41, (A, B))
    broker.step(GivenEpoch(EPOCH), now_ms=200)
    broker.step(replace(applied(EPOCH + 1), registration=None), now_ms=300)
    broker.step(IncarnationDrawn(uuid("n")), now_ms=300)
    again = broker.step(Denied(ErrorCode.STALE_BROKER_EPOCH), now_ms=301)
    assert asked(again) == Register(uuid("n"), -1, (A, B))


def test_an_answer_about_a_registration_that_is_gone_is_not_heard() -> None:
    broker = beating()
    broker.step(replace(applied(20), registration=None), now_ms=2_001)
    broker.step(IncarnationDrawn(uuid("n")), now_ms=2_001)
    effects = broker.step(Denied(ErrorCode.STALE_BROKER_EPOCH), now_ms=2_002)
    assert asked(effects) == Register(uuid("n"), -1, (A, B))
    assert not notes(effects)


def test_a_second_unregistration_is_noticed_even_if_nobody_saw_what_was_between() -> None:
    broker = running()
    broker.step(replace(applied(20), registration=None), now_ms=0)
    broker.step(IncarnationDrawn(uuid("n")), now_ms=0)
    broker.step(GivenEpoch(22), now_ms=1)
    effects = broker.step(replace(applied(23), registration=None), now_ms=2)
    assert DrawIncarnation() in effects


def test_an_attempt_that_came_late_and_was_registered_is_taken_over() -> None:
    broker = running()
    effects = broker.step(applied(30, registered(30)), now_ms=1)
    assert asked(effects) == FIRST
    broker.step(GivenEpoch(30), now_ms=2)
    assert broker.standing == Registered(OURS, 30)


def test_a_level_that_knows_directories_makes_it_register_again_once() -> None:
    bare = registered(directories=())
    broker = recovering()
    assert asked(broker.step(applied(8, bare, DIRECTORIES - 1), now_ms=0)) is None
    assert asked(broker.step(applied(9, bare, DIRECTORIES), now_ms=1)) == FIRST
    # Its metadata does not show it yet, and that is no reason to do it again.
    assert isinstance(asked(broker.step(GivenEpoch(EPOCH), now_ms=2)), Heartbeat)
    assert broker.step(applied(10, bare, DIRECTORIES), now_ms=3) == []
    broker.step(CAUGHT_UP, now_ms=4)
    assert asked(broker.step(applied(11, registered(), DIRECTORIES), now_ms=5)) is None
    assert broker.standing == Registered(OURS, EPOCH)


def test_who_is_replaced_while_it_amends_notices() -> None:
    broker = recovering()
    broker.step(applied(9, registered(directories=()), DIRECTORIES), now_ms=1)
    broker.step(Denied(ErrorCode.DUPLICATE_BROKER_REGISTRATION), now_ms=2)
    broker.step(applied(57, registered(57, uuid("x"))), now_ms=3)
    assert "another process" in ending(broker)


# --- directories -----------------------------------------------------------------------------


def test_a_failed_directory_is_told_at_once_and_for_ever() -> None:
    broker = running()
    assert heartbeat(broker.step(DirectoryFailed(B), now_ms=100)).offline == (B,)
    assert broker.step(UNFENCED, now_ms=101)[-1] == SetTimer(101 + INTERVAL_MS)
    assert heartbeat(broker.step(TimerFired(), now_ms=2_101)).offline == (B,)
    broker.step(TimerFired(), now_ms=60_000)
    assert broker.state == Running()


def test_a_directory_that_fails_while_a_heartbeat_is_in_flight_is_not_acknowledged_by_it() -> None:
    broker = beating()
    broker.step(DirectoryFailed(B), now_ms=2_001)
    effects = broker.step(UNFENCED, now_ms=2_002)
    assert heartbeat(effects).offline == (B,)
    broker.step(Unanswered("lost"), now_ms=2_003)
    broker.step(TimerFired(), now_ms=2_001 + CONFIG.directory_failure_timeout_ms)
    assert "log directory /data/b (YmJiYmJiYmJiYmJiYmJiYg) failed" in ending(broker)


def test_a_directory_that_nobody_can_be_told_of_ends_the_broker() -> None:
    broker = running()
    broker.step(DirectoryFailed(A), now_ms=100)
    broker.step(Denied(ErrorCode.STALE_BROKER_EPOCH), now_ms=101)
    broker.step(TimerFired(), now_ms=30_099)
    assert broker.state == Running()
    broker.step(TimerFired(), now_ms=30_100)
    assert "log.dir.failure.timeout.ms" in ending(broker)


def test_without_a_directory_there_is_no_broker() -> None:
    broker = running()
    broker.step(DirectoryFailed(A), now_ms=100)
    broker.step(DirectoryFailed(A), now_ms=100)
    assert broker.state == Running()
    broker.step(DirectoryFailed(B), now_ms=101)
    assert "every log directory has failed" in ending(broker)


def test_a_directory_stays_registered_until_the_controller_knows_that_it_failed() -> None:
    bare = registered(directories=())
    broker = recovering()
    broker.step(DirectoryFailed(B), now_ms=0)
    broker.step(applied(9, bare, DIRECTORIES), now_ms=1)
    effects = broker.step(Unanswered("lost"), now_ms=2)
    assert effects[-1] == SetTimer(2 + RETRY_MS)
    assert asked(broker.step(TimerFired(), now_ms=102)) == FIRST
    broker.step(GivenEpoch(EPOCH), now_ms=103)
    broker.step(CAUGHT_UP, now_ms=104)
    again = broker.step(applied(10, replace(bare, fenced=True), DIRECTORIES), now_ms=105)
    assert asked(again) == Register(OURS, -1, (A,))


def test_cordons_are_told_when_the_cluster_knows_of_them_and_whenever_they_change() -> None:
    broker = running()
    old = replace(applied(8, registered(), CORDONED_DIRECTORIES - 1), cordoned=(A,))
    assert heartbeat(broker.step(old, now_ms=0)).cordoned is None
    broker.step(UNFENCED, now_ms=1)
    known = replace(applied(9, registered(), CORDONED_DIRECTORIES), cordoned=(A,))
    assert broker.step(known, now_ms=2) == []
    assert heartbeat(broker.step(TimerFired(), now_ms=2_001)).cordoned == (A,)
    broker.step(UNFENCED, now_ms=2_002)
    lifted = applied(10, registered(), CORDONED_DIRECTORIES)
    assert heartbeat(broker.step(lifted, now_ms=2_003)).cordoned == ()


# --- how it ends -----------------------------------------------------------------------------


def test_a_running_broker_leaves_when_the_controller_lets_it_go() -> None:
    broker = running()
    effects = broker.step(StopAsked(), now_ms=0)
    assert effects[0] == Became(PendingControlledShutdown(until_ms=300_000))
    assert heartbeat(effects).want_shut_down
    assert not heartbeat(effects).want_fence
    assert broker.step(UNFENCED, now_ms=1) == [SetTimer(1 + LEAVE_MS)]
    assert heartbeat(broker.step(TimerFired(), now_ms=1 + LEAVE_MS)).want_shut_down
    assert broker.step(UNFENCED, now_ms=60) == [SetTimer(60 + INTERVAL_MS)]
    broker.step(TimerFired(), now_ms=60 + INTERVAL_MS)
    assert broker.step(LET_GO, now_ms=3_000) == [Became(ShuttingDown())]
    assert broker.step(TimerFired(), now_ms=9_000) == []


def test_while_it_leaves_it_goes_on_obeying_the_metadata() -> None:
    broker = running()
    broker.step(StopAsked(), now_ms=0)
    broker.step(applied(20, registered()), now_ms=1)
    broker.step(UNFENCED, now_ms=2)
    assert heartbeat(broker.step(TimerFired(), now_ms=60)).metadata_offset == 20


def test_permission_to_go_that_was_not_asked_for_is_none() -> None:
    broker = beating()
    broker.step(StopAsked(), now_ms=2_001)
    effects = broker.step(LET_GO, now_ms=2_002)
    assert isinstance(broker.state, PendingControlledShutdown)
    assert heartbeat(effects).want_shut_down


def test_a_broker_that_is_not_let_go_leaves_when_its_time_is_up() -> None:
    broker = running()
    broker.step(StopAsked(), now_ms=0)
    broker.step(Unanswered("no leader"), now_ms=1)
    effects = broker.step(TimerFired(), now_ms=300_000)
    assert "has not let go within 300000 ms, leaving all the same: no leader" in notes(effects)
    assert ending(broker) == ""


@pytest.mark.parametrize("state", [starting, catching_up, recovering])
def test_a_broker_that_never_ran_stops_at_once(state: type[Lifecycle]) -> None:
    broker = state()  # type: ignore[call-arg]  # -- functions that return one
    assert broker.step(StopAsked(), now_ms=1) == [Became(ShuttingDown())]


def test_one_that_is_not_to_shut_down_in_a_controlled_way_does_not() -> None:
    broker = running(replace(CONFIG, controlled_shutdown=False))
    assert broker.step(StopAsked(), now_ms=1) == [Became(ShuttingDown())]


def test_who_is_unregistered_while_it_leaves_need_not_wait() -> None:
    broker = running()
    broker.step(StopAsked(), now_ms=0)
    broker.step(replace(applied(20), registration=None), now_ms=1)
    assert ending(broker) == ""


def test_being_asked_to_stop_twice_is_being_asked_once() -> None:
    broker = running()
    broker.step(StopAsked(), now_ms=0)
    assert broker.step(StopAsked(), now_ms=1) == []


# --- what it never does ----------------------------------------------------------------------


def test_states_have_kafkas_numbers_and_go_only_forward() -> None:
    assert NUMBERS.keys() == NEXT.keys()
    assert all(NUMBERS[after] > NUMBERS[state] for state in NEXT for after in NEXT[state])


def test_what_cannot_be_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="answers nothing"):
        running().step(UNFENCED, now_ms=0)
    with pytest.raises(AssertionError, match="does not answer"):
        starting().step(HeartbeatTaken(True, False, False), now_ms=0)
    with pytest.raises(AssertionError, match="cannot happen to a broker that is"):
        running().step(Started(), now_ms=0)
    with pytest.raises(AssertionError, match="storage is ready"):
        starting().step(StorageReady(), now_ms=0)
    with pytest.raises(AssertionError, match="is not ours"):
        running().step(DirectoryFailed(uuid("x")), now_ms=0)
