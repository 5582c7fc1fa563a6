"""What the whole quorum must agree upon, kept where no replica can see it.

leaders      who leads an epoch: the first that was said to, for ever
identity     what lies at an offset in an epoch, in any log, even if it was cut since
committed    what any replica ever counted as committed
content      what the committed records amount to: the state machine's own reference
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from barnabas.model.value import value
from barnabas.raft.voters import NO_VOTERS, VoterSet
from barnabas.records.batch import header_at
from barnabas.records.record import records
from barnabas.sim.profiles.raft.disks import Batch
from barnabas.sim.world import Violation


class Written(NamedTuple):
    """What a leader has put at an offset in its epoch."""

    end: int
    crc: int
    before: int | None


@value
class Elected:
    """What a leader had when its epoch began: epochs and where they begin, and the end."""

    epochs: tuple[tuple[int, int], ...]
    start: int
    end: int

    def epoch_at(self, offset: int) -> int | None:
        """Return the epoch of a record; None if it is not there any more, or not yet."""
        if not self.start <= offset < self.end:
            return None
        found = None
        for epoch, begins in self.epochs:
            if begins <= offset:
                found = epoch
        return found


class Content(Protocol):
    """What committed records amount to, folded apart from the product."""

    def take(self, batch: Batch, values: Sequence[bytes]) -> None:
        """Fold what is committed next; a control batch has no values."""

    def objection(self, end: int, values: Sequence[bytes]) -> str:
        """Say why a snapshot that ends at an offset may not hold these; nothing if it may."""
        ...


class Anything:
    """The content of a log of which nobody asks what is in it."""

    def take(self, batch: Batch, values: Sequence[bytes]) -> None:
        """Let it pass."""

    def objection(self, end: int, values: Sequence[bytes]) -> str:
        """Have no objection."""
        return ""


class Ghost:
    """The quorum as it must have been."""

    def __init__(self, content: Content | None = None) -> None:
        self.content: Final[Content] = content or Anything()
        self.leaders: Final[dict[int, int]] = {}
        self.elected: Final[dict[int, Elected]] = {}
        self.identity: Final[dict[tuple[int, int], Written]] = {}
        self.committed: Final[list[Batch]] = []
        """Every committed batch, in order."""
        self.committed_end = 0
        self.voters: VoterSet = NO_VOTERS
        """The voters of the last committed voters record, or those of the beginning."""
        self._by_end: Final[dict[int, Batch]] = {}

    # --- leaders ---------------------------------------------------------------------------------

    def lead(self, epoch: int, leader_id: int, where: str) -> None:
        """Learn that somebody is said to lead an epoch."""
        known = self.leaders.setdefault(epoch, leader_id)
        if known != leader_id:
            story = f"{where} says that {leader_id} leads epoch {epoch}, which {known} leads"
            raise Violation("R-01", story, "two leaders")

    # --- identity --------------------------------------------------------------------------------

    def write(self, batch: Batch, where: str) -> None:
        """Learn that some log holds a batch."""
        written = Written(batch.end, batch.crc, batch.before)
        key = batch.base, batch.epoch
        known = self.identity.setdefault(key, written)
        if (known.end, known.crc) != (batch.end, batch.crc):
            story = (
                f"{where} holds {batch.base} to {batch.end} of epoch {batch.epoch} with checksum "
                f"{batch.crc:08x}; it was {batch.base} to {known.end} with {known.crc:08x}"
            )
            raise Violation("R-33", story, "one offset, two batches")
        if known.before is None and batch.before is not None:
            self.identity[key] = written
        elif batch.before is not None and known.before != batch.before:
            story = (
                f"{where} holds {batch.base} of epoch {batch.epoch} after a record of epoch "
                f"{batch.before}; elsewhere it is after one of epoch {known.before}"
            )
            raise Violation("R-07", story, "two logs part below a common record")

    # --- what is committed -----------------------------------------------------------------------

    def epoch_before(self, end: int) -> int | None:
        """Return the epoch of the last record that is committed below an offset."""
        batch = self._by_end.get(end)
        return None if batch is None else batch.epoch

    def is_boundary(self, end: int) -> bool:
        """Tell whether a committed batch ends at an offset."""
        return end in self._by_end or end == 0

    def commit(self, batch: Batch, data: bytes, where: str) -> None:
        """Learn that a batch counts as committed somewhere; the first that says so is believed."""
        if batch.end <= self.committed_end:
            known = self._by_end.get(batch.end)
            if known is None or (known.epoch, known.crc) != (batch.epoch, batch.crc):
                story = (
                    f"{where} counts {batch.base} to {batch.end} of epoch {batch.epoch} as "
                    f"committed, with checksum {batch.crc:08x}; committed was {known}"
                )
                raise Violation("R-08", story, "committed twice")
            return
        if batch.base != self.committed_end:
            story = f"{where} counts {batch} as committed behind {self.committed_end}"
            raise Violation("R-08", story, "a gap in what is committed")
        self.committed.append(batch)
        self._by_end[batch.end] = batch
        values: list[bytes] = []
        if not batch.is_control:
            values = [bytes(each.value or b"") for each in records(data, 0, header_at(data))]
        self.committed_end = batch.end
        self.content.take(batch, values)

    def compare(self, batches: Sequence[Batch], where: str) -> None:
        """Compare batches with what is committed, as far as that is known."""
        for batch in batches:
            if batch.end <= self.committed_end:
                self.commit(batch, b"", where)
