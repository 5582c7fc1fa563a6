"""Homes, lives and steps."""

from barnabas.model.ids import ZERO_UUID
from barnabas.raft.effects import Became
from barnabas.raft.events import Started, StopAsked
from barnabas.raft.states import Candidate, Leader, Resigned, Unattached
from barnabas.raft.voters import ReplicaKey
from barnabas.sim.profiles.raft.lives import Oracle, changes_in, has_seat, is_seat
from tests.sim.profiles.raft.steps import ONE_TO_THREE, facts, key, life, step


def test_a_seat_is_a_directorys_unless_nobody_knows_directories() -> None:
    assert is_seat(key(1), key(1))
    assert not is_seat(key(1), key(1, directory=2))
    assert is_seat(ReplicaKey(1, ZERO_UUID), key(1, directory=2))
    assert has_seat(ONE_TO_THREE, key(3))
    assert not has_seat(ONE_TO_THREE, key(4))


def test_a_home_holds_what_was_durable_and_was_not_cut() -> None:
    home = life().home
    home.durable.extend([(3, 1), (5, 1), (9, 2)])
    assert home.holds(5, 1)
    assert not home.holds(5, 2)
    assert not home.holds(4, 1)
    assert not home.holds(10, 2)
    home.cut(5)
    assert home.durable_end == 5
    home.begin_at(3)
    assert home.holds(2, 7), "a snapshot stands for it"
    assert home.durable == [(5, 1)]


def test_what_it_is_when_it_starts_is_no_change() -> None:
    became = [Became(Resigned(3)), Became(Unattached(4))]
    assert changes_in(Resigned(3), Started(), became) == [(Resigned(3), Unattached(4))]
    assert changes_in(Candidate(3, key(1)), StopAsked(), [Became(Leader(3, 0))]) == [
        (Candidate(3, key(1)), Leader(3, 0))
    ]
    assert changes_in(Resigned(3), StopAsked(), []) == []


def test_an_oracle_that_says_nothing_objects_to_nothing() -> None:
    oracle, of = Oracle(), life()
    oracle.opened(of)
    oracle.step(step(of, Started()))
    oracle.changed(step(of, Started()))
    oracle.read(of, [])
    oracle.flushed(of, [])
    oracle.finish([of])
    assert str(of) == "n1.1"
    assert facts().epoch == 0
