"""What clients know of their writes, and whether it is true: C-04, RL-2.

    done      committed, as one batch             refused   appended by nobody, ever
    unknown   may have been, or may be yet        waits     who was asked has died, or still works

Every value is written once, so whether it is committed is one look into a dictionary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas.sim.process import Process
from barnabas.sim.world import Violation


@dataclass(slots=True)
class Written:
    """What a client knows of one of its writes."""

    texts: tuple[str, ...]
    process: Process | None = None
    end: str = "waits"

    @property
    def is_open(self) -> bool:
        """Whether it waits at somebody who lives, and so will be told."""
        return self.end == "waits" and self.process is not None and self.process.alive


def compare(written: Sequence[Written], committed: Mapping[str, int]) -> None:
    """Raise ``Violation`` if a client was told something that is not so, or nothing at all."""
    for each in written:
        ends = {committed.get(text) for text in each.texts}
        if each.end == "done" and (None in ends or len(ends) > 1):
            story = f"{each.texts} was done, committed at {sorted(e for e in ends if e)}"
            raise Violation("C-04", story, "done and gone")
        if each.end == "refused" and ends != {None}:
            raise Violation(
                "C-04", f"{each.texts} was refused and is committed", "refused and done"
            )
        if each.is_open:
            raise Violation("RL-2", f"{each.texts} still waits at {each.process}", "never resolved")
