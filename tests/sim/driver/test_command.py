"""The command line: words in, rows and exit status out."""

import json
from pathlib import Path

import pytest

from barnabas.sim.driver.campaign import SEEN_WITHIN_SEEDS, Tally
from barnabas.sim.driver.command import main, tell_seen

pytestmark = pytest.mark.slow


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    """Return the rows that were printed."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_profile_is_run_by_its_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["register", "--seeds", "3", "--json", "--out", str(tmp_path)]) == 0
    (row,) = rows(capsys)
    assert (row["profile"], row["seeds"], row["failures"], row["divergences"]) == (
        "register", 3, 0, 0,
    )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_says_what_it_saw_and_what_it_did_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = Tally("p", must_see=("a torn tail", "a lost vote"), seeds=SEEN_WITHIN_SEEDS)
    tally.seen["a torn tail"], tally.seen_in["a torn tail"] = 7, 3
    tell_seen(tally)
    assert capsys.readouterr().err.splitlines() == [
        "        7 times in     3 runs: a torn tail",
        "    never seen: a lost vote",
        "200 seeds ought to have seen all of it: the plans are badly drawn",
    ]


def test_divergence_is_an_exit_status(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["tests.sim.driver.dependent", "--seeds", "1", "--double", "all", "--json"]
    assert main([*words, "--out", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["divergences"] == 1
    assert "seed 1 diverges; the first events that differ:" in captured.err


def test_a_profile_that_breaks_is_no_pass(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["tests.sim.driver.breaking", "--seeds", "2", "--json", "--out", str(tmp_path)]
    assert main(words) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["failures"] == 2
    assert "broken: seed 1: the child ended with status" in captured.err


def test_mutants_are_rows_and_failures_are_files_that_replay_and_shrink(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    only = ["--only", "REG-takes", "--json", "--out", str(tmp_path)]
    assert main(["mutants", "register", *only]) == 0
    mutant, last = rows(capsys)
    assert list(mutant) == ["id", "budget", "seeds_to_kill", "oracle", "killed"]
    assert (mutant["oracle"], mutant["killed"]) == ("H-linear", True)
    assert (last["mutants_killed"], last["mutants"]) == (1, 1)


def test_an_unknown_profile_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing", "--seeds", "1"]) == 2
    assert "no profile 'nothing'" in capsys.readouterr().err


def test_a_prefix_that_no_mutant_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants", "--only", "NONE"]) == 2
    assert "begins with 'NONE'" in capsys.readouterr().err


def test_mutants_are_hunted_in_every_profile_that_has_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["mutants", "--only", "MS-11", "--json"]) == 0
    row, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (row["id"], row["killed"]) == ("MS-11", True)
    assert last["profile"] == "log"


def test_the_self_test_proves_what_it_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["self-test", "--seeds", "4", "--no-mutants", "--json", "--out", str(tmp_path)]
    assert main(words) == 0
    (row,) = rows(capsys)
    assert (row["seeds"], row["doubled"], row["divergences"]) == (4, 4, 0)
