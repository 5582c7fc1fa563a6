"""The settings of one log: what a topic may configure of it, in Kafka's words and defaults.

Sizes are bytes and times are milliseconds; -1 means "no limit", as in Kafka.  Who makes one of
these from a topic's configuration has checked the bounds; the log trusts it.
"""

from typing import Final

from barnabas.model.value import value
from barnabas.records.validation import Rules

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
DAY_MS: Final = 24 * 60 * 60 * 1000


@value
class LogConfig:
    """How one log behaves."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * DAY_MS
    # Subtracted from segment_ms, so that partitions made together do not all roll together.
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1024 * 1024 + 12
    preallocate: bool = False

    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX

    # cleanup.policy is a set in Kafka; a log that has neither keeps everything (4.3).
    delete: bool = True
    compact: bool = False
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    delete_retention_ms: int = DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    min_cleanable_dirty_percent: int = 50

    log_append_time: bool = False
    timestamp_before_max_ms: int = LONG_MAX
    timestamp_after_max_ms: int = 60 * 60 * 1000

    producer_expiration_ms: int = DAY_MS

    @property
    def reserved_bytes(self) -> int:
        """How much of a segment may be reserved ahead of what is appended."""
        return self.segment_bytes if self.preallocate else 0

    def rules(self) -> Rules:
        """Return what a leader demands of every batch."""
        before = self.timestamp_before_max_ms
        return Rules(
            batch_bytes_max=self.max_message_bytes,
            compacted=self.compact,
            log_append_time=self.log_append_time,
            before_ms_max=None if before == LONG_MAX else before,
            after_ms_max=self.timestamp_after_max_ms,
        )
