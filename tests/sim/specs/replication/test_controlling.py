"""What the controller decides."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.replication.cluster import (
    NOBODY,
    AlterAnswer,
    AlterRequest,
    Controller,
    Elected,
    Ids,
    Partition,
    Record,
    Refusal,
    RegisterAnswer,
    RegisterRequest,
)
from barnabas.sim.specs.replication.controlling import (
    alter,
    eligible_after,
    fence,
    reassign,
    refusal,
    register,
    unfence,
)
from barnabas.sim.specs.replication.deeds import Scope
from barnabas.sim.specs.replication.guards import BUILT, SPECIFIED, Difference, Guard, Rules
from tests.sim.specs.replication.clusters import controller, decided, ids, why_not

ALL = ids(1, 2, 3)


def after(the: Controller, *fenced: int, rules: Rules = SPECIFIED) -> Controller:
    """Return the controller after it has fenced brokers, the first who may lead elected."""
    for each in fenced:
        decisions = fence(the, each, rules)
        assert isinstance(decisions, tuple)
        the = decisions[0].controller
    return the


def shape(partition: Partition) -> tuple[set[int], set[int], set[int], int, int, int]:
    """Return what an election may change."""
    sets = set(partition.isr), set(partition.elr), set(partition.last_known)
    return (*sets, partition.leader, partition.leader_epoch, partition.partition_epoch)


def test_who_is_fenced_leaves_the_isr_and_stays_in_the_elr_once_it_is_too_small() -> None:
    the = controller()
    assert shape(after(the, 3).partition) == ({1, 2}, set(), set(), 1, 1, 2)
    assert shape(after(the, 3, 2).partition) == ({1}, {2}, set(), 1, 1, 3)
    assert shape(after(the, 3, 2, 1).partition) == (set(), {1, 2}, set(), NOBODY, 2, 4)
    assert why_not(fence(after(the, 3), 3)) is Guard.IS_UNFENCED


def test_whoever_is_in_sync_may_be_elected() -> None:
    decisions = fence(controller(), 1)
    assert isinstance(decisions, tuple)
    found = [decision.controller.partition for decision in decisions]
    assert [(each.leader, each.leader_epoch) for each in found] == [(2, 2), (3, 2)]


def test_who_comes_back_leads_if_nobody_does_and_it_has_all() -> None:
    empty = after(controller(), 3, 2, 1)
    led = decided(unfence(empty, 2, 2, 9)).controller
    assert shape(led.partition) == ({2}, {1}, {2}, 2, 3, 5)
    not_it = decided(unfence(empty, 3, 3, 9)).controller
    assert not_it.partition == empty.partition
    assert not_it.unfenced == ids(3)
    assert len(not_it.log) == len(empty.log), "the log tells of the partition alone"
    assert why_not(unfence(led, 2, 2, 9)) is Guard.IS_FENCED
    assert why_not(unfence(empty, 2, 1, 9)) is Guard.THIS_LIFE


def test_a_life_that_follows_a_clean_one_keeps_its_place() -> None:
    empty = after(controller(), 3, 2, 1)
    decision = decided(register(empty, RegisterRequest(2, 4, 2)))
    assert decision.said == RegisterAnswer(2, 4, 4, len(empty.log))
    assert shape(decision.controller.partition) == ({2}, {1}, {2}, 2, 3, 5)
    assert decision.controller.registration(2).epoch == decision.controller.last_epoch == 4


def test_a_life_that_follows_an_unclean_one_is_nowhere() -> None:
    empty = after(controller(), 3, 2, 1)
    decision = decided(register(empty, RegisterRequest(2, 4, 0)))
    assert shape(decision.controller.partition) == (set(), {1}, {2}, NOBODY, 2, 5)
    built = after(controller(BUILT), 3, 2, 1, rules=BUILT)
    stale = decided(register(built, RegisterRequest(2, 4, 1), BUILT))
    assert stale.controller.partition.elr == ids(1), "its mark names another life"
    assert stale.controller.registration(2).fenced


def test_a_broker_is_registered_anew_only_when_its_session_is_over() -> None:
    the = controller()
    assert why_not(register(the, RegisterRequest(2, 4, 2))) is Guard.SESSION_OVER
    built = controller(BUILT)
    again = decided(register(built, RegisterRequest(2, 2, 0), BUILT))
    assert (again.controller, again.said) == (built, RegisterAnswer(2, 2, 2, 0))
    fenced = after(built, 2, rules=BUILT)
    stale = register(fenced, RegisterRequest(2, 4, 2), BUILT, epoch=3)
    assert why_not(stale) is Guard.NEW_EPOCH


def test_as_built_a_broker_is_unfenced_when_it_has_seen_itself() -> None:
    fenced = after(controller(BUILT), 3, rules=BUILT)
    registered = decided(register(fenced, RegisterRequest(3, 4, 3), BUILT)).controller
    assert registered.registration(3).offset == len(registered.log) == 3
    assert why_not(unfence(registered, 3, 4, 2, BUILT)) is Guard.SEES_ITSELF
    live = decided(unfence(registered, 3, 4, 3, BUILT)).controller
    assert live.log[-1] == Record(registered.partition, live.brokers)


def test_as_built_who_led_last_is_recalled_when_nobody_else_is_left() -> None:
    lost = after(controller(BUILT), 3, 2, 1, rules=BUILT)
    for each in (1, 2):
        lost = decided(register(lost, RegisterRequest(each, 4, 0), BUILT)).controller
    assert shape(lost.partition) == (set(), set(), {1}, NOBODY, 2, 6)
    other = decided(unfence(lost, 2, 5, 9, BUILT))
    assert (other.controller.partition.leader, other.told) == (NOBODY, ())
    recalled = decided(unfence(lost, 1, 4, 9, BUILT))
    assert shape(recalled.controller.partition) == ({1}, set(), set(), 1, 3, 7)
    assert recalled.told == (Elected(1),)


@pytest.mark.parametrize(
    ("elr", "isr", "proposed", "replicas", "due"),
    [
        (ids(), ALL, ids(1, 2), ALL, ids()),
        (ids(), ids(1, 2), ids(1), ALL, ids(2)),
        (ids(2), ids(1), ids(), ALL, ids(1, 2)),
        (ids(2), ids(1), ids(1, 3), ALL, ids()),
        (ids(2), ids(1), ids(), ids(2, 3), ids(2)),
        # Who joins is no candidate any more, even while too few are in sync.
        (ids(2), ids(1), ids(2), ALL, ids(1)),
    ],
)
def test_who_left_a_small_isr_may_lead(
    elr: Ids, isr: Ids, proposed: Ids, replicas: Ids, due: Ids
) -> None:
    old = Partition(ALL, isr, 1, 1, 1, elr)
    assert eligible_after(old, proposed, replicas, SPECIFIED) == due


PROPOSAL = AlterRequest(1, ids(1, 2), ((1, 1), (2, 0)), 1, 1, 1)


@pytest.mark.parametrize(
    ("request_", "why", "guard"),
    [
        (replace(PROPOSAL, leader=2, broker_epoch=2), Refusal.FENCED, Guard.FROM_LEADER),
        (replace(PROPOSAL, broker_epoch=0), Refusal.FENCED, Guard.LEADERS_LIFE),
        (replace(PROPOSAL, partition_epoch=0), Refusal.FENCED, Guard.PARTITION_EPOCH),
        (
            replace(PROPOSAL, epochs=((1, 1), (2, 9))),
            Refusal.INELIGIBLE,
            Guard.MEMBERS_LIVES,
        ),
    ],
)
def test_a_proposal_is_refused_for_a_reason(
    request_: AlterRequest, why: Refusal, guard: Guard
) -> None:
    the = controller()
    found = refusal(the, request_)
    assert found is not None
    assert (found[0], why_not(found[1])) == (why, guard)
    decision = decided(alter(the, request_))
    assert (decision.controller, decision.said) == (the, AlterAnswer(request_, why))


def test_a_fenced_broker_may_not_join() -> None:
    the = after(controller(), 3)
    request = AlterRequest(1, ALL, ((1, 1), (2, 0), (3, 3)), 1, 1, 2)
    found = refusal(the, request)
    assert found is not None
    assert (found[0], why_not(found[1])) == (Refusal.INELIGIBLE, Guard.MEMBERS_UNFENCED)


def test_an_accepted_proposal_is_the_isr() -> None:
    decision = decided(alter(controller(), PROPOSAL))
    assert shape(decision.controller.partition) == ({1, 2}, set(), set(), 1, 1, 2)
    assert decision.said == AlterAnswer(PROPOSAL, decision.controller.partition)


MORE = Scope(4, 3, 3)


def test_a_reassignment_waits_until_all_of_its_target_are_in_sync() -> None:
    the = decided(reassign(controller(scope=MORE), ids(4), ids(1))).controller
    begun = the.partition
    assert (begun.replicas, begun.adding, begun.removing) == (ids(1, 2, 3, 4), ids(4), ids(1))
    assert shape(begun) == ({1, 2, 3}, set(), set(), 1, 1, 2)
    assert why_not(reassign(the, ids(), ids(2))) is Guard.NONE_UNDERWAY
    joins = AlterRequest(1, ids(1, 2, 3, 4), ((1, 1), (2, 0), (3, 0), (4, 4)), 1, 1, 2)
    decisions = alter(the, joins)
    assert [each.controller.partition.leader for each in decisions] == [2, 3, 4]
    ended = decisions[0].controller.partition
    assert (ended.replicas, ended.is_reassigned) == (ids(2, 3, 4), False)
    assert shape(ended) == ({2, 3, 4}, set(), set(), 2, 2, 3)


def test_an_epoch_begins_with_a_reassignment_unless_nobody_leaves() -> None:
    for rules, epoch in ((SPECIFIED, 2), (BUILT, 1)):
        the = decided(reassign(controller(rules, MORE), ids(4), ids(), rules)).controller
        request = AlterRequest(1, ids(1, 2, 3, 4), ((1, 1), (4, 4)), 1, 1, 2)
        ended = decided(alter(the, request, rules)).controller.partition
        assert (ended.leader_epoch, ended.is_reassigned) == (epoch, False)


@pytest.mark.parametrize(
    ("adding", "removing", "guard"),
    [
        (ids(), ids(), Guard.POSSIBLE_TARGET),
        (ids(3), ids(), Guard.POSSIBLE_TARGET),
        (ids(), ids(4), Guard.POSSIBLE_TARGET),
        (ids(), ids(1, 2), Guard.POSSIBLE_TARGET),
    ],
)
def test_a_reassignment_must_be_possible(adding: Ids, removing: Ids, guard: Guard) -> None:
    assert why_not(reassign(controller(scope=MORE), adding, removing)) is guard


def test_as_built_a_partition_without_a_leader_may_be_reassigned() -> None:
    assert why_not(reassign(after(controller(), 3, 2, 1), ids(), ids(3))) is Guard.HAS_IN_SYNC
    rules = Rules(differs=frozenset({Difference.REASSIGNS_FREELY}))
    begun = decided(reassign(after(controller(), 3, 2, 1), ids(), ids(3), rules)).controller
    assert begun.partition.removing == ids(3)
    assert begun.partition.leader == NOBODY
