"""What the whole quorum must agree upon."""

import pytest

from barnabas.records.snapshot import data_batch
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.sim.profiles.raft.ghost import Elected, Ghost
from barnabas.sim.profiles.raft.table import Table, Tables, encode, entry
from barnabas.sim.world import Violation


def batch(base: int, end: int, crc: int = 7) -> Batch:
    return Batch(base, end, 1, crc, False, None, 0, 0, 9)


def test_what_is_committed_is_folded_into_a_table() -> None:
    tables = Tables()
    ghost = Ghost(tables)
    records = [entry("a", "1"), entry("b", "2")]
    ghost.commit(batch(0, 2), data_batch(0, 1, 0, [encode(each) for each in records]), "n1.1")
    assert tables.at[2] == Table().apply(records)
    assert tables.values == {"1": 2, "2": 2}
    assert ghost.is_boundary(2)
    assert not ghost.is_boundary(1)
    assert ghost.epoch_before(2) == 1


def test_a_gap_and_another_batch_are_noticed() -> None:
    ghost = Ghost()
    with pytest.raises(Violation, match="R-08"):
        ghost.commit(batch(1, 2), b"", "n1.1")
    ghost.commit(batch(0, 2)._replace(is_control=True), b"", "n1.1")
    ghost.commit(batch(0, 2), b"", "n2.1")
    with pytest.raises(Violation, match="R-08"):
        ghost.commit(batch(0, 2, crc=8), b"", "n2.1")


def test_a_leader_is_one_for_ever() -> None:
    ghost = Ghost()
    ghost.lead(3, 1, "n1.1")
    ghost.lead(3, 1, "n2.1")
    with pytest.raises(Violation, match="R-01"):
        ghost.lead(3, 2, "n3.1")


def test_what_a_predecessor_was_may_be_learned_later() -> None:
    ghost = Ghost()
    ghost.write(batch(4, 6), "n1.1")
    ghost.write(batch(4, 6)._replace(before=1), "n2.1")
    with pytest.raises(Violation, match="R-07"):
        ghost.write(batch(4, 6)._replace(before=0), "n3.1")


def test_an_elected_leaders_epochs_are_known_by_offset() -> None:
    elected = Elected(((1, 2), (3, 5)), 2, 7)
    assert [elected.epoch_at(offset) for offset in (1, 2, 4, 5, 6, 7)] == [None, 1, 1, 3, 3, None]
