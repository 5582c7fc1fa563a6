"""Batches of the log into publications, and metadata transactions.

    batch batch batch ──load──▶ delta ──flush──▶ publication

Many batches that were committed together make one publication: whoever replays a million records
should not be told a million times.

A controller that has more to say than fits a batch says it in a transaction (KIP-868).  What is
between its begin and its end becomes visible at once with the end, and if it is aborted it never
was (M-06):

    ── a b BEGIN c │ d │ e END f ──        │ ends a batch
         ▲                       ▲
      published              published: c d e f

What stands before a begin is published before it, even in the middle of a batch; a snapshot may not
end there, and the provenance says so.  An abort takes the delta back to where the transaction
began, at once: records may follow it in the very same commit.

Fixed by Kafka's MetadataBatchLoader.java, where we differ: there an aborted transaction stays in
the delta if more records follow before the next publication, and what is published before a begin
bears the epoch of the batch behind it.
"""

from collections.abc import Iterator
from typing import Final

from barnabas.metadata.batches import unfoldable
from barnabas.metadata.delta import Delta
from barnabas.metadata.faults import BadRecord
from barnabas.metadata.image import MetadataImage, Provenance
from barnabas.metadata.publication import LeaderAndEpoch, LogManifest, Publication
from barnabas.model.errors import RemoteProtocolError
from barnabas.records.opened import OpenedBatch
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Message

LOG: Final = "__cluster_metadata-0"

TRANSACTION: Final = frozenset(
    {BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord}
)


class BatchFold:
    """Folds committed batches onto an image."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        """The last that was published."""
        self.in_transaction = False
        self._delta = Delta(image)
        self._reached = image.provenance
        """How far we are: not always where an image may end."""
        self._batches = 0
        self._size_bytes = 0

    @property
    def next_offset(self) -> int:
        """The offset that has to come next."""
        return self._reached.end_offset

    def load(self, batch: OpenedBatch, leader: LeaderAndEpoch) -> Iterator[Publication]:
        """Take a batch; yield what has to be published before a transaction in it."""
        start, at, values = self.next_offset, 0, batch.values
        assert batch.base_offset == start, f"a batch at {batch.base_offset}, expected at {start}"
        assert batch.epoch >= self._reached.epoch, f"{batch.epoch} after {self._reached.epoch}"
        try:
            while (at := self._delta.replay_plain(values, at)) < len(values):
                record, _ = decode_record(values[at])
                if type(record) not in TRANSACTION:
                    self._delta.replay(record)
                else:
                    if at:
                        self._reached = Provenance(
                            start + at - 1, batch.epoch, batch.append_ms, batch_aligned=False
                        )
                    if type(record) is BeginTransactionRecord and self._has_news():
                        yield self._published(leader)
                    self._turn(record)
                at += 1
        except (RemoteProtocolError, BadRecord) as error:
            raise unfoldable(f"{LOG}, offset {start + at}", values[at], error) from error
        self._reached = Provenance(
            batch.end_offset - 1, batch.epoch, batch.append_ms, batch_aligned=True
        )
        self._batches += 1
        self._size_bytes += batch.size_bytes

    def flush(self, leader: LeaderAndEpoch) -> Iterator[Publication]:
        """Yield what has gathered, unless a transaction is open."""
        if self._has_news():
            yield self._published(leader)

    def _has_news(self) -> bool:
        """Tell whether anything was read since the last publication, and may be published."""
        return not self.in_transaction and self._reached != self.image.provenance

    def _turn(self, record: Message) -> None:
        """Begin a transaction, or end it."""
        if type(record) is BeginTransactionRecord:
            if self.in_transaction:
                raise BadRecord("a transaction begins, and the one before has not ended")
            self.in_transaction = True
        elif not self.in_transaction:
            raise BadRecord("a transaction ends, and none has begun")
        else:
            self.in_transaction = False
            if type(record) is AbortTransactionRecord:
                self._delta = Delta(self.image)

    def _published(self, leader: LeaderAndEpoch) -> Publication:
        """Return the step to where we are, and begin the next from there."""
        delta, provenance = self._delta, self._reached
        image = delta.apply(provenance)
        manifest = LogManifest(provenance, leader, self._batches, self._size_bytes)
        self.image, self._delta = image, Delta(image)
        self._batches = self._size_bytes = 0
        return Publication(delta, image, manifest)
