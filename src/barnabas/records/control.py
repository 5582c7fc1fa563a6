"""Control records: what brokers tell each other inside a partition.

A control batch holds records that applications never see.  Its key says what kind:

    key    version i16 | type i16
    value  a message of the protocol, behind its version as an i16

    0 ABORT, 1 COMMIT      the end of one producer's transaction in this partition (KIP-98)
    2 LEADER_CHANGE        first record of a quorum leader's epoch (KIP-595)
    3, 4 SNAPSHOT_…        first and last record of a snapshot (KIP-630)
    5, 6 KRAFT_…           version and voters of the quorum (KIP-853)

The values are messages that ``wire`` defines, and ``wire`` is our sibling: they pass here as bytes.
One exception: an end marker's six bytes (version, coordinator epoch) are written and read here,
since every log that holds transactions needs them and nothing else of ``wire``.
"""

import struct
from enum import IntEnum
from typing import Final

from barnabas.model.value import value
from barnabas.records.batch import CONTROL, TRANSACTIONAL
from barnabas.records.builder import BLANK, built
from barnabas.records.checksum import Buffer
from barnabas.records.compression import InvalidRecord
from barnabas.records.record import Record

KEY: Final = struct.Struct(">hh")
KEY_VERSION: Final = 0

END_MARKER: Final = struct.Struct(">hi")
END_MARKER_VERSION: Final = 0


class ControlType(IntEnum):
    """What kind of control record."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@value
class EndMarker:
    """The end of a producer's transaction, as the coordinator of an epoch decided it."""

    committed: bool
    coordinator_epoch: int


def control_type(record: Record) -> ControlType | None:
    """Return what kind of control record this is; None for one that only later versions know.

    A key of a later version is read as ours: versions may only add.
    """
    if record.key is None or len(record.key) < KEY.size:
        size = "no" if record.key is None else str(len(record.key))
        raise InvalidRecord(f"control record at offset {record.offset}: a key of {size} bytes")
    version, kind = KEY.unpack_from(record.key)
    if version < KEY_VERSION:
        raise InvalidRecord(f"control record at offset {record.offset}: key version {version}")
    return ControlType(kind) if kind in CONTROL_TYPES else None


CONTROL_TYPES: Final = frozenset(int(kind) for kind in ControlType)


def end_marker(record: Record) -> EndMarker | None:
    """Return the end of a transaction that a control record says; None if it says another thing."""
    kind = control_type(record)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    if record.value is None or len(record.value) < END_MARKER.size:
        size = "no" if record.value is None else str(len(record.value))
        raise InvalidRecord(f"end marker at offset {record.offset}: a value of {size} bytes")
    version, coordinator_epoch = END_MARKER.unpack_from(record.value)
    if version < END_MARKER_VERSION:
        raise InvalidRecord(f"end marker at offset {record.offset}: version {version}")
    return EndMarker(kind is ControlType.COMMIT, coordinator_epoch)


def control_record(offset: int, timestamp: int, kind: ControlType, content: Buffer) -> Record:
    """Return a control record; the content is a message of the protocol behind its version."""
    return Record(offset, timestamp, KEY.pack(KEY_VERSION, kind), content)


def control_batch(
    base_offset: int, timestamp: int, leader_epoch: int, *contents: tuple[ControlType, Buffer]
) -> bytes:
    """Return a control batch as the quorum writes them: no producer, no transaction."""
    header = BLANK._replace(base_offset=base_offset, leader_epoch=leader_epoch, attributes=CONTROL)
    return built(
        header,
        (
            control_record(base_offset + delta, timestamp, kind, content)
            for delta, (kind, content) in enumerate(contents)
        ),
    )


def end_marker_batch(
    producer_id: int, producer_epoch: int, marker: EndMarker, timestamp: int
) -> bytes:
    """Return the batch that ends a producer's transaction; its leader assigns the offset."""
    header = BLANK._replace(
        attributes=CONTROL | TRANSACTIONAL, producer_id=producer_id, producer_epoch=producer_epoch
    )
    kind = ControlType.COMMIT if marker.committed else ControlType.ABORT
    content = END_MARKER.pack(END_MARKER_VERSION, marker.coordinator_epoch)
    return built(header, [control_record(0, timestamp, kind, content)])
