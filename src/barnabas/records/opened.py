"""A batch opened: its records as values, for those who fold a log.

Whoever keeps a state that is the fold of a log wants to know of a batch where it stands, who wrote
it and when, and what its records say.  A batch of the brokers' own, a *control* batch, has kinds
and contents instead of values; a state machine passes over it, and it moves the offset all the
same.
"""

from collections.abc import Iterator, Sequence

from barnabas.model.value import value
from barnabas.records.batch import BatchHeader, batches
from barnabas.records.checksum import Buffer
from barnabas.records.control import ControlType, control_type
from barnabas.records.record import body_of, records, values_in


@value
class OpenedBatch:
    """One batch: records of a state machine, or control records."""

    base_offset: int
    end_offset: int
    epoch: int
    append_ms: int
    size_bytes: int
    values: Sequence[Buffer]
    """What the records say, in order; nothing of a control batch."""
    controls: Sequence[tuple[ControlType, Buffer]] = ()


def opened(data: Buffer) -> Iterator[OpenedBatch]:
    """Open whole batches, whose checksums have been verified."""
    for position, header in batches(data):
        yield opened_at(data, position, header)


def opened_at(data: Buffer, position: int, header: BatchHeader) -> OpenedBatch:
    """Open the batch at a position of some data."""
    values: tuple[Buffer, ...] = ()
    controls: tuple[tuple[ControlType, Buffer], ...] = ()
    if header.is_control:
        inside = records(data, position, header)
        kinds = ((control_type(record), record.value or b"") for record in inside)
        # Kinds that only later versions know are not for us.
        controls = tuple((kind, content) for kind, content in kinds if kind is not None)
    else:
        # A record without a value says nothing; whoever decodes it finds that.
        # One copy of them all: of bytes, slices are cheaper to take and to decode than of a view.
        values = tuple(values_in(bytes(body_of(data, position, header)), header))
    return OpenedBatch(
        header.base_offset,
        header.next_offset,
        header.leader_epoch,
        header.max_timestamp,
        header.size_bytes,
        values,
        controls,
    )
