"""Replicas in stripes over the racks: spread, fair, and the same for the same number."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.partitions import UNASSIGNED
from barnabas.controller.placement import (
    Draws,
    UsableBroker,
    directories,
    has_room,
    place,
    usable,
)
from barnabas.metadata.topics import MIGRATING
from barnabas.model.errors import ErrorCode, Refused
from tests.controller.scene import broker, cluster, uuid

NUMBERS = st.integers(0, 2**64 - 1)
CLUSTERS = st.lists(
    st.tuples(st.sampled_from([None, "a", "b", "c", "d"]), st.booleans()), min_size=1, max_size=14
).map(lambda told: [UsableBroker(id_, rack, fenced) for id_, (rack, fenced) in enumerate(told, 10)])


def equal_racks(racks: int, each: int) -> list[UsableBroker]:
    """Return racks with as many brokers each."""
    return [UsableBroker(n, f"rack {n % racks}", fenced=False) for n in range(racks * each)]


def test_three_racks_make_stripes() -> None:
    brokers = equal_racks(3, 2)
    for replicas in place(brokers, 12, 3, number=1):
        assert {replica % 3 for replica in replicas} == {0, 1, 2}


def test_the_same_number_places_the_same_way_and_another_does_not() -> None:
    brokers = equal_racks(3, 3)
    assert place(brokers, 20, 3, 7) == place(list(reversed(brokers)), 20, 3, 7)
    assert place(brokers, 20, 3, 7) != place(brokers, 20, 3, 8)


def test_topics_of_one_partition_begin_anywhere() -> None:
    brokers = equal_racks(3, 3)
    leaders = Counter(place(brokers, 1, 3, number)[0][0] for number in range(900))
    assert set(leaders) == set(range(9))
    assert min(leaders.values()) > 60


@given(CLUSTERS, st.integers(1, 5), st.integers(1, 40), NUMBERS)
def test_replicas_are_distinct_the_first_leads_and_fenced_ones_come_last_in_their_rack(
    brokers: list[UsableBroker], factor: int, partitions: int, number: int
) -> None:
    unfenced = {broker.id for broker in brokers if not broker.fenced}
    if not unfenced or factor > len(brokers):
        with pytest.raises(Refused):
            place(brokers, partitions, factor, number)
        return
    placed = place(brokers, partitions, factor, number)
    assert len(placed) == partitions
    rack = {broker.id: broker.rack for broker in brokers}
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == factor
        assert replicas[0] in unfenced
        for replica in replicas:
            if replica not in unfenced:
                same = {one for one in unfenced if rack[one] == rack[replica]}
                assert same <= set(replicas)


@given(CLUSTERS, st.integers(1, 6), st.integers(1, 30), NUMBERS)
def test_a_partition_lies_in_as_many_racks_as_it_can(
    brokers: list[UsableBroker], factor: int, partitions: int, number: int
) -> None:
    if factor > len(brokers) or all(broker.fenced for broker in brokers):
        return
    rack = {broker.id: broker.rack for broker in brokers}
    racks = set(rack.values())
    for replicas in place(brokers, partitions, factor, number):
        assert len({rack[replica] for replica in replicas}) == min(factor, len(racks))


@given(
    racks=st.integers(1, 5),
    each=st.integers(1, 5),
    rounds=st.integers(1, 3),
    number=NUMBERS,
    data=st.data(),
)
def test_in_equal_racks_everybody_leads_and_follows_as_often(
    racks: int, each: int, rounds: int, number: int, data: st.DataObject
) -> None:
    brokers = equal_racks(racks, each)
    factor = data.draw(st.integers(1, len(brokers)))
    placed = place(brokers, rounds * len(brokers), factor, number)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {rounds}
    held = Counter(replica for replicas in placed for replica in replicas)
    assert max(held.values()) - min(held.values()) <= rounds * each


def test_the_followers_of_a_broker_are_not_always_the_same() -> None:
    placed = place([UsableBroker(n, None, fenced=False) for n in range(6)], 120, 2, 5)
    assert len({replicas for replicas in placed if replicas[0] == 0}) > 3


def test_a_single_unfenced_broker_leads_everything() -> None:
    brokers = [UsableBroker(1, None, fenced=False), UsableBroker(2, None, fenced=True)]
    assert place(brokers, 3, 2, 0) == [(1, 2)] * 3


@pytest.mark.parametrize(
    ("fenced", "factor", "why"),
    [
        ([False, False], 0, "must be positive"),
        ([False, False], -1, "must be positive"),
        ([True, True], 1, "All brokers are currently fenced"),
        ([], 1, "All brokers are currently fenced"),
        ([False, True], 3, "cannot be reached because only 2 broker"),
    ],
)
def test_too_few_brokers_are_refused(fenced: Sequence[bool], factor: int, why: str) -> None:
    brokers = [UsableBroker(id_, None, gone) for id_, gone in enumerate(fenced)]
    with pytest.raises(Refused, match=why) as caught:
        place(brokers, 1, factor, 0)
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_brokers_that_stop_or_are_cordoned_altogether_get_nothing() -> None:
    state = cluster(
        broker(1, "a"),
        broker(2, fenced=True),
        broker(3, stopping=True),
        broker(4, directories=[uuid(1), uuid(2)], cordoned=[uuid(2), uuid(1)]),
        broker(5, directories=[uuid(3), uuid(4)], cordoned=[uuid(3)]),
    )
    assert usable(state) == [
        UsableBroker(1, "a", fenced=False),
        UsableBroker(2, None, fenced=True),
        UsableBroker(5, None, fenced=False),
    ]
    assert [has_room(each) for each in state.image.cluster.brokers.values()] == [
        True, True, True, False, True,
    ]  # fmt: skip


def test_a_broker_with_one_directory_need_not_choose() -> None:
    state = cluster(broker(1, directories=[uuid(1)]), broker(2, directories=[uuid(1), uuid(2)]))
    assert directories(state, (2, 1, 9)) == (UNASSIGNED, uuid(1), UNASSIGNED)
    old = cluster(broker(1, directories=[uuid(1)]), at=15)
    assert directories(old, (1, 2)) == (MIGRATING, MIGRATING)


def test_a_broker_that_told_of_no_directory_is_asked_later() -> None:
    assert directories(cluster(broker(1, directories=[])), (1,)) == (MIGRATING,)


@given(NUMBERS, st.integers(1, 100))
def test_what_is_drawn_is_below_the_limit(number: int, limit: int) -> None:
    draws = Draws(number)
    assert all(0 <= draws.below(limit) < limit for _ in range(20))


def test_draws_are_even_and_shuffles_lose_nothing() -> None:
    draws = Draws(0)
    counts = Counter(draws.below(6) for _ in range(6_000))
    assert min(counts.values()) > 850
    things = list(range(50))
    draws.shuffle(things)
    assert sorted(things) == list(range(50))
    assert things != list(range(50))
