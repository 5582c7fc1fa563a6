"""The past of a metadata log: what the cluster was at any offset that can still be reached.

    snapshot ──▶ image ── batch ── batch ── transaction ──▶ image at an offset
       ▲                                                        │
       └── the newest that ends at or before it                 └─ Delta.between ─▶ what changed

A log does not begin at the beginning: what came before its oldest snapshot is summed up in that.
So what can be reached goes from where the oldest snapshot ends to where the log ends; if the log
begins at 0, from the very first record on.

What is asked for is what everybody could see there (M-04, M-06): a batch is there whole or not at
all, and a metadata transaction only from its end on.  An offset inside of either is answered with
the image before it, which says by its provenance where it ends.

Whoever reads the files is a ``Source``: a directory, an observer of a running quorum.  Nothing here
waits, or knows what a file is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from barnabas.metadata.fold import BatchFold
from barnabas.metadata.image import EMPTY, MetadataImage, Provenance
from barnabas.metadata.publication import NO_LEADER_YET
from barnabas.metadata.snapshot import SnapshotFold, last_contained_ms
from barnabas.model.value import value
from barnabas.records.opened import OpenedBatch


@value
class Base:
    """Where a history can begin: at a snapshot, or before everything."""

    end_offset: int
    epoch: int

    @property
    def last_offset(self) -> int:
        """The offset of the last record that is summed up here; -1 if there is none."""
        return self.end_offset - 1


BEGINNING: Final = Base(0, 0)
"""Nothing has been said yet."""


class Source(Protocol):
    """Somebody who can read snapshots and the log."""

    @property
    def bases(self) -> Sequence[Base]:
        """Where a history can begin, oldest first; behind each the log goes on without a gap."""
        ...

    @property
    def end_offset(self) -> int:
        """The offset behind the last record."""
        ...

    def snapshot(self, base: Base) -> Iterator[OpenedBatch]:
        """Yield the batches of the snapshot at a base."""
        ...

    def log(self, offset: int) -> Iterator[OpenedBatch]:
        """Yield the batches of the log from an offset on."""
        ...


class Unreachable(Exception):  # noqa: N818 -- the state of a history, not an error of ours
    """An offset before or behind what the history reaches."""


@value
class Reach:
    """The offsets at which the image is known."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first} to {self.last}"

    def check(self, offset: int) -> None:
        """Raise ``Unreachable`` if an offset is out of reach."""
        if offset < self.first:
            raise Unreachable(
                f"offset {offset} is out of reach: what was before {self.first} is summed up in "
                f"the oldest snapshot that is there; the history reaches from {self}"
            )
        if offset > self.last:
            raise Unreachable(f"offset {offset} is not there yet: the history reaches from {self}")


def reach(source: Source) -> Reach:
    """Return what a source reaches; ``Unreachable`` if it holds nothing at all."""
    if not source.bases or source.end_offset == 0:
        raise Unreachable("nothing has been written yet")
    return Reach(max(source.bases[0].last_offset, 0), source.end_offset - 1)


def image_at(source: Source, offset: int) -> MetadataImage:
    """Return what everybody could see at an offset."""
    reach(source).check(offset)
    base = [base for base in source.bases if base.last_offset <= offset][-1]
    return advanced(source, based(source, base), offset)


def images_at(source: Source, one: int, other: int) -> tuple[MetadataImage, MetadataImage]:
    """Return what everybody could see at two offsets.

    The later is made from the earlier, so that the two share what nothing touched between them,
    and comparing them costs no more than what did.
    """
    early, late = sorted((one, other))
    reach(source).check(late)
    before = image_at(source, early)
    # An image may end where a transaction begins, amid a batch, from where no log can be read.
    goes_on = before.provenance.batch_aligned
    after = advanced(source, before, late) if goes_on else image_at(source, late)
    return (before, after) if one <= other else (after, before)


def based(source: Source, base: Base) -> MetadataImage:
    """Return the image that a base sums up."""
    if base == BEGINNING:
        return EMPTY
    provenance, batches = begun(source, base)
    fold = SnapshotFold(provenance)
    for batch in batches:
        fold.take(batch)
    return fold.image()


def begun(source: Source, base: Base) -> tuple[Provenance, Iterator[OpenedBatch]]:
    """Return where a snapshot ends, by its header as well, and the batches behind that."""
    batches = source.snapshot(base)
    place = Provenance(base.last_offset, base.epoch, -1, batch_aligned=True)
    append_ms = last_contained_ms(next(batches), place.snapshot_name)
    return replace(place, append_ms=append_ms), batches


def advanced(source: Source, image: MetadataImage, offset: int) -> MetadataImage:
    """Return what everybody could see at an offset, beginning with an image before it."""
    fold = BatchFold(image)
    for batch in source.log(fold.next_offset):
        if batch.end_offset > offset + 1:
            break
        for _ in fold.load(batch, NO_LEADER_YET):
            # What is published before a transaction is in the fold as well.
            pass
    for _ in fold.flush(NO_LEADER_YET):
        pass
    return fold.image
