"""The same orders for two logs: Barnabas' and Apache Kafka's.

Both engines take the orders of `Log.java` (dictionaries here) and answer alike, so that a workload
can drive them in step and compare every answer. What a refusal is called differs: `REFUSALS` says
which of our codes stands for which of Kafka's exceptions.
"""

import asyncio
import base64
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from barnabas.host.disk import HostDisk
from barnabas.log.compaction import compact
from barnabas.log.config import LogConfig
from barnabas.log.health import Health
from barnabas.log.names import TopicPartition
from barnabas.log.partition_log import PartitionLog
from barnabas.log.producers import Origin
from barnabas.log.recovery import Found, open_log
from barnabas.log.retention import delete_old_segments
from barnabas.log.timestamps import first_not_older
from barnabas.model.errors import ErrorCode, Refused
from barnabas.records.batch import BatchHeader, batches
from barnabas.records.record import records
from tests.compat.log_judge import Answer, Judge, Order

T = TypeVar("T")

ORDERS: Final = TopicPartition("orders", 0)

REFUSALS: Final = {
    "OutOfOrderSequenceException": ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    "InvalidProducerEpochException": ErrorCode.INVALID_PRODUCER_EPOCH,
    "InvalidTxnStateException": ErrorCode.INVALID_TXN_STATE,
    "TransactionCoordinatorFencedException": ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    "RecordTooLargeException": ErrorCode.MESSAGE_TOO_LARGE,
    "RecordBatchTooLargeException": ErrorCode.RECORD_LIST_TOO_LARGE,
    "CorruptRecordException": ErrorCode.CORRUPT_MESSAGE,
    "RecordValidationException": ErrorCode.INVALID_TIMESTAMP,
    "InvalidRecordException": ErrorCode.INVALID_RECORD,
    "OffsetOutOfRangeException": ErrorCode.OFFSET_OUT_OF_RANGE,
    "OffsetsOutOfOrderException": ErrorCode.OFFSET_OUT_OF_RANGE,
    "UnexpectedAppendOffsetException": ErrorCode.OFFSET_OUT_OF_RANGE,
}


class Engine(Protocol):
    """A log that takes orders."""

    def order(self, order: Order) -> Answer:
        """Carry out one order."""
        ...


class Theirs:
    """Kafka's log, with its refusals in our words."""

    def __init__(self, judge: Judge) -> None:
        self._judge: Final = judge

    def order(self, order: Order) -> Answer:
        """Carry out one order."""
        answer = self._judge.order(order)
        if "error" in answer:
            assert answer["error"] in REFUSALS, f"{order}\n{answer}"
            return {"error": REFUSALS[answer["error"]].name}
        return answer


class Offsets:
    """What a log asks of its directory; here the tests remember the offsets."""

    def __init__(self, directory: str) -> None:
        self.health: Final = Health(directory)

    async def vouch_only_below(self, of: TopicPartition, offset: int) -> None:
        """Need not be remembered: an unclean stop here never believes more than was flushed."""

    async def record_start(self, of: TopicPartition, offset: int) -> None:
        """Need not be remembered: the workload knows it."""


class Ours:
    """Barnabas' log on this machine's disk."""

    def __init__(self) -> None:
        self._runner: Final = asyncio.Runner()
        self._disk: Final = HostDisk()
        self._log: PartitionLog | None = None
        self._now_ms = 0

    @property
    def log(self) -> PartitionLog:
        """The log that is open."""
        assert self._log is not None, "no log is open"
        return self._log

    def close(self) -> None:
        """Give everything back."""
        if self._log is not None:
            self._log.abandon()
        self._runner.close()
        self._disk.close()

    def order(self, order: Order) -> Answer:
        """Carry out one order."""
        self._now_ms = order.get("now", self._now_ms)
        try:
            return self._perform(order)
        except Refused as refused:
            return {"error": refused.code.name}

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def _perform(self, order: Order) -> Answer:
        offset = order.get("offset", 0)
        match order["order"]:
            case "open":
                self._open(order)
            case "append":
                origin = Origin[order.get("origin", "CLIENT")]
                data = bytes.fromhex(order["records"])
                told = self.log.append_as_leader(data, order["leaderEpoch"], self._now_ms, origin)
                return {"first": told.first_offset, "last": told.last_offset}
            case "follow":
                data = bytes.fromhex(order["records"])
                told = self.log.append_as_follower(data, order["leaderEpoch"], self._now_ms)
                return {"first": told.first_offset, "last": told.last_offset}
            case "epoch":
                assert offset == self.log.end_offset
                self._run(self.log.begin_epoch(order["leaderEpoch"]))
            case "highWatermark":
                return {"offset": self.log.set_high_watermark(offset)}
            case "start":
                self._run(self.log.advance_start(offset))
            case "roll":
                self.log.roll(self._now_ms)
            case "flush":
                self._run(self.log.flush())
            case "truncate":
                self._run(self.log.truncate(offset, self._now_ms))
            case "retain":
                before = len(self.log.segments)
                self._run(delete_old_segments(self.log, self._now_ms))
                return {"segments": before - len(self.log.segments)}
            case "clean":
                done = self._run(compact(self.log, order["firstDirty"], self._now_ms))
                return {"offset": order["firstDirty"] if done is None else done.end_offset}
            case "state":
                return state(self.log)
            case "read":
                segment, part = self.log.read(offset, 1, self.log.end_offset)
                ((_, header),) = batches(part.read())
                return {"first": header.base_offset, "last": header.last_offset}
            case "timestamp":
                found = first_not_older(self.log, order["timestamp"])
                return (
                    {} if found is None else {"timestamp": found.timestamp, "offset": found.offset}
                )
            case "fetch":
                segment, part = self.log.read(offset, order["bytes"], self.log.stable_offset)
                some = self.log.aborted_in(segment, part, offset)
                aborted = [[one.producer_id, one.first_offset] for one in some]
                behind = segment.offset_behind(part.position + part.size_bytes)
                return {"size": part.size_bytes, "aborted": aborted, "behind": behind}
            case "endOfEpoch":
                end = self.log.end_of_epoch(order["leaderEpoch"])
                return {} if end is None else {"epoch": end.epoch, "endOffset": end.end_offset}
            case "close":
                self._run(self.log.close())
                self._log = None
            case "abandon":
                self.log.abandon()
                self._log = None
            case unknown:
                raise AssertionError(unknown)
        return {}

    def _open(self, order: Order) -> None:
        assert self._log is None, "a log is open"
        directory = order["directory"]
        Path(directory).mkdir(exist_ok=True, parents=True)
        found = Found(
            order["clean"],
            order["recoveryPoint"],
            order["startOffset"],
            order.get("cleanedTo", 0),
        )
        self._log = self._run(
            open_log(
                self._disk,
                Offsets(str(Path(directory).parent)),
                ORDERS,
                directory,
                our_config(order),
                found,
                self._now_ms,
            )
        )


def our_config(order: Order) -> LogConfig:
    """Return the settings of an order as ours."""
    theirs = order["config"]
    policy = theirs.get("cleanup.policy", "delete")
    numbers = {
        "index.interval.bytes": "index_interval_bytes",
        "segment.index.bytes": "segment_index_bytes",
        "segment.ms": "segment_ms",
        "max.message.bytes": "max_message_bytes",
        "retention.ms": "retention_ms",
        "retention.bytes": "retention_bytes",
        "delete.retention.ms": "delete_retention_ms",
        "message.timestamp.after.max.ms": "timestamp_after_max_ms",
    }
    settings: dict[str, Any] = {
        numbers[name]: int(text) for name, text in theirs.items() if name in numbers
    }
    return LogConfig(
        segment_bytes=order["segmentBytes"],
        delete="delete" in policy,
        compact="compact" in policy,
        log_append_time=theirs.get("message.timestamp.type") == "LogAppendTime",
        **settings,
    )


def state(log: PartitionLog) -> Answer:
    """Return everything there is to know of a log, as the judge does."""
    return {
        "startOffset": log.start_offset,
        "endOffset": log.end_offset,
        "highWatermark": log.high_watermark,
        "stableOffset": log.stable_offset,
        "epochs": [list(entry) for entry in log.epochs.entries()],
        "producers": {
            str(producer): {
                "epoch": entry.epoch,
                "coordinatorEpoch": entry.coordinator_epoch,
                "lastTimestamp": entry.last_timestamp,
                "transactionStart": entry.transaction_start,
                "batches": [list(batch) for batch in entry.batches],
            }
            for producer, entry in sorted(log.producers.entries.items())
        },
        "segments": [[segment.base_offset, segment.size_bytes] for segment in log.segments],
        "batches": [
            batch_state(data, position, header)
            for segment in log.segments
            for data in [segment.slice(0, segment.size_bytes).read()]
            for position, header in batches(data)
        ],
    }


def batch_state(data: bytes, position: int, header: BatchHeader) -> list[Any]:
    """Return a batch and its records, as the judge does."""
    inside = []
    for record in records(data, position, header):
        one: list[Any] = [record.offset, record.timestamp, text(record.key), text(record.value)]
        for key, held in record.headers:
            one += [key.decode(), text(held)]
        inside.append(one)
    return [
        header.base_offset,
        header.last_offset,
        header.leader_epoch,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        inside,
    ]


def text(data: bytes | bytearray | memoryview | None) -> str | None:
    """Return bytes as JSON can say them."""
    return None if data is None else base64.b64encode(data).decode()
