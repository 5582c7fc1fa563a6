"""Which whole segments of a log may go, and letting them go.

By time, by size, or because the log starts behind them.  Always the oldest first, never the active
one while it holds anything, and never what is not replicated yet: below the high watermark every
replica can do without a record, above it a new leader may still need it (KAFKA-5634).

The start offset is recorded before the first file goes.  Were it the other way round, names could
come back after a power loss in any order, and the log would have a hole.

Fixed by Kafka's UnifiedLog.deleteOldSegments.
"""

from barnabas.log.partition_log import PartitionLog
from barnabas.log.segment import Segment


def deletable(log: PartitionLog, wall_ms: int) -> int:
    """Return how many of the oldest segments may go."""
    config = log.config
    size = sum(segment.size_bytes for segment in log.segments)
    count = 0
    for segment in log.segments:
        if not segment.size_bytes or segment.next_offset > log.high_watermark:
            break
        by_start = segment.next_offset <= log.start_offset
        by_time = by_size = False
        if config.delete:
            by_time = is_expired(segment, config.retention_ms, wall_ms)
            by_size = 0 <= config.retention_bytes <= size - segment.size_bytes
        if not (by_start or by_time or by_size):
            break
        size -= segment.size_bytes
        count += 1
    return count


def is_expired(segment: Segment, retention_ms: int, wall_ms: int) -> bool:
    """Tell whether even the youngest record is too old; without timestamps nothing ever is."""
    youngest, _ = segment.youngest
    return retention_ms >= 0 and youngest >= 0 and wall_ms - youngest > retention_ms


async def delete_old_segments(log: PartitionLog, wall_ms: int) -> int:
    """Remove the segments that may go; return how many bytes that freed."""
    count = deletable(log, wall_ms)
    if not count:
        return 0
    if count == len(log.segments):
        log.roll(wall_ms)
    start = log.segments[count].base_offset
    # The snapshot where the log is going to begin is all that will be known of the producers
    # before: it has to be there, and durable, first.
    await log.ensure_snapshot(start)
    if start > log.start_offset:
        await log.advance_start(start)
    gone = [segment for segment in log.segments[:count] if segment.next_offset <= start]
    await log.delete_oldest(len(gone), wall_ms)
    return sum(segment.size_bytes for segment in gone)
