"""When a snapshot is due: after so many bytes of the log, or after so long.

    Published ──▶ step ──▶ WriteSnapshot ──▶ (the shell writes it) ──▶ Written ──▶ step

A snapshot lets the log be cut, and shortens the next start.  It is written from an image, which
does not change, while the log goes on; so there is one at a time, and what comes meanwhile counts
for the next.

It may end only where a batch ends and no transaction is open (M-09): else the log behind it would
begin with the rest of something.  An image that ends elsewhere is passed over; the bytes stay
counted, so the next that may will be taken.  Who leads the quorum does not matter: a node that lost
the lead has the same log to cut (KAFKA-14300).

Fixed by Kafka's SnapshotGenerator.java.
"""

from typing import Final, TypeAlias

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.publication import (
    LogManifest,
    Manifest,
    Publication,
    SnapshotManifest,
)
from barnabas.model.value import value

BYTES_MAX: Final = 20 * 1024 * 1024
"""Kafka's default of ``metadata.log.max.record.bytes.between.snapshots``."""
INTERVAL_MS: Final = 3_600_000
"""Kafka's default of ``metadata.log.max.snapshot.interval.ms``; 0 is never."""


@value
class Published:
    """The loader has told the generator, like everybody else."""

    publication: Publication


@value
class Written:
    """The snapshot that was asked for is on the disk; or could not be written."""

    why_not: str = ""


@value
class Disabled:
    """No snapshot is to be written any more: the image may be wrong, or the node stops."""

    reason: str


Event: TypeAlias = Published | Written | Disabled


@value
class WriteSnapshot:
    """Write a snapshot of an image, and say when that is done."""

    image: MetadataImage
    reason: str


@value
class Note:
    """Something that an operator will look for."""

    text: str


Effect: TypeAlias = WriteSnapshot | Note


class SnapshotGenerator:
    """Decides when a snapshot is due."""

    def __init__(
        self, now_ms: int, bytes_max: int = BYTES_MAX, interval_ms: int = INTERVAL_MS
    ) -> None:
        self.writing = False
        self.disabled = ""
        self.bytes_since = 0
        """Of the log, since the last snapshot was begun or read."""
        self._bytes_max = bytes_max
        self._interval_ms = interval_ms
        self._last_ms = now_ms
        self._offset = -1

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Take one event; return what to do about it, in order."""
        match event:
            case Published(Publication(image=image, manifest=manifest)):
                return self._told(image, manifest, now_ms)
            case Written(why_not):
                self.writing = False
                return [Note(f"no snapshot could be written: {why_not}")] if why_not else []
            case Disabled(reason):
                self.disabled = self.disabled or reason
                return []

    def _told(self, image: MetadataImage, manifest: Manifest, now_ms: int) -> list[Effect]:
        match manifest:
            case LogManifest(size_bytes=size):
                assert image.offset > self._offset, f"{image.offset} after {self._offset}"
                self.bytes_since += size
            case SnapshotManifest(size_bytes=size):
                # What was in a snapshot that was read need not be written again; the log behind it
                # counts, though nobody was told of it while the node caught up.  Else the log of
                # one that restarts often enough would never be cut.
                self._begin_anew(now_ms)
                self.bytes_since = size
        self._offset = image.offset
        return self._considered(image, now_ms)

    def _considered(self, image: MetadataImage, now_ms: int) -> list[Effect]:
        reason = self._reason(now_ms)
        if not reason or self.writing or not image.provenance.batch_aligned:
            return []
        name = image.provenance.snapshot_name
        if self.disabled:
            return [Note(f"{name} is not written although {reason}: {self.disabled}")]
        if image.features.metadata_version is None:
            return [Note(f"{name} is not written although {reason}: there is no metadata.version")]
        self.writing = True
        self._begin_anew(now_ms)
        return [WriteSnapshot(image, reason)]

    def _reason(self, now_ms: int) -> str:
        """Return why a snapshot is due; nothing if it is not."""
        if self.bytes_since >= self._bytes_max:
            return f"{self.bytes_since} bytes of the log came since the last"
        if self._interval_ms and now_ms - self._last_ms >= self._interval_ms:
            return f"the last was {(now_ms - self._last_ms) // 60_000} minutes ago"
        return ""

    def _begin_anew(self, now_ms: int) -> None:
        self.bytes_since, self._last_ms = 0, now_ms
