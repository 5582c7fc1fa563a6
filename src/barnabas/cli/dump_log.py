"""``barnabas dump-log``: print what the files of a log hold.

    barnabas dump-log /var/lib/kafka/orders-3                   tables, one line a batch
    barnabas dump-log --deep --json orders-3/*.log | jq …       one object a line, one a record
    barnabas dump-log --verify-index orders-3                   every index entry against its log

Files and directories of Apache Kafka are read as well as ours; what the tool looks for and how it
goes on after damage is told in ``barnabas.log.inspection``.  Options have the names of Kafka's
``kafka-dump-log``, and shorter ones where those say the same.  The exit code is 1 if anything is
damaged or cannot be read.
"""

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from barnabas.cli.printing import print_lines
from barnabas.cli.record_contents import TOPICS, Contents, Json, shown, tell, tell_control
from barnabas.host.disk import HostDisk
from barnabas.log.aborted import AbortedTransaction
from barnabas.log.inspection import (
    BatchFound,
    Damaged,
    EpochBegins,
    FileBegins,
    Finding,
    Kind,
    OffsetEntry,
    PartitionOffset,
    ProducerFound,
    RecordFound,
    Reserved,
    Setting,
    StoppedCleanly,
    TimeEntry,
    TopicIdFound,
    Wish,
    inspect,
)
from barnabas.log.names import parse_directory
from barnabas.model.ids import uuid_text
from barnabas.node.bootstrap import BOOTSTRAP_CHECKPOINT
from barnabas.records.batch import NO_SEQUENCE, SEQUENCE_MODULUS, BatchHeader
from barnabas.records.compression import Codec
from barnabas.runtime.disk import Disk

Row = Mapping[str, Json]

# What of a batch stands in the table for people, under which heading, how wide.
BATCH_COLUMNS: Final = {
    "offsets": 17,
    "position": 11,
    "size": 9,
    "count": 7,
    "epoch": 6,
    "codec": 7,
    "time": 24,
    "producer": 14,
    "sequence": 11,
    "flags": 1,
}

# The furthest that the calendar goes in Python, and so in the table: the last day of year 9999.
CALENDAR_END_MS: Final = 253_402_300_799_999


def main(words: Sequence[str]) -> int:
    """Print what was asked; return 1 if anything is damaged."""
    asked = parser().parse_args(words)
    paths = [*asked.paths, *(path for some in asked.files for path in some.split(",") if path)]
    if not paths:
        parser().error("name a file or a directory")
    wish = Wish(
        records=asked.deep or asked.print_data or asked.contents is not None,
        against_log=asked.verify_index,
        log_bytes_max=asked.max_bytes,
    )
    dump = Dump(HostDisk(), wish, asked.contents, asked.print_data or asked.contents is not None)
    lines = dump.objects(paths) if asked.json else dump.lines(paths)
    print_lines(lines)
    return 1 if dump.damages else 0


def parser() -> argparse.ArgumentParser:
    """Return the options there are."""
    made = argparse.ArgumentParser(
        prog="barnabas dump-log",
        description="Print what the files of a log hold: segments, indexes, snapshots, "
        "checkpoints.  The exit code is 1 if anything is damaged.",
    )
    add = made.add_argument
    add("paths", nargs="*", metavar="PATH", help="a file, or a directory with all that is below")
    add("--files", action="append", default=[], metavar="A,B", help="more files, as Kafka has it")
    add("--json", action="store_true", help="one JSON object a line, for programs")
    add("--deep", "--deep-iteration", action="store_true", help="one line for every record")
    add(
        *("--print-data", "--print-data-log"),
        action="store_true",
        help="keys, values and headers too; what brokers wrote is decoded",
    )
    add(
        *("--verify-index", "--verify-index-only"),
        action="store_true",
        help="look every entry of every index up in its log",
    )
    add("--max-bytes", type=int, default=1 << 62, metavar="N", help="of each log, no more than N")
    told = made.add_mutually_exclusive_group()
    for topic, contents in TOPICS.items():
        short, theirs = DECODERS[contents]
        told.add_argument(
            *(short, theirs),
            action="store_const",
            dest="contents",
            const=contents,
            help=f"records are those of {topic}, wherever they lie",
        )
    return made


DECODERS: Final = {
    Contents.METADATA: ("--cluster-metadata", "--cluster-metadata-decoder"),
    Contents.GROUPS: ("--offsets", "--offsets-decoder"),
    Contents.TRANSACTIONS: ("--transactions", "--transaction-log-decoder"),
    Contents.SHARE_GROUPS: ("--share-groups", "--share-group-state-decoder"),
}


class Dump:
    """One run: findings to lines."""

    def __init__(
        self, disk: Disk, wish: Wish, contents: Contents | None, with_data: bool = False
    ) -> None:
        self._disk: Final = disk
        self._wish: Final = wish
        self._asked: Final = contents
        self._with_data: Final = with_data
        self._contents = Contents.ANY
        self.damages = 0

    def objects(self, paths: Sequence[str]) -> Iterator[str]:
        """Yield one JSON object for every finding."""
        file = ""
        for finding in self._findings(paths):
            if isinstance(finding, FileBegins):
                file = finding.path
            row = {"file": file, **self._row(finding)}
            yield json.dumps(row)

    def lines(self, paths: Sequence[str]) -> Iterator[str]:
        """Yield lines for people."""
        for finding in self._findings(paths):
            match finding:
                case FileBegins(path, kind, size):
                    yield f"{path}: {kind.value}, {size:,} bytes"
                    if kind in (Kind.LOG, Kind.QUORUM_SNAPSHOT) and size:
                        yield "  " + "  ".join(f"{n:<{w}}" for n, w in BATCH_COLUMNS.items())
                case BatchFound():
                    yield "  " + batch_line(finding)
                case RecordFound(header, record):
                    head = f"      {record.offset:<13}  {time_text(record.timestamp, header)}"
                    yield f"{head}  {words(self._row(finding), 'offset', 'timestamp')}"
                case Damaged(path, position, why):
                    place = "" if position is None else f" at {position}"
                    yield f"! {path}{place}: {why}"
                case Reserved(position, size):
                    yield f"  zeros from {position} on, {size:,} bytes"
                case _:
                    yield "  " + words(self._row(finding))

    def _findings(self, paths: Sequence[str]) -> Iterator[Finding]:
        for path in paths:
            for finding in inspect(self._disk, os.path.normpath(path), self._wish):
                if isinstance(finding, FileBegins):
                    self._contents = self._asked or contents_of(os.path.abspath(finding.path))
                self.damages += isinstance(finding, Damaged)
                yield finding

    def _row(self, finding: Finding) -> Row:
        match finding:
            case RecordFound(header, record):
                row: dict[str, Json] = {
                    "type": "record",
                    "offset": record.offset,
                    "timestamp": record.timestamp,
                    "keySize": -1 if record.key is None else len(record.key),
                    "valueSize": -1 if record.value is None else len(record.value),
                    "sequence": sequence_of(header, record.offset),
                    "headerKeys": [key.decode("utf-8", "replace") for key, _ in record.headers],
                }
                if header.is_control:
                    told = tell_control(record)
                    row |= {"control": told.key, "payload": told.payload}
                elif self._with_data:
                    told = tell(record, self._contents)
                    row |= {"key": told.key, "payload": told.payload}
                    row["headers"] = [
                        [key.decode("utf-8", "replace"), shown(held)]
                        for key, held in record.headers
                    ]
                else:
                    return row
                return row if told.failure is None else {**row, "failure": told.failure}
            case _:
                return plain_row(finding)


def contents_of(path: str) -> Contents:
    """Tell from its directory what the records of a file are; one file tells by its name."""
    if path.endswith(f"/{BOOTSTRAP_CHECKPOINT}"):
        return Contents.METADATA
    directory = path.rpartition("/")[0].rpartition("/")[2]
    parsed = parse_directory(directory)
    topic = "" if parsed is None else parsed.of.topic
    return TOPICS.get(topic, Contents.ANY)


def plain_row(finding: Finding) -> Row:
    """Return what was found, in Kafka's names."""
    match finding:
        case FileBegins(_, kind, size):
            return {"type": "file", "kind": kind.value, "size": size}
        case BatchFound(position, header, is_valid):
            return batch_row(position, header, is_valid)
        case Reserved(position, size):
            return {"type": "reserved", "position": position, "size": size}
        case OffsetEntry(offset, position):
            return {"type": "index", "offset": offset, "position": position}
        case TimeEntry(timestamp, offset):
            return {"type": "timeindex", "timestamp": timestamp, "offset": offset}
        case AbortedTransaction(producer_id, first, last, stable):
            return {
                "type": "txnindex",
                "producerId": producer_id,
                "firstOffset": first,
                "lastOffset": last,
                "lastStableOffset": stable,
            }
        case ProducerFound():
            return producer_row(finding)
        case EpochBegins(epoch, start_offset):
            return {"type": "epoch", "epoch": epoch, "startOffset": start_offset}
        case PartitionOffset(of, offset):
            return {
                "type": "checkpoint",
                "topic": of.topic,
                "partition": of.partition,
                "offset": offset,
            }
        case TopicIdFound(topic_id):
            return {"type": "topicId", "topicId": uuid_text(topic_id)}
        case StoppedCleanly(broker_epoch):
            return {"type": "cleanShutdown", "brokerEpoch": broker_epoch}
        case Setting(name, text):
            return {"type": "setting", "name": name, "value": text}
        case Damaged(_, position, why):
            return {"type": "damage", "position": position, "why": why}
        case RecordFound():
            raise AssertionError("a record is told by Dump, which knows whose it is")


def batch_row(position: int, header: BatchHeader, is_valid: bool) -> Row:
    """Return the header of a batch."""
    return {
        "type": "batch",
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": header.delete_horizon_ms,
        "position": position,
        "timestampType": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "maxTimestamp": header.max_timestamp,
        "size": header.size_bytes,
        "magic": header.magic,
        "codec": codec_name(header),
        "crc": header.crc,
        "isValid": is_valid,
    }


def producer_row(found: ProducerFound) -> Row:
    """Return what a snapshot knows of a producer, with the last of its batches."""
    entry = found.entry
    row: dict[str, Json] = {
        "type": "producer",
        "producerId": found.producer_id,
        "producerEpoch": entry.epoch,
        "coordinatorEpoch": entry.coordinator_epoch,
        "currentTxnFirstOffset": entry.transaction_start if entry.transaction_start >= 0 else None,
        "lastTimestamp": entry.last_timestamp,
    }
    if entry.batches:
        last = entry.batches[-1]
        row |= {
            "firstSequence": last.first_sequence,
            "lastSequence": last.last_sequence,
            "lastOffset": last.last_offset,
            "offsetDelta": last.offset_delta,
            "timestamp": last.timestamp,
        }
    return row


def batch_line(found: BatchFound) -> str:
    """Return a batch as a line of the table."""
    header = found.header
    flags = {
        "transactional": header.is_transactional,
        "control": header.is_control,
        f"magic {header.magic}": header.magic < 2,
        f"delete from {header.delete_horizon_ms}": header.delete_horizon_ms is not None,
        "INVALID": not found.is_valid,
    }
    producer = f"{header.producer_id}/{header.producer_epoch}" if header.has_producer_id else "-"
    sequences = f"{header.base_sequence}…{header.last_sequence}"
    cells = (
        f"{header.base_offset}…{header.last_offset}",
        str(found.position),
        str(header.size_bytes),
        str(header.record_count),
        str(header.leader_epoch),
        codec_name(header),
        time_text(header.max_timestamp, header),
        producer,
        "-" if header.base_sequence == NO_SEQUENCE else sequences,
        ", ".join(flag for flag, raised in flags.items() if raised),
    )
    widths = BATCH_COLUMNS.values()
    return "  ".join(f"{cell:<{w}}" for cell, w in zip(cells, widths, strict=True)).rstrip()


def codec_name(header: BatchHeader) -> str:
    """Return the name of a batch's codec, or its number if it has no name."""
    known = header.codec in {int(codec) for codec in Codec}
    return Codec(header.codec).name.lower() if known else str(header.codec)


def time_text(timestamp: int, header: BatchHeader) -> str:
    """Return a timestamp for people; the broker's clock is marked, the producer's is not."""
    mark = "*" if header.is_log_append_time else ""
    if not 0 <= timestamp <= CALENDAR_END_MS:
        return f"{timestamp}{mark}"
    moment = datetime.fromtimestamp(timestamp // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp % 1000:03}{mark}"


def sequence_of(header: BatchHeader, offset: int) -> int:
    """Return the sequence number of a record, or NO_SEQUENCE."""
    if header.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return (header.base_sequence + offset - header.base_offset) % SEQUENCE_MODULUS


def words(row: Row, *hidden: str) -> str:
    """Return names and values in a line, without the hidden ones and what is empty."""
    return "  ".join(
        f"{name}={held if isinstance(held, str) else json.dumps(held, ensure_ascii=False)}"
        for name, held in row.items()
        if name not in ("type", *hidden) and held != [] and (name, held) != ("sequence", -1)
    )
