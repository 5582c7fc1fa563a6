"""Leader epochs: by example, and against the list of epochs of every offset."""

import hypothesis.strategies as st
from hypothesis import given

from barnabas.log.epochs import NO_EPOCH, EpochCache, EpochEnd


def test_an_epoch_ends_where_the_next_begins() -> None:
    cache = EpochCache([(0, 0), (3, 17), (4, 25)])
    assert cache.end_of(0, 30) == EpochEnd(0, 17)
    assert cache.end_of(3, 30) == EpochEnd(3, 25)
    assert cache.end_of(4, 30) == EpochEnd(4, 30)


def test_an_epoch_that_wrote_nothing_here_ends_with_the_one_before() -> None:
    assert EpochCache([(0, 0), (3, 17)]).end_of(2, 30) == EpochEnd(0, 17)


def test_an_epoch_older_than_all_ends_where_the_first_begins() -> None:
    assert EpochCache([(3, 17)]).end_of(2, 30) == EpochEnd(2, 17)


def test_a_later_epoch_and_no_epoch_are_unknown() -> None:
    cache = EpochCache([(3, 17)])
    assert cache.end_of(4, 30) is None
    assert cache.end_of(NO_EPOCH, 30) is None
    assert EpochCache().end_of(3, 30) is None


def test_the_same_epoch_is_no_news() -> None:
    cache = EpochCache([(3, 17)])
    assert not cache.assign(3, 20)
    assert not cache.assign(NO_EPOCH, 20)
    assert cache.entries() == [(3, 17)]


def test_an_epoch_takes_the_place_of_one_that_wrote_nothing() -> None:
    cache = EpochCache([(0, 0), (3, 17)])
    assert cache.assign(4, 17)
    assert cache.entries() == [(0, 0), (4, 17)]


def test_a_truncation_at_the_very_end_drops_an_epoch_without_records() -> None:
    # KAFKA-10706: left there, it would claim the records of the next leader.
    cache = EpochCache([(0, 0), (3, 17)])
    assert cache.truncate_end(17)
    assert cache.entries() == [(0, 0)]
    assert not cache.truncate_end(17)


def test_the_epoch_in_force_moves_with_the_start_of_the_log() -> None:
    cache = EpochCache([(0, 0), (3, 17), (4, 25)])
    assert cache.truncate_start(20)
    assert cache.entries() == [(3, 20), (4, 25)]
    assert not cache.truncate_start(20)
    assert cache.truncate_start(25)
    assert cache.entries() == [(4, 25)]


def test_nothing_is_known_after_clearing() -> None:
    cache = EpochCache([(0, 0)])
    cache.clear()
    assert cache.latest == NO_EPOCH
    assert cache.epoch_of(0) == NO_EPOCH


@given(
    runs=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5)), max_size=8),
    cut=st.integers(0, 30),
    start=st.integers(0, 30),
)
def test_every_offset_knows_its_epoch(runs: list[tuple[int, int]], cut: int, start: int) -> None:
    cache, of_offset, epoch = EpochCache(), list[int](), 0
    for step, count in runs:
        epoch += step
        cache.assign(epoch, len(of_offset))
        of_offset += [epoch] * count
    cache.truncate_end(cut)
    del of_offset[cut:]
    if start < len(of_offset):
        cache.truncate_start(start)
        assert [cache.epoch_of(at) for at in range(start, len(of_offset))] == of_offset[start:]
        assert cache.entries()[0][1] == start
