"""Randomness of a process: numbers from the tape, names from a stream."""

import base64

from barnabas.sim.entropy import SimEntropy
from barnabas.sim.tape import Tape, stream


def entropy(tape: Tape, label: str = "a") -> SimEntropy:
    """Return the entropy of a process that lives."""
    return SimEntropy(tape.site("entropy/a"), stream(tape.seed, label), lambda: None)


def test_numbers_are_within_bounds_and_on_the_tape() -> None:
    tape = Tape(1)
    drawn = entropy(tape)
    numbers = [drawn.between(5, 8) for _ in range(100)]
    assert set(numbers) == {5, 6, 7, 8}
    assert {drawn.below(3) for _ in range(100)} == {0, 1, 2}
    played = entropy(Tape(2, tape.deviations()))
    assert [played.between(5, 8) for _ in range(100)] == numbers


def test_ids_differ_even_where_the_tape_says_nothing() -> None:
    drawn = entropy(Tape(1, {}))
    assert len({drawn.uuid() for _ in range(100)} | {drawn.octets(16) for _ in range(100)}) == 200
    assert entropy(Tape(1, {}), "a").octets(8) != entropy(Tape(1, {}), "b").octets(8)


def test_uuids_are_of_version_4_and_never_look_like_an_option() -> None:
    drawn = entropy(Tape(7))
    for _ in range(2_000):
        uuid = drawn.uuid()
        assert uuid[6] >> 4 == 4
        assert uuid[8] >> 6 == 2
        assert not base64.urlsafe_b64encode(uuid).startswith(b"-")
