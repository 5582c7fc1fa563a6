"""A small part of the fuzzing, with every run of the tests; Hypothesis shrinks what it finds."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import targets
from tests.fuzz.mutation import LIES, mutate
from tests.fuzz.wire import Tally, corpus, inputs

GOOD = corpus(seed=1)


@settings(max_examples=200)
@given(st.sampled_from(GOOD), st.binary())
def test_noise_is_refused_or_says_something(good: bytes, noise: bytes) -> None:
    targets.message(good[:2] + noise)


@settings(max_examples=400)
@given(st.sampled_from(GOOD), st.sampled_from(GOOD), st.integers(min_value=0))
def test_a_broken_message_is_refused_or_says_something(
    good: bytes, other: bytes, seed: int
) -> None:
    targets.message(good[:2] + mutate(good[2:], other[2:], Random(seed)))


def test_good_messages_are_good() -> None:
    assert all(map(targets.message, GOOD))


@settings(max_examples=100)
@given(st.sampled_from(GOOD), st.integers(0, 200), st.sampled_from(LIES))
def test_a_lie_about_a_length_costs_no_memory(good: bytes, at: int, lie: bytes) -> None:
    targets.message(good)  # which compiles the codec
    data = good[: 2 + at] + lie + good[2 + at :]
    assert targets.weight_bytes(targets.message, data) <= targets.allowance_bytes(data)


def test_the_driver_counts_what_it_feeds_and_shows_what_it_finds() -> None:
    def fails_on_odd_bytes(data: bytes) -> bool:
        if data[0] % 2:
            raise ZeroDivisionError
        return data[0] == 0

    tally = Tally()
    for data in (b"\0", b"\1", b"\2", b"\3"):
        tally.feed(fails_on_odd_bytes, data)
    assert tally.outcomes == {"decoded_ok": 1, "refused": 1, "other": 2}
    (shown,) = tally.findings.values()
    assert shown.startswith("01\n")
    assert "ZeroDivisionError" in shown


def test_the_same_seed_feeds_the_same_inputs() -> None:
    assert list(inputs(50, seed=7)) == list(inputs(50, seed=7))
    assert list(inputs(50, seed=7)) != list(inputs(50, seed=8))
