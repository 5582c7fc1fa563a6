"""Those who have to know."""

import asyncio

import pytest

from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY, MetadataImage
from barnabas.metadata.publication import LeaderAndEpoch, Publication, SnapshotManifest
from barnabas.model.ids import TopicIdPartition, Uuid
from barnabas.runtime.runtime import Runtime
from barnabas.sim.disk_faults import Injection
from barnabas.sim.profiles.metadata.readers import (
    Held,
    Reader,
    Replicas,
    Seen,
    StumbledError,
    Timed,
)
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from tests.sim.profiles.metadata.committed import LEVEL, committed
from tests.sim.worlds import run_in_world, start, world_of

TOPIC = Uuid(bytes(15) + b"T")
PLACE = TopicIdPartition(TOPIC, "orders", 0)


class Heard:
    """A witness that writes down what it hears."""

    def __init__(self, delay_ms: int = 0, stumbles: bool = False) -> None:
        self.said: list[str] = []
        self.moves: list[tuple[Held, Held]] = []
        self.blocked_ms = 0
        self._delay_ms = delay_ms
        self._stumbles = stumbles

    def published(self, name: str, seen: Seen, publication: Publication) -> None:
        """Note it."""
        self.said.append(f"{seen.publisher.name} {publication.image.offset}")

    def applied(self, name: str, seen: Seen) -> None:
        """Note it."""
        self.said.append(f"{seen.publisher.name} done")

    def led(self, name: str, seen: Seen, leader: LeaderAndEpoch) -> None:
        """Note it."""
        self.said.append(f"{seen.publisher.name} led by {leader.leader_id}")

    def held_up(self, name: str, seen: Seen, blocked_ms: int) -> None:
        """Note it."""
        self.blocked_ms = max(self.blocked_ms, blocked_ms)

    def moved(self, name: str, place: TopicIdPartition, before: Held, after: Held) -> None:
        """Note it."""
        self.moves.append((before, after))

    def delay_ms(self, name: str) -> int:
        """Return how slow to be."""
        return self._delay_ms

    def stumbles(self, name: str, subscriber: str) -> bool:
        """Tell whether to raise."""
        return self._stumbles


def publication(before: MetadataImage, after: MetadataImage) -> Publication:
    return Publication(Delta.between(before, after), after, SnapshotManifest(after.provenance))


FIRST = committed([LEVEL]).image


def test_a_reader_says_what_it_is_told_and_takes_its_time() -> None:
    heard = Heard(delay_ms=50)
    gone: list[str] = []

    async def reads(runtime: Runtime) -> None:
        reader = Reader(runtime, heard, "slow", gone=gone.append)
        begun_ms = runtime.clock.now_ms()
        await reader.update(publication(EMPTY, FIRST))
        assert runtime.clock.now_ms() - begun_ms >= 50
        reader.leader_changed(LeaderAndEpoch(2, 3))
        assert reader.is_told
        assert reader.leader == LeaderAndEpoch(2, 3)
        await reader.close()
        assert not reader.is_told

    run_in_world(reads)
    assert heard.said == ["slow 0", "slow done", "slow led by 2"]
    assert heard.blocked_ms == 0
    assert gone == ["slow"]


def test_a_reader_that_stumbles_was_told_all_the_same() -> None:
    async def reads(runtime: Runtime) -> None:
        reader = Reader(runtime, Heard(stumbles=True), "bad")
        with pytest.raises(StumbledError):
            await reader.update(publication(EMPTY, FIRST))
        assert reader.image is FIRST
        assert reader.stumbled_at_first
        assert not reader.is_told

    run_in_world(reads)


def test_time_is_measured_where_nobody_else_can_do_anything() -> None:
    blocked: list[int] = []

    async def blocks(runtime: Runtime) -> None:
        await runtime.clock.sleep_ms(1_000)
        file = runtime.disk.open("/here", "create")
        file.write(0, [b"x"])
        file.close()
        await runtime.clock.sleep_ms(1_000)

    async def measured(runtime: Runtime) -> None:
        await Timed(blocks(runtime), runtime.clock.now_ns, blocked.append)

    with world_of("a") as world:
        world.hosts["a"].disk.inject(Injection("write", delay_ns=300_000_000))
        ended = start(world, "a", measured)
        world.run_ms(5_000)
    assert ended
    assert [each // 1_000_000 for each in blocked] == [0, 300, 0]


def test_what_is_cancelled_while_it_is_timed_is_cancelled_inside() -> None:
    ended: list[str] = []

    async def waits(runtime: Runtime) -> None:
        try:
            await runtime.clock.sleep_ms(10_000)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def cancels(runtime: Runtime) -> None:
        async def timed() -> None:
            await Timed(waits(runtime), runtime.clock.now_ns, lambda took: None)

        task = runtime.tasks.spawn(timed(), "timed")
        await runtime.clock.sleep_ms(10)
        task.cancel()
        await runtime.clock.sleep_ms(10)
        assert task.cancelled()

    run_in_world(cancels)
    assert ended == ["cancelled"]


def test_replicas_follow_the_log_and_answers_whichever_comes_first() -> None:
    heard = Heard()
    both = (1, 2)
    made = PartitionRecord(
        partition_id=0, topic_id=TOPIC, replicas=both, isr=both, leader=1, leader_epoch=0,
        partition_epoch=0,
    )  # fmt: skip
    log = committed([LEVEL], [TopicRecord(name="orders", topic_id=TOPIC), made])
    images = [log.image]
    images.append(log.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC, isr=(1,))))
    images.append(log.commit(PartitionChangeRecord(partition_id=0, topic_id=TOPIC, leader=2)))
    images.append(log.commit(RemoveTopicRecord(topic_id=TOPIC)))

    async def follows(runtime: Runtime) -> None:
        replicas = Replicas(runtime, heard, "replicas", 1)
        await replicas.update(publication(EMPTY, images[0]))
        assert replicas.table == {PLACE: Held("leader", 0, 0, (1, 2))}
        replicas.answered(PLACE, 0, 1)
        # An answer of another epoch, or to one who does not lead, is passed over.
        replicas.answered(PLACE, 7, 9)
        assert replicas.table[PLACE].by_answer
        assert replicas.table[PLACE].partition_epoch == 1
        await replicas.update(publication(images[0], images[1]))
        assert replicas.table[PLACE] == Held("leader", 0, 1, (1,))
        await replicas.update(publication(images[1], images[2]))
        assert replicas.table[PLACE] == Held("follower", 1, 2, (1,))
        replicas.answered(PLACE, 1, 9)
        assert replicas.table[PLACE].partition_epoch == 2
        await replicas.update(publication(images[2], images[3]))
        assert not replicas.table

    run_in_world(follows)
    assert len(heard.moves) == 3
