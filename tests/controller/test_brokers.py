"""Brokers join, serve, stop and are fenced; zombies are told that they are."""

from dataclasses import replace
from typing import Any

import pytest

from barnabas.controller.brokers import (
    Answered,
    Joining,
    fence,
    heartbeat,
    register,
    register_controller,
    unregister,
)
from barnabas.controller.heartbeats import Life, Sessions
from barnabas.controller.state import ControllerState
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.sim.profiles.control.states import Situation, check_b06, check_state
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Message
from tests.controller.kit import (
    CONFIG,
    broker,
    cluster,
    directory,
    incarnation,
    partition,
    registered,
)

CLUSTER = "the cluster"
JOINING = Joining(CLUSTER, kraft_version=1, version=4, now_ms=1_000)
NEXT = 5_000


def joining(broker_id: int = 1, life: int = 1, **said: object) -> BrokerRegistrationRequest:
    """Return a request to join."""
    told: dict[str, Any] = {
        "cluster_id": CLUSTER,
        "incarnation_id": incarnation(broker_id, life),
        "listeners": [listener()],
        "features": [
            feature("metadata.version", 7, 31),
            feature("kraft.version", 0, 1),
            feature("eligible.leader.replicas.version", 0, 1),
        ],
        "log_dirs": [directory(broker_id)],
        "rack": "a",
    }
    told.update(said)
    return BrokerRegistrationRequest(broker_id=broker_id, **told)


def listener(**said: object) -> BrokerRegistrationRequest.Listener:
    """Return a listener."""
    told: dict[str, Any] = {"name": "PLAINTEXT", "host": "b", "port": 9092, "security_protocol": 0}
    told.update(said)
    return BrokerRegistrationRequest.Listener(**told)


def feature(name: str, least: int, most: int) -> BrokerRegistrationRequest.Feature:
    """Return a feature that a broker can work with."""
    return BrokerRegistrationRequest.Feature(
        name=name, min_supported_version=least, max_supported_version=most
    )


def joined(
    state: ControllerState,
    request: BrokerRegistrationRequest,
    how: Joining = JOINING,
    sessions: Sessions | None = None,
) -> tuple[ControllerState, int]:
    """Let a broker join; return the state afterwards, and its epoch."""
    sessions = sessions or Sessions(9_000)
    decision = register(state, NEXT, CONFIG, sessions, how, request)
    assert isinstance(decision.reply, BrokerRegistrationResponse), decision.reply
    after = state.apply(decision.records)
    check_state(Situation(after.image, {}))
    record = decision.records[-1]
    assert isinstance(record, RegisterBrokerRecord)
    return after, decision.reply.broker_epoch


def refusal(
    state: ControllerState,
    request: BrokerRegistrationRequest,
    how: Joining = JOINING,
    sessions: Sessions | None = None,
) -> Refused:
    """Return why a broker may not join."""
    decision = register(state, NEXT, CONFIG, sessions or Sessions(9_000), how, request)
    assert not decision.records
    assert isinstance(decision.reply, Refused), decision.reply
    assert f"broker {request.broker_id}" in decision.reply.why
    return decision.reply


# --- Registration ---


def test_a_new_broker_is_fenced_and_its_epoch_is_the_offset_of_its_record() -> None:
    state, epoch = joined(cluster(), joining())
    found = state.image.cluster.brokers[1]
    assert epoch == found.epoch == NEXT
    assert found.fenced
    assert (found.rack, found.directories) == ("a", (directory(1),))
    assert found.listeners["PLAINTEXT"].port == 9092


def test_the_epoch_is_the_offset_of_the_registration_even_behind_other_records() -> None:
    state = cluster(broker(1), broker(2), partition(0, [1, 2]), partition(1, [2, 1]))
    after, epoch = joined(state, joining())
    assert epoch == NEXT + 2
    assert registered(after, 0).isr == (2,)
    assert registered(after, 0).leader == 2
    assert registered(after, 1).isr == (2,)


def test_the_same_life_may_register_again_and_stays_what_it_was() -> None:
    sessions, state = Sessions(9_000), cluster(broker(1), partition(0, [1]), min_in_sync=1)
    sessions.heard(state, 1, 100, 1_000)
    after, epoch = joined(state, joining(life=0, rack="b"), sessions=sessions)
    assert epoch == 100
    found = after.image.cluster.brokers[1]
    assert not found.fenced
    assert found.rack == "b"
    assert registered(after) == registered(state)


def test_another_life_waits_until_the_session_of_this_one_is_over() -> None:
    sessions, state = Sessions(9_000), cluster(broker(1))
    sessions.heard(state, 1, 100, 1_000)
    refused = refusal(state, joining(), sessions=sessions)
    assert refused.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    late = replace(JOINING, now_ms=10_001)
    assert joined(state, joining(), late, sessions)[1] == NEXT


def test_a_broker_that_kept_everything_is_eligible_and_any_other_is_not() -> None:
    state = cluster(
        broker(1, fenced=True),
        broker(2, fenced=True),
        partition(0, [1, 2], isr=[], elr=[1, 2], last=[1]),
    )
    clean, _ = joined(state, joining(previous_broker_epoch=100))
    assert registered(clean).elr == (1, 2)
    for request in (joining(), joining(previous_broker_epoch=99)):
        after, _ = joined(state, request)
        assert registered(after).elr == (2,)
        check_b06(after.image, 1)
    old, _ = joined(state, joining(previous_broker_epoch=100), replace(JOINING, version=2))
    assert registered(old).elr == (2,)


def without_elr(*records: Message) -> ControllerState:
    """Return a cluster that remembers no eligible leaders."""
    return cluster(*records, level=22, elr=False, min_in_sync=1)


def test_without_elr_too_who_may_have_lost_data_is_in_sync_no_more() -> None:
    state = without_elr(
        broker(1, fenced=True, level=22),
        broker(2, level=22),
        partition(0, [1, 2], isr=[1], leader=-1, level=22),
    )
    after, _ = joined(state, joining())
    check_b06(after.image, 1)
    assert registered(after).isr == ()
    clean, _ = joined(state, joining(previous_broker_epoch=100))
    assert registered(clean).isr == (1,)
    # A release that cannot tell is believed.
    old, _ = joined(state, joining(), replace(JOINING, version=2))
    assert registered(old).isr == (1,)


def test_directories_that_the_same_life_has_no_more_are_lost() -> None:
    places = [directory(1), directory(1, 1)]
    state = cluster(
        broker(1, directories=2),
        broker(2),
        partition(0, [1, 2], directories=[places[0], directory(2)]),
        partition(1, [1, 2], directories=[places[1], directory(2)]),
    )
    after, _ = joined(state, joining(life=0, log_dirs=places[:1]))
    assert [registered(after, number).isr for number in (0, 1)] == [(1, 2), (2,)]
    assert after.image.cluster.brokers[1].directories == (places[0],)


def test_old_levels_know_of_no_directories() -> None:
    state = cluster(level=16, elr=False)
    after, _ = joined(state, joining(log_dirs=[]))
    assert after.image.cluster.brokers[1].directories == ()


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ({"cluster_id": "other"}, ErrorCode.INCONSISTENT_CLUSTER_ID, "is of cluster 'other'"),
        ({"is_migrating_zk_broker": True}, ErrorCode.BROKER_ID_NOT_REGISTERED, "ZooKeeper"),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION, "no log directory"),
        ({"log_dirs": [ZERO_UUID]}, ErrorCode.INVALID_REGISTRATION, "none may have"),
        ({"log_dirs": [directory(1)] * 2}, ErrorCode.INVALID_REGISTRATION, "of one id"),
        ({"log_dirs": [directory(2)]}, ErrorCode.INVALID_REGISTRATION, "so has 2"),
        ({"listeners": []}, ErrorCode.INVALID_REGISTRATION, "no listener"),
        ({"listeners": [listener()] * 2}, ErrorCode.INVALID_REGISTRATION, "of one name"),
        ({"listeners": [listener(name="")]}, ErrorCode.INVALID_REGISTRATION, "without a name"),
        ({"listeners": [listener(host=" ")]}, ErrorCode.INVALID_REGISTRATION, "a host and"),
        ({"listeners": [listener(port=0)]}, ErrorCode.INVALID_REGISTRATION, "a host and"),
        ({"listeners": [listener(security_protocol=4)]}, ErrorCode.INVALID_REGISTRATION, "4: "),
        ({"features": []}, ErrorCode.INVALID_REGISTRATION, "does not say"),
        (
            {"features": [feature("metadata.version", 7, 29)]},
            ErrorCode.UNSUPPORTED_VERSION,
            "metadata.version 7 to 29, and the cluster is at 30",
        ),
        (
            {"features": [feature("metadata.version", 7, 30)]},
            ErrorCode.UNSUPPORTED_VERSION,
            "eligible.leader.replicas.version 0 to 0, and the cluster is at 1",
        ),
        (
            {"features": [feature("metadata.version", 7, 30), feature("kraft.version", 0, 0)]},
            ErrorCode.UNSUPPORTED_VERSION,
            "kraft.version 0 to 0, and the cluster is at 1",
        ),
        (
            {"features": [feature("metadata.version", 7, 30), feature("what.is.it", 1, 2)]},
            ErrorCode.UNSUPPORTED_VERSION,
            "what.is.it 1 to 2, and the cluster is at 0",
        ),
    ],
)
def test_a_broker_that_does_not_fit_is_told_why(
    said: dict[str, Any], code: ErrorCode, words: str
) -> None:
    refused = refusal(cluster(broker(2)), joining(**said))
    assert refused.code is code
    assert words in refused.why


def test_what_is_wrong_is_told_in_kafkas_order() -> None:
    sessions, state = Sessions(9_000), cluster(broker(1))
    sessions.heard(state, 1, 100, 1_000)
    wrong: dict[str, Any] = dict.fromkeys(("log_dirs", "features", "listeners"), ())
    wrong["is_migrating_zk_broker"] = True
    codes = [
        refusal(state, joining(cluster_id="other", **wrong), sessions=sessions).code,
        refusal(state, joining(**wrong), sessions=sessions).code,
        refusal(state, joining(**wrong)).code,
    ]
    assert codes == [
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        ErrorCode.DUPLICATE_BROKER_REGISTRATION,
        ErrorCode.BROKER_ID_NOT_REGISTERED,
    ]


# --- Heartbeats ---


def beating(broker_id: int = 1, epoch: int = 100, **said: object) -> BrokerHeartbeatRequest:
    """Return a heartbeat."""
    told: dict[str, Any] = {"current_metadata_offset": 1_000}
    told.update(said)
    return BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch, **told)


def beat(
    state: ControllerState, request: BrokerHeartbeatRequest, sessions: Sessions | None = None
) -> tuple[ControllerState, Answered]:
    """Take a heartbeat; return the state afterwards, and the answer."""
    sessions = sessions or Sessions(9_000)
    decision = heartbeat(state, NEXT, CONFIG, sessions, request)
    assert isinstance(decision.reply, Answered), decision.reply
    sessions.note(decision.reply.heartbeat)
    after = state.apply(decision.records)
    check_state(Situation(after.image, {}))
    return after, decision.reply


def answer(told: Answered) -> tuple[bool, bool, bool]:
    """Return what is answered: caught up, fenced, should shut down."""
    found = told.response
    return found.is_caught_up, found.is_fenced, found.should_shut_down


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    state = cluster(broker(1), partition(0, [1]), min_in_sync=1)
    after, told = beat(state, beating())
    assert after.image == state.image
    assert answer(told) == (True, False, False)
    assert told.heartbeat.metadata_offset == 1_000


@pytest.mark.parametrize(
    ("want_fence", "offset", "fenced"), [(False, 100, False), (False, 99, True), (True, 500, True)]
)
def test_a_broker_is_unfenced_when_it_wants_to_and_has_read_its_own_registration(
    want_fence: bool, offset: int, fenced: bool
) -> None:
    state = cluster(
        broker(1, fenced=True), partition(0, [1], isr=[], elr=[1], last=[1]), min_in_sync=1
    )
    request = beating(want_fence=want_fence, current_metadata_offset=offset)
    after, told = beat(state, request)
    assert answer(told) == (offset >= 100, fenced, False)
    assert after.image.cluster.brokers[1].fenced == fenced
    assert registered(after).leader == (-1 if fenced else 1)


def test_a_broker_that_wants_to_be_fenced_is_at_once() -> None:
    state = cluster(broker(1), broker(2), partition(0, [1, 2]))
    after, told = beat(state, beating(want_fence=True))
    assert answer(told) == (True, True, False)
    assert registered(after).leader == 2


def test_a_broker_that_leads_nothing_may_stop_at_once_and_is_fenced() -> None:
    state = cluster(broker(1), broker(2), partition(0, [2, 1]))
    after, told = beat(state, beating(want_shut_down=True))
    assert answer(told) == (True, True, True)
    assert registered(after).isr == (2,)
    again, told = beat(after, beating(want_shut_down=True))
    assert again.image == after.image
    assert answer(told) == (True, True, True)


def test_a_broker_that_leads_stops_when_all_others_know_who_leads_now() -> None:
    state, sessions = cluster(broker(1), broker(2), partition(0, [1, 2])), Sessions(9_000)
    stopping, told = beat(state, beating(want_shut_down=True), sessions)
    assert answer(told) == (True, False, False)
    assert stopping.image.cluster.brokers[1].in_controlled_shutdown
    assert registered(stopping).leader == 2
    # Two records: the offset is that of the last.
    assert sessions.shutdown_offset(Life(1, 100)) == NEXT + 1
    for offset, stops in ((NEXT, False), (NEXT + 1, True)):
        beat(stopping, beating(2, 200, current_metadata_offset=offset), sessions)
        after, told = beat(stopping, beating(want_shut_down=True), sessions)
        assert answer(told) == (True, stops, stops)
        assert after.image.cluster.brokers[1].fenced == stops


def test_after_a_failover_a_stopping_broker_waits_for_an_offset_of_the_new_controller() -> None:
    state = cluster(broker(1, stopping=True), broker(2), partition(0, [2, 1], isr=[2]))
    sessions = Sessions(9_000)
    sessions.activated(state, 0)
    beat(state, beating(2, 200, current_metadata_offset=NEXT - 2), sessions)
    assert answer(beat(state, beating(want_shut_down=True), sessions)[1]) == (True, False, False)
    assert sessions.shutdown_offset(Life(1, 100)) == NEXT - 1
    assert answer(beat(state, beating(want_shut_down=True), sessions)[1]) == (True, False, False)
    beat(state, beating(2, 200, current_metadata_offset=NEXT - 1), sessions)
    assert answer(beat(state, beating(want_shut_down=True), sessions)[1]) == (True, True, True)


def test_a_broker_that_wants_to_be_fenced_and_to_stop_is_and_may() -> None:
    state = cluster(broker(1), broker(2), partition(0, [1, 2]))
    after, told = beat(state, beating(want_fence=True, want_shut_down=True))
    assert answer(told) == (True, True, True)
    assert registered(after).leader == 2


def test_a_directory_that_fails_takes_its_partitions_out_of_sync() -> None:
    places = [directory(1), directory(1, 1)]
    state = cluster(
        broker(1, directories=2),
        broker(2),
        partition(0, [1, 2], directories=[places[0], directory(2)]),
        partition(1, [1, 2], directories=[places[1], directory(2)]),
    )
    after, _ = beat(state, beating(offline_log_dirs=[places[1]]))
    assert [registered(after, number).leader for number in (0, 1)] == [1, 2]
    assert after.image.cluster.brokers[1].directories == (places[0],)
    # Told again, it is no news.
    assert beat(after, beating(offline_log_dirs=[places[1]]))[0].image == after.image


def test_a_broker_without_any_directory_left_is_fenced_and_stays_so() -> None:
    state = cluster(broker(1), broker(2), partition(0, [1, 2]))
    after, told = beat(state, beating(offline_log_dirs=[directory(1)]))
    assert answer(told) == (True, True, False)
    assert registered(after).leader == 2
    assert beat(after, beating(offline_log_dirs=[directory(1)]))[0].image == after.image


def test_who_is_unfenced_leads_nothing_in_a_directory_that_is_offline_now() -> None:
    places = [directory(1), directory(1, 1)]
    state = cluster(
        broker(1, fenced=True, directories=2),
        partition(0, [1], isr=[], elr=[1], last=[1], directories=places[:1]),
        partition(1, [1], isr=[], elr=[1], last=[1], directories=places[1:]),
        min_in_sync=1,
    )
    after, told = beat(state, beating(offline_log_dirs=[places[1]]))
    assert answer(told) == (True, False, False)
    assert [registered(after, number).leader for number in (0, 1)] == [1, -1]


def test_cordoned_directories_are_news_once_and_only_where_the_level_has_them() -> None:
    state = cluster(broker(1))
    assert beat(state, beating(cordoned_log_dirs=None))[0].image == state.image
    after, _ = beat(state, beating(cordoned_log_dirs=[directory(1)]))
    assert after.image.cluster.brokers[1].cordoned_directories == (directory(1),)
    assert beat(after, beating(cordoned_log_dirs=[directory(1)]))[0].image == after.image
    none, _ = beat(after, beating(cordoned_log_dirs=[]))
    assert none.image.cluster.brokers[1].cordoned_directories == ()
    old = cluster(broker(1), level=29)
    assert beat(old, beating(cordoned_log_dirs=[directory(1)]))[0].image == old.image


@pytest.mark.parametrize("epoch", [99, 101])
def test_a_heartbeat_of_another_life_changes_nothing(epoch: int) -> None:
    state = cluster(broker(1), partition(0, [1]), min_in_sync=1)
    for request in (beating(1, epoch, want_fence=True), beating(7, epoch)):
        decision = heartbeat(state, NEXT, CONFIG, Sessions(9_000), request)
        assert not decision.records
        assert isinstance(decision.reply, Refused)
        assert decision.reply.code is ErrorCode.STALE_BROKER_EPOCH


def test_records_of_heartbeats_can_be_written_at_every_level() -> None:
    for level, version in ((7, 1), (17, 2), (30, 3)):
        state = cluster(broker(1, level=level), level=level)
        decision = heartbeat(state, NEXT, CONFIG, Sessions(9_000), beating(want_fence=True))
        [record] = decision.records
        assert decode_record(state.encode(record)) == (record, version)


# --- Fencing, and leaving for good ---


def test_a_life_whose_session_is_over_is_fenced_once() -> None:
    state = cluster(broker(1), broker(2), partition(0, [1, 2]))
    decision = fence(state, CONFIG, Life(1, 100))
    assert decision.reply
    partition_change, broker_change = decision.records
    assert isinstance(partition_change, PartitionChangeRecord)
    assert broker_change == BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=100, fenced=1)
    after = state.apply(decision.records)
    for life in (Life(1, 100), Life(1, 99), Life(7, 700)):
        assert fence(after, CONFIG, life) == Decision((), reply=False)


def test_a_broker_that_is_forgotten_leads_nothing_and_stays_eligible() -> None:
    state = cluster(broker(1), broker(2), partition(0, [1, 2]))
    decision = unregister(state, CONFIG, UnregisterBrokerRequest(broker_id=1))
    assert decision.reply.error_code == ErrorCode.NONE
    assert decision.records[-1] == UnregisterBrokerRecord(broker_id=1, broker_epoch=100)
    after = state.apply(decision.records)
    check_state(Situation(after.image, {}))
    assert (registered(after).leader, registered(after).elr) == (2, (1,))
    again = unregister(after, CONFIG, UnregisterBrokerRequest(broker_id=1))
    assert again.reply.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert again.reply.error_message == "broker 1 is not registered"


def test_a_broker_that_comes_back_after_it_was_forgotten_is_not_eligible() -> None:
    state = cluster(broker(2), partition(0, [1, 2], isr=[2], elr=[1]))
    after, _ = joined(state, joining(previous_broker_epoch=100))
    check_b06(after.image, 1)


# --- Controllers ---


def controlling(**said: object) -> ControllerRegistrationRequest:
    """Return the registration of a controller."""
    told: dict[str, Any] = {
        "controller_id": 3000,
        "incarnation_id": Uuid(b"c" * 16),
        "listeners": [
            ControllerRegistrationRequest.Listener(
                name="CONTROLLER", host="c", port=9093, security_protocol=0
            )
        ],
        "features": [
            ControllerRegistrationRequest.Feature(
                name="kraft.version", min_supported_version=0, max_supported_version=1
            )
        ],
    }
    told.update(said)
    return ControllerRegistrationRequest(**told)


def test_a_controller_registers_where_it_is_and_what_it_can() -> None:
    state = cluster()
    decision = register_controller(state, controlling())
    assert decision.reply.error_code == ErrorCode.NONE
    after = state.apply(decision.records)
    found = after.image.cluster.controllers[3000]
    assert found.listeners["CONTROLLER"].port == 9093
    assert found.supported_features == {"kraft.version": (0, 1)}
    assert not register_controller(after, controlling()).records
    assert register_controller(after, controlling(incarnation_id=Uuid(b"d" * 16))).records


def test_controllers_register_only_where_the_level_has_words_for_it() -> None:
    old = register_controller(cluster(level=14, elr=False), controlling())
    assert old.reply.error_code == ErrorCode.UNSUPPORTED_VERSION
    nowhere = register_controller(cluster(), controlling(listeners=[]))
    assert nowhere.reply.error_code == ErrorCode.INVALID_REGISTRATION
    assert "controller 3000 has no listener" in str(nowhere.reply.error_message)
    assert not old.records
    assert not nowhere.records


def test_levels_that_nobody_uses_do_not_keep_a_broker_out() -> None:
    state = cluster().apply([FeatureLevelRecord(name="group.version", feature_level=0)])
    assert joined(state, joining())[1] == NEXT
