"""Tables beside plain dicts: the same content, nothing written to, one order."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.table import (
    SHARDS,
    Table,
    by_last_byte,
    by_tail,
    by_text,
    changed,
    difference,
)

CHANGES = st.dictionaries(st.text(max_size=2), st.none() | st.integers(1, 3), max_size=8)
EMPTY: Table[str, int] = Table(by_text)


def applied(before: dict[str, int], changes: dict[str, int | None]) -> dict[str, int]:
    """Change a dict the plain way."""
    after = dict(before)
    for key, value in changes.items():
        after.pop(key, None)
        if value is not None:
            after[key] = value
    return after


@given(st.lists(CHANGES, max_size=6))
def test_a_table_holds_what_a_dict_would_and_never_changes(
    steps: list[dict[str, int | None]],
) -> None:
    table, plain = EMPTY, dict[str, int]()
    kept = [(table, plain)]
    for changes in steps:
        table, plain = table.changed(changes), applied(plain, changes)
        kept.append((table, plain))
    for table, plain in kept:
        assert dict(table.items()) == plain
        assert len(table) == len(plain)
        for key in ("", "a", *plain):
            assert table.get(key) == plain.get(key)
            assert (key in table) == (key in plain)


@given(CHANGES, CHANGES)
def test_a_difference_is_exactly_what_changes_one_map_into_the_other(
    first: dict[str, int | None], second: dict[str, int | None]
) -> None:
    one, other = applied({}, first), applied({}, second)
    gone = {key: None for key in one if key not in other}
    expected = gone | {key: value for key, value in other.items() if one.get(key) != value}
    for before, after in ((one, other), (EMPTY.changed(one), EMPTY.changed(other))):
        changes = difference(before, after)
        assert changes == expected
        assert changed(before, changes) == after


@given(st.lists(CHANGES, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_a_table_depends_on_its_content_alone(
    steps: list[dict[str, int | None]], random: object
) -> None:
    table = EMPTY
    for changes in steps:
        table = table.changed(changes)
    at_once = EMPTY.changed(dict(sorted(table.items(), reverse=True)))
    assert list(table) == list(at_once)
    assert table == at_once


def test_a_change_copies_one_shard_and_shares_the_others() -> None:
    table = EMPTY.changed({str(number): number for number in range(1, 5_000)})
    after = table.changed({"17": 18})
    same = sum(a is b for a, b in zip(table._shards, after._shards, strict=True))
    assert same == SHARDS - 1
    assert table.changed({}) is table


def test_random_ids_and_names_are_spread_over_the_shards() -> None:
    ids = {by_tail(number.to_bytes(16)) for number in range(SHARDS)}
    names = {by_text(f"topic-{number}") for number in range(10 * SHARDS)}
    assert len(ids) == SHARDS
    assert len(names) > SHARDS * 0.95


def test_a_table_says_what_it_holds() -> None:
    assert repr(EMPTY.changed({"a": 1})) == "Table({'a': 1})"
    assert EMPTY.changed({"a": 1}) == {"a": 1}
    assert EMPTY != "a"


def test_keys_that_do_not_compare_are_sorted_as_told() -> None:
    table: Table[str | None, int] = Table(lambda key: 0, lambda key: key or "")
    assert list(table.changed({"b": 1, None: 2, "a": 3})) == [None, "a", "b"]


def test_a_table_of_fewer_shards_holds_the_same() -> None:
    entries = {bytes([place % 7, place]): place for place in range(256)}
    small: Table[bytes, int] = Table(by_last_byte, shards=256)
    table = small.changed(entries)
    assert table == entries
    assert len(table) == 256
    assert table.changed(dict.fromkeys(entries)) == {}
    assert {by_last_byte(key) for key in entries} == set(range(256))
