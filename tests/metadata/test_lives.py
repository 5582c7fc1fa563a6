"""The lives of brokers, from a registration to the next."""

import pytest

from barnabas.metadata.faults import Unfoldable
from barnabas.metadata.lives import Life, lives
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from tests.metadata.stories import ABORT, BEGIN, END, Story, registered, standing, started, uuid


def told(story: Story, broker: int) -> list[tuple[int, str, list[str]]]:
    """Return the lives of a broker: epoch, standing, and what was said."""
    return [
        (life.registration.epoch, life.standing, [event.what for event in life.events])
        for life in lives(story)
        if life.registration.id == broker
    ]


def test_a_broker_registers_and_is_unfenced_when_it_has_caught_up() -> None:
    story, epochs = started()
    assert told(story, 1) == [(epochs[1], "active", ["registered", "unfenced"])]
    [one, two, three] = lives(story)
    assert [life.registration.id for life in (one, two, three)] == [1, 2, 3]
    assert one.events[0].words.startswith("registered as incarnation ")
    assert one.events[0].words.endswith(", fenced")
    assert (one.events[0].offset, one.events[0].epoch) == (epochs[1], 2)


def test_a_broker_whose_heartbeats_stay_away_is_fenced_and_may_come_back() -> None:
    story, epochs = started()
    story.say(standing(1, epochs[1], fenced=1))
    assert told(story, 1) == [(epochs[1], "fenced", ["registered", "unfenced", "fenced"])]
    story.say(UnfenceBrokerRecord(id=1, epoch=epochs[1]))
    story.say(FenceBrokerRecord(id=1, epoch=epochs[1]))
    assert told(story, 1)[0][2][3:] == ["unfenced", "fenced"]


def test_a_broker_that_stops_is_drained() -> None:
    story, epochs = started()
    story.say(standing(2, epochs[2], in_controlled_shutdown=1))
    assert told(story, 2)[0][1] == "stopping"
    story.say(standing(2, epochs[2], fenced=1))
    assert told(story, 2)[0][1:] == ("drained", ["registered", "unfenced", "stopping", "drained"])


def test_who_is_fenced_already_is_fenced_again() -> None:
    # Kafka's controller does that to a broker that was drained, before it comes back.
    story, epochs = started()
    story.say(standing(2, epochs[2], in_controlled_shutdown=1))
    story.say(standing(2, epochs[2], fenced=1))
    story.say(standing(2, epochs[2], fenced=1))
    words = [event.words for event in lives(story)[1].events[2:]]
    assert words == ["began its controlled shutdown", "fenced, drained", "fenced again"]


def test_another_life_replaces_the_one_before() -> None:
    story, epochs = started()
    epoch = story.say(registered(1, story.end_offset, incarnation=7))
    assert told(story, 1) == [
        (epochs[1], "replaced", ["registered", "unfenced", "replaced"]),
        (epoch, "fenced", ["registered"]),
    ]
    first = lives(story)[0]
    assert first.events[-1].words == f"replaced by the life of epoch {epoch}"
    assert first.events[-1].offset == epoch


def test_who_registers_again_in_the_same_epoch_goes_on_living() -> None:
    story, epochs = started()
    story.say(registered(1, epochs[1], fenced=False))
    assert told(story, 1) == [(epochs[1], "active", ["registered", "unfenced", "registeredAgain"])]


def test_an_unregistered_broker_has_lived() -> None:
    story, epochs = started()
    story.say(UnregisterBrokerRecord(broker_id=3, broker_epoch=epochs[3]))
    story.say(UnregisterBrokerRecord(broker_id=9, broker_epoch=1))
    assert told(story, 3) == [
        (epochs[3], "unregistered", ["registered", "unfenced", "unregistered"])
    ]
    assert told(story, 9) == []


def test_directories_that_are_lost_found_or_cordoned_are_told() -> None:
    story, epochs = started()
    story.say(standing(1, epochs[1], log_dirs=(uuid(10),)))
    story.say(standing(1, epochs[1], cordoned_log_dirs=(uuid(10),)))
    story.say(standing(1, epochs[1], log_dirs=(uuid(10),), cordoned_log_dirs=(uuid(10),)))
    events = lives(story)[0].events[2:]
    assert [event.words for event in events] == [
        "1 log directories online, 2 before",
        "1 log directories cordoned",
    ]


def test_an_aborted_transaction_is_no_part_of_any_life() -> None:
    story, epochs = started()
    story.say(BEGIN, standing(1, epochs[1], fenced=1), ABORT)
    story.say(BEGIN, standing(2, epochs[2], fenced=1), END)
    assert told(story, 1)[0][1] == "active"
    assert told(story, 2)[0][1] == "fenced"


def test_a_life_that_began_before_the_snapshot_was_found_in_it() -> None:
    story, epochs = started()
    story.say(standing(1, epochs[1], in_controlled_shutdown=1))
    base = story.remember()
    story.say(standing(1, epochs[1], fenced=1))
    story.forget(base.end_offset)
    found: list[Life] = lives(story)
    assert found[0].registration.epoch == epochs[1]
    words = [event.words for event in found[0].events]
    assert words == ["in the snapshot: stopping", "fenced, drained"]
    assert found[0].events[0].offset == base.last_offset


def test_a_change_of_a_life_that_is_over_is_named() -> None:
    story, epochs = started()
    offset = story.say(standing(1, epochs[1] + 1, fenced=1))
    with pytest.raises(Unfoldable, match=f"offset {offset}: BrokerRegistrationChangeRecord"):
        lives(story)
