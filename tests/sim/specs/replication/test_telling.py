"""Ways through the closed model, told as runs: the walk accepts them, and not what they are not."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.replication.closed import Closed
from barnabas.sim.specs.replication.guards import BUILT
from barnabas.sim.specs.replication.proof import LINGERS, RETOLD, World, walked
from barnabas.sim.specs.replication.telling import drawn, ids_in, retold
from barnabas.sim.specs.replication.trace import CtlFence, Event, PartAppend
from barnabas.sim.specs.replication.walk import Walk
from tests.sim.specs.replication.clusters import ids


def told(world: World, number: int) -> list[tuple[str, Event]]:
    """Return one way and what is said of it."""
    return list(retold(Closed(world.scope, world.rules, exact=True), number, 60))


@pytest.mark.slow
@pytest.mark.parametrize("name", RETOLD)
def test_whatever_the_model_does_the_walk_accepts(name: str) -> None:
    found = walked(RETOLD[name], 60)
    assert not found.broken, str(found)
    assert found.moves > 1_000


def test_every_kind_of_event_is_told_but_those_that_the_model_does_not_have() -> None:
    kinds = {
        type(event).__name__
        for name in ("retold: latecomer, repeats", "retold: pair, ends twice")
        for number in range(6)
        for _, event in told(RETOLD[name], number)
    }
    assert kinds == {
        "BrokerStart", "BrokerRegistered", "BrokerStop", "BrokerCrash", "CtlRegister", "CtlFence",
        "CtlUnfence", "CtlAlter", "PartApply", "PartAlterSend", "PartAlterDone", "PartAppend",
        "FetchSend", "FetchServe", "FetchApply",
    }  # fmt: skip
    moved = {type(event).__name__ for _, event in told(RETOLD["retold: three, moved"], 0)}
    assert "CtlReassign" in moved


def test_a_way_depends_on_its_number_alone() -> None:
    world = RETOLD["retold: pair, loses"]
    first, second = told(world, 3), told(world, 3)
    assert first == second
    assert told(world, 4) != first
    scope = replace(world.scope, losses=0, script=LINGERS[:0])
    assert len(list(drawn(Closed(scope, world.rules), 0, 5))) == 5


def test_what_did_not_happen_so_is_not_accepted() -> None:
    world = RETOLD["retold: latecomer, repeats"]
    model = Closed(world.scope, world.rules, exact=True)
    controller, brokers = model.initial()[:2]
    walk = Walk(model.controllers[controller], [model.brokers[each] for each in brokers], 1, BUILT)
    found = None
    for _, event in told(world, 1):
        wrong = event
        if isinstance(event, PartAppend):
            wrong = replace(event, count=2)
        elif isinstance(event, CtlFence):
            wrong = replace(event, partition=replace(event.partition, leader_epoch=9))
        found = walk.take(wrong)
        if wrong != event:
            break
    assert found is not None
    assert found.place in ("state", "said")


def test_brokers_are_read_as_they_are_told() -> None:
    assert ids_in("+{1,3}") == ids(1, 3)
    assert ids_in("-{},") == ids()
