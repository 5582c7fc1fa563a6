"""What the log hands over: committed batches, and what to say of one that cannot be read.

    bytes of the log, of a snapshot ──committed_batches──▶ OpenedBatch, OpenedBatch …

A batch is what a leader appended in one piece.  Its records are values without keys; a control
batch (a new leader, the voters) has none for us and only moves the offset.  Decoding a value is
left to whoever folds it, who knows what to do if that fails.
"""

from collections.abc import Iterator
from typing import Final

from barnabas.metadata.faults import BadRecord, Fault, Unfoldable
from barnabas.model.errors import RemoteProtocolError
from barnabas.records.batch import CorruptBatch, OldFormat, batches, verify
from barnabas.records.checksum import Buffer
from barnabas.records.compression import UnsupportedCodec
from barnabas.records.opened import OpenedBatch, opened_at
from barnabas.wire.metadata_records import read_frame, record_names

GET_IT_ANEW: Final = (
    "the file is damaged: move the directory away and let this node fetch the log anew"
)
UPGRADE: Final = "a newer release wrote it: run that release here, or one that knows the record"


def committed_batches(
    data: Buffer, where: str, way_out: str = GET_IT_ANEW
) -> Iterator[OpenedBatch]:
    """Yield the batches in some bytes of a log or a snapshot, each proved by its checksum."""
    try:
        for position, header in batches(data):
            verify(data, position, header)
            yield opened_at(data, position, header)
    except (CorruptBatch, OldFormat, UnsupportedCodec) as error:
        raise Unfoldable(Fault(where, "record batch", str(error), way_out)) from error


def unfoldable(where: str, data: Buffer, error: RemoteProtocolError | BadRecord) -> Unfoldable:
    """Return the fault of a record that cannot be read, or not be applied."""
    try:
        key = read_frame(data)[0]
    except RemoteProtocolError:
        return Unfoldable(Fault(where, "metadata record", str(error), GET_IT_ANEW))
    what = record_names().get(key, f"metadata record of type {key}")
    if isinstance(error, BadRecord):
        return Unfoldable(Fault(where, what, error.why, error.way_out))
    return Unfoldable(Fault(where, what, str(error), UPGRADE))
