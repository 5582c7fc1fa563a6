"""Rows of figures: one JSON object a line, or a table for a person."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Final

Row = Mapping[str, object]


class Report:
    """Prints rows as they come (JSON) or together (a table)."""

    def __init__(self, as_json: bool) -> None:
        # A program that reads along wants what it can parse.
        self._as_json: Final = as_json or not sys.stdout.isatty()
        self._rows: Final[list[Row]] = []

    def row(self, row: Row) -> None:
        """Take a row; as JSON it is printed at once."""
        if self._as_json:
            out(json.dumps(row))
        else:
            self._rows.append(row)

    def last(self, row: Row) -> None:
        """Print the rows before, if there are any, and then the last one."""
        if self._as_json:
            out(json.dumps(row))
            return
        if self._rows:
            out(table(self._rows))
            out("")
        out(table([row]))


def out(text: str) -> None:
    """Print a line for whoever reads the rows."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """Tell a person something; whoever reads rows does not see it."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def table(rows: Sequence[Row]) -> str:
    """Return rows as a table."""
    names = list(rows[0])
    cells = [names, *([text_of(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def text_of(cell: object) -> str:
    """Return a cell as a person reads it."""
    match cell:
        case bool():
            return "yes" if cell else "no"
        case None:
            return "-"
        case float():
            return f"{cell:.2f}"
        case _:
            return str(cell)
