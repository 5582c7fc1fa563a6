"""A row of a bench: what was measured, beside what, and whether that was the goal."""

import statistics
from collections.abc import Callable, Sequence
from typing import Literal

from barnabas.model.value import value


@value
class Row:
    """One figure.  ``ratio`` is always better the larger it is, unless there is no other side.

    ``theirs`` is None where the goal is about our figure alone; then ``goal`` applies to ``ours``.
    """

    bench: str
    case: str
    unit: str
    ours: float
    theirs: float | None
    against: str
    goal: str
    better: Literal["more", "less"]

    @property
    def ratio(self) -> float | None:
        """How many times better than theirs we are."""
        if self.theirs is None or not self.ours or not self.theirs:
            return None
        return self.ours / self.theirs if self.better == "more" else self.theirs / self.ours

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is no goal."""
        if not self.goal:
            return None
        sign, bound = self.goal.split()
        figure = self.ours if self.theirs is None else self.ratio
        assert figure is not None, f"{self.bench} {self.case}: a goal without a figure"
        return figure >= float(bound) if sign == ">=" else figure <= float(bound)

    def as_dict(self) -> dict[str, object]:
        """Return the columns in the order they are printed."""
        ratio = self.ratio
        return {
            "bench": self.bench,
            "case": self.case,
            "unit": self.unit,
            "ours": rounded(self.ours),
            "theirs": None if self.theirs is None else rounded(self.theirs),
            "against": self.against,
            "ratio": None if ratio is None else rounded(ratio),
            "goal": self.goal,
            "met": self.met,
        }


def rounded(figure: float) -> float:
    """Return the figure to three significant digits: two noisy cores give no more."""
    return float(f"{figure:.3g}")


def interleaved(repetitions: int, *sides: Callable[[], float]) -> list[float]:
    """Measure the sides in turn, ``repetitions`` times, and return the median of each."""
    figures: list[list[float]] = [[] for _ in sides]
    for _ in range(repetitions):
        for side, mine in zip(sides, figures, strict=True):
            mine.append(side())
    return [statistics.median(mine) for mine in figures]


def spread(figures: Sequence[float]) -> float:
    """Return how far apart the extremes lie, as a share of the median."""
    return (max(figures) - min(figures)) / statistics.median(figures)
