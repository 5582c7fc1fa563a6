"""What a controller said at once: the records that stand or fall, and are understood, together.

    batch   ── PartitionChange, PartitionChange, BrokerRegistrationChange(fenced) ──▶ one act
    batches ── BEGIN, TopicRecord … │ … PartitionRecord, END ──────────────────────▶ one act
    batches ── 10,000 records │ 10,000 records │ 312 records ──────────────────────▶ one act

No record says why it was written, but a controller writes what one event has brought into one
batch: the leaders that a broker loses stand beside the record that fences it.  So the cause of a
record is sought in its act, and nowhere else.

Kafka cuts what need not be atomic into batches of 10,000 records; a batch of exactly so many
therefore goes on in the next one (QuorumController.java, ``appendRecords``).  A metadata
transaction is one act however many batches it takes (KIP-868), and none if it is aborted.

Whoever asks says which records matter (``Wanted``), by their type and bytes, so that of a million
records nearly none is decoded.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from barnabas.metadata.batches import unfoldable
from barnabas.metadata.fold import LOG
from barnabas.metadata.image import Provenance
from barnabas.model.errors import RemoteProtocolError
from barnabas.model.value import value
from barnabas.records.checksum import Buffer
from barnabas.records.opened import OpenedBatch
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.fence_broker_record import FenceBrokerRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.unfence_broker_record import UnfenceBrokerRecord
from barnabas.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from barnabas.wire.metadata_records import decode_record, read_frame, record_classes
from barnabas.wire.structs import Message

GOES_ON_RECORDS: Final = 10_000
"""How many records fill a batch, so that the act goes on in the next."""

IN_LOG: Final = f"{LOG}, offset"

BEGIN: Final = BeginTransactionRecord.API_KEY
END: Final = EndTransactionRecord.API_KEY
ABORT: Final = AbortTransactionRecord.API_KEY
CHANGE: Final = PartitionChangeRecord.API_KEY

OF_BROKERS: Final = frozenset(
    {
        RegisterBrokerRecord.API_KEY,
        UnregisterBrokerRecord.API_KEY,
        FenceBrokerRecord.API_KEY,
        UnfenceBrokerRecord.API_KEY,
        BrokerRegistrationChangeRecord.API_KEY,
    }
)
"""The types of records about brokers."""

Wanted: TypeAlias = Callable[[int, Buffer], bool]
"""Tells of a record, by its type and its bytes, whether it matters."""


class Said(NamedTuple):
    """One record that matters, where it stands."""

    offset: int
    epoch: int
    append_ms: int
    data: Buffer
    where: str = IN_LOG

    def record(self) -> Message:
        """Return what it says."""
        try:
            return decode_record(self.data)[0]
        except RemoteProtocolError as error:
            raise unfoldable(f"{self.where} {self.offset}", self.data, error) from error


@value
class Act:
    """What was said at once; only the records that matter."""

    said: tuple[Said, ...]
    changes: int
    """Of how many partitions there are changes in it, those included that do not matter."""


class Acts:
    """Acts, read from the batches of a log."""

    def __init__(self, batches: Iterable[OpenedBatch], wanted: Wanted) -> None:
        self.in_transaction = False
        """Whether one is open, of which nobody may know what it says."""
        self._batches: Final = batches
        self._wanted: Final = wanted
        self._said: list[Said] = []
        self._changes = 0

    def __iter__(self) -> Iterator[Act]:
        """Yield the acts in which anything matters, in order."""
        for batch in self._batches:
            if not batch.values and not self.in_transaction:
                # Somebody else leads, who finishes nobody's sentences.
                yield from self._ended()
            for at, data in enumerate(batch.values):
                kind = kind_of(data, batch.base_offset + at)
                if kind == BEGIN:
                    yield from self._ended()
                    self.in_transaction = True
                elif kind == END:
                    self.in_transaction = False
                    yield from self._ended()
                elif kind == ABORT:
                    self.in_transaction = False
                    self._said, self._changes = [], 0
                else:
                    self._changes += kind == CHANGE
                    offset = batch.base_offset + at
                    if is_wanted(self._wanted, kind, data, offset):
                        self._said.append(Said(offset, batch.epoch, batch.append_ms, data))
            if not self.in_transaction and len(batch.values) != GOES_ON_RECORDS:
                yield from self._ended()
        if not self.in_transaction:
            yield from self._ended()

    def _ended(self) -> Iterator[Act]:
        if self._said:
            yield Act(tuple(self._said), self._changes)
        self._said, self._changes = [], 0


def in_snapshot(place: Provenance) -> str:
    """Say where a record of a snapshot stands, but for its number."""
    return f"{place.snapshot_name}, record"


def kind_of(data: Buffer, offset: int, where: str = IN_LOG) -> int:
    """Return the type of a record; ``Unfoldable`` if nobody knows it."""
    kind = data[1] if len(data) > 2 and data[0] == 1 and data[1] < 128 else -1
    if kind in record_classes():
        return kind
    try:
        kind, _, _ = read_frame(data)
        if kind not in record_classes():
            raise RemoteProtocolError("a record of a type that nobody here knows")
    except RemoteProtocolError as error:
        raise unfoldable(f"{where} {offset}", data, error) from error
    return kind


def is_wanted(wanted: Wanted, kind: int, data: Buffer, offset: int, where: str = IN_LOG) -> bool:
    """Tell whether a record matters; ``Unfoldable`` if it cannot be read."""
    try:
        return wanted(kind, data)
    except RemoteProtocolError as error:
        raise unfoldable(f"{where} {offset}", data, error) from error
