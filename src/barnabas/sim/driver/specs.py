"""The word ``explore``: the small worlds of a specification, and what falls without its guards."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from barnabas.sim.driver.report import Report, Row, say
from barnabas.sim.specs.exploration import Explored, Trial
from barnabas.sim.specs.raft import proof as raft
from barnabas.sim.specs.replication import proof as replication

SPECS: Final[Mapping[str, Callable[[bool], Iterator[Trial]]]] = {
    "raft": raft.trials,
    "replication": replication.trials,
}

# A world that is explored whole has fewer; larger ones end here.
STATES_MAX: Final = 1_000_000


def explore(spec: str, words: Sequence[str], deep: bool, states_max: int, report: Report) -> bool:
    """Explore worlds whose names begin so, or all; tell whether all is as it should be."""
    well = True
    worlds = explored = 0
    for trial in SPECS[spec](deep):
        if trial.name.startswith(tuple(words) or ("",)):
            started = time.monotonic()
            found = trial.run(states_max)
            report.row(row_of(trial, found, started))
            worlds, well = worlds + 1, well and trial.is_shown(found)
            explored += found.states
    report.last({"worlds": worlds, "states": explored, "well": well})
    return well and worlds > 0


def row_of(trial: Trial, found: Explored, started: float) -> Row:
    """Return an exploration as a row; the way to what is wrong is told beside it."""
    if found.broken:
        say(f"{trial.name}: {found}")
    return {
        "world": "" if trial.broken else trial.name,
        "lifted": trial.name if trial.broken else "",
        "broken": found.broken,
        "states": found.states,
        "moves": found.moves,
        "depth": found.depth,
        "whole": found.is_complete and not found.broken,
        "seconds": time.monotonic() - started,
    }
