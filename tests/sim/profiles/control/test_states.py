"""The oracles of single states and steps see what they are there for."""

from typing import Any  # Any: fields of messages

import pytest

from barnabas.controller.state import ControllerState
from barnabas.metadata.topics import MIGRATING
from barnabas.sim.profiles.control.states import (
    Situation,
    Step,
    check_b06,
    check_state,
    check_step,
    naive_index,
    told_index,
)
from barnabas.sim.world import Violation
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from tests.controller.kit import TOPIC, broker, cluster, partition

BROKERS = (broker(1), broker(2), broker(3))


def situation(state: ControllerState) -> Situation:
    """Return what the oracles see of a state."""
    return Situation(state.image, {})


def change(**said: Any) -> PartitionChangeRecord:  # noqa: ANN401 -- fields
    """Return a change of the only partition."""
    return PartitionChangeRecord(topic_id=TOPIC, partition_id=0, **said)


def oracle_of(state: ControllerState) -> str:
    """Return who complains of a state."""
    with pytest.raises(Violation) as found:
        check_state(situation(state))
    return found.value.oracle


def oracle_after(before: ControllerState, record: PartitionChangeRecord) -> str:
    """Return who complains of a step."""
    step = Step(situation(before), situation(before.apply([record])), [record])
    with pytest.raises(Violation) as found:
        check_step(step)
    return found.value.oracle


def test_a_good_state_is_passed_over_and_its_index_is_what_it_looks_like() -> None:
    state = cluster(*BROKERS, partition(0, [1, 2, 3]))
    check_state(situation(state))
    assert told_index(state.index) == naive_index(state.image)


def test_each_bad_state_is_somebodys() -> None:
    fenced = (broker(1), broker(2, fenced=True), broker(3))
    assert oracle_of(cluster(*fenced, partition(0, [1, 2, 3]))) == "C-06"
    assert oracle_of(cluster(*BROKERS, partition(0, [1, 2], isr=[1, 3]))) == "C-07"
    assert oracle_of(cluster(*BROKERS, partition(0, [1, 2], isr=[1, 2], elr=[2]))) == "C-07"
    assert oracle_of(cluster(broker(1), broker(1), partition(0, [1], isr=[], leader=1))) == "C-07"


def test_each_bad_step_is_somebodys() -> None:
    nowhere = [MIGRATING] * 3
    before = cluster(*BROKERS, partition(0, [1, 2, 3], directories=nowhere))
    assert oracle_after(before, change(replicas=[1, 2], isr=[1, 2])) == "C-10"
    small = cluster(*BROKERS, partition(0, [1, 2, 3], isr=[1, 2]))
    assert oracle_after(small, change(leader=3, isr=[3])) == "C-12"
    moving = cluster(
        *BROKERS,
        partition(0, [3, 1, 2], isr=[1, 2], adding=[3], removing=[2], directories=nowhere),
    )
    done = change(replicas=[3, 1], isr=[1], adding_replicas=[], removing_replicas=[], leader=1)
    assert oracle_after(moving, done) == "C-14"


def test_who_may_have_lost_what_it_had_is_nowhere_in_sync() -> None:
    state = cluster(*BROKERS, partition(0, [1, 2], isr=[1]))
    check_b06(state.image, 2)
    with pytest.raises(Violation, match="B-06"):
        check_b06(state.image, 1)
