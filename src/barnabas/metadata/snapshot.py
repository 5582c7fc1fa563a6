"""An image as records, and back.

    image ── values ──▶ records.snapshot ──▶ file
      ▲                                       │
      └────────────── folded ◀── read ────────┘

An image is written at its own ``metadata.version``, so that every node of the cluster can read it,
``metadata.version`` first (M-11).  The level has words for all that is in the image, because it was
said in them; only an image that came down from a higher level may hold more.  Then nothing is
written: a snapshot that leaves something out would take it from whoever loads it (``losses`` tells
what it is).

A snapshot is folded from nothing and then compared with the image before it (``Delta.between``), so
whatever it does not hold is gone (M-07).  No metadata transaction is in it: it is a state, and a
transaction that has not ended is none yet.

``fingerprint`` is the same on two nodes exactly if their images are (M-02).
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from barnabas.metadata.batches import committed_batches, unfoldable
from barnabas.metadata.delta import Delta
from barnabas.metadata.faults import BadRecord, Fault, Unfoldable
from barnabas.metadata.image import EMPTY, MetadataImage, Provenance
from barnabas.metadata.levels import Form
from barnabas.model.errors import RemoteProtocolError
from barnabas.model.features import LATEST_TESTING
from barnabas.model.value import value
from barnabas.records.checksum import Buffer
from barnabas.records.control import ControlType
from barnabas.records.opened import OpenedBatch
from barnabas.records.snapshot import snapshot_batches
from barnabas.wire import codec
from barnabas.wire.messages.stored.snapshot_footer_record import SnapshotFooterRecord
from barnabas.wire.messages.stored.snapshot_header_record import SnapshotHeaderRecord
from barnabas.wire.metadata_records import decode_record, encode_record

CUT_SHORT: Final = "remove the file: the node goes on from an older snapshot, or fetches one"


class Unwritable(Exception):  # noqa: N818 -- the state of an image, not an error of ours
    """The level of an image has no words for something in it."""


def image_records(image: MetadataImage, form: Form) -> Iterator[bytes]:
    """Yield the records of an image in a form."""
    for record, version in image.records(form):
        yield encode_record(record, version)


def values(image: MetadataImage) -> Iterator[bytes]:
    """Yield what a snapshot of an image holds, at the image's own level."""
    level = image.features.metadata_version
    if level is None:
        raise Unwritable("the image has no metadata.version, so nobody could read it")

    def refuse(lost: str) -> None:
        raise Unwritable(
            f"metadata.version {level} cannot say {lost}; raise it again, or remove what it lacks "
            "words for"
        )

    return image_records(image, Form(level, refuse))


def written(
    image: MetadataImage, kraft_version: Buffer | None = None, voters: Buffer | None = None
) -> Iterator[bytes]:
    """Yield the batches of a snapshot's file."""
    provenance = image.provenance
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=provenance.append_ms)
    return snapshot_batches(
        provenance.epoch,
        provenance.append_ms,
        codec.encode(header, 0),
        values(image),
        codec.encode(SnapshotFooterRecord(version=0), 0),
        kraft_version,
        voters,
    )


def losses(image: MetadataImage, level: int) -> tuple[str, ...]:
    """Return what would be lost if the image were written at a level."""
    lost: dict[str, None] = {}
    for _ in image.records(Form(level, lost.setdefault)):
        pass
    return tuple(lost)


def fingerprint(image: MetadataImage) -> str:
    """Return a digest of everything in an image, whatever its level has words for."""
    digest = hashlib.sha256(repr((image.provenance, image.features.metadata_version)).encode())
    for data in image_records(image, Form(LATEST_TESTING.level, no_loss)):
        digest.update(data)
    return digest.hexdigest()


def no_loss(lost: str) -> None:
    """Know that the latest level has words for everything."""
    raise AssertionError(f"the latest metadata.version cannot say {lost}")


@value
class StoredSnapshot:
    """A snapshot as it lies in a file, found whole."""

    append_ms: int
    """When the last record in it was written."""
    batches: tuple[OpenedBatch, ...]


def read(data: Buffer, name: str) -> StoredSnapshot:
    """Read the file of a snapshot, from its header to its footer."""
    found = tuple(committed_batches(data, name, CUT_SHORT))
    end = sum(batch.size_bytes for batch in found)
    if end != len(data):
        raise not_whole(name, f"a batch is cut short at {end} of {len(data)} bytes")
    if not found:
        raise not_whole(name, "it is empty")
    append_ms = last_contained_ms(found[0], name)
    last = found[-1].controls
    if not last or last[-1][0] is not ControlType.SNAPSHOT_FOOTER:
        raise not_whole(name, "it does not end with a footer")
    return StoredSnapshot(append_ms, found)


def last_contained_ms(first: OpenedBatch, name: str) -> int:
    """Return when the last record of a snapshot was written, as its header tells."""
    if not first.controls or first.controls[0][0] is not ControlType.SNAPSHOT_HEADER:
        raise not_whole(name, "it does not begin with a header")
    try:
        header = codec.decode(SnapshotHeaderRecord, 0, first.controls[0][1])
    except RemoteProtocolError as error:
        raise not_whole(name, str(error)) from error
    return header.last_contained_log_timestamp


def not_whole(name: str, why: str) -> Unfoldable:
    """Return the fault of a file that is no snapshot."""
    return Unfoldable(Fault(name, "snapshot", why, CUT_SHORT))


class SnapshotFold:
    """The image in a snapshot, batch by batch: whoever reads a large one does other things, too."""

    def __init__(self, provenance: Provenance) -> None:
        self._provenance: Final = provenance
        self._delta: Final = Delta(EMPTY)

    def take(self, batch: OpenedBatch) -> None:
        """Take the next batch."""
        at, values = 0, batch.values
        try:
            while (at := self._delta.replay_plain(values, at)) < len(values):
                self._delta.replay(decode_record(values[at])[0])
                at += 1
        except (RemoteProtocolError, BadRecord) as error:
            where = f"{self._provenance.snapshot_name}, record {batch.base_offset + at}"
            raise unfoldable(where, values[at], error) from error

    def image(self) -> MetadataImage:
        """Return what the snapshot holds, when all of it was taken."""
        return self._delta.apply(self._provenance)


def folded(snapshot: Iterable[OpenedBatch], provenance: Provenance) -> MetadataImage:
    """Return the image that a snapshot holds."""
    fold = SnapshotFold(provenance)
    for batch in snapshot:
        fold.take(batch)
    return fold.image()
