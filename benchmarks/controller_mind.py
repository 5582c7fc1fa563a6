"""The controller's mind: fencing a broker that leads much, and an index that is kept up.

Deciders alone, without a log or a network: ``control`` has whole controllers beside Apache Kafka's,
and runs this behind them.
"""

import gc
import resource
from collections.abc import Iterator
from functools import cache
from random import Random
from statistics import median
from time import perf_counter
from typing import Final

from barnabas.controller.config import ControllerConfig
from barnabas.controller.elections import RulesInForce, left
from barnabas.controller.index import index_of, partitions_in
from barnabas.controller.partitions import Aim, Leaders, decide, without
from barnabas.controller.state import BLANK, ControllerState
from barnabas.metadata.delta import Delta
from barnabas.metadata.topics import TopicsDelta, named
from barnabas.model.ids import Uuid
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.structs import Message
from benchmarks.report import Row, interleaved

BROKERS: Final = 12
REPLICAS: Final = 3
PARTITIONS_EACH: Final = 100
CHANGES: Final = 300
PAGE_BYTES: Final = resource.getpagesize()
CONFIG: Final = ControllerConfig(1000)


def run(repetitions: int) -> Iterator[Row]:
    """Yield the figures of every case."""
    yield from fencing(cluster(120_000), repetitions)
    yield from index_of_size(120_000, "120 k")
    yield from index_of_size(1_000_000, "1 M")


def fencing(state: ControllerState, repetitions: int) -> Iterator[Row]:
    """Decide what becomes of all that a broker leads, at once and one by one."""

    def at_once() -> float:
        begun = perf_counter()
        found = list(left(state, CONFIG, 0))
        assert len(found) >= state.index.leaderships[0]
        return (perf_counter() - begun) * 1e3

    def one_by_one() -> float:
        begun = perf_counter()
        rules, leaders = RulesInForce(state, CONFIG), Leaders(brokers, without=0)
        for topic_id, name, number, stored in partitions_in(state.image.topics, places):
            partition = named(stored)
            aim = Aim(isr=without(partition.isr, (0,)), election=rules.election(name))
            change = decide(partition, aim, rules.of(name), leaders)
            assert change is not None
            change.record(topic_id, number)
        return (perf_counter() - begun) * 1e3

    brokers, places = state.image.cluster.brokers, state.index.in_sync_of(0)
    ours, theirs = interleaved(repetitions, at_once, one_by_one)
    leads = round(state.index.leaderships[0] / 1_000)
    case = f"decide to fence a leader of {leads} k partitions"
    yield row(case, "ms", ours, "<= 50")
    yield row("... deciding one by one", "ms", theirs)


def index_of_size(partitions: int, name: str) -> Iterator[Row]:
    """Change the ISR and the leader of one partition after the other; make the index anew."""
    state = cluster(partitions)
    random = Random(7)
    topics = list(state.image.topics.topics)
    took = []
    for _ in range(CHANGES):
        topic_id, number = random.choice(topics), random.randrange(PARTITIONS_EACH)
        delta = changed(state, topic_id, number)
        begun = perf_counter()
        state.index.after(delta)
        took.append((perf_counter() - begun) * 1e6)
    yield row(f"keep up the index of {name} partitions", "µs", median(took), "<= 100")
    before = resident_bytes()
    begun = perf_counter()
    again = index_of(state.image)
    seconds = perf_counter() - begun
    assert again == state.index
    gc.collect()
    grown = (resident_bytes() - before) / partitions
    yield row(f"... make it anew, {name}", "ms", seconds * 1e3)
    yield row(f"... memory, {name}", "bytes each", grown, "<= 50")


def changed(state: ControllerState, topic_id: Uuid, number: int) -> TopicsDelta:
    """Return a delta in which a partition has lost its leader from the ISR."""
    partition = state.image.topics.partition(topic_id, number)
    assert partition is not None
    isr = partition.isr[1:]
    delta = Delta(state.image)
    delta.replay(
        PartitionChangeRecord(topic_id=topic_id, partition_id=number, isr=isr, leader=isr[0])
    )
    assert delta.topics is not None
    return delta.topics


@cache
def cluster(partitions: int) -> ControllerState:
    """Return a cluster of so many partitions, on replicas drawn at random."""
    random = Random(1)
    directories = [Uuid(random.randbytes(16)) for _ in range(BROKERS)]
    records: list[Message] = [
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
    ]
    records += [
        RegisterBrokerRecord(
            broker_id=broker, broker_epoch=broker, fenced=False, log_dirs=[directories[broker]]
        )
        for broker in range(BROKERS)
    ]
    state = BLANK.apply(records)
    for topic in range(partitions // PARTITIONS_EACH):
        topic_id = Uuid(random.randbytes(16))
        made: list[Message] = [TopicRecord(name=f"topic-{topic}", topic_id=topic_id)]
        for number in range(PARTITIONS_EACH):
            replicas = tuple(random.sample(range(BROKERS), REPLICAS))
            made.append(
                PartitionRecord(
                    topic_id=topic_id,
                    partition_id=number,
                    replicas=replicas,
                    isr=replicas,
                    leader=replicas[0],
                    directories=[directories[broker] for broker in replicas],
                )
            )
        state = state.apply(made)
    return state


def resident_bytes() -> int:
    """Return how much memory this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE_BYTES


def row(case: str, unit: str, ours: float, goal: str = "") -> Row:
    """Return a figure of ours alone."""
    return Row("control", case, unit, ours, None, "", goal, "less")
