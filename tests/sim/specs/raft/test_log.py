"""Logs as runs, against logs as lists of records."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.sim.specs.raft.log import LEADER_CHANGE, PLAIN, Content, Key, Log

ONE, TWO = frozenset({Key(1, "a")}), frozenset({Key(1, "a"), Key(2, "a")})

# Records as (epoch, content); the epochs of a log never fall.
contents: st.SearchStrategy[Content] = st.sampled_from((PLAIN, PLAIN, LEADER_CHANGE, 7, ONE, TWO))
lists = st.lists(st.tuples(st.integers(1, 4), contents), max_size=8).map(
    lambda records: sorted(records, key=lambda record: record[0])
)


def made(records: list[tuple[int, Content]]) -> Log:
    """Return the log of a list of records."""
    log = Log()
    for epoch, content in records:
        log = log.append(epoch, content)
    return log


def spelled(log: Log) -> list[tuple[int, Content]]:
    """Return the records of a log, one by one."""
    return [(run.epoch, run.content) for first, run in log.pieces() for _ in range(first, run.end)]


@given(lists)
def test_a_log_is_its_records(records: list[tuple[int, Content]]) -> None:
    log = made(records)
    assert spelled(log) == records
    assert (log.start, log.end) == (0, len(records))
    assert log.last_epoch == (records[-1][0] if records else 0)
    starts: dict[int, int] = {}
    for offset, (epoch, _) in enumerate(records):
        starts.setdefault(epoch, offset)
    assert log.epochs == tuple(starts.items())
    voters = [(at, said) for at, (_, said) in enumerate(records) if isinstance(said, frozenset)]
    assert (log.voters_offset, log.voters) == (voters[-1] if voters else (-1, frozenset()))


@given(lists, st.integers(0, 8))
def test_a_log_that_is_cut_has_the_records_before(
    records: list[tuple[int, Content]], end: int
) -> None:
    log = made(records).cut(end)
    assert spelled(log) == records[:end]
    assert log == made(records[:end])


@given(lists, st.integers(0, 8), st.integers(0, 8))
def test_what_is_summed_up_is_known_by_its_last_epoch_and_voters(
    records: list[tuple[int, Content]], start: int, more: int
) -> None:
    whole, start = made(records), min(start, len(records))
    log = whole.begin_at(start)
    assert spelled(log) == records[start:]
    assert (log.end, log.last_epoch, log.voters) == (whole.end, whole.last_epoch, whole.voters)
    assert log.start_epoch == whole.epoch_below(start)
    assert log.agrees_with(whole)
    further = min(start + more, len(records))
    assert log.begin_at(further) == whole.begin_at(further)


@given(lists, lists)
def test_logs_agree_where_both_have_records(
    one: list[tuple[int, Content]], other: list[tuple[int, Content]]
) -> None:
    shared = min(len(one), len(other))
    assert made(one).agrees_with(made(other)) == (one[:shared] == other[:shared])
    for end in range(shared + 1):
        assert made(one).agrees_with(made(other), end) == (one[:end] == other[:end])


@given(lists, st.integers(0, 5))
def test_an_epoch_ends_where_the_next_one_begins(
    records: list[tuple[int, Content]], epoch: int
) -> None:
    upto = [each for each, _ in records if each <= epoch]
    expected = (upto[-1], len(upto)) if upto else (epoch, 0)
    assert made(records).end_of_epoch(epoch) == expected


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[tuple[int, Content]], list[tuple[int, Content]]]:
    """Return the logs of the last leader and of a replica that has followed any of them.

    Every leader has begun with a beginning of an earlier leader's log, and appended its own.
    """
    led: list[list[tuple[int, Content]]] = [[]]
    for epoch in range(1, 6):
        earlier = draw(st.sampled_from(led))
        kept = earlier[: draw(st.integers(0, len(earlier)))]
        led.append(kept + [(epoch, PLAIN)] * draw(st.integers(1, 3)))
    followed = draw(st.sampled_from(led))
    return led[-1], followed[: draw(st.integers(0, len(followed)))]


@given(histories())
def test_cutting_where_the_leader_says_ends_in_a_beginning_of_its_log(
    logs: tuple[list[tuple[int, Content]], list[tuple[int, Content]]],
) -> None:
    leader, log = map(made, logs)
    alike = [a == b for a, b in zip(*logs, strict=False)]
    common = alike.index(False) if False in alike else len(alike)
    rounds = 0
    while not leader.is_continuation_of(log.end, log.last_epoch):
        end = log.shared_with(*leader.end_of_epoch(log.last_epoch))
        assert common <= end < log.end, "it cuts too much, or nothing"
        log, rounds = log.cut(end), rounds + 1
    assert spelled(log) == logs[0][: log.end]
    assert rounds <= 5


def test_who_is_behind_what_is_summed_up_cannot_be_compared() -> None:
    log = made([(1, PLAIN), (1, PLAIN), (2, PLAIN), (3, PLAIN)]).begin_at(3)
    assert log.is_behind(2, 2)
    assert log.is_behind(3, 1)
    assert log.is_behind(9, 1)
    assert not log.is_behind(3, 2)
    assert not log.is_behind(4, 3)
    assert log.end_of_epoch(1) == (2, 3), "what was before is the snapshot's to tell"


def test_a_key_without_a_directory_names_whichever_there_is() -> None:
    assert Key(1).names(Key(1, "a"))
    assert Key(1, "a").names(Key(1, "a"))
    assert not Key(1, "a").names(Key(1, "b"))
    assert not Key(1, "a").names(Key(1))
    assert not Key(1).names(Key(2))
    assert str(Key(1, "abcdef")) == "1abcd"
