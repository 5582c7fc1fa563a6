"""A day in the life of a partition, drawn from a seed: orders for the engines of `log_engines`.

A `Workload` is a generator of orders that is sent the answers. It knows what a producer would know
(its sequence numbers, whether its transaction is open), and makes the mistakes that producers,
leaders and coordinators make: retries, gaps, old epochs, markers of a coordinator that was
replaced.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from barnabas.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, TRANSACTIONAL
from barnabas.records.builder import BLANK, built
from barnabas.records.control import EndMarker, end_marker_batch
from barnabas.records.record import Record
from tests.compat.log_judge import Answer, Order

SEGMENT_BYTES: Final = 4000
BEGIN_MS: Final = 1_700_000_000_000
COMMON: Final = {"index.interval.bytes": "300", "max.message.bytes": "3500"}

PROFILES: Final[dict[str, dict[str, str]]] = {
    "keep": {"retention.ms": "-1"},
    "append-time": {"retention.ms": "-1", "message.timestamp.type": "LogAppendTime"},
    "by-size": {"retention.ms": "-1", "retention.bytes": "12000"},
    "by-time": {"retention.ms": "200000", "segment.ms": "60000"},
    "compact": {"cleanup.policy": "compact", "delete.retention.ms": "60000"},
    "both": {"cleanup.policy": "compact,delete", "retention.bytes": "12000"},
}


@dataclass
class Producer:
    """What a producer knows of itself."""

    id: int
    epoch: int = 0
    next_sequence: int = 0
    is_open: bool = False
    sent: list[str] = field(default_factory=list)


class Workload:
    """One partition's orders."""

    def __init__(self, profile: str, seed: int, codecs: int = 5) -> None:
        self._random: Final = Random(f"{profile} {seed}")
        self._codecs: Final = codecs
        self.config: Final = COMMON | PROFILES[profile]
        self._compacted: Final = "compact" in self.config.get("cleanup.policy", "")
        self._producers: Final = {
            number: Producer(number) for number in (*range(100, 103), *range(900, 903))
        }
        self._now_ms = BEGIN_MS
        self._leader_epoch = 0
        self._coordinator_epoch = 0
        self.start = self.end = self.high_watermark = self.flushed = self._cleaned = 0
        self._ends: list[int] = []

    def opening(self, directory: str, clean: bool) -> Order:
        """Return the order to open the log as it was left."""
        return {
            "order": "open",
            "directory": directory,
            "config": self.config,
            "segmentBytes": SEGMENT_BYTES,
            "clean": clean,
            "recoveryPoint": self.end if clean else self.flushed,
            "startOffset": self.start,
            "cleanedTo": self._cleaned,
            "now": self._now_ms,
        }

    def orders(self, count: int) -> Generator[Order, Answer, None]:
        """Yield orders; be sent the answers."""
        kinds = {
            self._plain: 20,
            self._idempotent: 25,
            self._transactional: 25,
            self._end: 14,
            self._retry: 5,
            self._mistaken: 6,
            self._impossible: 3,
            self._follow: 4,
            self._elect: 2,
            self._replicated: 12,
            self._roll: 2,
            self._flush: 4,
            self._truncate: 2,
            self._advance: 1,
            self._retain: 3,
            self._clean: 4 if self._compacted else 0,
            self._look: 6,
        }
        for _ in range(count):
            self._now_ms += self._random.choice((0, 1, 7, 900, 5000))
            (kind,) = self._random.choices(list(kinds), list(kinds.values()))
            yield from kind()

    def resync(self, told: Answer) -> None:
        """Learn from the log what a truncation has taken back."""
        self.start, self.end = told["startOffset"], told["endOffset"]
        self.high_watermark = min(self.high_watermark, self.end)
        self.flushed = min(self.flushed, self.end)
        self._cleaned = min(self._cleaned, self.end)
        self._ends = [end for end in self._ends if end <= self.end]
        for producer in self._producers.values():
            known = told["producers"].get(str(producer.id))
            producer.sent.clear()
            producer.next_sequence, producer.is_open = 0, False
            if known is not None:
                producer.epoch = known["epoch"]
                producer.is_open = known["transactionStart"] >= 0
                if known["batches"]:
                    producer.next_sequence = known["batches"][-1][0] + 1

    # --- what producers send ----------------------------------------------------------------

    def _entries(self, base: int = 0) -> list[Record]:
        count = self._random.choice((1, 1, 2, 3, 8))
        return [self._record(base + delta) for delta in range(count)]

    def _record(self, offset: int) -> Record:
        draw = self._random
        key: bytes | None = f"key {draw.randrange(12)}".encode()
        if not self._compacted and draw.random() < 0.2:
            key = None
        value = draw.randbytes(draw.choice((0, 5, 40, 200)))
        headers: tuple[tuple[bytes, bytes | None], ...] = ()
        if draw.random() < 0.2:
            headers = ((b"trace", draw.randbytes(4)), (b"empty", None))
        timestamp = self._now_ms - draw.choice((0, 0, 0, 3, 4000))
        return Record(offset, timestamp, key, None if draw.random() < 0.15 else value, headers)

    def _batch(
        self,
        producer: Producer | None = None,
        sequence: int = NO_SEQUENCE,
        epoch: int = NO_PRODUCER_EPOCH,
        transactional: bool = False,
        entries: list[Record] | None = None,
    ) -> bytes:
        header = BLANK._replace(
            attributes=self._random.randrange(self._codecs)
            | (TRANSACTIONAL if transactional else 0),
            producer_id=NO_PRODUCER_ID if producer is None else producer.id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        return built(header, entries or self._entries())

    def _append(
        self,
        data: bytes,
        **more: Any,  # noqa: ANN401 - as free as JSON
    ) -> Generator[Order, Answer, Answer]:
        order = {"order": "append", "records": data.hex(), "leaderEpoch": self._leader_epoch}
        answer = yield {**order, "now": self._now_ms, **more}
        if "error" not in answer:
            self._reached(answer["last"] + 1)
        return answer

    def _refused(self, data: bytes) -> Generator[Order, Answer, Answer]:
        """Append what adds nothing.

        Kafka makes room first and looks at producers then, so that a refusal may leave an empty
        segment behind; to stay in step, room is made for both.
        """
        told = yield {"order": "state"}
        tight = told["segments"][-1][1] + len(data) > SEGMENT_BYTES
        if tight or "segment.ms" in self.config:
            yield {"order": "roll", "now": self._now_ms}
        before = self.end
        answer = yield from self._append(data)
        assert self.end == before, "what adds nothing was appended"
        return answer

    def _reached(self, end: int) -> None:
        if end > self.end:
            self.end = end
            self._ends.append(end)

    def _plain(self) -> Generator[Order, Answer, None]:
        yield from self._append(self._batch())

    def _idempotent(self, transactional: bool = False) -> Generator[Order, Answer, None]:
        some = [p for p in self._producers.values() if (p.id >= 900) == transactional]
        producer = self._random.choice(some)
        if not producer.is_open and producer.next_sequence and self._random.random() < 0.1:
            producer.epoch, producer.next_sequence = producer.epoch + 1, 0
            producer.sent.clear()
        entries = self._entries()
        data = self._batch(producer, producer.next_sequence, producer.epoch, transactional, entries)
        answer = yield from self._append(data)
        assert "error" not in answer, answer
        producer.next_sequence += len(entries)
        producer.is_open = transactional
        producer.sent = [*producer.sent, data.hex()][-5:]

    def _transactional(self) -> Generator[Order, Answer, None]:
        yield from self._idempotent(transactional=True)

    def _end(self) -> Generator[Order, Answer, None]:
        opened = [p for p in self._producers.values() if p.is_open]
        if not opened:
            return
        producer = self._random.choice(opened)
        self._coordinator_epoch += self._random.random() < 0.1
        epoch = self._coordinator_epoch
        if epoch and self._random.random() < 0.1:
            # A coordinator that was replaced; refused if its successor has written here.
            epoch -= 1
        marker = EndMarker(self._random.random() < 0.6, epoch)
        data = end_marker_batch(producer.id, producer.epoch, marker, self._now_ms)
        answer = yield from self._append(data, origin="COORDINATOR")
        if "error" not in answer:
            producer.is_open = False

    def _retry(self) -> Generator[Order, Answer, None]:
        some = [p for p in self._producers.values() if p.sent]
        if some:
            chosen = self._random.choice(self._random.choice(some).sent)
            yield from self._refused(bytes.fromhex(chosen))

    def _mistaken(self) -> Generator[Order, Answer, None]:
        some = [p for p in self._producers.values() if p.next_sequence]
        if not some:
            return
        producer = self._random.choice(some)
        transactional = producer.id >= 900
        gap = self._batch(producer, producer.next_sequence + 3, producer.epoch, transactional)
        old = self._batch(producer, producer.next_sequence, producer.epoch - 1, transactional)
        anew = self._batch(producer, 5, producer.epoch + 1, transactional)
        outside = self._batch(producer, producer.next_sequence, producer.epoch)
        mistakes = [gap, anew]
        if producer.epoch:
            mistakes.append(old)
        if producer.is_open:
            mistakes.append(outside)
        answer = yield from self._refused(self._random.choice(mistakes))
        assert "error" in answer

    def _impossible(self) -> Generator[Order, Answer, None]:
        late = Record(0, self._now_ms + 10**8, b"key 1", b"late")
        large = Record(0, self._now_ms, b"key 1", self._random.randbytes(3600))
        rotten = bytearray(self._batch())
        rotten[-1] ^= 1
        many = [self._batch(entries=[large])]
        if self.config.get("message.timestamp.type") != "LogAppendTime":
            many.append(self._batch(entries=[late]))
        answer = yield from self._refused(self._random.choice([*many, bytes(rotten)]))
        assert "error" in answer

    # --- what leaders, followers and time do --------------------------------------------------

    def _follow(self) -> Generator[Order, Answer, None]:
        """Take a batch as a follower does, with offsets that compaction has left out."""
        base = self.end
        entries = self._entries(base)
        header = BLANK._replace(base_offset=base, leader_epoch=self._leader_epoch)
        header = header._replace(last_offset_delta=len(entries) + self._random.choice((-1, 2)))
        order = {"order": "follow", "records": built(header, entries).hex()}
        answer = yield {**order, "leaderEpoch": self._leader_epoch, "now": self._now_ms}
        self._reached(answer["last"] + 1)

    def _elect(self) -> Generator[Order, Answer, None]:
        self._leader_epoch += self._random.choice((1, 1, 3))
        yield {"order": "epoch", "leaderEpoch": self._leader_epoch, "offset": self.end}

    def _replicated(self) -> Generator[Order, Answer, None]:
        # Between two batches: no replica ever stands within one.
        ends = [end for end in self._ends if end >= self.high_watermark]
        if ends:
            self.high_watermark = self._random.choice([ends[0], ends[-1]])
            yield {"order": "highWatermark", "offset": self.high_watermark}

    def _roll(self) -> Generator[Order, Answer, None]:
        yield {"order": "roll", "now": self._now_ms}

    def _flush(self) -> Generator[Order, Answer, None]:
        yield {"order": "flush"}
        self.flushed = self.end

    def _truncate(self) -> Generator[Order, Answer, None]:
        """Cut the log between two batches, as an elected leader's epochs tell a follower to.

        (Within a batch Kafka would let the log end where nothing is, and we before the batch.)
        """
        told = yield {"order": "state"}
        begins = [batch[0] for batch in told["batches"] if batch[0] >= self.high_watermark]
        if begins:
            offset = self._random.choice(begins)
            yield {"order": "truncate", "offset": offset, "now": self._now_ms}
            self.end = offset
            yield from self._catch_up()
            self.resync((yield {"order": "state"}))
            yield from self._elect()

    def _catch_up(self) -> Generator[Order, Answer, None]:
        """Replicate all there is.

        Neither log knows after reading a snapshot which transactions were decided by markers that
        are not replicated; who has read which snapshot differs.
        """
        self.high_watermark = self.end
        yield {"order": "highWatermark", "offset": self.end}

    def _advance(self) -> Generator[Order, Answer, None]:
        ends = [end for end in self._ends if self.start < end <= self.high_watermark]
        if ends:
            offset = self._random.choice(ends[: len(ends) // 2 + 1])
            yield {"order": "start", "offset": offset}
            self.start = max(self.start, offset)
            # Kafka looks at its last stable offset again when the high watermark is told.
            yield {"order": "highWatermark", "offset": self.high_watermark}

    def _retain(self) -> Generator[Order, Answer, None]:
        yield {"order": "retain", "now": self._now_ms}
        told = yield {"order": "state"}
        self.start = told["startOffset"]

    def _clean(self) -> Generator[Order, Answer, None]:
        told = yield {"order": "state"}
        bound = min(told["stableOffset"], told["segments"][-1][0])
        first = max(self._cleaned, self.start)
        # Only whole segments are cleaned: is there one that is dirty?
        if any(first < end <= bound for end, _ in told["segments"][1:]):
            order = {"order": "clean", "firstDirty": first, "uncleanable": bound}
            answer = yield {**order, "now": self._now_ms}
            self._cleaned = answer["offset"]

    def _look(self) -> Generator[Order, Answer, None]:
        draw = self._random
        if self.start < self.end:
            yield {"order": "read", "offset": draw.randrange(self.start, self.end)}
        if not self._compacted:
            # Kafka takes a segment that compaction has emptied to be as young as its file.
            yield {"order": "timestamp", "timestamp": self._now_ms - draw.choice((0, 100, 50_000))}
        offset = draw.randint(self.start, self.high_watermark)
        yield {"order": "fetch", "offset": offset, "bytes": draw.choice((1, 300, 2000, 10_000))}
        yield {"order": "endOfEpoch", "leaderEpoch": draw.randint(0, self._leader_epoch + 1)}
