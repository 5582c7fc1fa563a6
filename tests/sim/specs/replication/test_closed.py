"""The closed model: small worlds, whole."""

import pytest

from barnabas.sim.specs.exploration import explore
from barnabas.sim.specs.replication.closed import Closed, bits, raise_one
from barnabas.sim.specs.replication.deeds import Scope
from barnabas.sim.specs.replication.guards import BUILT, SPECIFIED, Difference, Guard, Rules
from barnabas.sim.specs.replication.proof import COMMITS, LINGERS
from barnabas.sim.specs.replication.properties import (
    RECORD_IDENTITY,
    VALID_CONTROLLER,
    VALID_FETCHER,
)

PAIR = Scope(2, 2, 2)


def names(model: Closed) -> list[str]:
    """Return what may happen first."""
    return [move.name for move in model.moves(model.initial())]


def test_the_first_state_is_what_the_script_leads_to() -> None:
    model = Closed(Scope(2, 2, 2, script=COMMITS))
    assert names(model) == ["2 takes of 1 0 from 1, 1 committed"]
    assert Closed(PAIR, then=("1 appends 1",)).script == ("1 appends 1",)


def test_a_script_that_cannot_happen_is_told_so() -> None:
    with pytest.raises(AssertionError, match="'2 appends 1' cannot happen; what can: 1 appends 1"):
        Closed(PAIR, then=("2 appends 1",)).initial()
    rules = Rules(frozenset({Guard.LEAVES_ISR}))
    with pytest.raises(AssertionError, match=f"the script breaks {VALID_CONTROLLER}"):
        Closed(Scope(2, 2, 2, fences=1), rules, then=("controller fences 2",)).initial()


def test_what_is_limited_happens_so_often() -> None:
    fenced = Scope(2, 2, 2, fences=1)
    assert "controller fences 2" in names(Closed(fenced))
    once = Closed(fenced, then=("controller fences 2",))
    assert [name for name in names(once) if "fences" in name] == ["controller unfences 2"]


def test_a_property_that_is_ignored_lets_the_next_one_fall() -> None:
    rules = Rules(frozenset({Guard.LEADS}), min_isr=1)
    scope = Scope(2, 2, 2, values=2)
    assert explore(Closed(scope, rules)).broken == VALID_FETCHER
    ignored = frozenset({VALID_FETCHER})
    assert explore(Closed(scope, rules, ignored)).broken == RECORD_IDENTITY


def test_forgetting_what_is_dead_changes_nothing_that_matters() -> None:
    scope = Scope(2, 2, 2, shrinks=1)
    small, large = explore(Closed(scope)), explore(Closed(scope, exact=True))
    assert (small.broken, large.broken) == ("", "")
    assert small.is_complete
    assert large.is_complete
    assert small.states <= large.states


def test_the_order_of_things_is_always_the_same() -> None:
    scope = Scope(3, 3, 3, fences=1)
    rules = Rules(frozenset({Guard.PARTITION_EPOCH}))
    assert explore(Closed(scope, rules), 500) == explore(Closed(scope, rules), 500)


def test_as_specified_the_controller_sees_a_broker_end_and_as_built_it_misses_it_later() -> None:
    scope = Scope(2, 2, 2, losses=1)
    assert "1 ends, its log lost" in names(Closed(scope, SPECIFIED))
    model = Closed(scope, SPECIFIED, then=("1 ends, its log lost",))
    assert model.controllers[model.initial()[0]].partition.leader == 2
    built = Closed(scope, BUILT, then=("1 ends, its log lost",))
    assert built.controllers[built.initial()[0]].partition.leader == 1
    assert "controller misses 1" in names(built)


def test_only_what_lingers_is_served_after_a_life_and_nobody_gets_the_answer() -> None:
    scope = Scope(2, 2, 2, losses=1)
    specified = ("1 appends 1", "2 asks 1", "2 ends, its log lost")
    assert not any("serves" in name for name in names(Closed(scope, SPECIFIED, then=specified)))
    built = Closed(Scope(2, 2, 2, losses=1, script=LINGERS))
    assert "1 serves 2 at 1" in names(built)
    served = Closed(Scope(2, 2, 2, losses=1, script=(*LINGERS, "1 serves 2 at 1")))
    assert not any("takes" in name for name in names(served))


def test_a_proposal_is_sent_again_as_often_as_the_scope_says() -> None:
    scope = Scope(3, 3, 3, shrinks=1, repeats=1)
    proposed = "1 proposes {1,2}", "controller accepts {1,2} of 1"
    again = Closed(scope, SPECIFIED, then=(*proposed, "1 proposes again"))
    after = names(again)
    assert "1 proposes again" not in after
    assert "1 hears {1,2}" not in after, "whoever asks again waits for no older answer"
    assert "controller refuses {1,2} of 1" in after


def test_what_would_be_refused_again_is_not_proposed_again() -> None:
    scope = Scope(3, 3, 2)
    refused = (
        "3 asks 1", "1 serves 3 at 0", "1 proposes {1,2,3}", "controller refuses {1,2,3} of 1",
        "1 hears INELIGIBLE",
    )  # fmt: skip
    assert "1 proposes {1,2,3}" not in names(Closed(scope, SPECIFIED, then=refused))
    unfenced = (*refused, "controller unfences 3")
    assert "1 proposes {1,2,3}" in names(Closed(scope, SPECIFIED, then=unfenced))
    backs_off = Rules(differs=frozenset({Difference.BACKS_OFF}))
    first = names(Closed(scope, backs_off, then=refused[:2]))
    assert "1 proposes {1,2,3}" not in first, "the metadata have 3 as fenced"


def test_the_guards_that_block_are_counted() -> None:
    model = Closed(PAIR)
    explore(model)
    assert model.blocks[Guard.IS_DOWN] > 0
    assert Guard.ENOUGH_TO_WRITE not in model.blocks, "nobody leaves the ISR here"


def test_counts_and_bits_are_what_they_say() -> None:
    assert list(bits(0b10110)) == [0b10, 0b100, 0b10000]
    assert raise_one((0, 3, 1), 1) == (0, 4, 1)
