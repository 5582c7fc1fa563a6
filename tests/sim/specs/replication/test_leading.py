"""A leader: what it appends, who is in sync, what is committed."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.replication.cluster import (
    AlterAnswer,
    AlterRequest,
    Broker,
    Ids,
    Message,
    Partition,
    Peer,
    Phase,
    Raised,
    Refusal,
    Registration,
    Role,
    Sent,
    Step,
)
from barnabas.sim.specs.replication.guards import BUILT, SPECIFIED, Guard, Rules
from barnabas.sim.specs.replication.leading import (
    answered,
    append,
    committed,
    lag,
    propose,
    repeat,
)
from barnabas.sim.specs.rules import Blocked
from tests.sim.specs.replication.clusters import broker, done, ids, why_not

ALL = ids(1, 2, 3)


def leader(isr: Ids = ALL, maximal: Ids | None = None, records: int = 2, **ends: int) -> Broker:
    """Return leader 1 of three replicas, some of which have fetched up to somewhere."""
    found = broker()
    view = replace(found.view, isr=isr, maximal=isr if maximal is None else maximal)
    found = replace(found, view=view, log=found.log.append(1, 0, records))
    for name, offset in sorted(ends.items()):
        number = int(name.removeprefix("of_"))
        found = found.with_peer(Peer(number, offset, number))
    return found


def said(step: Step | Blocked) -> Message:
    """Return what is said by an action."""
    assert isinstance(step, Step), step
    assert step.said is not None
    return step.said


def test_what_everybody_who_counts_has_is_committed() -> None:
    for isr, maximal, of_2, of_3, due in (
        (ALL, ALL, 1, 2, 1),
        (ALL, ALL, 2, 0, 0),
        (ids(1, 2), ids(1, 2), 1, 0, 1),
        # 3 may be in sync as soon as the proposal is accepted.
        (ids(1, 2), ALL, 2, 1, 1),
        # Too few are in sync, though enough might be.
        (ids(1), ids(1, 2), 2, 2, 0),
    ):
        found = leader(isr, maximal, of_2=of_2, of_3=of_3)
        assert committed(found, found.view, found.log, SPECIFIED) == due
    found = leader()
    assert committed(found, found.view, found.log, SPECIFIED) == 0, "nobody has fetched"


def test_who_is_alone_and_enough_commits_what_it_appends() -> None:
    step = append(leader(ids(1), records=0), 7, 1, Rules(min_isr=1))
    assert isinstance(step, Step)
    assert step.broker.hwm == 1
    assert step.told == (Sent(7), Raised(step.broker.log, 0, 1, 0))


def test_only_a_leader_with_enough_beside_it_appends() -> None:
    assert why_not(append(broker(2), 1)) is Guard.LEADS
    assert why_not(append(leader(ids(1)), 1)) is Guard.ENOUGH_TO_WRITE
    assert why_not(append(broker(phase=Phase.STARTING), 1)) is Guard.IS_UP
    assert done(append(leader(ids(1), ids(1, 2)), 1)).log.end == 3


def test_a_high_watermark_may_be_anywhere_up_to_where_it_may_be() -> None:
    found = leader(of_2=2, of_3=2)
    assert done(append(found, 1, hwm=1)).hwm == 1
    assert why_not(append(found, 1, hwm=3)) is Guard.MAXIMAL_HAS_IT
    assert why_not(append(replace(found, hwm=2), 1, hwm=1)) is Guard.HWM_RISES


@pytest.mark.parametrize(
    ("hwm", "start", "of_3", "guard"),
    [
        (1, 1, None, Guard.HAS_FETCHED),
        (2, 1, 1, Guard.REACHED_HWM),
        (1, 2, 1, Guard.REACHED_START),
        (2, 1, 2, None),
    ],
)
def test_a_follower_may_join_when_it_has_caught_up(
    hwm: int, start: int, of_3: int | None, guard: Guard | None
) -> None:
    found = replace(leader(ids(1, 2)), hwm=hwm, epoch_start=start)
    if of_3 is not None:
        found = found.with_peer(Peer(3, of_3, 3))
    blocked = lag(found, 3)
    assert (None if blocked is None else blocked.guard) == guard


def test_as_built_metadata_must_have_it_unfenced_in_the_life_that_has_fetched() -> None:
    known = tuple(Registration(False, each, each) for each in (1, 2, 3))
    found = replace(leader(ids(1, 2), of_3=2), brokers=known)
    assert lag(found, 3, BUILT) is None
    for wrong in (replace(known[2], fenced=True), replace(known[2], epoch=9)):
        assert why_not(lag(replace(found, brokers=(*known[:2], wrong)), 3, BUILT)) is (
            Guard.IS_ELIGIBLE
        )


REQUEST = AlterRequest(1, ALL, ((1, 1), (2, 0), (3, 3)), 1, 1, 1)


def test_a_leader_proposes_whoever_has_caught_up_and_not_who_is_late() -> None:
    step = propose(leader(ids(1, 2), of_2=2, of_3=2), ids())
    assert said(step) == REQUEST
    after = done(step)
    assert (after.view.isr, after.view.maximal) == (ids(1, 2), ALL)
    assert after.waits_for_answer
    assert why_not(propose(after, ids())) is Guard.NONE_PENDING
    shrunk = said(propose(leader(of_2=2), ids(3)))
    assert isinstance(shrunk, AlterRequest)
    assert (shrunk.isr, shrunk.epochs) == (ids(1, 2), ((1, 1), (2, 0)))
    assert why_not(propose(leader(), ids())) is Guard.IS_CHANGE
    assert why_not(propose(broker(2), ids())) is Guard.LEADS


def test_a_leader_may_choose_fewer_and_say_more() -> None:
    found = leader(ids(1), of_2=2, of_3=2)
    chosen = replace(REQUEST, isr=ids(1, 3), epochs=((1, 1), (3, 3)))
    assert said(propose(found, ids(), chosen=chosen)) == chosen
    named = replace(REQUEST, epochs=((1, 1), (2, 2), (3, 3)))
    both = leader(ids(1, 2), of_2=2, of_3=2)
    assert said(propose(both, ids(), chosen=named)) == named, "of 2 it need not say the epoch"
    behind = replace(both, hwm=2).with_peer(Peer(3, 1, 3))
    assert why_not(propose(behind, ids(), chosen=REQUEST)) is Guard.REACHED_HWM


def proposing() -> Broker:
    """Return a leader that has proposed to add 3."""
    return done(propose(leader(ids(1, 2), of_2=2, of_3=2), ids()))


ACCEPTED = Partition(ALL, ALL, 1, 1, 2)


def test_an_accepted_proposal_is_the_isr() -> None:
    after = done(answered(proposing(), AlterAnswer(REQUEST, ACCEPTED)))
    assert (after.view.isr, after.view.maximal, after.view.partition_epoch) == (ALL, ALL, 2)
    assert after.pending is None
    assert after.hwm == 2


def test_an_answer_counts_for_the_proposal_that_stands() -> None:
    other = AlterAnswer(replace(REQUEST, partition_epoch=0), ACCEPTED)
    assert why_not(answered(proposing(), other)) is Guard.ANSWERS_PROPOSAL
    assert why_not(answered(leader(), AlterAnswer(REQUEST, ACCEPTED))) is Guard.ANSWERS_PROPOSAL
    follower = replace(proposing(), role=Role.FOLLOWER)
    assert why_not(answered(follower, AlterAnswer(REQUEST, ACCEPTED))) is Guard.LEADS
    moved = AlterAnswer(REQUEST, replace(ACCEPTED, leader_epoch=2))
    assert why_not(answered(proposing(), moved)) is Guard.NEWER_CHANGE


def test_a_refused_proposal_is_given_up_or_stands() -> None:
    for refusal in Refusal:
        after = done(answered(proposing(), AlterAnswer(REQUEST, refusal)))
        assert (after.view.maximal, after.pending) == (ids(1, 2), None)
    stands = done(answered(proposing(), AlterAnswer(REQUEST, Refusal.FENCED), BUILT))
    assert stands == proposing(), "it may have been accepted the first time"
    given_up = done(answered(proposing(), AlterAnswer(REQUEST, Refusal.INELIGIBLE), BUILT))
    assert given_up.view.maximal == ids(1, 2)
    assert why_not(propose(given_up, ids(), BUILT)) is Guard.WAITS


def test_what_is_undecided_may_be_asked_again() -> None:
    step = repeat(proposing())
    assert said(step) == REQUEST
    assert done(step) == proposing()
    assert why_not(repeat(leader())) is Guard.ANSWERS_PROPOSAL
