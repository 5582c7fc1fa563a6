"""Every state that a small closed model can reach, breadth first.

    explore(model) ──▶ Explored     no reachable state is wrong; how many there are
                   └─▶ Counterexample   the shortest way to one that is, step by step

States are values that can be hashed; the model says what is wrong with a state, or with the step
to it.  A state is kept with the step that led to it, so that the way can be told.
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic, Protocol, TypeVar

from barnabas.model.value import value

S = TypeVar("S")

# Enough for anything that a machine with a few gigabytes explores before it is bored.
STATES_MAX: Final = 5_000_000


@value
class Move(Generic[S]):
    """A step to a state: what it is called, and which property it breaks, if one."""

    name: str
    state: S
    broken: str = ""
    fair: str = ""
    """What is done by it that must be done in the end if it can be for long, if anything is."""


class Model(Protocol[S]):
    """A closed world."""

    def initial(self) -> S:
        """Return the first state."""
        ...

    def moves(self, state: S) -> Iterable[Move[S]]:
        """Return everything that may happen next, in an order that is always the same."""
        ...


@value
class Explored:
    """How far an exploration went, and the way to what is wrong, if anything is."""

    states: int
    moves: int
    depth: int
    broken: str = ""
    way: tuple[str, ...] = ()
    is_complete: bool = True

    def __str__(self) -> str:
        size = f"{self.states} states, {self.moves} moves, depth {self.depth}"
        if self.broken:
            return "\n  ".join([f"{self.broken} falls ({size}):", *self.way])
        return size if self.is_complete else f"{size}, not complete"


@value
class Trial:
    """A world that is to be explored, and what it is to show."""

    name: str
    """The world's; or the guards without which it falls."""
    run: Callable[[int], Explored]
    broken: str = ""
    """The property that falls; none if every one holds."""
    is_whole: bool = True
    """Whether it shows nothing unless all of it was explored."""

    def is_shown(self, found: Explored) -> bool:
        """Tell whether an exploration has shown what it should."""
        whole = found.is_complete or not self.is_whole or bool(self.broken)
        return found.broken == self.broken and whole


def explore(model: Model[S], states_max: int = STATES_MAX) -> Explored:
    """Visit every state once, nearest first; stop at the first that is wrong."""
    first = model.initial()
    came: dict[S, tuple[S, str] | None] = {first: None}
    border, depth, moves = [first], 0, 0
    while border:
        following: list[S] = []
        for state in border:
            for move in model.moves(state):
                moves += 1
                if move.broken:
                    way = (*told(came, state), move.name)
                    return Explored(len(came), moves, depth + 1, move.broken, way)
                if move.state not in came:
                    came[move.state] = state, move.name
                    following.append(move.state)
            if len(came) > states_max:
                return Explored(len(came), moves, depth, is_complete=False)
        border = following
        depth += bool(border)
    return Explored(len(came), moves, depth)


def told(came: dict[S, tuple[S, str] | None], state: S) -> tuple[str, ...]:
    """Return the names of the steps that led to a state."""
    names: list[str] = []
    step = came[state]
    while step is not None:
        state, name = step
        names.append(name)
        step = came[state]
    return tuple(reversed(names))
