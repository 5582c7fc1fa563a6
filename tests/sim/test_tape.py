"""Choices: drawn, noted, played back."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.sim.tape import Tape, stream

DRAWS = st.lists(
    st.tuples(st.sampled_from(("a", "b", "c")), st.integers(1, 1_000), st.booleans()), max_size=60
)


def drawn(tape: Tape, draws: list[tuple[str, int, bool]]) -> list[int]:
    """Make the draws and return what came."""
    return [
        int(tape.chance(site, limit * 1_000)) if yes_or_no else tape.below(site, limit)
        for site, limit, yes_or_no in draws
    ]


@given(st.integers(0, 99), DRAWS)
def test_a_tape_plays_back_what_was_drawn(seed: int, draws: list[tuple[str, int, bool]]) -> None:
    live = Tape(seed)
    values = drawn(live, draws)
    noted = live.deviations()
    assert drawn(Tape(seed + 1, noted), draws) == values
    assert all(value for draws_ in noted.values() for _, value in draws_), "0 is not noted"


@given(DRAWS)
def test_an_empty_tape_is_boring(draws: list[tuple[str, int, bool]]) -> None:
    assert set(drawn(Tape(1, {}), draws)) <= {0}


def test_a_draw_at_one_site_shifts_no_other_site() -> None:
    one, other = Tape(5), Tape(5)
    one.below("noise", 10)
    assert [one.below("a", 1_000) for _ in range(20)] == [
        other.below("a", 1_000) for _ in range(20)
    ]


def test_values_noted_for_a_larger_limit_wrap() -> None:
    tape = Tape(1, {"a": [(0, 17)], "b": [(0, 1)]})
    assert tape.below("a", 10) == 7
    assert not tape.chance("b", 0), "what cannot happen does not, whatever the tape says"


def test_the_fingerprint_tells_whether_two_tapes_drew_alike() -> None:
    def after(*limits: int) -> bytes:
        tape = Tape(5)
        for limit in limits:
            tape.below("a", limit)
        return tape.fingerprint()

    assert after(10, 10) == after(10, 10)
    assert len({after(), after(10), after(10, 10)}) == 3


def test_streams_of_other_labels_and_seeds_differ() -> None:
    firsts = {stream(seed, label).random() for seed in range(20) for label in ("a", "b", "ab")}
    assert len(firsts) == 60


def test_every_value_below_the_limit_comes_up() -> None:
    site = Tape(3).site("dice")
    assert {site.below(6) for _ in range(200)} == set(range(6))
    chances = [site.chance(250_000) for _ in range(2_000)]
    assert 400 < sum(chances) < 600
