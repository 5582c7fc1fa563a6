"""The metadata image: replaying, telling, remembering and looking up, small and at a million.

What a change costs must not grow with the cluster, so the latency of one publication is measured
at three sizes, from the bytes of its record to the image that readers see.  Bytes per partition are
what the process has grown by, topics, names and all.  Apache Kafka's own figures are not here: they
need its classes in the same run.
"""

import gc
import resource
from collections.abc import Callable, Iterator
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
from barnabas.records.opened import OpenedBatch
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import decode_record, encode_record
from benchmarks.report import Row, interleaved

PARTITIONS_EACH: Final = 100
BROKERS: Final = 12
BATCH_RECORDS: Final = 1_000
CHANGES: Final = 200
PAGE_BYTES: Final = resource.getpagesize()

SIZES: Final = ((10_000, "10 k"), (100_000, "100 k"), (1_000_000, "1 M"))


def run(repetitions: int) -> Iterator[Row]:
    """Yield the figures of every case."""
    for partitions, name in SIZES:
        yield from of_size(partitions, name, repetitions)


def of_size(partitions: int, name: str, repetitions: int) -> Iterator[Row]:
    """Measure a cluster of so many partitions, 100 to a topic."""
    largest = partitions == SIZES[-1][0]
    batches = list(log(partitions // PARTITIONS_EACH))
    loader, grown = remembered(batches)
    if largest:
        # What a small image takes is noise to a process of this size.
        each = grown / partitions
        yield row(f"memory of {name} partitions", "bytes each", each, "less", "<= 200")
        [pause] = interleaved(repetitions, lambda: timed(gc.collect))
        yield row(f"a full collection at {name}", "ms", pause * 1e3, "less")
    publication = [timed(changes(loader, seed)) for seed in range(CHANGES)]
    goal = "<= 100" if largest else ""
    yield row(f"publish one change at {name}", "µs", median(publication) * 1e6, "less", goal)
    slowest = max(publication) * 1e6
    yield row(f"... the slowest of {CHANGES} at {name}", "µs", slowest, "less")
    yield from lookups(loader.image, name, repetitions)
    yield from snapshots(loader.image, name)
    del loader
    yield from replays(batches, name, 1 if largest else repetitions)


def remembered(batches: list[OpenedBatch]) -> tuple[MetadataLoader, int]:
    """Return a loader that has read a log, and by how many bytes the process has grown."""
    gc.collect()
    before = resident_bytes()
    loader = caught_up(batches)
    gc.collect()
    return loader, resident_bytes() - before


def replays(batches: list[OpenedBatch], name: str, repetitions: int) -> Iterator[Row]:
    """Replay a log, beside decoding its records and throwing them away."""
    records = sum(len(batch.values) for batch in batches)

    def replay() -> float:
        return records / timed(lambda: caught_up(batches))

    def at_rest() -> float:
        gc.disable()
        rate = replay()
        gc.enable()
        return rate

    def decode() -> float:
        def work() -> None:
            for batch in batches:
                for data in batch.values:
                    decode_record(data)

        return records / timed(work)

    ours, calm, limit = interleaved(repetitions, replay, at_rest, decode)
    against = "decoding alone"
    yield row(f"replay of {name} partitions", "records/s", ours, "more", "", limit, against)
    case = "... with the garbage collector at rest"
    yield row(case, "records/s", calm, "more", "", limit, against)


def lookups(image: MetadataImage, name: str, repetitions: int) -> Iterator[Row]:
    """Look up partitions, beside the same in plain dicts."""
    random = Random(7)
    topics = [random.randrange(len(image.topics.topics)) for _ in range(10_000)]
    ids, names = [topic_of(topic) for topic in topics], [f"topic-{topic}" for topic in topics]
    plain = {topic_id: dict(topic.partitions()) for topic_id, topic in image.topics.topics.items()}

    def by_id() -> None:
        find = image.topics.partition
        for topic_id in ids:
            find(topic_id, 42)

    def by_name() -> None:
        find = image.topics.named
        for each in names:
            topic = find(each)
            assert topic is not None
            topic.partition(42)

    def bare() -> None:
        for topic_id in ids:
            plain[topic_id][42]

    def side(work: Callable[[], None]) -> Callable[[], float]:
        return lambda: timed(work) / len(topics) * 1e6

    found, named, theirs = interleaved(repetitions, side(by_id), side(by_name), side(bare))
    against = "dicts of dicts"
    yield row(f"look up a partition by id at {name}", "µs", found, "less", "", theirs, against)
    yield row(f"... by the name of its topic at {name}", "µs", named, "less", "", theirs, against)


def snapshots(image: MetadataImage, name: str) -> Iterator[Row]:
    """Write an image and load it again."""
    started = perf_counter()
    data = b"".join(written(image))
    took = perf_counter() - started
    records = sum(1 for _ in values(image))
    yield row(f"write a snapshot of {name}", "records/s", records / took, "more")
    started = perf_counter()
    again = folded(read(data, "a snapshot").batches, image.provenance)
    took = perf_counter() - started
    assert again.topics == image.topics
    yield row(f"load a snapshot of {name}", "records/s", records / took, "more")


def log(topics: int) -> Iterator[OpenedBatch]:
    """Yield a log that creates topics, a thousand records to a batch."""
    level = FeatureLevelRecord(name="metadata.version", feature_level=LATEST_PRODUCTION.level)
    gathered, offset = [encode_record(level, 0)], 0
    for topic in range(topics):
        gathered += topic_records(topic)
        while len(gathered) >= BATCH_RECORDS:
            yield batch(offset, gathered[:BATCH_RECORDS])
            offset += BATCH_RECORDS
            del gathered[:BATCH_RECORDS]
    yield batch(offset, gathered)


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


def batch(offset: int, values: list[bytes]) -> OpenedBatch:
    """Return a committed batch."""
    return OpenedBatch(offset, offset + len(values), 1, 0, sum(map(len, values)), list(values))


def caught_up(batches: list[OpenedBatch]) -> MetadataLoader:
    """Return a loader that has read a log in commits of ten batches, and has a publisher."""
    loader = MetadataLoader()
    loader.step(Install((Publisher("reader"),)))
    loader.step(HighWatermark(batches[-1].end_offset))
    for first in range(0, len(batches), 10):
        loader.step(Committed(batches[first : first + 10]))
    assert loader.image.offset == batches[-1].end_offset - 1
    return loader


def changes(loader: MetadataLoader, seed: int) -> Callable[[], object]:
    """Return what publishes one change of a partition, as its ISR shrinks."""
    image, random = loader.image, Random(seed)
    topic_id = topic_of(random.randrange(len(image.topics.topics)))
    partition = random.randrange(PARTITIONS_EACH)
    now = image.topics.partition(topic_id, partition)
    assert now is not None
    record = PartitionChangeRecord(partition_id=partition, topic_id=topic_id, isr=now.isr[:2])
    committed = batch(image.offset + 1, [encode_record(record, 2)])

    def publish() -> None:
        loader.step(HighWatermark(committed.end_offset))
        loader.step(Committed((committed,)))

    return publish


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
