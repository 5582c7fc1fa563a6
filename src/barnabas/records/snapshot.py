"""Snapshots of the metadata log, as batches (KIP-630).

    control batch   SNAPSHOT_HEADER [KRAFT_VERSION [KRAFT_VOTERS]]     offset 0 …
    data batches    records of the state, in any number of batches
    control batch   SNAPSHOT_FOOTER                                    the last offset

Offsets count from 0 and have no gaps; every batch has the snapshot's epoch.  What ends without a
footer was cut short and is no snapshot.  The same bytes make a ``<offset>-<epoch>.checkpoint``,
the one of offset 0 and epoch 0 that says who the first voters are (KIP-853), and the
``bootstrap.checkpoint`` that a formatted directory begins with (RecordsSnapshotWriter.java,
BatchFileWriter.java).

``snapshot_batches`` is the whole, batch by batch, so that a large image need never be in memory at
once; the other functions are its parts.  The contents are messages that ``wire`` defines, and
``wire`` is our sibling: they pass here as bytes.  Nothing here is compressed, as nothing of the
metadata log is.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from barnabas.records.batch import HEADER_BYTES
from barnabas.records.builder import BLANK, built
from barnabas.records.checksum import Buffer
from barnabas.records.control import ControlType, control_batch
from barnabas.records.record import Record

BATCH_BYTES_MAX: Final = 8 * 1024 * 1024
"""The largest batch that Kafka writes to its metadata log (KafkaRaftClient.java)."""

RECORD_OVERHEAD_BYTES_MAX: Final = 5 + 1 + 1 + 5 + 1 + 5 + 1
"""What stands around a value, at most: size, attributes, time, offset, no key, size, no headers."""


def snapshot_header_batch(
    epoch: int,
    wall_ms: int,
    header: Buffer,
    kraft_version: Buffer | None = None,
    voters: Buffer | None = None,
) -> bytes:
    """Return the batch that a snapshot begins with, at offset 0.

    A quorum of ``kraft.version`` 1 tells its version here, and its voters if they are known; one
    of version 0 tells neither.
    """
    assert voters is None or kraft_version is not None, "voters belong to a kraft.version"
    contents = [
        (ControlType.SNAPSHOT_HEADER, header),
        (ControlType.KRAFT_VERSION, kraft_version),
        (ControlType.KRAFT_VOTERS, voters),
    ]
    present = [(kind, content) for kind, content in contents if content is not None]
    return control_batch(0, wall_ms, epoch, *present)


def snapshot_footer_batch(base_offset: int, epoch: int, wall_ms: int, footer: Buffer) -> bytes:
    """Return the batch that a snapshot ends with."""
    return control_batch(base_offset, wall_ms, epoch, (ControlType.SNAPSHOT_FOOTER, footer))


def data_batch(base_offset: int, epoch: int, wall_ms: int, values: Iterable[Buffer]) -> bytes:
    """Return a batch of metadata records: values without keys, all of one time."""
    header = BLANK._replace(base_offset=base_offset, leader_epoch=epoch)
    return built(
        header,
        (Record(offset, wall_ms, None, value) for offset, value in enumerate(values, base_offset)),
    )


def snapshot_batches(
    epoch: int,
    wall_ms: int,
    header: Buffer,
    values: Iterable[Buffer],
    footer: Buffer,
    kraft_version: Buffer | None = None,
    voters: Buffer | None = None,
    batch_bytes_max: int = BATCH_BYTES_MAX,
) -> Iterator[bytes]:
    """Yield the batches of a snapshot, in order, none larger than allowed."""
    yield snapshot_header_batch(epoch, wall_ms, header, kraft_version, voters)
    offset = 1 + (kraft_version is not None) + (voters is not None)
    for gathered in gatherings(values, batch_bytes_max):
        yield data_batch(offset, epoch, wall_ms, gathered)
        offset += len(gathered)
    yield snapshot_footer_batch(offset, epoch, wall_ms, footer)


def gatherings(
    values: Iterable[Buffer], batch_bytes_max: int = BATCH_BYTES_MAX
) -> Iterator[Sequence[Buffer]]:
    """Yield the values in runs, each as long as surely fits a batch."""
    gathered: list[Buffer] = []
    size = HEADER_BYTES
    for value in values:
        grown = len(value) + RECORD_OVERHEAD_BYTES_MAX
        assert HEADER_BYTES + grown <= batch_bytes_max, (
            f"a record of {len(value)} bytes fits no batch of {batch_bytes_max}"
        )
        if size + grown > batch_bytes_max:
            yield gathered
            gathered, size = [], HEADER_BYTES
        gathered.append(value)
        size += grown
    if gathered:
        yield gathered
