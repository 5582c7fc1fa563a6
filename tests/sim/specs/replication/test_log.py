"""Logs: which epoch is where, and where it ends."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.sim.specs.replication.log import PLAIN, Log, Run

# Epochs 1, 1, 1, 3, 3, 7.
LOG = Log().append(1, PLAIN, 3).append(3, 5).append(3, 6).append(7, PLAIN)


def test_runs_of_plain_records_are_one() -> None:
    assert Log().append(1, PLAIN, 2).append(1, PLAIN) == Log((Run(3, 1, PLAIN),))
    assert len(LOG.runs) == 4
    assert (LOG.end, LOG.last_epoch) == (6, 7)
    assert (Log().end, Log().last_epoch) == (0, 0)


def test_a_part_of_a_log_is_cut_to_fit() -> None:
    assert LOG.records(1, 4) == (Run(3, 1, PLAIN), Run(4, 3, 5))
    assert LOG.values(3, 5) == {5, 6}
    assert LOG.cut(2) == Log().append(1, PLAIN, 2)
    assert Log().append(1, PLAIN).extend(1, LOG.records(1, 6)) == LOG


@pytest.mark.parametrize(
    ("epoch", "current", "found"),
    [
        (7, None, (7, 6)),
        (3, None, (3, 5)),
        (1, 9, (1, 3)),
        # Nothing of epoch 2 or 5 is there: the older one ends where the next begins.
        (2, 9, (1, 3)),
        (5, 9, (3, 5)),
        # Nothing as old: the epoch itself, and where the log begins.
        (0, 9, (0, 0)),
        # The leader's own epoch, in which nothing was appended, and one between.
        (9, 9, (9, 6)),
        (8, 9, (7, 6)),
    ],
)
def test_an_epoch_ends_where_the_next_one_begins(
    epoch: int, current: int | None, found: tuple[int, int]
) -> None:
    assert LOG.end_of_epoch(epoch, current) == found


def test_an_empty_log_ends_every_epoch() -> None:
    assert Log().end_of_epoch(4) == (4, 0)


@given(st.lists(st.integers(1, 6), max_size=8), st.integers(0, 7))
def test_where_an_epoch_ends_is_what_counting_says(epochs: list[int], asked: int) -> None:
    log = Log()
    for each in sorted(epochs):
        log = log.append(each, PLAIN)
    older = [each for each in sorted(epochs) if each <= asked]
    whole = not epochs or asked in (max(epochs), 7)
    due = (asked, len(epochs)) if whole else (older[-1] if older else asked, len(older))
    assert log.end_of_epoch(asked, 7) == due


def test_logs_agree_as_far_as_both_go() -> None:
    short, other = LOG.cut(4), LOG.cut(3).append(4, 9)
    assert short.agrees_with(LOG, 9)
    assert not short.agrees_with(other, 9)
    assert all(short.agrees_with(other, end) for end in range(4))
    for one, two in product((LOG, short, other), repeat=2):
        assert one.agrees_with(two, 4) == two.agrees_with(one, 4)
