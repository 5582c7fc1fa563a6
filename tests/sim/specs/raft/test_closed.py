"""The closed model: small worlds, whole."""

import pytest

from barnabas.sim.specs.exploration import explore
from barnabas.sim.specs.raft.closed import Closed
from barnabas.sim.specs.raft.deeds import Scope
from barnabas.sim.specs.raft.guards import Guard, without
from barnabas.sim.specs.raft.properties import ELECTION_SAFETY, NO_AMNESIA, VOTE_ONCE

LEADS = ("1 runs", "2 votes for 1 in 1", "1 counts the vote of 2", "1 leads")


def test_the_first_state_is_what_the_script_leads_to() -> None:
    model = Closed(Scope(2, script=LEADS))
    names = [move.name for move in model.moves(model.initial())]
    assert "1 appends 1" in names
    assert "2 follows 1 in 1" in names
    assert "1 leads" not in names


def test_a_script_that_cannot_happen_is_told_so() -> None:
    model = Closed(Scope(2, script=("1 leads",)))
    with pytest.raises(AssertionError, match="'1 leads' cannot happen; what can: 1 runs, 2 runs"):
        model.initial()
    broken = Closed(
        Scope(2), without(Guard.ELECTED), then=("1 runs", "1 leads", "2 runs", "2 leads")
    )
    with pytest.raises(AssertionError, match="the script breaks ElectionSafety at '2 leads'"):
        broken.initial()


def test_what_is_limited_happens_so_often() -> None:
    ways = explore(Closed(Scope(2, epochs=1, values=1))).states
    more = explore(Closed(Scope(2, epochs=1, values=2))).states
    assert ways < more
    model = Closed(Scope(1, epochs=1, values=1, script=("1 runs", "1 leads", "1 appends 1")))
    assert [move.name for move in model.moves(model.initial())] == []


def test_a_property_that_is_ignored_lets_the_next_one_fall() -> None:
    scope, rules = Scope(2, epochs=1, values=2), without(Guard.ELECTED)
    assert explore(Closed(scope, rules)).broken == ELECTION_SAFETY
    ignored = explore(Closed(scope, rules, frozenset({ELECTION_SAFETY})))
    assert ignored.broken not in ("", ELECTION_SAFETY)


def test_forgetting_what_is_dead_changes_nothing_that_matters() -> None:
    # A guard that cannot block in this scope is lifted, so that nothing is forgotten.
    scope = Scope(2, epochs=2, values=0)
    small, large = explore(Closed(scope)), explore(Closed(scope, without(Guard.COMMITTED)))
    assert (small.broken, large.broken) == ("", "")
    assert small.is_complete
    assert large.is_complete
    assert small.states < large.states
    rules = without(Guard.VOTES_ONCE), without(Guard.VOTES_ONCE, Guard.COMMITTED)
    three = Scope(3, epochs=1, values=0)
    found = [explore(Closed(three, each)) for each in rules]
    assert found[0].way == found[1].way
    assert found[0].broken != ""


def test_the_order_of_things_is_always_the_same() -> None:
    scope, rules = Scope(3, epochs=1, values=0), without(Guard.VOTES_ONCE)
    ignored = frozenset({NO_AMNESIA})
    first, second = (explore(Closed(scope, rules, ignored)) for _ in range(2))
    assert first == second
    assert first.broken == VOTE_ONCE


def test_the_guards_that_block_are_counted() -> None:
    model = Closed(Scope(2, epochs=1, values=0))
    explore(model)
    assert model.blocks[Guard.ELECTED] > 0
    assert Guard.KEEPS_COMMITTED not in model.blocks, "a second line that the first one holds"
