"""Which offset a time leads to: ListOffsets by timestamp, earliest, latest and largest.

Timestamps are the producers' and in no order, so the question is "the first offset whose record is
not older".  Segments know their youngest record, the time index narrows a segment down, headers
tell a batch's youngest; only the batch that has the answer is read record by record.

Fixed by Kafka's UnifiedLog.fetchOffsetByTimestamp and FileRecords.searchForTimestamp.
"""

from collections.abc import Iterator

from barnabas.log.partition_log import PartitionLog
from barnabas.log.segment import Segment
from barnabas.model.errors import CorruptLog
from barnabas.model.value import value
from barnabas.records import legacy
from barnabas.records.batch import MAGIC, NO_TIMESTAMP, BatchHeader, CorruptBatch, verify
from barnabas.records.record import Record, records


@value
class TimestampedOffset:
    """A record's offset, its timestamp and the epoch of the leader that wrote it."""

    offset: int
    timestamp: int
    leader_epoch: int


def first_not_older(log: PartitionLog, timestamp: int) -> TimestampedOffset | None:
    """Return the first record whose timestamp is at least this; None if all are older."""
    log.home.health.check()
    try:
        return search(log, timestamp)
    except OSError as error:
        raise log.home.health.fail(error) from error


def search(log: PartitionLog, timestamp: int) -> TimestampedOffset | None:
    """Return the first record that is not older, or let the disk's error through."""
    for segment in log.segments:
        if segment.next_offset <= log.start_offset or segment.youngest[0] < timestamp:
            continue
        begin = segment.find(max(log.start_offset, segment.times.offset_below(timestamp)))
        for position, header in segment.headers(begin[0]) if begin is not None else ():
            if header.max_timestamp >= timestamp and header.last_offset >= log.start_offset:
                found = within(segment, position, header, timestamp, log.start_offset)
                if found is not None:
                    return found
    return None


def youngest(log: PartitionLog) -> TimestampedOffset | None:
    """Return the first of the records with the largest timestamp (KIP-734)."""
    log.home.health.check()
    best = NO_TIMESTAMP
    try:
        for segment in log.segments:
            if segment.next_offset > log.start_offset:
                best = max(best, youngest_from(segment, log.start_offset))
    except OSError as error:
        raise log.home.health.fail(error) from error
    return None if best == NO_TIMESTAMP else first_not_older(log, best)


def youngest_from(segment: Segment, start_offset: int) -> int:
    """Return the largest timestamp of a segment's records that are not deleted."""
    if segment.base_offset >= start_offset:
        return segment.youngest[0]
    best, begin = NO_TIMESTAMP, segment.find(start_offset)
    for position, header in segment.headers(begin[0]) if begin is not None else ():
        if header.base_offset >= start_offset:
            best = max(best, header.max_timestamp)
        elif header.last_offset >= start_offset:
            kept = (
                one for one in records_at(segment, position, header) if one.offset >= start_offset
            )
            best = max(best, max((one.timestamp for one in kept), default=NO_TIMESTAMP))
    return best


def within(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, start_offset: int
) -> TimestampedOffset | None:
    """Return the first record of a batch that is not older and not deleted."""
    for record in records_at(segment, position, header):
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimestampedOffset(record.offset, record.timestamp, header.leader_epoch)
    return None


def records_at(segment: Segment, position: int, header: BatchHeader) -> Iterator[Record]:
    """Yield the records of a batch, whatever its format; ``CorruptLog`` if it is damaged."""
    data = segment.slice(position, header.size_bytes).read()
    is_old = header.magic != MAGIC
    try:
        (legacy.verify if is_old else verify)(data, 0, header)
    except CorruptBatch as error:
        raise CorruptLog(f"{segment.file.path} at {position}: {error}") from error
    return (legacy.records if is_old else records)(data, 0, header)
