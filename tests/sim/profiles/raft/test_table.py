"""The table that stands on the simulated log."""

from barnabas.sim.profiles.raft.table import Table, encode, entry, entry_of


def test_a_row_has_its_newest_value() -> None:
    table = Table().apply([entry("a", "1")]).apply([entry("a", "2")])
    assert dict(table.rows) == {"a": "2"}


def test_the_digest_tells_what_the_rows_have_forgotten() -> None:
    short = Table().apply([entry("a", "2")])
    long = Table().apply([entry("a", "1")]).apply([entry("a", "2")])
    assert short.rows == long.rows
    assert short.digest != long.digest


def test_a_table_is_made_again_of_its_entries_as_they_are_written() -> None:
    table = Table().apply([entry("a", "1")]).apply([entry("b", "2")]).apply([entry("a", "3")])
    again = Table()
    for each in table.entries():
        again = again.apply([entry_of(encode(each))])
    assert again == table
