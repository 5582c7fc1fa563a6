"""What must happen in the end, and what is told if it may not."""

from dataclasses import replace

import pytest

from barnabas.sim.specs.fairness import graph, starves
from barnabas.sim.specs.replication.closed import Closed
from barnabas.sim.specs.replication.cluster import (
    AlterRequest,
    Broker,
    Partition,
    Pending,
    Phase,
    Role,
)
from barnabas.sim.specs.replication.deeds import UNFENCE, Scope
from barnabas.sim.specs.replication.guards import SPECIFIED, Difference, Guard, Rules
from barnabas.sim.specs.replication.liveness import (
    EVENTUALLY_ALTERED,
    EVENTUALLY_UNFENCED,
    Seen,
    awaited,
    is_current,
    seen_in,
    starving,
)
from barnabas.sim.specs.replication.log import Log
from barnabas.sim.specs.replication.properties import History
from tests.sim.specs.replication.clusters import broker, controller, ids

PAIR = Scope(2, 2, 2)


def seen(brokers: tuple[Broker, ...] = (), history: History | None = None) -> Seen:
    """Return a cluster of three, but for something."""
    others = tuple(broker(each) for each in (1, 2, 3))
    return Seen(controller(), brokers or others, history or History())


def answers(world: Seen, name: str) -> set[tuple[bool, bool]]:
    """Return what the questions of a property say about a world: is it awaited, is it so."""
    asked = [each for each in awaited(Closed(Scope(3, 3, 3))) if each.name == name]
    return {(each.begins(world), each.ends(world)) for each in asked}


REQUEST = AlterRequest(1, ids(1, 2), (), 1, 1, 1)


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("EventuallyRuns", seen(brokers=(broker(phase=Phase.STARTING),) * 3)),
        (EVENTUALLY_ALTERED, seen(brokers=(broker(pending=Pending(2, REQUEST)),) * 3)),
        ("EventuallyWriteIsAcceptedOrRejected", seen(history=History(sent=ids(1)))),
        ("EventuallyAcknowledgedValueFullyReplicated", seen(history=History(acked=ids(1)))),
        (
            "EventuallyMetadataConverges",
            seen(brokers=(broker(view=replace(broker().view, isr=ids(1)), applied=0),) * 3),
        ),
    ],
)
def test_what_is_awaited_is_not_so_yet(name: str, world: Seen) -> None:
    assert answers(world, name) == {(True, False)}


def test_what_is_so_is_awaited_no_longer() -> None:
    done = seen(history=History(ids(1), ids(1)))
    assert answers(done, "EventuallyWriteIsAcceptedOrRejected") == {(True, True)}
    full = tuple(broker(each, log=Log().append(1, 1)) for each in (1, 2, 3))
    everywhere = seen(brokers=full, history=History(ids(1), ids(1)))
    assert answers(everywhere, "EventuallyAcknowledgedValueFullyReplicated") == {(True, True)}
    assert answers(seen(), "EventuallyRuns") == {(False, True)}
    assert answers(seen(), EVENTUALLY_UNFENCED) == {(False, True)}
    assert answers(seen(), EVENTUALLY_ALTERED) == {(False, True)}
    assert answers(seen(), "EventuallyReassignmentCompletes") == {(False, True)}


def test_a_replica_is_current_if_nothing_new_concerns_it() -> None:
    the = controller()
    now = the.partition
    record = replace(the.log[0], partition=replace(now, isr=ids(1, 2), partition_epoch=2))
    the = replace(the, log=(*the.log, record))
    assert not is_current(the, broker())
    assert is_current(the, broker(2)), "the ISR is its leader's business"
    elsewhere = Partition(ids(1, 2), ids(1, 2), 1, 1, 2)
    gone = replace(the, log=(replace(the.log[0], partition=elsewhere),))
    left = broker(3, role=Role.NONE, fetchers=(), view=replace(broker().view, partition_epoch=9))
    assert is_current(gone, left)
    assert not is_current(the, left), "it is a replica still"


def test_nothing_starves_where_everything_is_in_force() -> None:
    states, name, found = starving(Closed(Scope(2, 2, 2, fences=1)), 5_000)
    assert (name, found) == ("", None)
    assert states > 1_000


def test_a_leader_that_may_not_ask_in_vain_is_not_left_waiting() -> None:
    # Metadata come with every broker that is unfenced; if a leader proposes who is fenced and then
    # waits for more, more comes.
    rules = Rules(frozenset({Guard.IS_ELIGIBLE}), differs=frozenset({Difference.BACKS_OFF}))
    states, name, _ = starving(Closed(Scope(3, 3, 2), rules), 20_000)
    assert (states > 100, name) == (True, "")


def test_who_is_never_unfenced_starves() -> None:
    # Nobody may be unfenced who has not applied its own registration; this one never will.
    model = Closed(Scope(2, 2, 1), Rules(min_isr=1), then=())
    whole = graph(model, 5_000)
    assert whole is not None
    deaf = replace(
        whole,
        edges=tuple(
            tuple(edge for edge in edges if not edge.fair.startswith(UNFENCE))
            for edges in whole.edges
        ),
    )
    fenced = [each for each in awaited(model) if each.name == EVENTUALLY_UNFENCED][1]
    found = starves(
        deaf,
        lambda world: fenced.begins(seen_in(model, world)),
        lambda world: fenced.ends(seen_in(model, world)),
    )
    assert found is not None


def test_a_world_that_is_too_large_is_not_asked() -> None:
    with pytest.raises(AssertionError, match="there are more than 10 states"):
        starving(Closed(Scope(2, 2, 2, fences=1)), 10)


def test_a_world_is_seen_as_it_is() -> None:
    model = Closed(PAIR, SPECIFIED, then=("1 appends 1",))
    world = seen_in(model, model.initial())
    assert world.history == History(sent=ids(1))
    assert world.brokers[0].log == Log().append(1, 1)
    assert world.controller.partition.leader == 1
