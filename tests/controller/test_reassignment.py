"""Partitions move in steps, turn round on the way, and never lose anything by it."""

from collections.abc import Sequence

import pytest

from barnabas.controller.reassignment import listed, reassign
from barnabas.controller.state import ControllerState
from barnabas.model.errors import ErrorCode
from barnabas.sim.profiles.control.states import Situation, Step, check_state, check_step
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from tests.controller.kit import CONFIG, broker, cluster, directory, partition, registered

FIVE = [broker(each) for each in (1, 2, 3, 4, 5)]
UNCLEAN = {"unclean.leader.election.enable": "true"}
Listed = ListPartitionReassignmentsResponse.OngoingPartitionReassignment


def moving(
    *targets: Sequence[int] | None, topic: str = "orders", factor: bool = True
) -> AlterPartitionReassignmentsRequest:
    """Return a request to move partition 0, and 1, and so on."""
    return AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=factor,
        topics=[
            AlterPartitionReassignmentsRequest.ReassignableTopic(
                name=topic,
                partitions=[
                    AlterPartitionReassignmentsRequest.ReassignablePartition(
                        partition_index=number, replicas=target
                    )
                    for number, target in enumerate(targets)
                ],
            )
        ],
    )


def moved(
    state: ControllerState, request: AlterPartitionReassignmentsRequest
) -> tuple[ControllerState, list[tuple[int, str | None]]]:
    """Take a request; return the state afterwards, and the answers."""
    decision = reassign(state, CONFIG, request)
    assert decision.reply.error_code == ErrorCode.NONE
    assert decision.reply.error_message is None
    assert decision.reply.allow_replication_factor_change == (
        request.allow_replication_factor_change
    )
    after = state.apply(decision.records)
    check_state(Situation(after.image, {}))
    check_step(Step(Situation(state.image, {}), Situation(after.image, {}), decision.records))
    [topic] = decision.reply.responses
    return after, [(each.error_code, each.error_message) for each in topic.partitions]


def sets(state: ControllerState) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the replicas of a partition, those being added and those being removed."""
    found = registered(state)
    return found.replicas, found.adding_replicas, found.removing_replicas


OK = (ErrorCode.NONE, None)


def test_a_partition_has_the_replicas_of_both_while_it_moves() -> None:
    state, answers = moved(cluster(*FIVE, partition(0, [1, 2, 3])), moving([1, 4, 5]))
    assert answers == [OK]
    assert sets(state) == ((1, 4, 5, 2, 3), (4, 5), (2, 3))
    assert registered(state).directories == tuple(directory(each) for each in (1, 4, 5, 2, 3))
    assert registered(state).leader_epoch == 5
    assert registered(state).isr == (1, 2, 3)


def test_another_order_is_there_at_once() -> None:
    state, answers = moved(cluster(*FIVE, partition(0, [1, 2, 3])), moving([3, 2, 1]))
    assert answers == [OK]
    assert sets(state) == ((3, 2, 1), (), ())
    assert registered(state).leader == 1
    assert registered(state).leader_epoch == 5


def test_fewer_replicas_are_there_at_once_if_all_of_them_are_in_sync() -> None:
    state, _ = moved(cluster(*FIVE, partition(0, [1, 2, 3])), moving([2, 3]))
    assert sets(state) == ((2, 3), (), ())
    found = registered(state)
    assert (found.leader, found.isr, found.leader_epoch) == (2, (2, 3), 6)
    waiting, _ = moved(cluster(*FIVE, partition(0, [1, 2, 3], isr=[1, 2])), moving([2, 3]))
    assert sets(waiting) == ((2, 3, 1), (), (1,))


def test_what_is_asked_for_already_changes_nothing() -> None:
    before = cluster(*FIVE, partition(0, [1, 2, 3]))
    state, answers = moved(before, moving([1, 2, 3]))
    assert answers == [OK]
    assert state.image == before.image


def underway(isr: Sequence[int] = (1, 2, 3), **said: bool) -> ControllerState:
    """Return a partition in which 4 takes the place of 3."""
    configs = UNCLEAN if said.get("unclean") else {}
    return cluster(
        *FIVE,
        partition(0, [1, 2, 4, 3], isr=isr, adding=[4], removing=[3]),
        configs=configs,
    )


def test_a_move_that_is_asked_for_again_goes_on() -> None:
    state, answers = moved(underway(), moving([1, 2, 4]))
    assert answers == [OK]
    assert state.image == underway().image


def test_a_move_can_be_sent_elsewhere_on_the_way() -> None:
    state, _ = moved(underway(), moving([1, 2, 5]))
    assert sets(state) == ((1, 2, 5, 3, 4), (5,), (3, 4))


def test_a_move_can_be_asked_back_by_name() -> None:
    # Kafka would keep 4 among those to be added while it is removed, and never come to an end.
    state, _ = moved(underway(), moving([1, 2, 3]))
    assert sets(state) == ((1, 2, 3), (), ())
    joined, _ = moved(underway([1, 2, 3]), moving([1, 2, 3, 4]))
    assert sets(joined) == ((1, 2, 3, 4), (4,), ())


def test_a_move_that_is_cancelled_leaves_no_trace_of_those_that_came() -> None:
    state, answers = moved(underway([2, 3]), moving(None))
    assert answers == [OK]
    assert sets(state) == ((1, 2, 3), (), ())
    found = registered(state)
    assert (found.isr, found.leader, found.leader_epoch) == ((2, 3), 2, 6)


def test_a_cancelled_move_may_take_the_leader_away() -> None:
    # 4 leads, which was being added.
    state, _ = moved(underway([4, 2]), moving(None))
    assert (registered(state).leader, registered(state).isr) == (2, (2,))
    assert registered(state).elr == ()


def test_a_move_is_not_cancelled_if_something_would_be_lost() -> None:
    before = underway([4])
    after, [(code, why)] = moved(before, moving(None))
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "cannot go back to [1, 2, 3]: in sync are [4] alone" in str(why)
    assert after.image == before.image
    state, answers = moved(underway([4], unclean=True), moving(None))
    assert answers == [OK]
    found = registered(state)
    assert (found.leader, found.isr, found.leader_recovery_state) == (1, (1,), 1)


def test_a_single_replica_does_not_take_over_by_a_cancelled_move_what_it_never_had() -> None:
    # 2 has everything, and is still being added; 1, which is alone again, may be far behind.
    for state in (
        cluster(*FIVE, partition(0, [2, 1], isr=[2], adding=[2], removing=[1])),
        cluster(
            broker(1),
            broker(2, fenced=True),
            partition(0, [2, 1], isr=[], elr=[2], last=[2], adding=[2], removing=[1]),
        ),
    ):
        after, [(code, _)] = moved(state, moving(None))
        assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert after.image == state.image


def test_a_move_is_cancelled_if_one_that_is_eligible_can_lead() -> None:
    before = cluster(*FIVE, partition(0, [1, 2, 4, 3], isr=[4], elr=[2], adding=[4], removing=[3]))
    state, answers = moved(before, moving(None))
    assert answers == [OK]
    assert (registered(state).leader, registered(state).isr) == (2, (2,))


def test_a_move_that_nobody_leads_can_be_cancelled_if_one_that_stays_is_eligible() -> None:
    fenced = [broker(each, fenced=True) for each in (1, 2, 3, 4)]
    for elr, code in (([2], ErrorCode.NONE), ([4], ErrorCode.INVALID_REPLICA_ASSIGNMENT)):
        before = cluster(
            *fenced,
            partition(0, [1, 2, 4, 3], isr=[], elr=elr, last=elr, adding=[4], removing=[3]),
        )
        assert moved(before, moving(None))[1][0][0] == code


def test_there_is_nothing_to_cancel_where_nothing_moves() -> None:
    _, [(code, why)] = moved(cluster(*FIVE, partition(0, [1])), moving(None))
    assert code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert why == "orders-0 is not being reassigned"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ([], "orders-0 would have no replicas"),
        ([1, 9], "orders-0 would be on broker 9, which is not registered"),
        ([1, 1], "orders-0 would be on broker 1 2 times"),
        ([-1], "orders-0 would be on broker -1, which is not registered"),
    ],
)
def test_replicas_that_cannot_be_are_refused(target: list[int], words: str) -> None:
    _, answers = moved(cluster(*FIVE, partition(0, [1, 2, 3])), moving(target))
    assert answers == [(ErrorCode.INVALID_REPLICA_ASSIGNMENT, words)]


def test_another_number_of_replicas_needs_a_request_that_allows_it() -> None:
    state = cluster(*FIVE, partition(0, [1, 2, 3]))
    _, [(code, why)] = moved(state, moving([1, 2], factor=False))
    assert code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "orders-0 has 3 replicas and would have 2" in str(why)
    assert moved(state, moving([1, 2, 4], factor=False))[1] == [OK]
    # While it moves, it has as many as it will have.
    assert moved(underway(), moving([1, 2, 5], factor=False))[1] == [OK]


def test_partitions_that_are_not_there_do_not_move() -> None:
    state = cluster(*FIVE, partition(0, [1]), min_in_sync=1)
    _, answers = moved(state, moving([2], [2]))
    assert answers == [OK, (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no partition orders-1")]
    _, answers = moved(state, moving([2], topic="clicks"))
    assert answers[0][0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_partition_that_is_told_twice_moves_once() -> None:
    once = moving([2])
    [topic] = once.topics
    twice = AlterPartitionReassignmentsRequest(topics=[topic, topic])
    decision = reassign(cluster(*FIVE, partition(0, [1]), min_in_sync=1), CONFIG, twice)
    codes = [topic.partitions[0].error_code for topic in decision.reply.responses]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert len(decision.records) == 1


def test_what_moves_is_listed_and_what_does_not_is_not() -> None:
    state = underway().apply([partition(1, [1, 2])])
    found = Listed(
        partition_index=0, replicas=(1, 2, 4, 3), adding_replicas=(4,), removing_replicas=(3,)
    )
    asked = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    for topics in (None, [asked(name="orders", partition_indexes=[0, 1, 7]), asked(name="no")]):
        reply = listed(state, ListPartitionReassignmentsRequest(topics=topics))
        [topic] = reply.topics
        assert topic.name == "orders"
        assert topic.partitions == [found]
    still = cluster(partition(0, [1]))
    assert not listed(still, ListPartitionReassignmentsRequest(topics=None)).topics
