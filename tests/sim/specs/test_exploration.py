"""Breadth first: every state once, the nearest wrong one with the way to it."""

from collections.abc import Iterator

from barnabas.sim.specs.exploration import Explored, Move, Trial, explore


class Jugs:
    """Jugs of five and three litres; to have four litres is forbidden."""

    def __init__(self, forbidden: int) -> None:
        self.forbidden = forbidden

    def initial(self) -> tuple[int, int]:
        """Both are empty."""
        return 0, 0

    def moves(self, state: tuple[int, int]) -> Iterator[Move[tuple[int, int]]]:
        """Fill one, empty one, or pour one into the other."""
        five, three = state
        over = min(five, 3 - three)
        back = min(three, 5 - five)
        for name, after in (
            ("fill five", (5, three)),
            ("fill three", (five, 3)),
            ("empty five", (0, three)),
            ("empty three", (five, 0)),
            ("pour over", (five - over, three + over)),
            ("pour back", (five + back, three - back)),
        ):
            yield Move(name, after, "too much" if self.forbidden in after else "")


def test_every_state_is_visited_once() -> None:
    found = explore(Jugs(forbidden=9))
    assert (found.states, found.moves, found.is_complete) == (16, 16 * 6, True)
    assert found.broken == ""
    assert str(found) == f"16 states, 96 moves, depth {found.depth}"


def test_the_shortest_way_to_what_is_wrong_is_told() -> None:
    found = explore(Jugs(forbidden=4))
    assert found.broken == "too much"
    assert found.way == (
        "fill five", "pour over", "empty three", "pour over", "fill five", "pour over",
    )  # fmt: skip
    assert found.depth == len(found.way)
    assert str(found).startswith("too much falls (")
    assert str(found).endswith("fill five\n  pour over")


def test_an_exploration_ends_where_there_is_no_more_room() -> None:
    found = explore(Jugs(forbidden=9), states_max=5)
    assert not found.is_complete
    assert 5 < found.states < 16
    assert str(found).endswith(", not complete")


def test_a_trial_shows_what_it_should_or_nothing() -> None:
    whole, part = Explored(5, 9, 3), Explored(5, 9, 3, is_complete=False)
    falls = Explored(5, 9, 3, "too much", ("pour",))

    def run(states_max: int) -> Explored:
        return whole if states_max > 5 else part

    holds = Trial("jugs", run)
    assert [holds.is_shown(found) for found in (run(9), run(5), falls)] == [True, False, False]
    assert Trial("jugs", run, is_whole=False).is_shown(part)
    lifted = Trial("jugs", run, "too much")
    assert [lifted.is_shown(found) for found in (falls, whole, part)] == [True, False, False]
    other = Trial("jugs", run, "too little")
    assert not other.is_shown(falls)
