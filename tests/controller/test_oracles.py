"""Every oracle bites: here is what each complains of."""

import pytest

from barnabas.controller.state import ControllerState
from barnabas.sim.profiles.control.states import Situation, Step, check_b06, check_state, check_step
from barnabas.sim.world import Violation
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.structs import Message
from tests.controller.kit import (
    TOPIC,
    broker,
    cluster,
    directory,
    incarnation,
    partition,
)

HEALTHY: list[Message] = [broker(1), broker(2), broker(3)]
STRANGE = directory(1, 9)


def world(state: ControllerState) -> Situation:
    """Return what the oracles see."""
    return Situation(state.image, {})


def test_a_good_state_is_passed_over() -> None:
    check_state(world(cluster(*HEALTHY, partition(0, [1, 2, 3]), partition(1, [2, 3], isr=[3]))))
    alone = partition(0, [1, 2], isr=[1], leader=-1, level=22)
    check_state(world(cluster(broker(1, fenced=True), alone, level=22)))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (partition(0, [1, 1]), "C-07: a duplicate"),
        (partition(0, [1, 2], isr=[1, 3]), "C-07: not a replica"),
        (partition(0, [1, 2], adding=[3]), "C-07: not a replica"),
        (partition(0, [1, 2, 3], isr=[1], elr=[1]), "C-07: in sync and eligible"),
        (partition(0, [1, 2], adding=[2], removing=[2]), "C-07: adding and removing"),
        (partition(0, [1, 2], isr=[1], leader=2), "C-07: a leader out of sync"),
        (partition(0, [1, 2, 3], isr=[1, 2], elr=[3]), "C-07: an ELR beside an ISR"),
        (partition(0, [1, 2], last=[2]), "C-09: a leader"),
        (partition(0, [1, 2], recovering=True), "P-12: recovering"),
        (partition(0, [4, 1], isr=[4]), "C-06: cannot lead"),
        (partition(0, [5, 1]), "C-06: cannot lead"),
        (partition(0, [9, 1]), "C-06: cannot lead"),
        (partition(0, [1], directories=[STRANGE]), "C-06: cannot lead"),
        (partition(0, [1, 4]), "C-06: in sync without being active"),
        (partition(0, [1, 2], isr=[1], leader=-1), "PL-7: .1. could lead"),
        (partition(0, [1, 4], isr=[], elr=[1], last=[1]), "PL-7: .1. could lead"),
        (partition(0, [1, 4], isr=[], last=[1]), "PL-7: .1. could lead"),
    ],
)
def test_a_partition_that_no_controller_may_leave_behind_is_noticed(
    record: PartitionRecord, words: str
) -> None:
    others = [broker(4, fenced=True), broker(5, stopping=True)]
    with pytest.raises(Violation, match=words):
        check_state(world(cluster(*HEALTHY, *others, record)))


def test_brokers_that_share_what_is_ones_own_are_noticed() -> None:
    twin = broker(2)
    twin.broker_id = 7  # type: ignore[misc]  # -- a record that no controller writes
    with pytest.raises(Violation, match="B-01"):
        check_state(world(cluster(*HEALTHY, twin)))
    twin.broker_epoch = 1  # type: ignore[misc]  # -- as above
    with pytest.raises(Violation, match="B-14: one directory of two"):
        check_state(world(cluster(*HEALTHY, twin)))


BEFORE = partition(0, [1, 2, 3], isr=[1, 2])


@pytest.mark.parametrize(
    ("before", "said", "words"),
    [
        (BEFORE, {}, "a change of nothing"),
        (BEFORE, {"isr": (1, 2, 3), "leader": 1}, "C-10: leader epoch"),
        (BEFORE, {"isr": (3,), "leader": 3}, "C-12: an unclean election that nobody allowed"),
        (BEFORE, {"isr": (1,)}, "C-08: a replica was forgotten"),
        (BEFORE, {"isr": (1,), "eligible_leader_replicas": (2, 3)}, "C-08: eligible all at once"),
        (
            BEFORE,
            {"isr": (), "leader": -1, "eligible_leader_replicas": (1, 2), "last_known_elr": (2,)},
            "C-09: who led last",
        ),
        (
            partition(0, [1, 2, 3], isr=[1], elr=[2]),
            {"isr": (1, 2), "leader": 2, "eligible_leader_replicas": ()},
            "C-11: from the ELR before the ISR",
        ),
        (
            partition(0, [1, 3, 2], isr=[1, 2], adding=[3], removing=[2], directories=()),
            {"replicas": (1, 3), "isr": (1,), "leader": 1}
            | {"adding_replicas": (), "removing_replicas": ()},
            "C-14: not all that come are in sync",
        ),
        (
            partition(0, [1, 2, 3], isr=[1, 3], removing=[3], directories=()),
            {"replicas": (1, 2), "isr": (1,), "leader": 1, "removing_replicas": ()},
            "C-14: too few are in sync",
        ),
    ],
)
def test_a_change_that_no_controller_may_make_is_noticed(
    before: PartitionRecord, said: dict[str, tuple[int, ...]], words: str
) -> None:
    state = cluster(*HEALTHY, before)
    record = PartitionChangeRecord(topic_id=TOPIC, partition_id=0, **said)  # type: ignore[arg-type]  # -- what each field is told, a case says
    after = state.apply([record])
    with pytest.raises(Violation, match=words):
        check_step(Step(world(state), world(after), [record]))


def test_two_changes_of_one_partition_in_a_decision_are_noticed() -> None:
    state = cluster(*HEALTHY, BEFORE)
    record = PartitionChangeRecord(topic_id=TOPIC, partition_id=0, isr=(1, 2, 3))
    step = Step(world(state), world(state.apply([record] * 2)), [record] * 2)
    with pytest.raises(Violation, match="two changes of one partition"):
        check_step(step)


def test_an_unclean_leader_that_is_allowed_still_has_to_say_so() -> None:
    state = cluster(*HEALTHY, BEFORE, configs={"unclean.leader.election.enable": "true"})
    for isr, words in (((3, 1), "an ISR of others"), ((3,), "not said to recover")):
        record = PartitionChangeRecord(topic_id=TOPIC, partition_id=0, isr=isr, leader=3)
        with pytest.raises(Violation, match=f"C-12: {words}"):
            check_step(Step(world(state), world(state.apply([record])), [record]))


def test_a_life_that_begins_or_changes_as_none_may_is_noticed() -> None:
    state = cluster(*HEALTHY)
    again, early, late = broker(3), broker(7, fenced=True), broker(7, fenced=True)
    again.broker_epoch = 999  # type: ignore[misc]  # -- a record that no controller writes
    early.broker_epoch = 250  # type: ignore[misc]  # -- as above
    other = broker(2)
    other.incarnation_id = incarnation(2, 5)  # type: ignore[misc]  # -- as above
    fencing = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=99, fenced=1)
    cases: list[tuple[Message, str]] = [
        (again, "B-01: another epoch"),
        (early, "B-01: epochs rise"),
        (late, "B-01: not its offset"),
        (other, "B-04: a new life begins fenced"),
        (fencing, "B-03: of another life"),
    ]
    for record, words in cases:
        step = Step(world(state), world(state), [record], offset=5_000)
        with pytest.raises(Violation, match=words):
            check_step(step)


def test_who_may_have_lost_data_is_looked_for_everywhere() -> None:
    records = [partition(0, [1, 2], isr=[1], elr=[2]), partition(1, [3])]
    state = cluster(*HEALTHY, *records)
    for each in (1, 2, 3):
        with pytest.raises(Violation, match="B-06"):
            check_b06(state.image, each)
