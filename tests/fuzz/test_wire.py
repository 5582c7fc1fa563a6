"""A small part of the fuzzing, with every run of the tests; Hypothesis shrinks what it finds."""

from dataclasses import replace
from functools import partial
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.wire import codec
from tests.fuzz import targets
from tests.fuzz.mutation import LIES, mutate
from tests.fuzz.wire import Good, Tally, corpus, inputs
from tests.wire import naive

GOOD = corpus(seed=1)


@settings(max_examples=200)
@given(st.sampled_from(GOOD), st.binary())
def test_noise_is_refused_or_says_something(good: Good, noise: bytes) -> None:
    targets.anything(good.choice + noise)


@settings(max_examples=400)
@given(st.sampled_from(GOOD), st.sampled_from(GOOD), st.integers(min_value=0))
def test_a_broken_message_is_refused_or_says_something(good: Good, other: Good, seed: int) -> None:
    targets.anything(good.choice + mutate(good.data, other.data, Random(seed)))


def test_good_messages_are_good() -> None:
    assert all(targets.anything(good.choice + good.data) for good in GOOD)


@settings(max_examples=100)
@given(st.sampled_from(GOOD), st.integers(0, 200), st.sampled_from(LIES))
def test_a_lie_about_a_length_costs_no_memory(good: Good, at: int, lie: bytes) -> None:
    targets.anything(good.choice + good.data)  # which compiles the codec
    data = good.choice + good.data[:at] + lie + good.data[at:]
    assert targets.weight_bytes(targets.anything, data) <= targets.allowance_bytes(data)


def test_many_small_things_cost_in_proportion_to_their_bytes() -> None:
    weighed = 0
    for message, version in targets.layouts():
        judge = naive.twin(message.__name__)
        arrays = [field for field in judge.fields if field.is_array and version in field.versions]
        if not arrays or version != judge.versions.last:
            continue
        plain = judge.instance(version, Random(0), plain=1)
        for field in arrays:
            smallest = naive.default_of(replace(field, is_array=False, default=None), version)
            data = judge.encode(version, {**plain, field.key: [smallest] * 500})
            read = partial(codec.decode, message, version)
            read(data)  # which compiles the codec
            per_byte = targets.weight_bytes(read, data) / len(data)
            assert per_byte <= targets.READ_BYTES_PER_BYTE, (message, field.name)
            weighed += 1
    assert weighed > 100


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
    assert list(inputs(50, seed=1)) == list(inputs(50, seed=1))
    assert list(inputs(50, seed=1)) != list(inputs(50, seed=2))
