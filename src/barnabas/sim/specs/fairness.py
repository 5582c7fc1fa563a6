"""What happens in the end: ways that go on for ever without it, although nobody is kept waiting.

    graph(model) ──▶ Graph      every state, every move, and what each of them does
    starves(graph, begins, ends) ──▶ the way to a state in which ``begins`` holds, and on into a
                                     circle, or a halt, that ``ends`` never holds in; or nothing

Weak fairness: what can be done from some moment on at every moment is done.  A circle is fair,
then, if everything that can be done in all of its states is done somewhere in it; a halt, if
nothing can be done that must be.  What disturbs need never happen.  It is enough to look at the
strongly connected components of the states in which ``ends`` does not hold: if a component is not
fair, no circle within it is.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from barnabas.model.value import value
from barnabas.sim.specs.exploration import Model

S = TypeVar("S")


@value
class Edge:
    """A move: where it leads, what it is called, and what must be done that it does."""

    to: int
    name: str
    fair: str


@value
class Graph(Generic[S]):
    """Every state that a model can reach, by number; the first is where it begins."""

    states: tuple[S, ...]
    edges: tuple[tuple[Edge, ...], ...]


@value
class Starves:
    """A way that goes on for ever without what should happen in the end."""

    way: tuple[str, ...]
    circle: tuple[str, ...]
    """What may happen again and again; empty if nothing happens any more."""

    def __str__(self) -> str:
        then = ["for ever:", *self.circle] if self.circle else ["and nothing more"]
        return "\n  ".join(["it never happens:", *self.way, *then])


def graph(model: Model[S], states_max: int) -> Graph[S] | None:
    """Visit every state; return nothing if there are too many."""
    first = model.initial()
    numbers, states, edges = {first: 0}, [first], list[tuple[Edge, ...]]()
    for state in states:
        found = []
        for move in model.moves(state):
            number = numbers.setdefault(move.state, len(states))
            if number == len(states):
                states.append(move.state)
            found.append(Edge(number, move.name, move.fair))
        edges.append(tuple(found))
        if len(states) > states_max:
            return None
    return Graph(tuple(states), tuple(edges))


def starves(
    graph: Graph[S], begins: Callable[[S], bool], ends: Callable[[S], bool]
) -> Starves | None:
    """Return how ``ends`` may never come to hold after ``begins`` did, if it may."""
    open_ = [not ends(state) for state in graph.states]
    starts = [at for at, state in enumerate(graph.states) if open_[at] and begins(state)]
    inside = spread(graph, starts, open_)
    found = [component for component in components(graph, inside) if is_fair(graph, component)]
    # States are numbered from the first one on, so this is the nearest.
    return told(graph, starts, open_, min(found, key=min)) if found else None


def spread(graph: Graph[S], starts: list[int], allowed: list[bool]) -> set[int]:
    """Return the states that can be reached from some through what is allowed."""
    found, waiting = set(starts), list(starts)
    while waiting:
        for edge in graph.edges[waiting.pop()]:
            if allowed[edge.to] and edge.to not in found:
                found.add(edge.to)
                waiting.append(edge.to)
    return found


def is_fair(graph: Graph[S], component: set[int]) -> bool:
    """Tell whether one may stay in some states for ever and keep nobody waiting."""
    can = [
        {edge.fair for edge in graph.edges[at] if edge.fair and edge.to != at} for at in component
    ]
    done = {edge.fair for at in component for edge in graph.edges[at] if edge.to in component}
    return set.intersection(*can) <= done


def components(graph: Graph[S], inside: set[int]) -> Iterator[set[int]]:
    """Yield the strongly connected components of some states (Tarjan), without recursion."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    stacked: set[int] = set()
    for root in sorted(inside):
        if root in order:
            continue
        work = [(root, iter(graph.edges[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        stacked.add(root)
        while work:
            at, edges = work[-1]
            for edge in edges:
                if edge.to not in inside:
                    continue
                if edge.to not in order:
                    order[edge.to] = low[edge.to] = len(order)
                    stack.append(edge.to)
                    stacked.add(edge.to)
                    work.append((edge.to, iter(graph.edges[edge.to])))
                    break
                if edge.to in stacked:
                    low[at] = min(low[at], order[edge.to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == order[at]:
                    cut = stack.index(at)
                    yield set(stack[cut:])
                    stacked.difference_update(stack[cut:])
                    del stack[cut:]


def told(graph: Graph[S], starts: list[int], allowed: list[bool], component: set[int]) -> Starves:
    """Return a shortest way into a component, and what happens in it."""
    everywhere = [True] * len(graph.states)
    begun = path(graph, {0}, set(starts) & reaching(graph, component, allowed), everywhere)
    into = path(graph, {begun[1]}, component, allowed)
    circle = sorted(
        {edge.name for at in component for edge in graph.edges[at] if edge.to in component}
    )
    return Starves((*begun[0], *into[0]), tuple(circle))


def reaching(graph: Graph[S], goal: set[int], allowed: list[bool]) -> set[int]:
    """Return the states from which some can be reached through what is allowed."""
    before: dict[int, list[int]] = {}
    for at, edges in enumerate(graph.edges):
        for edge in edges if allowed[at] else ():
            before.setdefault(edge.to, []).append(at)
    found, waiting = set(goal), list(goal)
    while waiting:
        for at in before.get(waiting.pop(), ()):
            if at not in found:
                found.add(at)
                waiting.append(at)
    return found


def path(
    graph: Graph[S], starts: set[int], goal: set[int], allowed: list[bool]
) -> tuple[tuple[str, ...], int]:
    """Return a shortest way from some states to others, and where it ends."""
    came: dict[int, tuple[int, str] | None] = dict.fromkeys(sorted(starts))
    waiting = deque(came)
    while waiting:
        at = waiting.popleft()
        if at in goal:
            names, step = list[str](), came[at]
            while step is not None:
                names.append(step[1])
                step = came[step[0]]
            return tuple(reversed(names)), at
        for edge in graph.edges[at]:
            if allowed[edge.to] and edge.to not in came:
                came[edge.to] = at, edge.name
                waiting.append(edge.to)
    raise AssertionError("what was found cannot be reached")
