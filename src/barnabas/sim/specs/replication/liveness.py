"""What must happen in the end, when whatever disturbs has an end and whatever repairs goes on.

Each property is two questions about a world: what begins to wait, and what it waits for.  They are
asked of every fair way through the whole of a small world (``specs.fairness``).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from barnabas.model.value import value
from barnabas.sim.specs.fairness import Graph, Starves, graph, starves
from barnabas.sim.specs.replication.closed import Closed, World
from barnabas.sim.specs.replication.cluster import Broker, Controller, Phase, Role
from barnabas.sim.specs.replication.deeds import concerns
from barnabas.sim.specs.replication.properties import History

EVENTUALLY_RUNS: Final = "EventuallyRuns"
EVENTUALLY_UNFENCED: Final = "EventuallyUnfenced"
EVENTUALLY_ALTERED: Final = "AlterPartitionEpochEventuallyReachedOrZero"
EVENTUALLY_CONVERGES: Final = "EventuallyMetadataConverges"
EVENTUALLY_ANSWERED: Final = "EventuallyWriteIsAcceptedOrRejected"
EVENTUALLY_REPLICATED: Final = "EventuallyAcknowledgedValueFullyReplicated"
EVENTUALLY_MOVED: Final = "EventuallyReassignmentCompletes"


@value
class Seen:
    """A world as it is."""

    controller: Controller
    brokers: tuple[Broker, ...]
    history: History


@value
class Awaited:
    """A property: when somebody begins to wait, and for what."""

    name: str
    begins: Callable[[Seen], bool]
    ends: Callable[[Seen], bool]


def awaited(model: Closed) -> Iterator[Awaited]:
    """Yield the properties of a model."""
    for broker in model.scope.ids:
        yield Awaited(EVENTUALLY_RUNS, partial(starts, broker=broker), partial(runs, broker=broker))
        fenced = partial(is_fenced, broker=broker)
        yield Awaited(EVENTUALLY_UNFENCED, fenced, partial(is_unfenced, broker=broker))
        yield Awaited(
            EVENTUALLY_ALTERED, partial(waits, broker=broker), partial(is_settled, broker=broker)
        )
    yield Awaited(EVENTUALLY_CONVERGES, always, has_converged)
    for number in range(1, model.scope.values + 1):
        sent, answered = partial(was_sent, number=number), partial(was_answered, number=number)
        yield Awaited(EVENTUALLY_ANSWERED, sent, answered)
        acked = partial(was_acked, number=number)
        yield Awaited(EVENTUALLY_REPLICATED, acked, partial(is_everywhere, number=number))
    yield Awaited(EVENTUALLY_MOVED, is_moved, is_in_place)


def starving(model: Closed, states_max: int) -> tuple[int, str, Starves | None]:
    """Return how many states there are, and which property starves how, if one does."""
    whole: Graph[World] | None = graph(model, states_max)
    assert whole is not None, f"there are more than {states_max} states"
    seen = {state: seen_in(model, state) for state in whole.states}
    for each in awaited(model):
        found = starves(whole, asked(each.begins, seen), asked(each.ends, seen))
        if found is not None:
            return len(whole.states), each.name, found
    return len(whole.states), "", None


def asked(question: Callable[[Seen], bool], seen: Mapping[World, Seen]) -> Callable[[World], bool]:
    """Return a question about worlds by number."""
    return lambda world: question(seen[world])


def seen_in(model: Closed, world: World) -> Seen:
    """Return a world as it is."""
    controller, brokers, _, _, history, _ = world
    found = tuple(model.brokers[number] for number in brokers)
    return Seen(model.controllers[controller], found, model.histories[history])


# --- The questions ---------------------------------------------------------------------------


def always(seen: Seen) -> bool:
    """Tell that something is awaited again and again."""
    return bool(seen.brokers)


def starts(seen: Seen, broker: int) -> bool:
    """Tell whether a broker starts."""
    return seen.brokers[broker - 1].phase is Phase.STARTING


def runs(seen: Seen, broker: int) -> bool:
    """Tell whether a broker runs and the controller knows."""
    return seen.brokers[broker - 1].phase is Phase.RUNNING and is_unfenced(seen, broker)


def is_fenced(seen: Seen, broker: int) -> bool:
    """Tell whether a broker is fenced."""
    return seen.controller.registration(broker).fenced


def is_unfenced(seen: Seen, broker: int) -> bool:
    """Tell whether a broker is not fenced."""
    return not is_fenced(seen, broker)


def waits(seen: Seen, broker: int) -> bool:
    """Tell whether a proposal is undecided."""
    return seen.brokers[broker - 1].waits_for_answer


def is_settled(seen: Seen, broker: int) -> bool:
    """Tell whether no proposal is undecided."""
    return not waits(seen, broker)


def has_converged(seen: Seen) -> bool:
    """Tell whether everybody knows of the partition what concerns it."""
    return all(is_current(seen.controller, broker) for broker in seen.brokers)


def is_current(controller: Controller, broker: Broker) -> bool:
    """Tell whether a broker knows the partition, or nothing new concerns it."""
    view, partition = broker.view, controller.partition
    knows = view.isr, view.leader, view.leader_epoch, view.partition_epoch
    is_so = partition.isr, partition.leader, partition.leader_epoch, partition.partition_epoch
    if knows == is_so:
        return True
    if broker.role is Role.FOLLOWER:
        rest = controller.log[broker.applied :]
        return not any(concerns(broker, record.partition) for record in rest)
    return broker.role is Role.NONE and broker.id not in partition.replicas


def was_sent(seen: Seen, number: int) -> bool:
    """Tell whether a client has sent a value."""
    return number in seen.history.sent


def was_answered(seen: Seen, number: int) -> bool:
    """Tell whether it was told what has become of it."""
    return number in seen.history.acked | seen.history.nacked


def was_acked(seen: Seen, number: int) -> bool:
    """Tell whether a value was acknowledged."""
    return number in seen.history.acked


def is_everywhere(seen: Seen, number: int) -> bool:
    """Tell whether every replica has a value."""
    replicas = seen.controller.partition.replicas
    logs = (broker.log for broker in seen.brokers if broker.id in replicas)
    return all(number in log.values(0, log.end) for log in logs)


def is_moved(seen: Seen) -> bool:
    """Tell whether a reassignment is under way."""
    return seen.controller.partition.is_reassigned


def is_in_place(seen: Seen) -> bool:
    """Tell whether none is."""
    return not is_moved(seen)
