"""Oracles of listeners: each says no when it should, and not before."""

from types import SimpleNamespace
from typing import cast

import pytest

from barnabas.raft.effects import AppendRecords
from barnabas.raft.events import AppendAsked
from barnabas.raft.states import Leader, Resigned
from barnabas.sim.profiles.raft.claims import ClaimProtocol, HandedOver
from barnabas.sim.profiles.raft.drive import Keeper
from barnabas.sim.profiles.raft.ghost import Ghost
from barnabas.sim.profiles.raft.table import Table, Tables, entry
from barnabas.sim.world import Violation
from tests.sim.profiles.raft.steps import FakeNode, facts, life, step

LEADS = Leader(3, 4)


def keeper(
    offset: int = 5,
    known: tuple[int | None, int] = (1, 3),
    table: Table | None = None,
    epoch: int | None = None,
) -> Keeper:
    states = SimpleNamespace(committed=table or Table())
    return cast(Keeper, SimpleNamespace(offset=offset, known=known, states=states, leads=epoch))


def test_another_table_is_noticed_and_one_that_comes_too_early() -> None:
    ghost, tables = Ghost(), Tables()
    tables.at[5], ghost.committed_end = Table().apply([entry("a", "1")]), 5
    of = life(node=FakeNode(high_watermark=5))
    HandedOver(ghost, tables).listened(of, keeper(table=tables.at[5]))
    for offset, table in ((5, Table()), (6, tables.at[5]), (4, tables.at[5])):
        with pytest.raises(Violation, match="R-08"):
            HandedOver(ghost, tables).listened(of, keeper(offset, table=table))


def test_who_claims_too_early_or_twice_or_without_leading_is_noticed() -> None:
    of = life(node=FakeNode(state=LEADS))
    oracle = ClaimProtocol()
    oracle.told(of, keeper())
    with pytest.raises(Violation, match=r"R-26: .* twice"):
        oracle.told(of, keeper())
    with pytest.raises(Violation, match="R-26"):
        ClaimProtocol().told(of, keeper(offset=4))
    with pytest.raises(Violation, match="R-26"):
        ClaimProtocol().told(of, keeper(epoch=2))
    with pytest.raises(Violation, match="R-25"):
        ClaimProtocol().told(life(node=FakeNode(state=Resigned(3))), keeper())


def test_who_appends_without_a_claim_or_elsewhere_is_noticed() -> None:
    of, leads = life(node=FakeNode(state=LEADS)), facts(LEADS, end=5)
    oracle = ClaimProtocol()
    with pytest.raises(Violation, match="R-26"):
        oracle.step(step(of, AppendAsked(1), [AppendRecords(5, 3)], leads))
    oracle.told(of, keeper())
    oracle.step(step(of, AppendAsked(1), [AppendRecords(5, 3)], leads))
    with pytest.raises(Violation, match="R-26"):
        oracle.step(step(of, AppendAsked(1), [AppendRecords(6, 3)], leads))


def test_a_listener_that_was_forgotten_is_noticed() -> None:
    of = life(node=FakeNode(state=LEADS, high_watermark=5, leader_id=1))
    ClaimProtocol().caught_up(of, (1, 3), 5)
    for known, offset in (((1, 3), 4), (None, 5), ((2, 3), 5)):
        with pytest.raises(Violation, match="R-26"):
            ClaimProtocol().caught_up(of, known, offset)
