"""Run the suites of strangers and print a row for each.

``expected`` counts the cases that the stranger itself knows and passes, on this machine and in
this run: suites are parametrised from what the stranger offers.  ``missing`` names those of them
that did not pass here.
"""

import argparse
import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


class Tally:
    """A pytest plugin that counts the cases of one suite."""

    def __init__(self, suite: str) -> None:
        self.suite = suite
        self.outcomes: dict[str, str] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a suite that cannot even be collected as one failed case."""
        if report.failed:
            self.outcomes[report.nodeid] = "failed"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the worst that happened to each case."""
        case = report.nodeid.partition("::")[2]
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[case] = report.outcome

    def row(self) -> dict[str, object]:
        """Return the figures of this suite."""
        outcomes = list(self.outcomes.values())
        return {
            "suite": self.suite,
            "passed": outcomes.count("passed"),
            "failed": outcomes.count("failed"),
            "skipped": outcomes.count("skipped"),
            "expected": len(outcomes),
            "missing": [case for case, outcome in self.outcomes.items() if outcome != "passed"],
        }


def suites() -> dict[str, Path]:
    """Return the suites there are, by name."""
    return {path.stem.removeprefix("test_"): path for path in sorted(HERE.glob("test_*.py"))}


def groups() -> dict[str, list[str]]:
    """Return what may be asked for: each suite, and those that begin with the same word."""
    names = list(suites())
    words = dict.fromkeys((*names, *(name.partition("_")[0] for name in names)))
    return {
        word: [name for name in names if name == word or name.startswith(f"{word}_")]
        for word in sorted(words)
    }


def main() -> None:
    """Run what was asked; exit non-zero if anything expected is missing."""
    parser = argparse.ArgumentParser(prog="./dev compat", description=__doc__)
    parser.add_argument(
        "name", nargs="?", choices=list(groups()), help="a suite, or a group; else all"
    )
    parser.add_argument("--json", action="store_true", help="only the rows on standard output")
    asked = parser.parse_args()
    chosen = groups()[asked.name] if asked.name else list(suites())
    rows = []
    for name in chosen:
        tally = Tally(name)
        quiet = ["--quiet", "--no-header"]
        if asked.json:
            # Pytest's own report goes where it does not mix with the rows.
            sys.stdout = sys.stderr
        pytest.main([str(suites()[name]), *quiet, "-p", "no:cacheprovider"], plugins=[tally])
        sys.stdout = sys.__stdout__
        rows.append(tally.row())
        print(json.dumps(rows[-1]), flush=True)
    if any(row["missing"] or not row["expected"] for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
