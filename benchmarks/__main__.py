"""Run one bench and print its rows: a table on a terminal, a JSON object a line with --json."""

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator

import benchmarks
from benchmarks.report import Row

NOT_BENCHES = {"__main__", "report", "native", "voter", "kafka_image"}


def names() -> list[str]:
    """Return the benches there are."""
    found = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)}
    return sorted(found - NOT_BENCHES)


def table(rows: Iterator[Row]) -> None:
    """Print rows as they come, in columns."""
    columns = {"case": 46, "unit": 12, "ours": 10, "theirs": 10, "against": 22, "ratio": 7}
    columns |= {"goal": 9, "met": 4}
    print("  ".join(f"{name:<{width}}" for name, width in columns.items()))
    for row in rows:
        cells = row.as_dict()
        shown = {name: "" if cells[name] is None else str(cells[name]) for name in columns}
        shown["met"] = {"True": "yes", "False": "NO"}.get(shown["met"], "")
        print("  ".join(f"{shown[name]:<{width}}" for name, width in columns.items()), flush=True)


def main() -> None:
    """Measure what was asked."""
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("name", choices=names())
    parser.add_argument("--repetitions", type=int, default=3, help="of each side, in turn")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    asked = parser.parse_args()
    rows = importlib.import_module(f"benchmarks.{asked.name}").run(asked.repetitions)
    if asked.json or not sys.stdout.isatty():
        for row in rows:
            print(json.dumps(row.as_dict()), flush=True)
    else:
        table(rows)


if __name__ == "__main__":
    main()
