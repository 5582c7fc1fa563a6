"""What never happens although nobody is kept waiting."""

from collections.abc import Iterator

from barnabas.sim.specs.exploration import Move
from barnabas.sim.specs.fairness import Graph, components, graph, is_fair, starves

Edges = dict[str, list[tuple[str, str]]]


class Map:
    """Places, and ways between them: each leads somewhere, and may be one that must be taken."""

    def __init__(self, **ways: list[tuple[str, str]]) -> None:
        self.ways = ways

    def initial(self) -> str:
        """Begin at a."""
        return "a"

    def moves(self, state: str) -> Iterator[Move[str]]:
        """Go one way."""
        for to, fair in self.ways.get(state, ()):
            yield Move(f"{state}{to}", to, fair=fair)


def drawn(of: Map) -> Graph[str]:
    """Return the whole of a map."""
    whole = graph(of, 100)
    assert whole is not None
    return whole


def way(of: Map, begins: str, ends: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return how one may get somewhere and never from there to another place."""
    found = starves(drawn(of), begins.__eq__, ends.__eq__)
    return None if found is None else (found.way, found.circle)


def test_every_state_is_there_and_every_move() -> None:
    whole = drawn(Map(a=[("b", ""), ("c", "x")], b=[("a", "")]))
    assert whole.states == ("a", "b", "c")
    assert [len(edges) for edges in whole.edges] == [2, 1, 0]
    assert graph(Map(a=[("b", "")], b=[("c", "")]), 2) is None


def test_a_halt_starves_if_nothing_must_be_done() -> None:
    assert way(Map(a=[("b", "")], b=[("c", "")]), "a", "c") == ((), ())
    assert way(Map(a=[("b", "")], b=[("c", "")]), "b", "c") == (("ab",), ())
    assert way(Map(a=[("b", "go")], b=[("c", "go")]), "a", "c") is None
    assert way(Map(a=[("b", "go")], b=[]), "a", "c") == (("ab",), ())


def test_a_circle_starves_only_if_it_keeps_nobody_waiting() -> None:
    # In b as well as in c one may leave: whoever goes round for ever is not fair.
    leaves = Map(a=[("b", "")], b=[("c", ""), ("d", "go")], c=[("b", ""), ("d", "go")])
    assert way(leaves, "a", "d") == ((), ()), "nothing must be done at the very beginning"
    assert way(leaves, "b", "d") is None
    # In c one may not, so it is never possible for long.
    turns = Map(a=[("b", "go")], b=[("c", ""), ("d", "go")], c=[("b", "")])
    assert way(turns, "b", "d") == (("ab",), ("bc", "cb"))


def test_what_is_done_in_a_circle_keeps_nobody_waiting() -> None:
    works = Map(a=[("b", "go")], b=[("a", "go"), ("c", "")])
    assert way(works, "a", "c") == ((), ("ab", "ba"))


def test_what_has_happened_already_is_not_awaited() -> None:
    assert way(Map(a=[("b", "")]), "a", "a") is None
    assert way(Map(a=[("b", "")]), "z", "b") is None


def test_components_are_what_reaches_itself() -> None:
    whole = drawn(Map(a=[("b", "")], b=[("c", ""), ("d", "")], c=[("b", "")], d=[("e", "")]))
    found = sorted(
        sorted(whole.states[at] for at in each) for each in components(whole, set(range(5)))
    )
    assert found == [["a"], ["b", "c"], ["d"], ["e"]]
    assert is_fair(whole, {4})


def test_a_way_that_starves_is_told() -> None:
    found = starves(drawn(Map(a=[("b", "")], b=[("a", "")])), "a".__eq__, "z".__eq__)
    assert str(found) == "it never happens:\n  for ever:\n  ab\n  ba"
    halts = starves(drawn(Map(a=[("b", "go")])), "b".__eq__, "z".__eq__)
    assert str(halts) == "it never happens:\n  ab\n  and nothing more"
