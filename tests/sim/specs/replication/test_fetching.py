"""Fetching: asking, serving, taking."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.replication.cluster import (
    Broker,
    Diverging,
    FetchAnswer,
    Fetcher,
    FetchRequest,
    Peer,
    Phase,
    Position,
    Raised,
    Registration,
    Step,
    Unserved,
)
from barnabas.sim.specs.replication.fetching import ask, safe_point, serve, stale, take
from barnabas.sim.specs.replication.guards import BUILT, Guard
from barnabas.sim.specs.replication.log import Log, Records, Run
from barnabas.sim.specs.rules import Blocked
from tests.sim.specs.replication.clusters import broker, done, ids, why_not

# Epochs 1, 1, 4, 4, 4.
LOG = Log().append(1, 0, 2).append(4, 0, 3)


def in_epoch(number: int, log: Log, epoch: int = 5) -> Broker:
    """Return a broker in an epoch, with a log; a follower is at its end."""
    found = broker(number)
    found = replace(found, log=log, view=replace(found.view, leader_epoch=epoch))
    fetchers = tuple(
        Fetcher(each.leader, Position(log.end, log.last_epoch)) for each in found.fetchers
    )
    return replace(found, fetchers=fetchers, epoch_start=log.end if number == 1 else None)


def question(offset: int, last_epoch: int, epoch: int = 5) -> FetchRequest:
    """Return what 2 asks 1."""
    return FetchRequest(2, 1, 2, epoch, offset, last_epoch)


def answer_to(step: Step | Blocked) -> FetchAnswer:
    """Return what is said to a fetch."""
    assert isinstance(step, Step), step
    assert isinstance(step.said, FetchAnswer)
    return step.said


def test_a_follower_asks_once_from_its_end() -> None:
    step = ask(in_epoch(2, LOG), 1)
    assert isinstance(step, Step)
    assert step.said == question(5, 4)
    assert why_not(ask(step.broker, 1)) is Guard.ONE_OUTSTANDING
    assert why_not(ask(broker(2), 3)) is Guard.FOLLOWS
    assert why_not(ask(broker(2, phase=Phase.STARTING), 1)) is Guard.IS_UP


def test_a_fetch_tells_the_leader_what_a_follower_has() -> None:
    leader = in_epoch(1, LOG).with_peer(Peer(3, 5, 3))
    step = serve(leader, question(2, 1), count=2)
    assert isinstance(step, Step)
    assert step.broker.peers == (Peer(2, 2, 2), Peer(3, 5, 3))
    assert step.told == (Raised(LOG, 0, 2, None),)
    assert answer_to(step) == FetchAnswer(1, 2, 5, 2, 2, (Run(4, 4, 0),))
    held_back = serve(leader, question(2, 1), hwm=1)
    assert answer_to(held_back).hwm == 1
    assert why_not(serve(leader, question(2, 1), hwm=3)) is Guard.MAXIMAL_HAS_IT


@pytest.mark.parametrize(
    ("number", "epoch", "why"),
    [
        (1, 6, Unserved.UNKNOWN_EPOCH),
        (1, 4, Unserved.FENCED_EPOCH),
        (3, 5, Unserved.NO_LEADER),
    ],
)
def test_a_fetch_of_another_epoch_is_not_served(number: int, epoch: int, why: Unserved) -> None:
    step = serve(in_epoch(number, LOG), question(0, 0, epoch))
    assert answer_to(step).content is why
    assert done(step) == in_epoch(number, LOG)


def test_as_built_a_fetch_of_an_older_life_is_not_served() -> None:
    late = question(0, 0)
    known = in_epoch(1, LOG).with_peer(Peer(2, 0, 3))
    assert answer_to(serve(known, late, BUILT)).content is Unserved.OLD_LIFE
    told = tuple(Registration(False, each, each) for each in (1, 4, 3))
    learned = replace(in_epoch(1, LOG), brokers=told)
    assert answer_to(serve(learned, late, BUILT)).content is Unserved.OLD_LIFE
    assert answer_to(serve(known, late)).content == LOG.records(0, 1), "there it cannot be"


@pytest.mark.parametrize(
    ("offset", "last_epoch", "due"),
    [
        (5, 4, None),
        (0, 0, None),
        (2, 1, None),
        # Its last epoch goes on where ours ended.
        (3, 1, Diverging(1, 2)),
        (6, 4, Diverging(4, 5)),
        # We have nothing of epoch 2 or 3, nor of anything as old as epoch 0.
        (3, 3, Diverging(1, 2)),
        (2, 2, Diverging(1, 2)),
        (1, 0, Diverging(0, 0)),
    ],
)
def test_a_log_that_is_no_beginning_of_the_leaders_is_told_where_to_cut(
    offset: int, last_epoch: int, due: Diverging | None
) -> None:
    content = answer_to(serve(in_epoch(1, LOG), question(offset, last_epoch))).content
    assert content == (LOG.records(offset, offset + 1) if due is None else due)


def waiting(log: Log) -> Broker:
    """Return a follower that waits for an answer."""
    return done(ask(in_epoch(2, log), 1))


def answered(content: Records | Diverging | Unserved, offset: int, hwm: int = 0) -> FetchAnswer:
    """Return an answer of 1 to 2."""
    return FetchAnswer(1, 2, 5, offset, hwm, content)


def test_records_are_appended_and_the_high_watermark_follows_within_the_log() -> None:
    log = LOG.cut(2)
    more = LOG.records(2, 4)
    after = done(take(waiting(log), answered(more, 2, hwm=3)))
    assert (after.log, after.hwm) == (LOG.cut(4), 3)
    assert after.fetchers == (Fetcher(1, Position(4, 4)),)
    beyond = done(take(waiting(log), answered(more, 2, hwm=5)))
    assert beyond.hwm == 0, "what it does not have may not be read from it"
    nothing = done(take(waiting(LOG), answered((), 5, hwm=5)))
    assert (nothing.hwm, nothing.fetchers) == (5, (Fetcher(1, Position(5, 4)),))


@pytest.mark.parametrize(
    ("log", "told", "due"),
    [
        (LOG, Diverging(4, 4), 4),
        (LOG, Diverging(4, 9), 5),
        # The leader's epoch 2 ends at 1; we have 1 and 4, and 1 ends at 2.
        (LOG, Diverging(2, 1), 2),
        (LOG, Diverging(1, 1), 1),
        (LOG, Diverging(0, 0), 0),
        (Log(), Diverging(3, 3), 0),
    ],
)
def test_a_log_is_cut_at_the_highest_point_that_both_may_share(
    log: Log, told: Diverging, due: int
) -> None:
    assert safe_point(log, told) == due


def test_who_cuts_asks_again_from_there() -> None:
    after = done(take(waiting(LOG), answered(Diverging(1, 1), 5)))
    assert (after.log, after.fetchers) == (LOG.cut(1), (Fetcher(1, Position(1, 1)),))


def test_an_answer_that_concerns_it_no_longer_changes_nothing() -> None:
    given = waiting(LOG)
    for answer in (
        answered(LOG.records(0, 1), 4),
        replace(answered((), 5, hwm=5), leader_epoch=4),
        answered(Unserved.FENCED_EPOCH, 5),
    ):
        assert done(take(given, answer)) == in_epoch(2, LOG)
    assert why_not(stale(given, answered((), 4))) is Guard.SAME_POSITION
    assert why_not(stale(given, replace(answered((), 5), leader_epoch=4))) is Guard.SAME_EPOCH
    elsewhere = replace(
        given, fetchers=(Fetcher(1, None, True),), view=replace(given.view, isr=ids(2))
    )
    assert done(take(elsewhere, answered(LOG.records(0, 1), 0))).fetchers == ()
    assert why_not(take(in_epoch(2, LOG), answered((), 5))) is Guard.OUTSTANDING
