"""The word ``explore``: a row for each world, and whether it showed what it should."""

import json

import pytest

from barnabas.sim.driver import specs
from barnabas.sim.driver.command import main
from barnabas.sim.driver.report import Report
from barnabas.sim.specs.raft import proof
from barnabas.sim.specs.raft.guards import Guard
from barnabas.sim.specs.raft.properties import DURABILITY, VALID_ROLES


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    """Return the rows that were printed."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_worlds_and_guards_are_explored_by_how_their_names_begin(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explore", "raft", "pair and", "IS_VOTER", "--json"]) == 0
    world, fall, last = rows(capsys)
    assert (world["world"], world["broken"], world["states"], world["whole"]) == (
        "pair and observer", "", 260, True,
    )  # fmt: skip
    assert (fall["lifted"], fall["broken"]) == ("IS_VOTER", VALID_ROLES)
    assert last == {"worlds": 2, "states": 263, "well": True}


def test_a_world_that_is_not_explored_whole_shows_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explore", "raft", "pair and", "--states", "10", "--json"]) == 1
    assert rows(capsys)[-1]["well"] is False
    assert main(["explore", "raft", "no such world", "--json"]) == 1


def test_a_guard_whose_loss_breaks_something_else_is_not_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fall = proof.Fall((Guard.IS_VOTER,), DURABILITY, proof.PAIR_AND_OBSERVER)
    monkeypatch.setattr(proof, "FALLS", (fall,))
    assert not specs.explore("raft", ["IS_"], False, 100, Report(as_json=True))
    assert "IS_VOTER: ValidRolesAndStates falls" in capsys.readouterr().err


def test_larger_worlds_go_as_far_as_there_is_room(capsys: pytest.CaptureFixture[str]) -> None:
    assert specs.explore("raft", ["three"], True, 500, Report(as_json=True))
    found = rows(capsys)
    assert len(found) == 1 + sum(name.startswith("three") for name in proof.DEEP)
    assert not any(row["whole"] for row in found[:-1])


def test_of_another_specification_one_guard_may_be_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explore", "replication", "LEAVES_ISR", "awaited: built, late", "--json"]) == 0
    out = capsys.readouterr()
    awaited, fall, last = (json.loads(line) for line in out.out.splitlines())
    assert (awaited["world"], awaited["whole"]) == ("awaited: built, latecomer", True)
    assert (fall["lifted"], fall["broken"]) == ("LEAVES_ISR", "ValidControllerState")
    assert last["well"] is True
    assert "1 ends" in out.err or "controller fences" in out.err, "the way there is told"
