"""Elections: which partitions, how far, how many; and every one of them as if it were the only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.elections import (
    Memory,
    RulesInForce,
    balance,
    came,
    elect,
    elect_unclean,
    forgotten,
    left,
    lost,
    moved,
)
from barnabas.controller.index import mask_of
from barnabas.controller.partitions import Aim, Election, Leaders, decide, without
from barnabas.controller.state import ControllerState
from barnabas.metadata.topics import PartitionRegistration
from barnabas.model.errors import ErrorCode, Refused
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.structs import Message
from tests.controller.kit import (
    CONFIG,
    TOPIC,
    broker,
    cluster,
    directory,
    partition,
    registered,
    setting,
)

UNCLEAN = {"unclean.leader.election.enable": "true"}


def asking(kind: int, *numbers: int, topic: str = "orders") -> ElectLeadersRequest:
    """Return a request for elections."""
    told = [ElectLeadersRequest.TopicPartitions(topic=topic, partitions=numbers)]
    return ElectLeadersRequest(election_type=kind, topic_partitions=told)


def codes(reply: ElectLeadersResponse | Refused) -> dict[int, int]:
    """Return the code of each partition."""
    assert isinstance(reply, ElectLeadersResponse)
    [topic] = reply.replica_election_results
    assert topic.topic == "orders"
    for each in topic.partition_result:
        assert (each.error_message is None) == (each.error_code == 0)
    return {each.partition_id: each.error_code for each in topic.partition_result}


def test_a_broker_that_leaves_is_in_sync_nowhere_and_the_next_lead() -> None:
    state = cluster(
        broker(1),
        broker(2),
        partition(0, [1, 2]),
        partition(1, [2, 1]),
        partition(2, [2]),
        min_in_sync=1,
    )
    found = list(left(state, CONFIG, 1))
    assert [(each.partition_id, each.isr, each.leader) for each in found] == [
        (0, (2,), 2),
        (1, (2,), -2),
    ]


def test_a_broker_that_leaves_stays_eligible_and_one_that_may_have_lost_data_does_not() -> None:
    state = cluster(
        broker(1),
        broker(2),
        partition(0, [1, 2]),
        partition(1, [1, 2], isr=[2], elr=[1]),
    )
    assert [each.eligible_leader_replicas for each in left(state, CONFIG, 1)] == [(1,)]
    found = list(forgotten(state, CONFIG, 1))
    assert [(each.partition_id, each.eligible_leader_replicas) for each in found] == [
        (0, None),
        (1, ()),
    ]


def test_a_broker_that_comes_leads_what_nobody_leads_if_it_may() -> None:
    state = cluster(
        broker(1, fenced=True),
        broker(2),
        partition(0, [1, 2], isr=[], elr=[1], last=[1]),
        partition(1, [3], isr=[], elr=[3], last=[3]),
        partition(2, [2, 1], isr=[2], elr=[1]),
    )
    [found] = came(state, CONFIG, 1)
    assert (found.partition_id, found.leader, found.isr) == (0, 1, (1,))


def test_only_what_lies_in_a_lost_directory_is_out_of_sync() -> None:
    other = directory(1, 1)
    state = cluster(
        broker(1, directories=2),
        broker(2),
        partition(0, [1, 2], directories=[directory(1), directory(2)]),
        partition(1, [1, 2], directories=[other, directory(2)]),
    )
    [found] = lost(state, CONFIG, 1, [other])
    assert (found.partition_id, found.isr, found.leader) == (1, (2,), 2)


def test_a_topic_that_allows_it_is_led_by_anybody_at_once() -> None:
    records: list[Message] = [broker(1), broker(2), partition(0, [1, 2], isr=[1])]
    strict, loose = cluster(*records), cluster(*records, configs=UNCLEAN)
    assert [each.leader for each in left(strict, CONFIG, 1)] == [-1]
    [found] = left(loose, CONFIG, 1)
    assert (found.leader, found.isr, found.leader_recovery_state) == (2, (2,), 1)


@given(st.data())
def test_what_is_remembered_is_what_would_be_decided(data: st.DataObject) -> None:
    ids = (1, 2, 3, 4)
    brokers = [broker(each, fenced=data.draw(st.booleans())) for each in ids]
    partitions = []
    for number in range(12):
        replicas = data.draw(st.permutations(ids))[:3]
        isr = replicas[: data.draw(st.integers(0, 3))]
        elr = replicas[2:] if len(isr) < 2 else []
        last = [replicas[0]] if not isr else []
        partitions.append(partition(number, replicas, isr=isr, elr=elr, last=last))
    configs = UNCLEAN if data.draw(st.booleans()) else {}
    state = cluster(*brokers, *partitions, configs=configs)
    leaders, rules = Leaders(state.image.cluster.brokers, without=1), RulesInForce(state, CONFIG)

    def aim(found: PartitionRegistration, election: Election) -> Aim:
        return Aim(isr=without(found.isr, (1,)), election=election)

    one_by_one = []
    for number in range(12):
        found = registered(state, number)
        change = decide(found, aim(found, rules.election("orders")), rules.of("orders"), leaders)
        if change is not None:
            one_by_one.append(change.record(TOPIC, number))
    places = {TOPIC: mask_of(range(12))}
    assert list(moved(state, CONFIG, places, Memory(leaders, aim))) == one_by_one


def test_what_is_in_force_is_the_topics_own_or_else_the_clusters() -> None:
    state = cluster(
        broker(1),
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="3"),
        ConfigRecord(
            resource_type=4, resource_name="", name="unclean.leader.election.enable", value="TRUE "
        ),
        setting("unclean.leader.election.enable", "false"),
    )
    rules = RulesInForce(state, CONFIG)
    assert (rules.of("orders").min_in_sync, rules.of("clicks").min_in_sync) == (2, 3)
    assert rules.election("orders") is Election.ONLINE
    assert rules.election("clicks") is Election.UNCLEAN
    assert rules.elr
    assert not RulesInForce(cluster(elr=False), CONFIG).elr


# --- When somebody asks ---


def test_preferred_leaders_are_elected_where_they_are_in_sync() -> None:
    state = cluster(
        broker(1),
        broker(2),
        partition(0, [1, 2], leader=2),
        partition(1, [1, 2], leader=1),
        partition(2, [1, 2], isr=[2], elr=[1]),
    )
    decision = elect(state, CONFIG, asking(0, 0, 1, 2, 9))
    assert codes(decision.reply) == {
        0: ErrorCode.NONE,
        1: ErrorCode.ELECTION_NOT_NEEDED,
        2: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    change = PartitionChangeRecord(topic_id=TOPIC, partition_id=0, leader=1)
    assert decision.records == (change,)


def test_an_operator_may_ask_for_any_leader_where_there_is_none() -> None:
    state = cluster(
        broker(1, fenced=True),
        broker(2),
        partition(0, [1, 2], isr=[], elr=[1], last=[1]),
        partition(1, [1], isr=[], elr=[1], last=[1]),
        partition(2, [1, 2], isr=[2]),
    )
    decision = elect(state, CONFIG, asking(1, 0, 1, 2))
    assert codes(decision.reply) == {
        0: ErrorCode.NONE,
        1: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        2: ErrorCode.ELECTION_NOT_NEEDED,
    }
    [change] = decision.records
    assert isinstance(change, PartitionChangeRecord)
    assert (change.leader, change.isr, change.leader_recovery_state) == (2, (2,), 1)


def test_asked_for_all_partitions_only_those_that_needed_it_are_told() -> None:
    state = cluster(
        broker(1), broker(2), partition(0, [1, 2], leader=2), partition(1, [1, 2], leader=1)
    )
    decision = elect(state, CONFIG, ElectLeadersRequest(topic_partitions=None))
    assert codes(decision.reply) == {0: ErrorCode.NONE}
    assert len(decision.records) == 1


def test_a_partition_that_is_asked_for_twice_is_elected_once() -> None:
    state = cluster(broker(1), broker(2), partition(0, [1, 2], leader=2))
    decision = elect(state, CONFIG, asking(0, 0, 0))
    assert len(decision.records) == 1


def test_an_election_of_an_unknown_type_is_refused() -> None:
    reply = elect(cluster(), CONFIG, asking(2, 0)).reply
    assert isinstance(reply, Refused)
    assert reply.code is ErrorCode.INVALID_REQUEST


def test_a_topic_that_is_not_there_has_no_partitions() -> None:
    reply = elect(cluster(), CONFIG, asking(0, 3, topic="clicks")).reply
    assert isinstance(reply, ElectLeadersResponse)
    [result] = reply.replica_election_results[0].partition_result
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert result.error_message == "there is no partition clicks-3"


# --- Every so often ---


def unbalanced() -> ControllerState:
    """Return a cluster whose four partitions are all led by their second replica."""
    return cluster(
        broker(1), broker(2), *(partition(number, [1, 2], leader=2) for number in range(4))
    )


@pytest.mark.parametrize(("most", "elected", "more"), [(3, 3, True), (9, 4, False)])
def test_a_round_of_preferred_elections_takes_so_many(most: int, elected: int, more: bool) -> None:
    decision = balance(unbalanced(), CONFIG, most)
    assert len(decision.records) == decision.reply.elected == elected
    assert decision.reply.more == more


def test_rounds_end_when_every_partition_has_its_preferred_leader() -> None:
    state, rounds = unbalanced(), 0
    while (decision := balance(state, CONFIG, 3)).records:
        state, rounds = state.apply(decision.records), rounds + 1
    assert rounds == 2
    assert not state.index.unpreferred


def test_unclean_rounds_pass_over_topics_that_do_not_allow_them() -> None:
    # Nobody was there when 1 left; 2 came back without having been in sync.
    records: list[Message] = [broker(2), partition(0, [1, 2], isr=[], elr=[1], last=[1])]
    assert not elect_unclean(cluster(*records), CONFIG).records
    decision = elect_unclean(cluster(*records, configs=UNCLEAN), CONFIG)
    [change] = decision.records
    assert isinstance(change, PartitionChangeRecord)
    assert (change.leader, change.leader_recovery_state) == (2, 1)
    assert decision.reply.elected == 1
