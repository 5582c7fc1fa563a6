"""A controller makes itself known: once, again if it is forgotten, patiently if it is refused."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.presence import (
    RETRY_MS_MAX,
    Answered,
    Asking,
    Event,
    Idle,
    Note,
    Pausing,
    Presence,
    Register,
    SetTimer,
    TimerFired,
    Told,
    Unanswered,
)
from barnabas.metadata.cluster import ControllerRegistration
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid

ME, OTHER = Uuid(bytes(15) + b"\1"), Uuid(bytes(15) + b"\2")
LEVEL = 15


def registration(incarnation_id: Uuid) -> ControllerRegistration:
    """Return a registration of some life."""
    return ControllerRegistration(1, incarnation_id, {}, {})


def test_it_registers_when_the_level_has_words_for_it() -> None:
    presence = Presence(ME)
    assert presence.step(Told(None, None)) == []
    assert presence.step(Told(LEVEL - 1, None)) == []
    assert presence.step(Told(LEVEL, None)) == [Register()]
    assert presence.step(Answered(ErrorCode.NONE)) == [Note("registration acknowledged")]
    assert presence.state == Idle()
    assert presence.step(Told(LEVEL, registration(ME))) == [Note("registered")]
    assert presence.step(Told(LEVEL + 1, registration(ME))) == []


def test_an_acknowledged_request_is_not_asked_again_until_the_log_speaks() -> None:
    presence = Presence(ME)
    presence.step(Told(LEVEL, None))
    presence.step(Answered(ErrorCode.NONE))
    assert not presence.is_registered
    assert presence.step(Told(LEVEL, registration(OTHER))) == [Register()]


def test_one_whose_registration_is_replaced_or_gone_registers_anew() -> None:
    for after, said in ((registration(OTHER), "another life is registered"), (None, "gone")):
        presence = Presence(ME)
        presence.step(Told(LEVEL, registration(ME)))
        [note, asked] = presence.step(Told(LEVEL, after))
        assert isinstance(note, Note)
        assert said in note.text
        assert asked == Register()


def test_a_failure_is_tried_again_later_each_time_and_within_bounds() -> None:
    presence = Presence(ME)
    presence.step(Told(LEVEL, None))
    waits = []
    for _ in range(20):
        [_, timer] = presence.step(Unanswered("nobody leads"))
        assert isinstance(timer, SetTimer)
        waits.append(timer.after_ms)
        assert presence.state == Pausing()
        assert presence.step(TimerFired()) == [Register()]
    assert waits[:4] == [100, 200, 400, 800]
    assert max(waits) == RETRY_MS_MAX
    presence.step(Answered(ErrorCode.NONE))
    presence.step(Told(LEVEL, None))
    [_, timer] = presence.step(Answered(ErrorCode.NOT_CONTROLLER))
    assert timer == SetTimer(100)


def test_what_was_registered_meanwhile_is_not_asked_for() -> None:
    presence = Presence(ME)
    presence.step(Told(LEVEL, None))
    presence.step(Answered(ErrorCode.UNSUPPORTED_VERSION, "too new"))
    presence.step(Told(LEVEL, registration(ME)))
    assert presence.step(TimerFired()) == []
    assert presence.state == Idle()


@given(st.lists(st.sampled_from(["none", "me", "other", "old", "ok", "refused", "lost", "timer"])))
def test_there_is_one_request_at_a_time_and_none_while_registered(words: list[str]) -> None:
    presence, asking = Presence(ME), False
    events: dict[str, Event] = {
        "none": Told(LEVEL, None),
        "me": Told(LEVEL, registration(ME)),
        "other": Told(LEVEL, registration(OTHER)),
        "old": Told(LEVEL - 1, None),
        "ok": Answered(ErrorCode.NONE),
        "refused": Answered(ErrorCode.NOT_CONTROLLER),
        "lost": Unanswered("cut"),
        "timer": TimerFired(),
    }
    for word in words:
        # An answer comes to a question, and a timer fires when it was set.
        if word in ("ok", "refused", "lost") and not asking:
            continue
        if word == "timer" and presence.state != Pausing():
            continue
        effects = presence.step(events[word])
        asking = isinstance(presence.state, Asking)
        if Register() in effects:
            assert asking
            assert not presence.is_registered
        assert effects.count(Register()) <= 1
