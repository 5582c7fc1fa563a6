"""One partition: who leads, who is eligible, what needs an epoch, what is new."""

import pytest

from barnabas.controller.partitions import (
    LOST,
    UNASSIGNED,
    Aim,
    Change,
    Election,
    Leaders,
    Rules,
    decide,
    is_online,
)
from barnabas.controller.state import ControllerState
from barnabas.metadata.topics import MIGRATING, PartitionRegistration
from barnabas.sim.profiles.control.states import Situation, Step, check_state, check_step
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.structs import Message
from tests.controller.kit import TOPIC, broker, cluster, directory, partition, registered

ALL = [broker(each) for each in (1, 2, 3, 4)]
RULES = Rules(30, elr=True, min_in_sync=2)
WITHOUT_ELR = Rules(22, elr=False, min_in_sync=2)


def decided(
    record: PartitionRecord, aim: Aim, rules: Rules = RULES, brokers: list[Message] | None = None
) -> Change | None:
    """Decide about one partition of a cluster, and let the oracles judge."""
    found = brokers if brokers is not None else [*ALL]
    state = cluster(*found, record, level=rules.level, elr=rules.elr, min_in_sync=rules.min_in_sync)
    change = decide(registered(state), aim, rules, Leaders(state.image.cluster.brokers))
    judge(state, aim, change)
    return change


def judge(state: ControllerState, aim: Aim, change: Change | None) -> None:
    """Let the oracles judge a change."""
    if change is None:
        return
    record = change.record(TOPIC, 0)
    after = state.apply([record])
    joined = {(TOPIC, 0): frozenset(aim.isr or ())}
    asked = aim.election is Election.UNCLEAN
    before, later = Situation(state.image, {}), Situation(after.image, {})
    check_state(later)
    check_step(Step(before, later, [record], joined, aim.unclean, asked))


def fenced(*brokers: int) -> list[Message]:
    """Return the brokers of which some are fenced."""
    return [broker(each, fenced=each in brokers) for each in (1, 2, 3, 4)]


def test_a_partition_that_is_as_it_should_be_does_not_change() -> None:
    assert decided(partition(0, [1, 2, 3]), Aim()) is None


def test_the_leader_stays_as_long_as_it_may() -> None:
    assert decided(partition(0, [1, 2, 3], leader=2), Aim(isr=(1, 2, 3))) is None
    change = decided(partition(0, [1, 2, 3], leader=2), Aim(isr=(2, 3)))
    assert change == Change(isr=(2, 3))


def test_the_next_replica_in_sync_leads_in_the_order_of_the_replicas() -> None:
    record = partition(0, [1, 2, 3], isr=[3, 1, 2], leader=1)
    assert decided(record, Aim(isr=(3, 2)), brokers=fenced(1)) == Change(isr=(3, 2), leader=2)


def test_a_preferred_election_prefers_the_first_replica_if_it_is_in_sync() -> None:
    preferred = Aim(election=Election.PREFERRED)
    assert decided(partition(0, [1, 2, 3], leader=2), preferred) == Change(leader=1)
    assert decided(partition(0, [1, 2, 3], isr=[2, 3]), preferred) is None
    record = partition(0, [1, 2, 3], isr=[2, 3], leader=2)
    assert decided(record, preferred, brokers=fenced(1)) is None


def test_a_preferred_election_never_loses_anything() -> None:
    nobody = partition(0, [1, 2], isr=[], elr=[], last=[1])
    assert decided(nobody, Aim(election=Election.PREFERRED)) is None


def test_who_leaves_an_isr_that_is_too_small_is_eligible() -> None:
    record = partition(0, [1, 2, 3], isr=[1, 2])
    change = decided(record, Aim(isr=(2,)), brokers=fenced(1))
    assert change == Change(isr=(2,), leader=2, eligible_leader_replicas=(1,))


def test_who_leaves_an_isr_that_suffices_is_not_eligible() -> None:
    change = decided(partition(0, [1, 2, 3]), Aim(isr=(1, 2)))
    assert change == Change(isr=(1, 2))


def test_nobody_is_eligible_any_more_once_the_isr_suffices() -> None:
    record = partition(0, [1, 2, 3], isr=[1], elr=[3])
    change = decided(record, Aim(isr=(1, 2)))
    assert change == Change(isr=(1, 2), eligible_leader_replicas=())


def test_the_last_to_leave_is_eligible_and_known_to_have_led() -> None:
    record = partition(0, [1, 2, 3], isr=[1], elr=[2])
    change = decided(record, Aim(isr=()), brokers=fenced(1, 2))
    assert change == Change(isr=(), leader=-1, eligible_leader_replicas=(1, 2), last_known_elr=(1,))


def test_an_eligible_replica_leads_once_nobody_is_in_sync() -> None:
    record = partition(0, [1, 2, 3], isr=[], elr=[1, 2], last=[1])
    change = decided(record, Aim(), brokers=fenced(1))
    assert change == Change(isr=(2,), leader=2, eligible_leader_replicas=(1,), last_known_elr=())


def test_an_eligible_winner_that_suffices_alone_leaves_nobody_eligible() -> None:
    record = partition(0, [1, 2, 3], isr=[], elr=[1, 2], last=[1])
    change = decided(record, Aim(), Rules(30, elr=True, min_in_sync=1), fenced(1))
    assert change == Change(isr=(2,), leader=2, eligible_leader_replicas=(), last_known_elr=())


def test_who_may_have_lost_data_is_neither_in_sync_nor_eligible() -> None:
    record = partition(0, [1, 2, 3], isr=[1], elr=[2])
    assert decided(record, Aim(unclean=2)) == Change(eligible_leader_replicas=())
    alone = partition(0, [1, 2, 3], isr=[], elr=[2], last=[1])
    change = decided(alone, Aim(unclean=2), brokers=fenced(1, 2, 3))
    assert change == Change(eligible_leader_replicas=())


def test_the_last_known_leader_leads_alone_and_recovering_if_nobody_else_is_known() -> None:
    record = partition(0, [1, 2, 3], isr=[], elr=[], last=[2])
    change = decided(record, Aim())
    assert change == Change(isr=(2,), leader=2, leader_recovery_state=1, last_known_elr=())


def test_the_last_known_leader_does_not_lead_unless_it_is_there() -> None:
    record = partition(0, [1, 2, 3], isr=[], elr=[], last=[2])
    assert decided(record, Aim(), brokers=fenced(2)) is None


def test_the_last_known_leader_waits_as_long_as_anybody_is_eligible() -> None:
    record = partition(0, [1, 2, 3], isr=[], elr=[3], last=[2])
    assert decided(record, Aim(), brokers=fenced(3)) is None


def test_an_unclean_election_takes_anybody_and_says_so() -> None:
    record = partition(0, [1, 2, 3], isr=[], elr=[3], last=[3])
    change = decided(record, Aim(election=Election.UNCLEAN), brokers=fenced(1, 3))
    assert change == Change(
        isr=(2,), leader=2, leader_recovery_state=1, eligible_leader_replicas=(), last_known_elr=()
    )


def test_an_unclean_election_loses_nothing_where_that_is_possible() -> None:
    record = partition(0, [1, 2, 3], isr=[], elr=[3], last=[3])
    change = decided(record, Aim(election=Election.UNCLEAN))
    assert change == Change(isr=(3,), leader=3, eligible_leader_replicas=(), last_known_elr=())


def test_without_elr_the_last_in_sync_stays_in_the_isr_and_nobody_leads() -> None:
    record = partition(0, [1, 2, 3], isr=[1], level=22)
    assert decided(record, Aim(isr=()), WITHOUT_ELR, fenced(1)) == Change(leader=-1)


def test_without_elr_too_who_may_have_lost_data_leaves_the_isr() -> None:
    record = partition(0, [1, 2], isr=[1], leader=-1, level=22)
    change = decided(record, Aim(unclean=1), WITHOUT_ELR, fenced(1))
    assert change == Change(isr=())


def test_an_only_replica_leads_again_recovering_for_there_is_nobody_to_wait_for() -> None:
    record = partition(0, [1], isr=[], level=22)
    change = decided(record, Aim(), WITHOUT_ELR)
    assert change == Change(isr=(1,), leader=1, leader_recovery_state=1)
    several = partition(0, [1, 2], isr=[], level=22)
    assert decided(several, Aim(), WITHOUT_ELR) is None


def test_an_elr_that_is_in_force_no_more_still_helps_until_somebody_leads() -> None:
    off = Rules(30, elr=False, min_in_sync=2)
    record = partition(0, [1, 2, 3], isr=[], elr=[1, 2], last=[1])
    assert decided(record, Aim(), off, fenced(1, 2, 3)) is None
    change = decided(record, Aim(), off, fenced(1))
    assert change == Change(isr=(2,), leader=2, eligible_leader_replicas=(), last_known_elr=())


def test_who_led_before_there_was_an_elr_is_the_one_that_stayed_in_the_isr() -> None:
    record = partition(0, [1, 2, 3], isr=[1], leader=-1)
    change = decided(record, Aim(unclean=1), brokers=[broker(1, fenced=True)])
    assert change == Change(isr=(), last_known_elr=(1,))


@pytest.mark.parametrize(("level", "leader"), [(11, 1), (12, -2)])
def test_only_old_levels_need_an_epoch_for_a_smaller_isr(level: int, leader: int) -> None:
    rules = Rules(level, elr=False, min_in_sync=1)
    brokers: list[Message] = [broker(each, level=level) for each in (1, 2, 3)]
    record = partition(0, [1, 2, 3], level=level)
    assert decided(record, Aim(isr=(1, 2)), rules, brokers) == Change(isr=(1, 2), leader=leader)
    small = partition(0, [1, 2, 3], isr=[1, 2], level=level)
    assert decided(small, Aim(isr=(1, 2, 3)), rules, brokers) == Change(isr=(1, 2, 3))


def reassigned(isr: list[int]) -> PartitionRecord:
    """Return a partition of which 4 takes the place of 3."""
    return partition(0, [1, 2, 4, 3], isr=isr, adding=[4], removing=[3])


def test_a_reassignment_is_complete_when_all_that_come_are_in_sync() -> None:
    change = decided(reassigned([1, 2, 3]), Aim(isr=(1, 2, 3, 4)))
    assert change == Change(
        isr=(1, 2, 4),
        leader=1,
        replicas=(1, 2, 4),
        removing_replicas=(),
        adding_replicas=(),
        directories=(directory(1), directory(2), directory(4)),
    )
    assert decided(reassigned([1, 2, 3]), Aim(isr=(1, 3))) == Change(isr=(1, 3))


def test_a_reassignment_waits_until_enough_are_in_sync_to_write() -> None:
    # 1 and 2 are gone: with 3 let go, 4 would be alone where two are needed.
    record = partition(0, [1, 2, 4, 3], isr=[3], adding=[4], removing=[3])
    change = decided(record, Aim(isr=(3, 4)), brokers=fenced(1, 2))
    assert change == Change(isr=(3, 4))


def test_a_reassignment_to_fewer_waits_for_all_of_them() -> None:
    record = partition(0, [1, 2, 3, 4], isr=[1, 2, 3], removing=[3, 4])
    assert decided(record, Aim(isr=(1, 3)), Rules(30, elr=True, min_in_sync=1)) == Change(
        isr=(1, 3)
    )
    change = decided(record, Aim(isr=(1, 2)), Rules(30, elr=True, min_in_sync=1))
    assert change is not None
    assert change.replicas == (1, 2)


def test_who_leaves_the_replicas_leads_no_longer_and_is_not_eligible() -> None:
    record = partition(0, [4, 5, 3], isr=[3, 4], leader=3, elr=[], adding=[5], removing=[3])
    brokers: list[Message] = [broker(each) for each in (3, 4, 5)]
    change = decided(record, Aim(isr=(3, 4, 5)), RULES, brokers)
    assert change is not None
    assert (change.leader, change.isr, change.replicas) == (4, (4, 5), (4, 5))


def test_a_directory_is_new_only_if_it_is_another() -> None:
    same = Aim(directories=((2, directory(2)),))
    assert decided(partition(0, [1, 2]), same) is None
    change = decided(partition(0, [1, 2]), Aim(directories=((2, UNASSIGNED),)))
    assert change == Change(directories=(directory(1), UNASSIGNED))
    rules = Rules(16, elr=False, min_in_sync=1)
    record = partition(0, [1, 2], level=16)
    assert decided(record, Aim(directories=((2, UNASSIGNED),)), rules) is None


def test_new_replicas_lie_where_their_broker_has_but_one_place() -> None:
    brokers: list[Message] = [broker(1), broker(2, directories=2), broker(3)]
    aim = Aim(replicas=(1, 2, 3), adding=(2, 3))
    change = decided(partition(0, [1]), aim, brokers=brokers)
    assert change is not None
    assert change.directories == (directory(1), UNASSIGNED, directory(3))


def test_where_replicas_lie_is_unknown_of_brokers_that_never_said_or_are_not_there() -> None:
    state = cluster(broker(1, level=16))
    leaders = Leaders(state.image.cluster.brokers)
    assert leaders.default_directory(1) == MIGRATING
    assert leaders.default_directory(9) == UNASSIGNED


def test_only_a_directory_that_is_online_makes_a_leader() -> None:
    lost = partition(0, [1, 2], directories=[directory(1, 7), directory(2)], leader=2)
    assert decided(lost, Aim(isr=(1, 2), election=Election.PREFERRED)) is None
    known = cluster(broker(1)).image.cluster.brokers[1]
    silent = cluster(broker(1, level=16)).image.cluster.brokers[1]
    assert is_online(known, directory(1))
    assert not is_online(known, directory(1, 1))
    assert is_online(silent, directory(1, 1))
    for each in (known, silent):
        assert is_online(each, UNASSIGNED)
        assert is_online(each, MIGRATING)
        assert not is_online(each, LOST)


def test_a_change_says_only_what_is_new() -> None:
    change = Change(isr=(1,), leader_recovery_state=0)
    assert change.said() == {"isr": (1,), "leader_recovery_state": 0}
    record = change.record(TOPIC, 3)
    assert (record.partition_id, record.isr, record.leader) == (3, (1,), -2)
    assert isinstance(registered(cluster(partition(0, [1]))), PartitionRegistration)


def test_a_broker_that_stops_leads_nothing_even_when_it_is_unfenced_just_now() -> None:
    brokers = cluster(broker(1, fenced=True), broker(2, fenced=True, stopping=True)).image.cluster
    leaders = Leaders(brokers.brokers, unfenced=1)
    assert leaders.may_lead(1, directory(1))
    assert not Leaders(brokers.brokers, unfenced=2).may_lead(2, directory(2))
    assert not Leaders(brokers.brokers, without=1, unfenced=1).may_lead(1, directory(1))
