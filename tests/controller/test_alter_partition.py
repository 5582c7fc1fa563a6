"""A leader proposes, the controller decides: the whole matrix of what it may not propose (P-12)."""

from collections.abc import Sequence
from typing import Any

import pytest

from barnabas.controller.alter_partition import Altered, alter
from barnabas.controller.state import ControllerState
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.sim.profiles.control.states import Situation, Step, check_state, check_step
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from barnabas.wire.messages.stored.partition_change_record import PartitionChangeRecord
from barnabas.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from tests.controller.kit import CONFIG, TOPIC, broker, cluster, directory, partition, registered

Answer = AlterPartitionResponse.PartitionData


def proposed(
    isr: Sequence[int], epochs: dict[int, int] | None = None, **said: object
) -> AlterPartitionRequest.PartitionData:
    """Return a proposal for the partition of the kit, in its own epochs."""
    states = [
        AlterPartitionRequest.BrokerState(
            broker_id=each, broker_epoch=(epochs or {}).get(each, 100 * each)
        )
        for each in isr
    ]
    told: dict[str, Any] = {
        "partition_index": 0,
        "leader_epoch": 5,
        "partition_epoch": 9,
        "new_isr": isr,
        "new_isr_with_epochs": states,
    }
    told.update(said)
    return AlterPartitionRequest.PartitionData(**told)


def asking(
    *proposals: AlterPartitionRequest.PartitionData,
    sender: int = 1,
    epoch: int | None = None,
    topic_id: Uuid = TOPIC,
) -> AlterPartitionRequest:
    """Return a request."""
    return AlterPartitionRequest(
        broker_id=sender,
        broker_epoch=100 * sender if epoch is None else epoch,
        topics=[AlterPartitionRequest.TopicData(topic_id=topic_id, partitions=proposals)],
    )


def altered(
    state: ControllerState, request: AlterPartitionRequest, version: int = 3
) -> tuple[ControllerState, list[Answer], tuple[Refused, ...]]:
    """Take a request; return the state afterwards, the answers, and why some refuse."""
    decision = alter(state, CONFIG, version, request)
    assert isinstance(decision.reply, Altered), decision.reply
    after = state.apply(decision.records)
    check_state(Situation(after.image, {}))
    everybody = frozenset(range(9))
    check_step(
        Step(
            Situation(state.image, {}),
            Situation(after.image, {}),
            decision.records,
            {(TOPIC, number): everybody for number in range(9)},
        )
    )
    [topic] = decision.reply.response.topics
    return after, list(topic.partitions), decision.reply.refusals


def refused(
    state: ControllerState, request: AlterPartitionRequest, version: int = 3
) -> tuple[int, str]:
    """Return the code of the only answer, and why."""
    after, [answer], [why] = altered(state, request, version)
    assert after.image == state.image
    assert answer == Answer(partition_index=0, error_code=why.code)
    return answer.error_code, why.why


def led() -> ControllerState:
    """Return a partition that 1 leads, with 3 out of sync."""
    return cluster(*(broker(each) for each in (1, 2, 3, 4)), partition(0, [1, 2, 3], isr=[1, 2]))


def test_a_follower_that_caught_up_is_let_in_and_the_answer_says_what_is_now() -> None:
    after, [answer], refusals = altered(led(), asking(proposed([1, 2, 3])))
    assert answer == Answer(
        partition_index=0, leader_id=1, leader_epoch=5, isr=(1, 2, 3), partition_epoch=10
    )
    assert registered(after).isr == (1, 2, 3)
    assert not refusals


def test_a_follower_that_fell_behind_is_let_go_and_stays_eligible_if_too_few_are_left() -> None:
    after, [answer], _ = altered(led(), asking(proposed([1])))
    assert answer.isr == (1,)
    assert registered(after).elr == (2,)


def test_version_2_names_no_lives_and_is_believed() -> None:
    request = asking(proposed([1, 2, 3], new_isr_with_epochs=()))
    assert altered(led(), request, version=2)[1][0].isr == (1, 2, 3)


def test_a_life_that_is_not_named_gets_in_only_where_none_could_be_known() -> None:
    unknown = asking(proposed([1, 2, 3], {1: -1, 2: -1, 3: -1}))
    code, why = refused(led(), unknown)
    assert code == ErrorCode.INELIGIBLE_REPLICA
    assert why == ("orders-0: broker 3 cannot be in the ISR: the leader has not seen its epoch 300")
    stays = asking(proposed([1, 2], {1: -1, 2: -1}))
    assert altered(led(), stays)[1][0].error_code == ErrorCode.NONE
    old = cluster(
        *(broker(each, level=9) for each in (1, 2, 3)),
        partition(0, [1, 2, 3], isr=[1, 2], level=9),
        level=9,
    )
    assert altered(old, unknown)[1][0].isr == (1, 2, 3)


def test_an_old_level_needs_another_leader_epoch_for_a_smaller_isr() -> None:
    old = cluster(
        *(broker(each, level=11) for each in (1, 2, 3)),
        partition(0, [1, 2, 3], level=11),
        level=11,
    )
    [answer] = altered(old, asking(proposed([1, 2])))[1]
    assert (answer.leader_id, answer.leader_epoch, answer.partition_epoch) == (1, 6, 10)


def test_a_proposal_of_what_is_already_writes_nothing() -> None:
    state = led()
    after, [answer], _ = altered(state, asking(proposed([1, 2])))
    assert after.image == state.image
    assert (answer.isr, answer.partition_epoch) == ((1, 2), 9)


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ({"partition_index": 7}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no partition orders-7"),
        ({"leader_epoch": 6}, ErrorCode.NOT_CONTROLLER, "knows of 5 and 9 only"),
        ({"partition_epoch": 10}, ErrorCode.NOT_CONTROLLER, "knows of 5 and 9 only"),
        (
            {"leader_epoch": 4, "partition_epoch": 10},
            ErrorCode.NOT_CONTROLLER,
            "knows of 5 and 9 only",
        ),
        ({"leader_epoch": 4}, ErrorCode.FENCED_LEADER_EPOCH, "leader epoch 5 has begun"),
        ({"leader_epoch": 4, "partition_epoch": 8}, ErrorCode.FENCED_LEADER_EPOCH, "5 has begun"),
        ({"partition_epoch": 8}, ErrorCode.INVALID_UPDATE_VERSION, "the partition is at 9"),
        ({"leader_recovery_state": 7}, ErrorCode.INVALID_REQUEST, "state 7 is none"),
        ({"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST, "is alone in the ISR"),
    ],
)
def test_a_proposal_that_was_overtaken_or_makes_no_sense_changes_nothing(
    said: dict[str, Any], code: ErrorCode, words: str
) -> None:
    state = led()
    after, [answer], [why] = altered(state, asking(proposed([1, 2, 3], **said)))
    assert after.image == state.image
    assert (answer.partition_index, answer.error_code) == (said.get("partition_index", 0), code)
    assert words in why.why


@pytest.mark.parametrize(
    ("isr", "words"),
    [
        ([1, 2, 2], "once"),
        ([1, 4], "one of the replicas [1, 2, 3]"),
        ([2, 3], "the leader has to be in its own ISR"),
        ([], "the leader has to be in its own ISR"),
    ],
)
def test_an_isr_that_cannot_be_is_invalid(isr: list[int], words: str) -> None:
    code, why = refused(led(), asking(proposed(isr)))
    assert code == ErrorCode.INVALID_REQUEST
    assert words in why


def test_only_the_leader_proposes() -> None:
    code, why = refused(led(), asking(proposed([1, 2, 3]), sender=2))
    assert code == ErrorCode.INVALID_REQUEST
    assert why.endswith("and 1 leads")
    # Who leads no more does not know it yet: the leader epoch is looked at first.
    code, _ = refused(led(), asking(proposed([1, 2, 3], leader_epoch=4), sender=2))
    assert code == ErrorCode.FENCED_LEADER_EPOCH


@pytest.mark.parametrize(
    ("third", "epoch", "words"),
    [
        (broker(3, fenced=True), 300, "it is fenced"),
        (broker(3, stopping=True), 300, "it is shutting down"),
        (broker(3, fenced=True, stopping=True), 300, "it is shutting down"),
        (broker(3), 299, "the leader saw epoch 299, and epoch 300 lives"),
        (broker(4), 300, "it is not registered"),
    ],
)
def test_who_is_not_active_or_not_the_life_that_caught_up_is_not_let_in(
    third: RegisterBrokerRecord, epoch: int, words: str
) -> None:
    state = cluster(broker(1), broker(2), third, partition(0, [1, 2, 3], isr=[1, 2]))
    code, why = refused(state, asking(proposed([1, 2, 3], {3: epoch})))
    assert code == ErrorCode.INELIGIBLE_REPLICA
    assert why == f"orders-0: broker 3 cannot be in the ISR: {words}"


def test_a_replica_whose_directory_is_offline_is_not_let_in() -> None:
    # It could not lead, and as the last in sync it would keep whoever is eligible from leading.
    places = [directory(1), directory(2), directory(3, 9)]
    state = cluster(
        *(broker(each) for each in (1, 2, 3)),
        partition(0, [1, 2, 3], isr=[1, 2], directories=places),
    )
    code, why = refused(state, asking(proposed([1, 2, 3])))
    assert code == ErrorCode.INELIGIBLE_REPLICA
    assert why.endswith("is offline")


def test_a_leader_that_recovers_is_alone_until_it_has_recovered() -> None:
    state = cluster(
        broker(1), broker(2), partition(0, [1, 2], isr=[1], recovering=True), min_in_sync=1
    )
    code, _ = refused(state, asking(proposed([1, 2], leader_recovery_state=1)))
    assert code == ErrorCode.INVALID_REQUEST
    after, [answer], _ = altered(state, asking(proposed([1])))
    assert (answer.leader_recovery_state, answer.error_code) == (0, ErrorCode.NONE)
    assert registered(after).leader_recovery_state == 0
    again = asking(proposed([1], leader_recovery_state=1, partition_epoch=10))
    code, why = refused(after, again)
    assert code == ErrorCode.INVALID_REQUEST
    assert "cannot begin to recover again" in why


def test_a_reassignment_that_takes_the_leader_away_is_applied_and_refused() -> None:
    state = cluster(
        *(broker(each) for each in (1, 2, 3)),
        partition(0, [2, 3, 1], isr=[1, 2], adding=[3], removing=[1]),
    )
    decision = alter(state, CONFIG, 3, asking(proposed([1, 2, 3])))
    assert isinstance(decision.reply, Altered)
    [[answer]] = [topic.partitions for topic in decision.reply.response.topics]
    assert answer == Answer(partition_index=0, error_code=ErrorCode.NEW_LEADER_ELECTED)
    after = registered(state.apply(decision.records))
    assert (after.leader, after.replicas, after.isr) == (2, (2, 3), (2, 3))


def test_a_reassignment_that_leaves_the_leader_has_another_leader_epoch() -> None:
    state = cluster(
        *(broker(each) for each in (1, 2, 3)),
        partition(0, [1, 3, 2], isr=[1, 2], adding=[3], removing=[2]),
    )
    after, [answer], _ = altered(state, asking(proposed([1, 2, 3])))
    assert (answer.leader_id, answer.leader_epoch, answer.isr) == (1, 6, (1, 3))
    assert registered(after).leader_epoch == 6


def test_a_partition_that_is_told_twice_has_moved_on_at_the_second_time() -> None:
    after, answers, _ = altered(led(), asking(proposed([1, 2, 3]), proposed([1])))
    assert [each.error_code for each in answers] == [
        ErrorCode.NONE,
        ErrorCode.INVALID_UPDATE_VERSION,
    ]
    assert registered(after).isr == (1, 2, 3)


def test_a_topic_that_is_not_there_is_unknown_by_its_id() -> None:
    _, [answer], [why] = altered(led(), asking(proposed([1]), topic_id=Uuid(b"x" * 16)))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert "there is none" in why.why


@pytest.mark.parametrize(("sender", "epoch"), [(1, 99), (1, 101), (7, 700)])
def test_another_life_of_the_leader_is_refused_as_a_whole(sender: int, epoch: int) -> None:
    decision = alter(led(), CONFIG, 3, asking(proposed([1]), sender=sender, epoch=epoch))
    assert not decision.records
    assert isinstance(decision.reply, Refused)
    assert decision.reply.code is ErrorCode.STALE_BROKER_EPOCH


def test_partitions_are_decided_one_by_one() -> None:
    state = cluster(
        *(broker(each) for each in (1, 2, 3)),
        partition(0, [1, 2, 3], isr=[1, 2]),
        partition(1, [2, 1, 3], isr=[2, 1]),
        partition(2, [1, 2, 3], isr=[1, 2]),
    )
    request = asking(*(proposed([1, 2, 3], partition_index=number) for number in (0, 1, 2)))
    decision = alter(state, CONFIG, 3, request)
    assert isinstance(decision.reply, Altered)
    [topic] = decision.reply.response.topics
    assert [each.error_code for each in topic.partitions] == [0, ErrorCode.INVALID_REQUEST, 0]
    assert [
        each.partition_id for each in decision.records if isinstance(each, PartitionChangeRecord)
    ] == [0, 2]
