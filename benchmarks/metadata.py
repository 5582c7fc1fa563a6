"""The metadata image: replaying, telling, remembering and looking up, small and at a million.

What a change costs must not grow with the cluster, so the latency of one publication is measured
at three sizes, from the bytes of its record to the image that readers see.  Bytes per partition are
what the process has grown by, topics, names and all; Kafka's are what its heap has grown by, which
is less than its process.

Apache Kafka's figures are those of its own classes in the same run (``kafka_image``), on the same
log byte for byte, in turn with ours, and taken when its virtual machine has warmed up.
"""

import gc
import resource
from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from statistics import median
from time import perf_counter
from typing import Final, Literal

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.loader import Committed, HighWatermark, Install, MetadataLoader
from barnabas.metadata.publication import Publisher
from barnabas.metadata.snapshot import folded, read, values, written
from barnabas.model.features import LATEST_PRODUCTION
from barnabas.model.ids import Uuid
from barnabas.records.batch import batches
from barnabas.records.opened import OpenedBatch, opened
from barnabas.records.snapshot import data_batch
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import decode_record, encode_record
from benchmarks.kafka_image import KafkaImage, warmed
from benchmarks.report import Row, interleaved

PARTITIONS_EACH: Final = 100
BROKERS: Final = 12
BATCH_RECORDS: Final = 1_000
COMMITTED_TOGETHER: Final = 10
EPOCH: Final = 1
WALL_MS: Final = 1_767_000_000_000
CHANGES: Final = 200
LOOKUPS: Final = 10_000
LOOKED_UP: Final = 42
PAGE_BYTES: Final = resource.getpagesize()

KAFKA: Final = "Apache Kafka"

SIZES: Final = ((10_000, "10 k"), (100_000, "100 k"), (1_000_000, "1 M"))


def run(repetitions: int) -> Iterator[Row]:
    """Yield the figures of every case."""
    for partitions, name in SIZES:
        yield from of_size(partitions, name, repetitions)


def of_size(partitions: int, name: str, repetitions: int) -> Iterator[Row]:
    """Measure a cluster of so many partitions, 100 to a topic."""
    largest = partitions == SIZES[-1][0]
    data = log(partitions // PARTITIONS_EACH)
    loader, grown = remembered(data)
    with KafkaImage(data) as kafka:
        cold = kafka.figure("replay")
        theirs = kafka.figure("keep")
        if largest:
            # What a small image takes is noise to a process of this size.
            case, each = f"memory of {name} partitions", grown / partitions
            yield row(case, "bytes each", each, "less", "<= 200")
            heap = theirs / partitions
            yield row(case, "bytes each", each, "less", ">= 2", heap, KAFKA)
            [pause] = interleaved(repetitions, lambda: timed(gc.collect))
            yield row(f"a full collection at {name}", "ms", pause * 1e3, "less")
        yield from publications(loader, kafka, name, "<= 100" if largest else "")
        yield from lookups(loader, kafka, name, repetitions)
        yield from snapshots(loader.image, kafka, name, repetitions)
        del loader
        yield from replays(data, kafka, name, repetitions, cold)


def remembered(data: bytes) -> tuple[MetadataLoader, int]:
    """Return a loader that has read a log, and by how many bytes the process has grown."""
    gc.collect()
    before = resident_bytes()
    loader = caught_up(data)
    gc.collect()
    return loader, resident_bytes() - before


def replays(
    data: bytes, kafka: KafkaImage, name: str, repetitions: int, cold: float
) -> Iterator[Row]:
    """Replay a log, beside Kafka's loader, and beside decoding its records and no more."""
    records = sum(header.record_count for _, header in batches(data))

    def replay() -> float:
        return records / timed(lambda: caught_up(data))

    def at_rest() -> float:
        gc.disable()
        rate = replay()
        gc.enable()
        return rate

    def decode() -> float:
        def work() -> None:
            for batch in opened(data):
                for each in batch.values:
                    decode_record(each)

        return records / timed(work)

    def theirs() -> float:
        return records / kafka.figure("replay")

    warmed(theirs)
    ours, calm, limit, other = interleaved(repetitions, replay, at_rest, decode, theirs)
    case = f"replay of {name} partitions"
    yield row(case, "records/s", ours, "more", ">= 0.5", other, KAFKA)
    yield row(case, "records/s", ours, "more", "", records / cold, f"{KAFKA}, just started")
    yield row(case, "records/s", ours, "more", "", limit, "decoding to messages")
    case = "... with the garbage collector at rest"
    yield row(case, "records/s", calm, "more", "", other, KAFKA)


def publications(loader: MetadataLoader, kafka: KafkaImage, name: str, goal: str) -> Iterator[Row]:
    """Publish one change, and another, each from its bytes to the next image."""
    records = changes(loader.image)
    told = ",".join(record.hex() for record in records)

    def theirs() -> list[float]:
        return [nanoseconds / 1e9 for nanoseconds in kafka.figures("changes", told)]

    warmed(lambda: median(theirs()))
    mine, other = list[float](), list[float]()
    for first in range(0, CHANGES, CHANGES // 4):
        mine += [published(loader, record) for record in records[first : first + CHANGES // 4]]
        other += theirs()
    case = f"publish one change at {name}"
    yield row(case, "µs", median(mine) * 1e6, "less", goal)
    yield row(case, "µs", median(mine) * 1e6, "less", "", median(other) * 1e6, KAFKA)
    slowest = f"... the slowest of {CHANGES} at {name}"
    # Kafka had four times as many turns, each of them on all changes.
    yield row(slowest, "µs", max(mine) * 1e6, "less", "", max(other[:CHANGES]) * 1e6, KAFKA)


def lookups(
    loader: MetadataLoader, kafka: KafkaImage, name: str, repetitions: int
) -> Iterator[Row]:
    """Look up partitions, beside Kafka and beside the same in plain dicts."""
    random, image = Random(7), loader.image
    topics = [random.randrange(len(image.topics.topics)) for _ in range(LOOKUPS)]
    ids, names = [topic_of(topic) for topic in topics], [f"topic-{topic}" for topic in topics]
    plain = {topic_id: dict(topic.partitions()) for topic_id, topic in image.topics.topics.items()}

    def by_id() -> None:
        find = image.topics.partition
        for topic_id in ids:
            find(topic_id, LOOKED_UP)

    def by_name() -> None:
        find = image.topics.named
        for each in names:
            topic = find(each)
            assert topic is not None
            topic.partition(LOOKED_UP)

    def bare() -> None:
        for topic_id in ids:
            plain[topic_id][LOOKED_UP]

    def side(work: Callable[[], None]) -> Callable[[], float]:
        return lambda: timed(work) / LOOKUPS * 1e6

    def kafka_side(*words: str) -> Callable[[], float]:
        def measure() -> float:
            return kafka.figure(*words) / 1e3

        warmed(measure)
        return measure

    records = changes(image)
    while_changing = "find-while-changing", ",".join(record.hex() for record in records)
    sides = side(by_id), side(by_name), side(bare), lambda: found_between(loader, ids, records)
    words = ("find", "id"), ("find", "name"), while_changing
    mine, named, limit, between, theirs, theirs_named, theirs_between = interleaved(
        repetitions, *sides, *(kafka_side(*each) for each in words)
    )
    case, unit = f"look up a partition by id at {name}", "µs"
    yield row(case, unit, mine, "less", "", theirs, KAFKA)
    yield row(case, unit, mine, "less", "", limit, "dicts of dicts")
    case = f"... by the name of its topic at {name}"
    yield row(case, unit, named, "less", "", theirs_named, KAFKA)
    case = f"... by id, while changes are published at {name}"
    yield row(case, unit, between, "less", "", theirs_between, KAFKA)


def found_between(loader: MetadataLoader, ids: list[Uuid], records: list[bytes]) -> float:
    """Look up partitions between publications, each in the newest image; return µs of each.

    A node's readers and its loader take turns in one thread, so what a publication costs a reader
    is what it leaves cold.
    """
    total, each = 0.0, LOOKUPS // len(records)
    for turn, record in enumerate(records):
        published(loader, record)
        started = perf_counter()
        for topic_id in ids[turn * each : (turn + 1) * each]:
            loader.image.topics.partition(topic_id, LOOKED_UP)
        total += perf_counter() - started
    return total / (each * len(records)) * 1e6


def snapshots(
    image: MetadataImage, kafka: KafkaImage, name: str, repetitions: int
) -> Iterator[Row]:
    """Write an image and load it again, both in memory: the same records, each in its own words."""
    records = sum(1 for _ in values(image))
    data = b"".join(written(image))

    def write() -> float:
        return records / timed(lambda: b"".join(written(image)))

    def load() -> float:
        started = perf_counter()
        again = folded(read(data, "a snapshot").batches, image.provenance)
        took = perf_counter() - started
        assert again.topics == image.topics
        return records / took

    def theirs(order: str) -> Callable[[], float]:
        def measure() -> float:
            return records / kafka.figure(order)

        warmed(measure)
        return measure

    wrote, loaded, kafka_wrote, kafka_loaded = interleaved(
        repetitions, write, load, theirs("write"), theirs("read")
    )
    case = f"write a snapshot of {name}"
    yield row(case, "records/s", wrote, "more", "", kafka_wrote, KAFKA)
    case = f"load a snapshot of {name}"
    yield row(case, "records/s", loaded, "more", "", kafka_loaded, KAFKA)


def log(topics: int) -> bytes:
    """Return a log that creates topics, a thousand records to a batch."""
    level = FeatureLevelRecord(name="metadata.version", feature_level=LATEST_PRODUCTION.level)
    parts, gathered, offset = list[bytes](), [encode_record(level, 0)], 0
    for topic in range(topics):
        gathered += topic_records(topic)
        while len(gathered) >= BATCH_RECORDS or (gathered and topic == topics - 1):
            parts.append(data_batch(offset, EPOCH, WALL_MS, gathered[:BATCH_RECORDS]))
            offset += BATCH_RECORDS
            del gathered[:BATCH_RECORDS]
    return b"".join(parts)


def topic_records(topic: int) -> list[bytes]:
    """Return the records of a topic: as a controller places replicas, and epochs of some age."""
    random = Random(topic)
    topic_id = topic_of(topic)
    made = [encode_record(TopicRecord(name=f"topic-{topic}", topic_id=topic_id), 0)]
    for index in range(PARTITIONS_EACH):
        first, step = random.randrange(BROKERS), random.choice((1, 5, 7, 11))
        replicas = tuple((first + turn * step) % BROKERS for turn in range(3))
        record = PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=replicas,
            isr=replicas,
            leader=replicas[0],
            leader_epoch=random.randrange(50),
            partition_epoch=random.randrange(500),
            directories=tuple(directory(broker) for broker in replicas),
        )
        made.append(encode_record(record, 2))
    return made


def topic_of(topic: int) -> Uuid:
    """Return the id of a topic."""
    return Uuid(Random(-topic - 1).randbytes(16))


def directory(broker: int) -> Uuid:
    """Return the one directory of a broker."""
    return Uuid(broker.to_bytes(16))


def caught_up(data: bytes) -> MetadataLoader:
    """Return a loader that has read a log in commits of ten batches, and has a publisher."""
    loader = MetadataLoader()
    loader.step(Install((Publisher("reader"),)))
    *_, (_, last) = batches(data)
    loader.step(HighWatermark(last.next_offset))
    following = opened(data)
    while committed := list(islice(following, COMMITTED_TOGETHER)):
        loader.step(Committed(committed))
    assert loader.image.offset == last.last_offset
    return loader


def changes(image: MetadataImage) -> list[bytes]:
    """Return records that each shrink the ISR of some partition."""
    made = []
    for seed in range(CHANGES):
        random = Random(seed)
        topic_id = topic_of(random.randrange(len(image.topics.topics)))
        index = random.randrange(PARTITIONS_EACH)
        partition = image.topics.partition(topic_id, index)
        assert partition is not None
        isr = partition.isr[:2]
        record = PartitionChangeRecord(partition_id=index, topic_id=topic_id, isr=isr)
        made.append(encode_record(record, 2))
    return made


def published(loader: MetadataLoader, record: bytes) -> float:
    """Commit one more record; return the seconds from its bytes to the image of readers."""
    offset = loader.image.offset + 1
    committed = OpenedBatch(offset, offset + 1, EPOCH, WALL_MS, len(record), [record])

    def publish() -> None:
        loader.step(HighWatermark(committed.end_offset))
        loader.step(Committed((committed,)))

    return timed(publish)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes."""
    started = perf_counter()
    work()
    return perf_counter() - started


def resident_bytes() -> int:
    """Return the memory that this process has in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE_BYTES


def row(
    case: str,
    unit: str,
    ours: float,
    better: Literal["more", "less"],
    goal: str = "",
    theirs: float | None = None,
    against: str = "",
) -> Row:
    """Return a figure of this bench."""
    return Row("metadata", case, unit, ours, theirs, against, goal, better)
