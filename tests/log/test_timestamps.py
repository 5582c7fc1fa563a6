"""Which offset a time leads to, against a walk over all records."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from barnabas.log.config import LogConfig
from barnabas.log.names import INDEX
from barnabas.log.timestamps import TimestampedOffset, first_not_older, youngest
from barnabas.model.errors import CorruptLog
from barnabas.records.batch import header_at
from barnabas.records.record import records
from tests.log.storage import Machine, batch, content, run

CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=1, timestamp_after_max_ms=10**9)


@given(
    times=st.lists(st.integers(0, 60), min_size=1, max_size=25),
    asked=st.lists(st.integers(0, 64), max_size=8),
    start=st.integers(0, 10),
    reopened=st.booleans(),
)
def test_the_first_record_that_is_not_older_is_found(
    times: list[int], asked: list[int], start: int, reopened: bool
) -> None:
    machine = Machine()
    log = machine.log(CONFIG)
    for timestamp in times:
        log.append_as_leader(batch(b"a", b"b", timestamp=timestamp), 3, 0)
    log.set_high_watermark(log.end_offset)
    run(log.advance_start(min(start, log.end_offset)))
    if reopened:
        run(machine.directory_of().close(1))
        log = machine.log(CONFIG)
    everything = [
        TimestampedOffset(record.offset, record.timestamp, 3)
        for _, data in content(log)
        for record in records(data, 0, header_at(data))
        if record.offset >= log.start_offset
    ]
    for timestamp in asked:
        expected = next((one for one in everything if one.timestamp >= timestamp), None)
        assert first_not_older(log, timestamp) == expected
    largest = max((one.timestamp for one in everything), default=None)
    expected = next((one for one in everything if one.timestamp == largest), None)
    assert youngest(log) == expected


def test_an_empty_log_has_no_times() -> None:
    log = Machine().log()
    assert first_not_older(log, 0) is None
    assert youngest(log) is None


def test_a_rotten_index_changes_no_answer() -> None:
    machine = Machine()
    log = machine.log(CONFIG)
    for timestamp in range(20):
        log.append_as_leader(batch(b"a", b"b", timestamp=2 * timestamp), 3, 0)
    segment = log.segments[0]
    segment.offsets.close()
    machine.process.open(segment.path(INDEX), "write").write(4, [b"\x7f\x01"])
    for timestamp in range(41):
        found = first_not_older(log, timestamp)
        assert found == (TimestampedOffset(timestamp, timestamp, 3) if timestamp < 40 else None)


def test_a_record_that_rots_is_an_error_and_no_answer() -> None:
    # Found by seed 18 of the log profile.
    machine = Machine()
    log = machine.log(CONFIG)
    log.append_as_leader(batch(b"a", b"b", timestamp=7), 3, 0)
    file = machine.process.open(log.segments[0].file.path, "write")
    file.write(log.segments[0].size_bytes - 1, [b"\xff"])
    with pytest.raises(CorruptLog, match="checksum"):
        first_not_older(log, 7)
