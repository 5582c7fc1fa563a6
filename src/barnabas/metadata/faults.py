"""What cannot be folded: a committed record that this node cannot make sense of.

Everybody folds the same log, so a node that leaves out a record is no longer the same as the
others and must not go on as if it were.  The parts raise ``BadRecord``, which knows why and what
can be done about it; whoever reads the log adds where the record stands and makes a ``Fault`` of
it, which stops the loader.
"""

from typing import Final

from barnabas.model.value import value

DAMAGED: Final = (
    "no controller writes that: compare the metadata log of this node with another's, and if they "
    "differ, let this node fetch it anew"
)
"""The way out where a log says what no controller would say."""


class BadRecord(Exception):  # noqa: N818 -- the state of a log, as CorruptLog is
    """A record cannot be applied to the image before it."""

    def __init__(self, why: str, way_out: str = "") -> None:
        super().__init__(why, way_out)
        self.why = why
        self.way_out = way_out or DAMAGED


@value
class Fault:
    """Something went wrong that somebody has to know about, and may have to stop."""

    where: str
    """The log or the snapshot, and the offset in it."""
    what: str
    """The type of the record, or the name of the publisher."""
    why: str
    way_out: str = ""
    fatal: bool = True

    def __str__(self) -> str:
        said = f"{self.where}: {self.what}: {self.why}"
        return f"{said}; {self.way_out}" if self.way_out else said


class Unfoldable(Exception):  # noqa: N818 -- carries the fault to whoever stops for it
    """A fault, on its way to the loader."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault
