"""The settings of a log, and what they mean for the gate of the leader."""

from barnabas.log.config import LogConfig


def test_a_bound_on_old_timestamps_is_none_by_default() -> None:
    assert LogConfig().rules().before_ms_max is None
    assert LogConfig(timestamp_before_max_ms=5).rules().before_ms_max == 5


def test_the_rules_are_those_of_the_topic() -> None:
    rules = LogConfig(
        max_message_bytes=100, compact=True, log_append_time=True, timestamp_after_max_ms=7
    ).rules()
    assert rules.batch_bytes_max == 100
    assert rules.compacted
    assert rules.log_append_time
    assert rules.after_ms_max == 7
