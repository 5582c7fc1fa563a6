"""Plain partition records from their bytes: what the long way makes of them, or nothing."""

from collections.abc import Iterator
from random import Random

import pytest

from barnabas.metadata.delta import Delta
from barnabas.metadata.faults import BadRecord
from barnabas.metadata.image import EMPTY
from barnabas.metadata.partition_bytes import KEPT, REPLICAS, Remembered, plain_partition
from barnabas.metadata.topics import MIGRATING, Stored
from barnabas.model.errors import RemoteProtocolError
from barnabas.model.ids import Uuid
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.partition_record import PartitionRecord
from barnabas.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from barnabas.wire.messages.stored.topic_record import TopicRecord
from barnabas.wire.metadata_records import decode_record, encode_record

TOPIC = Uuid(b"the only topic !")
PLAIN = PartitionRecord(
    partition_id=7,
    topic_id=TOPIC,
    replicas=(1, 2, 3),
    isr=(2, 1),
    leader=2,
    leader_epoch=5,
    partition_epoch=9,
    directories=tuple(Uuid(bytes([each] * 16)) for each in (1, 2, 3)),
)
VERSION = 2


def the_long_way(data: bytes) -> tuple[Uuid, int, Stored] | None:
    """Decode a record and replay it; None if either is refused."""
    delta = Delta(EMPTY)
    delta.replay(TopicRecord(name="orders", topic_id=TOPIC))
    try:
        record, _ = decode_record(data)
        delta.replay(record)
    except (RemoteProtocolError, BadRecord):
        return None
    assert delta.topics is not None
    [(index, stored)] = delta.topics.topics[TOPIC].changes.items()
    assert stored is not None
    return TOPIC, index, stored


def anything(random: Random, version: int) -> PartitionRecord:
    """Return a partition as likely to be plain as not, with what a version has words for."""
    replicas = tuple(random.sample(range(300), random.choice((1, 2, 3, 3, 3, 5, 130))))
    in_sync = tuple(random.sample(replicas, random.randint(0, len(replicas))))
    places = [MIGRATING, *(Uuid(random.randbytes(16)) for _ in range(3))]
    few = random.choice(((), (), (), (), (), (), (1,)))
    none = (None, None, None, None, None, (), (4, 5)) if version == VERSION else (None,)
    directories = random.choice((len(replicas),) * 6 + (0, 1)) if version else 0
    return PartitionRecord(
        partition_id=random.choice((0, 1, 70_000)),
        topic_id=TOPIC,
        replicas=replicas,
        isr=random.choice((replicas, in_sync)),
        removing_replicas=few,
        adding_replicas=random.choice(((), few)),
        leader=random.choice((-1, *replicas)),
        leader_recovery_state=random.choice((0,) * 9 + (1,)),
        leader_epoch=random.randrange(1 << 31),
        partition_epoch=random.randrange(1 << 31),
        directories=random.choices(places[: random.choice((1, 4))], k=directories),
        eligible_leader_replicas=random.choice(none),
        last_known_elr=random.choice(none),
        unknown_tagged_fields=random.choice(((),) * 9 + (((9, b"news"),),)),
    )


def records(seed: int, count: int) -> Iterator[bytes]:
    """Yield records, some of which are damaged."""
    random = Random(seed)
    for _ in range(count):
        version = random.choice((0, 1, 2, 2, 2, 2))
        data = bytearray(encode_record(anything(random, version), version))
        match random.randrange(10):
            case 0:
                del data[random.randrange(len(data)) :]
            case 1:
                data[random.randrange(min(len(data), 60))] = random.randrange(256)
            case 2:
                data += b"\0"
            case _:
                pass
        yield bytes(data)


def test_what_is_read_is_what_the_long_way_makes_of_it() -> None:
    read = 0
    for data in records(seed=1, count=10_000):
        plain = plain_partition(data)
        assert plain == plain_partition(memoryview(data))
        if plain is not None and plain[0] == TOPIC:
            assert plain == the_long_way(data)
            read += 1
    assert read > 1_000


def test_nothing_that_the_long_way_refuses_is_read() -> None:
    for data in records(seed=2, count=10_000):
        if the_long_way(data) is None and plain_partition(data) is not None:
            # Of another topic, because a bit of its id was damaged: the delta knows whether it is.
            assert data[7:23] != TOPIC


@pytest.mark.parametrize("version", [1, 2])
def test_a_usual_partition_is_read(version: int) -> None:
    data = encode_record(PLAIN, version)
    assert plain_partition(data) == the_long_way(data) is not None


def test_partitions_with_the_same_replicas_share_what_is_kept() -> None:
    one = plain_partition(encode_record(PLAIN, VERSION))
    other = plain_partition(encode_record(PLAIN, VERSION))
    assert one is not None
    assert other is not None
    for mine, others in zip(one[2][:3], other[2][:3], strict=True):
        assert mine is others


def test_replicas_that_are_all_in_sync_are_kept_once() -> None:
    data = encode_record(
        PartitionRecord(topic_id=TOPIC, replicas=(4, 5), isr=(4, 5), directories=[TOPIC] * 2),
        VERSION,
    )
    plain = plain_partition(data)
    assert plain is not None
    assert plain[2][0] is plain[2][2]


@pytest.mark.parametrize("data", [b"", b"\x01", encode_record(PLAIN, 2)[:30]])
def test_what_ends_early_is_left_to_the_long_way(data: bytes) -> None:
    assert plain_partition(data) is None


def test_a_change_is_left_to_the_long_way() -> None:
    change = PartitionChangeRecord(topic_id=TOPIC, partition_id=1, isr=(1,))
    assert plain_partition(encode_record(change, VERSION)) is None


def test_a_delta_takes_plain_partitions_up_to_something_else() -> None:
    delta, twin = Delta(EMPTY), Delta(EMPTY)
    for each in (delta, twin):
        each.replay(TopicRecord(name="orders", topic_id=TOPIC))
    plain, other = encode_record(PLAIN, VERSION), encode_record(TopicRecord(), 0)
    assert delta.replay_plain([other, plain, plain, other, plain], 1) == 3
    assert delta.replay_plain([other, plain, plain, other, plain], 3) == 3
    assert delta.replay_plain([other, plain, plain, other, plain], 4) == 5
    assert delta.replay_plain([], 0) == 0
    twin.replay(PLAIN)
    place = EMPTY.provenance
    assert delta.apply(place) == twin.apply(place)


def test_partitions_of_many_topics_come_to_each_of_them() -> None:
    delta = Delta(EMPTY)
    names = {Uuid(bytes([number] * 16)): f"topic-{number}" for number in range(3)}
    for topic_id, name in names.items():
        delta.replay(TopicRecord(name=name, topic_id=topic_id))
    values = [
        encode_record(PartitionRecord(topic_id=topic_id, partition_id=n, directories=()), 2)
        for n in range(2)
        for topic_id in names
    ]
    assert delta.replay_plain(values, 0) == len(values)
    image = delta.apply(EMPTY.provenance)
    assert [sorted(topic.stored) for topic in image.topics.topics.values()] == [[0, 1]] * 3


def test_a_partition_of_a_topic_that_is_not_there_is_left_to_be_refused() -> None:
    values = [encode_record(PLAIN, VERSION)]
    assert Delta(EMPTY).replay_plain(values, 0) == 0
    created = Delta(EMPTY)
    created.replay(TopicRecord(name="orders", topic_id=TOPIC))
    gone = Delta(created.apply(EMPTY.provenance))
    assert gone.replay_plain(values, 0) == 1
    gone.replay(RemoveTopicRecord(topic_id=TOPIC))
    assert gone.replay_plain(values, 0) == 0


def test_what_is_remembered_is_bounded() -> None:
    asked: list[int] = []

    def square(number: int) -> int:
        asked.append(number)
        return number * number

    squares = Remembered(square)
    assert [squares[3], squares[3], squares[4]] == [9, 9, 16]
    assert asked == [3, 4]
    for number in range(KEPT + 1):
        assert squares[number] == number * number
        assert len(squares) <= KEPT
    assert len(REPLICAS) <= KEPT
