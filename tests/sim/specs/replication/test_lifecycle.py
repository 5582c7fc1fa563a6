"""The lives of a broker."""

from dataclasses import replace

from barnabas.sim.specs.replication.cluster import (
    Failed,
    Fetcher,
    Phase,
    Position,
    RegisterAnswer,
    RegisterRequest,
    Role,
    Step,
    View,
)
from barnabas.sim.specs.replication.guards import BUILT, Guard
from barnabas.sim.specs.replication.leading import append
from barnabas.sim.specs.replication.lifecycle import disconnect, end, registered, start
from tests.sim.specs.replication.clusters import broker, done, why_not


def test_a_life_begins_with_the_question_to_be_registered() -> None:
    stopped = done(end(broker(2), None, is_clean=True))
    step = start(stopped, 4)
    assert isinstance(step, Step)
    assert step.said == RegisterRequest(2, 4, 2)
    assert (step.broker.phase, step.broker.role) == (Phase.STARTING, Role.NONE)
    assert why_not(start(step.broker, 5)) is Guard.IS_DOWN


def test_only_a_clean_end_is_marked() -> None:
    assert done(end(broker(2), None, is_clean=True)).epoch == 2
    assert done(end(broker(2), None)).epoch == 0
    assert done(end(broker(2), 0)).epoch == 0


def test_a_life_is_told_its_epoch() -> None:
    starting = done(start(done(end(broker(2), None)), 4))
    running = done(registered(starting, RegisterAnswer(2, 4, 9, 5)))
    assert (running.phase, running.epoch, running.applied) == (Phase.RUNNING, 9, 4)
    assert running.view == View()
    built = done(registered(starting, RegisterAnswer(2, 4, 9, 5), BUILT))
    assert (built.applied, built.registered_at) == (0, 5)
    assert why_not(registered(starting, RegisterAnswer(2, 3, 8, 4))) is Guard.SAME_LIFE
    assert why_not(registered(running, RegisterAnswer(2, 4, 9, 5))) is Guard.IS_UP


def test_an_end_leaves_the_log_or_a_beginning_of_it() -> None:
    leader = done(append(broker(), 1, 3))
    killed = end(leader, None)
    assert isinstance(killed, Step)
    assert killed.told == (Failed(leader.log, 0, 0),)
    assert (killed.broker.phase, killed.broker.log) == (Phase.STOPPED, leader.log)
    lost = done(end(replace(leader, hwm=2), 1))
    assert (lost.phase, lost.log.end, lost.hwm) == (Phase.LOST, 1, 1)
    assert why_not(end(lost, None)) is Guard.IS_UP


def test_nothing_of_a_leader_or_follower_outlives_it() -> None:
    ended = done(end(broker(2), None))
    assert (ended.role, ended.fetchers, ended.peers, ended.pending) == (Role.NONE, (), (), None)


def test_who_waits_for_a_broker_that_ends_waits_no_longer() -> None:
    waits = broker(2).with_fetcher(Fetcher(1, Position(0, 0), waits=True))
    assert disconnect(waits, 1) == broker(2)
    assert disconnect(waits, 3) == waits
