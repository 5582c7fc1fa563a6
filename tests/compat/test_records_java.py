"""Apache Kafka's own record classes and its log, beside our batches.

What Kafka builds we build byte for byte, unless it is compressed; what either builds the other
reads the same; what Kafka's log stores for a produce request is what we would store; and what it
refuses we refuse with the same code.  `java-records/` is asked through one process in batches.
"""

import subprocess
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

import pytest

from barnabas.model.errors import Refused
from barnabas.records import legacy
from barnabas.records.batch import (
    CHECKED_FROM,
    CONTROL,
    DELETE_HORIZON,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    assigned,
    batches,
    header_at,
    verify,
)
from barnabas.records.builder import BLANK, built, emptied, joined, recoded
from barnabas.records.checksum import Buffer, crc32c
from barnabas.records.compression import Codec
from barnabas.records.control import (
    ControlType,
    EndMarker,
    control_batch,
    control_type,
    end_marker,
    end_marker_batch,
)
from barnabas.records.record import Record, records
from barnabas.records.validation import Rules, admitted, received
from tests.compat.maven import class_path

PROJECT: Final = Path(__file__).parent / "java-records"
NOW: Final = 1_700_000_000_000
HOUR: Final = 3_600_000


def ask(questions: list[str]) -> list[tuple[str, str]]:
    """Put questions to Kafka; return each outcome ("ok" or "error") with the rest of the line."""
    java = subprocess.run(
        ["java", "-cp", class_path(PROJECT), "barnabas.Records"],
        input="\n".join(questions) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    answers = java.stdout.splitlines()
    assert len(answers) == len(questions), java.stderr
    return [(outcome, rest) for outcome, _, rest in (line.partition("\t") for line in answers)]


def ask_ok(questions: list[str]) -> list[str]:
    """Put questions to Kafka that it must not refuse."""
    answers = ask(questions)
    refused = [pair for pair in zip(questions, answers, strict=True) if pair[1][0] != "ok"]
    assert not refused, refused[:3]
    return [rest for _, rest in answers]


# --- Questions and answers as text ----------------------------------------------------------


def word(octets: Buffer | None) -> str:
    """Write bytes as the judge does."""
    return "-" if octets is None else bytes(octets).hex()


def record_text(record: Record) -> str:
    """Write a record as the judge does."""
    headers = "&".join(f"{key.hex()}={word(value)}" for key, value in record.headers)
    return f"{record.offset},{record.timestamp},{word(record.key)},{word(record.value)},{headers}"


def batch_text(data: bytes, position: int, header: BatchHeader, found: list[Record]) -> str:
    """Write a batch and its records as the judge does."""
    horizon = header.delete_horizon_ms
    fields = [
        header.magic,
        header.base_offset,
        header.last_offset,
        header.next_offset,
        header.leader_epoch,
        header.codec,
        int(header.is_log_append_time),
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.last_sequence,
        int(header.is_transactional),
        int(header.is_control),
        "-" if horizon is None else horizon,
        header.size_bytes,
        header.crc,
    ]
    assert len(data) - position >= header.size_bytes
    return f"{' '.join(map(str, fields))}\t{''.join(record_text(one) + ';' for one in found)}\t"


def as_read(data: bytes) -> str:
    """Read batches of magic 2 and write them as the judge does."""
    text = ""
    for position, header in batches(data):
        verify(data, position, header)
        text += batch_text(data, position, header, list(records(data, position, header)))
    return text


def build_question(
    header: BatchHeader, entries: list[Record], magic: int = 2, last: str = "-"
) -> str:
    """Ask Kafka to build what ``built`` does."""
    kind = "LogAppendTime" if header.is_log_append_time else "CreateTime"
    horizon = -1 if header.delete_horizon_ms is None else header.delete_horizon_ms
    fields = [
        magic,
        Codec(header.codec).name.lower(),
        kind,
        header.base_offset,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        int(header.is_transactional),
        int(header.is_control),
        header.leader_epoch,
        horizon,
        last,
    ]
    return f"build {' '.join(map(str, fields))} {';'.join(map(record_text, entries))}"


# --- What to build --------------------------------------------------------------------------


def drawn(random: Random) -> tuple[BatchHeader, list[Record]]:
    """Draw a batch as producers, coordinators and compaction make them."""

    def octets() -> bytes | None:
        kind = random.randrange(5)
        if kind == 0:
            return None
        if kind == 1:
            return random.randbytes(random.choice([0, 1, 63, 64, 8191, 8192]))
        return bytes(random.choices(b"abc", k=random.randrange(300)))

    attributes = random.choice([0, LOG_APPEND_TIME]) | random.choice([0, TRANSACTIONAL])
    horizon = random.random() < 0.2 and not attributes & LOG_APPEND_TIME
    base_offset = random.choice([0, 5, 2**31, 2**62])
    header = BLANK._replace(
        base_offset=base_offset,
        leader_epoch=random.choice([-1, 0, 7, 2**31 - 1]),
        attributes=attributes | (DELETE_HORIZON if horizon else 0) | random.randrange(5),
        base_timestamp=NOW if horizon else -1,
        max_timestamp=NOW + 5 if attributes & LOG_APPEND_TIME else -1,
    )
    if random.random() < 0.5 or attributes & TRANSACTIONAL:
        header = header._replace(
            producer_id=random.choice([0, 7, 2**40]),
            producer_epoch=random.choice([0, 2**15 - 1]),
            base_sequence=random.choice([0, 2**31 - 2]),
        )
    offset, entries = base_offset, []
    for _ in range(random.choice([1, 2, 3, 40])):
        time = random.choice([NOW, NOW + random.randrange(10**6), NOW - random.randrange(10**6)])
        extra = tuple(
            (random.choice(["h", "", "zwölf", "k" * 70]).encode(), octets())
            for _ in range(random.choice([0, 0, 1, 3, 70]))
        )
        entries.append(Record(offset, time, octets(), octets(), extra))
        offset += random.choice([1, 1, 1, 2, 100])
    return header, entries


@cache
def cases() -> list[tuple[BatchHeader, list[Record]]]:
    """Return the batches to compare, the same ones each time."""
    return [drawn(Random(f"records {number}")) for number in range(400)]


# --- Magic 2 --------------------------------------------------------------------------------


def test_kafka_builds_the_same_bytes_and_we_read_what_it_compressed() -> None:
    answers = ask_ok([build_question(header, entries) for header, entries in cases()])
    equal = 0
    for (header, entries), answer in zip(cases(), answers, strict=True):
        theirs, ours = bytes.fromhex(answer), built(header, entries)
        if not header.codec:
            assert theirs == ours
            equal += 1
        assert expected_text(theirs, header, entries) == as_read(theirs)
    assert equal > 50


def test_kafka_reads_what_we_built_with_every_codec() -> None:
    data = [built(header, entries) for header, entries in cases()]
    answers = ask_ok([f"read {one.hex()}" for one in data])
    for one, answer, (header, entries) in zip(data, answers, cases(), strict=True):
        assert answer == as_read(one) == expected_text(one, header, entries)
    assert {header.codec for header, _ in cases()} == set(Codec)


def expected_text(data: bytes, header: BatchHeader, entries: list[Record]) -> str:
    """Write what reading a batch must give, from what went into it."""
    if header.is_log_append_time:
        entries = [one._replace(timestamp=header.max_timestamp) for one in entries]
    return batch_text(data, 0, header_at(data), entries)


def test_large_batches_cross_every_block_size_both_ways() -> None:
    random = Random("large")
    entries = [
        Record(n, NOW, b"%d" % n, bytes(random.choices(b"abcdefgh", k=1000))) for n in range(500)
    ] + [Record(500, NOW, None, random.randbytes(300_000)), Record(501, NOW, None, bytes(300_000))]
    headers = [BLANK._replace(attributes=int(codec)) for codec in Codec]
    theirs = [bytes.fromhex(one) for one in ask_ok([build_question(h, entries) for h in headers])]
    ours = [built(header, entries) for header in headers]
    answers = ask_ok([f"read {one.hex()}" for one in ours])
    for mine, yours, answer, header in zip(ours, theirs, answers, headers, strict=True):
        assert as_read(yours) == expected_text(yours, header, entries)
        assert answer == expected_text(mine, header, entries)


def test_compacted_batches_keep_their_last_offset_as_kafka_keeps_it() -> None:
    header = BLANK._replace(
        base_offset=10,
        last_offset_delta=9,
        producer_id=1,
        producer_epoch=0,
        base_sequence=2**31 - 3,
    )
    entries = [Record(12, NOW, b"k", b"v"), Record(15, NOW + 1, b"l", None)]
    (answer,) = ask_ok([build_question(header, entries, last="19")])
    assert bytes.fromhex(answer) == built(header, entries)
    empty = emptied(header_at(built(header, entries)))
    (read,) = ask_ok([f"read {empty.hex()}"])
    assert read == as_read(empty)


def test_kafka_refuses_what_we_refuse_when_a_byte_is_flipped() -> None:
    data = built(BLANK, [Record(0, NOW, b"key", b"value"), Record(1, NOW, None, None)])
    random = Random("flips")
    flipped = []
    for position in range(16, len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << random.randrange(8)
        flipped.append(bytes(damaged))
    outcomes = ask([f"read {one.hex()}" for one in flipped])
    assert {outcome for outcome, _ in outcomes} == {"error"}


# --- Control batches ------------------------------------------------------------------------


def test_end_markers_are_the_same_bytes() -> None:
    wanted = [(7, 0, True, 0, NOW), (2**40, 2**15 - 1, False, 2**31 - 1, 0)]
    answers = ask_ok(
        [f"marker {pid} {epoch} {int(ok)} {by} {at}" for pid, epoch, ok, by, at in wanted]
    )
    for (producer_id, epoch, committed, coordinator, time), answer in zip(
        wanted, answers, strict=True
    ):
        marker = EndMarker(committed, coordinator)
        data = bytes.fromhex(answer)
        assert data == end_marker_batch(producer_id, epoch, marker, time)
        (record,) = records(data, 0, header_at(data))
        assert end_marker(record) == marker


def test_a_leader_change_is_the_same_bytes_around_the_same_message() -> None:
    (answer,) = ask_ok([f"leader 42 {NOW} 3 1"])
    data = bytes.fromhex(answer)
    (record,) = records(data, 0, header_at(data))
    assert control_type(record) is ControlType.LEADER_CHANGE
    assert record.value is not None
    assert control_batch(42, NOW, 3, (ControlType.LEADER_CHANGE, record.value)) == data


@pytest.mark.parametrize("kind", ControlType)
def test_control_records_of_every_kind_are_the_same_bytes(kind: ControlType) -> None:
    ours = control_batch(5, NOW, 9, (kind, b"\0\0value"))
    (record,) = records(ours, 0, header_at(ours))
    header = BLANK._replace(base_offset=5, leader_epoch=9, attributes=CONTROL)
    (answer,) = ask_ok([build_question(header, [record])])
    assert bytes.fromhex(answer) == ours


# --- Magic 0 and 1 --------------------------------------------------------------------------


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("kind", [0, LOG_APPEND_TIME])
def test_old_messages_are_read_as_kafka_reads_them(magic: int, codec: Codec, kind: int) -> None:
    header = BLANK._replace(base_offset=20, attributes=codec | kind, max_timestamp=NOW + 9)
    entries = [
        Record(20, NOW, b"k", b"v"),
        Record(21, NOW + 5, None, b""),
        Record(25, NOW + 1, b"", None),
    ]
    (answer,) = ask_ok([build_question(header, entries, magic)])
    data = bytes.fromhex(answer)
    (theirs,) = ask_ok([f"read {answer}"])
    text, position = "", 0
    while position < len(data):
        found = legacy.header_at(data, position)
        legacy.verify(data, position, found)
        text += batch_text(data, position, found, list(legacy.records(data, position, found)))
        position += found.size_bytes
    assert text == theirs


# --- Appending as a leader ------------------------------------------------------------------


def outcome(data: bytes, version: int, rules: Rules) -> tuple[str, str]:
    """Return what we would store, or the code, as the judge does."""
    view = memoryview(data)
    try:
        header = received(view, version)
        admitted(view, 0, header, rules, NOW)
    except Refused as refusal:
        return "error", refusal.code.name
    append_ms = NOW if rules.log_append_time else None
    return "ok", b"".join(assigned(view, 0, header, 1000, 7, append_ms)).hex()


def append_question(data: bytes, version: int, rules: Rules) -> str:
    """Ask Kafka's log to take the same."""
    configs = {
        "cleanup.policy": "compact" if rules.compacted else "delete",
        "message.timestamp.type": "LogAppendTime" if rules.log_append_time else "CreateTime",
        "message.timestamp.after.max.ms": rules.after_ms_max,
        "max.message.bytes": rules.batch_bytes_max,
    }
    if rules.before_ms_max is not None:
        configs["message.timestamp.before.max.ms"] = rules.before_ms_max
    text = ",".join(f"{name}={value}" for name, value in configs.items())
    return f"append {version} {NOW} {text} {data.hex()}"


PLAIN: Final = built(BLANK, [Record(0, NOW, b"k", b"v"), Record(1, NOW + 1, b"l", None)])


def changed(data: bytes = PLAIN, **fields: int) -> bytes:
    """Return a batch with header fields replaced and the checksum right."""
    return joined(header_at(data)._replace(**fields), data[61:])


def at(*times: int, key: bytes | None = b"k", attributes: int = 0) -> bytes:
    """Return a batch of records at these times."""
    entries = [Record(n, time, key, b"v") for n, time in enumerate(times)]
    return built(BLANK._replace(attributes=attributes), entries)


COMPACTED: Final = Rules(compacted=True)
BROKER_TIME: Final = Rules(log_append_time=True)

# A request, the version of Produce that carries it, and the topic's rules.
APPENDS: Final[dict[str, tuple[bytes, int, Rules]]] = {
    "plain": (PLAIN, 9, Rules()),
    "compacted": (PLAIN, 9, COMPACTED),
    "stamped by the broker": (PLAIN, 9, BROKER_TIME),
    "idempotent": (changed(producer_id=7, producer_epoch=0, base_sequence=0), 9, Rules()),
    "an epoch of the producer's": (changed(leader_epoch=99), 9, Rules()),
    "no bytes": (b"", 9, Rules()),
    "a cut batch": (PLAIN[:-1], 9, Rules()),
    "a cut header": (PLAIN[:30], 9, Rules()),
    "two batches": (PLAIN * 2, 9, Rules()),
    "a cut second batch": (PLAIN + PLAIN[:-1], 9, Rules()),
    "a second batch of nothing": (PLAIN + bytes(12), 9, Rules()),
    "length 13": (PLAIN[:8] + b"\0\0\0\x0d" + PLAIN[12:], 9, Rules()),
    "length 48": (PLAIN[:8] + b"\0\0\0\x30" + PLAIN[12:], 9, Rules()),
    "negative length": (PLAIN[:8] + b"\xff\0\0\0" + PLAIN[12:], 9, Rules()),
    "magic 0": (PLAIN[:16] + b"\0" + PLAIN[17:], 9, Rules()),
    "magic 1": (PLAIN[:16] + b"\1" + PLAIN[17:], 9, Rules()),
    "magic 3": (PLAIN[:16] + b"\3" + PLAIN[17:], 9, Rules()),
    "magic -1": (PLAIN[:16] + b"\xff" + PLAIN[17:], 9, Rules()),
    "the smallest of old": (bytes(11) + b"\x0e" + bytes(14), 9, Rules()),
    "smaller than that": (bytes(11) + b"\x0d" + bytes(14), 9, Rules()),
    "a header alone": (
        joined(header_at(PLAIN)._replace(record_count=0, last_offset_delta=0), b""), 9, Rules(),
    ),
    "a damaged batch": (PLAIN[:-1] + b"\1", 9, Rules()),
    "too large": (PLAIN, 9, Rules(batch_bytes_max=len(PLAIN) - 1)),
    "just small enough": (PLAIN, 9, Rules(batch_bytes_max=len(PLAIN))),
    "too large and damaged": (PLAIN[:-1] + b"\1", 9, Rules(batch_bytes_max=9)),
    "an offset of its own": (changed(base_offset=1), 9, Rules()),
    "an offset of its own, damaged": (PLAIN[:7] + b"\1" + PLAIN[8:-1] + b"\1", 9, Rules()),
    "no offsets": (changed(last_offset_delta=-1), 9, Rules()),
    "no records": (changed(record_count=0), 9, Rules()),
    "negative records": (changed(record_count=-5), 9, Rules()),
    "more offsets than records": (changed(last_offset_delta=2), 9, Rules()),
    "control": (changed(attributes=CONTROL), 9, Rules()),
    "no sequence": (changed(producer_id=7, producer_epoch=0), 9, Rules()),
    "zstd too early": (at(NOW, attributes=4), 6, Rules()),
    "zstd in time": (at(NOW, attributes=4), 7, Rules()),
    "ahead": (at(NOW, NOW + HOUR + 1), 9, Rules()),
    "just ahead": (at(NOW, NOW + HOUR), 9, Rules()),
    "behind": (at(NOW, NOW - 1001), 9, Rules(before_ms_max=1000)),
    "just behind": (at(NOW, NOW - 1000), 9, Rules(before_ms_max=1000)),
    "without time": (at(-1), 9, Rules(before_ms_max=1000)),
    "any time at all": (at(NOW * 2), 9, BROKER_TIME),
    "claims the broker's time": (
        changed(attributes=LOG_APPEND_TIME, max_timestamp=NOW), 9, Rules(),
    ),
    "claims the broker's time where it is used": (
        changed(attributes=LOG_APPEND_TIME, max_timestamp=NOW), 9, BROKER_TIME,
    ),
    "claims the broker's time, ahead": (
        changed(attributes=LOG_APPEND_TIME, max_timestamp=NOW + 2 * HOUR), 9, Rules(),
    ),
    "keyless, compacted": (at(NOW, key=None), 9, COMPACTED),
    "keyless": (at(NOW, key=None), 9, Rules()),
    "keyless and ahead, compacted": (at(NOW + 2 * HOUR, key=None), 9, COMPACTED),
    "a body cut short, compacted": (changed(record_count=3, last_offset_delta=2), 9, COMPACTED),
    "a body too long, compacted": (changed(record_count=1, last_offset_delta=0), 9, COMPACTED),
    "offsets that lie": (
        changed(built(BLANK, [Record(0, NOW), Record(5, NOW)]), last_offset_delta=1), 9, Rules(),
    ),
    "a body of zeros, compacted": (joined(header_at(PLAIN), bytes(20)), 9, COMPACTED),
}  # fmt: skip

for codec in Codec:
    APPENDS[f"{codec.name.lower()}, compacted"] = (at(NOW, attributes=codec), 9, COMPACTED)
    APPENDS[f"{codec.name.lower()}, keyless, compacted"] = (
        at(NOW, key=None, attributes=codec), 9, COMPACTED,
    )  # fmt: skip


@cache
def appended() -> dict[str, tuple[str, str]]:
    """Ask Kafka's log about all of them."""
    answers = ask([append_question(*append) for append in APPENDS.values()])
    return dict(zip(APPENDS, answers, strict=True))


@pytest.mark.parametrize("name", APPENDS)
def test_kafkas_log_stores_and_refuses_the_same(name: str) -> None:
    theirs, rest = appended()[name]
    assert outcome(*APPENDS[name]) == (theirs, rest.partition("\t")[0]), rest


@pytest.mark.parametrize("rules", [Rules(), COMPACTED, BROKER_TIME], ids=str)
def test_kafkas_log_answers_any_flipped_bit_of_a_header_the_same(rules: Rules) -> None:
    flipped = []
    for position in range(HEADER_BYTES):
        for bit in range(8):
            damaged = bytearray(PLAIN)
            damaged[position] ^= 1 << bit
            if position >= CHECKED_FROM:
                # Not damage, but a producer that means it.
                damaged[17:21] = crc32c(damaged[CHECKED_FROM:]).to_bytes(4, "big")
            # Codecs and timestamps are where we believe the header: docs/decisions/0009.
            if not (position == 22 and bit < 3) and not 27 <= position < 43:
                flipped.append(bytes(damaged))
    answers = ask([append_question(data, 9, rules) for data in flipped])
    for data, (kind, rest) in zip(flipped, answers, strict=True):
        assert outcome(data, 9, rules) == (kind, rest.partition("\t")[0]), data.hex()


@pytest.mark.parametrize("source", Codec)
@pytest.mark.parametrize("target", Codec)
def test_kafkas_log_changes_the_codec_as_we_do(source: Codec, target: Codec) -> None:
    entries = [Record(n, NOW + n, b"key", b"value %d" % n, ((b"h", b"x"),)) for n in range(50)]
    data = built(BLANK._replace(attributes=int(source)), entries)
    name = "uncompressed" if target is Codec.NONE else target.name.lower()
    (answer,) = ask_ok([f"append 9 {NOW} compression.type={name} {data.hex()}"])
    theirs = bytes.fromhex(answer)
    header = header_at(theirs)
    verify(theirs, 0, header)
    ours = recoded(data, 0, header_at(data), target)
    ours = b"".join(assigned(memoryview(ours), 0, header_at(ours), 1000, 7))
    assert header.codec == target
    if target is Codec.NONE:
        assert theirs == ours
    expected = [entry._replace(offset=1000 + entry.offset) for entry in entries]
    assert list(records(theirs, 0, header)) == list(records(ours, 0, header_at(ours))) == expected


# Where we answer otherwise on purpose: docs/decisions/0009.
OTHERWISE: Final[dict[str, tuple[bytes, int, Rules, str, str]]] = {
    "an unknown codec": (
        changed(attributes=5), 9, Rules(), "UNKNOWN_SERVER_ERROR", "UNSUPPORTED_COMPRESSION_TYPE",
    ),
    "a number that never ends": (
        joined(header_at(PLAIN), b"\xff" * 20), 9, COMPACTED,
        "UNKNOWN_SERVER_ERROR", "INVALID_RECORD",
    ),
    "a body that lies where nobody looks": (
        joined(header_at(PLAIN), bytes(20)), 9, Rules(), "INVALID_RECORD", "ok",
    ),
    "offsets that lie, compacted": (
        changed(built(BLANK, [Record(0, NOW, b"k"), Record(5, NOW, b"l")]), last_offset_delta=1),
        9, COMPACTED, "ok", "INVALID_RECORD",
    ),
    # Kafka stores it with the largest that it found.
    "a largest timestamp that lies": (changed(max_timestamp=NOW + 7), 9, Rules(), "ok", "ok"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERWISE)
def test_where_we_differ_from_kafka_is_known(name: str) -> None:
    data, version, rules, theirs, ours = OTHERWISE[name]
    ((kind, rest),) = ask([append_question(data, version, rules)])
    judged = kind, rest.partition("\t")[0]
    mine = outcome(data, version, rules)
    assert [code(judged), code(mine)] == [theirs, ours]


def code(answer: tuple[str, str]) -> str:
    """Return the code of an answer, or ok."""
    return "ok" if answer[0] == "ok" else answer[1]
