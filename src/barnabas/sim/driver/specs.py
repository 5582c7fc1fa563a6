"""The word ``explore``: the small worlds of a specification, and what falls without its guards."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from barnabas.sim.driver.report import Report, Row, say
from barnabas.sim.specs.exploration import Explored
from barnabas.sim.specs.raft import proof

SPECS: Final = ("raft",)

# A world that is explored whole has fewer; larger ones end here.
STATES_MAX: Final = 1_000_000


def explore(words: Sequence[str], deep: bool, states_max: int, report: Report) -> bool:
    """Explore worlds whose names begin so, or all; tell whether all is as it should be."""
    well = True
    worlds = explored = 0
    for row, is_well in rows(tuple(words), deep, states_max):
        report.row(row)
        worlds, well = worlds + 1, well and is_well
        explored += int(str(row["states"]))
    report.last({"worlds": worlds, "states": explored, "well": well})
    return well and worlds > 0


def rows(words: tuple[str, ...], deep: bool, states_max: int) -> Iterator[tuple[Row, bool]]:
    """Yield a row for every world, and whether it shows what it should."""
    for name, scope in (proof.SCOPES | (proof.DEEP if deep else {})).items():
        if name.startswith(words or ("",)):
            started = time.monotonic()
            found = proof.explored(scope, states_max)
            is_whole = found.is_complete or name in proof.DEEP
            yield row_of(name, "", found, started), not found.broken and is_whole
    for fall in proof.FALLS:
        lifted = ", ".join(guard.name for guard in fall.guards)
        if lifted.startswith(words or ("",)):
            started = time.monotonic()
            found = proof.shown(fall)
            yield row_of("", lifted, found, started), found.broken == fall.broken


def row_of(world: str, lifted: str, found: Explored, started: float) -> Row:
    """Return an exploration as a row; the way to what is wrong is told beside it."""
    if found.broken:
        say(f"{world or lifted}: {found}")
    return {
        "world": world,
        "lifted": lifted,
        "broken": found.broken,
        "states": found.states,
        "moves": found.moves,
        "depth": found.depth,
        "whole": found.is_complete and not found.broken,
        "seconds": time.monotonic() - started,
    }
