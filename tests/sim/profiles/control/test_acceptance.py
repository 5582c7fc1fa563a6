"""What must be said to a leader that proposes an ISR, found out without the decider."""

import pytest

from barnabas.controller.alter_partition import Altered, alter
from barnabas.controller.state import ControllerState
from barnabas.model.errors import ErrorCode
from barnabas.sim.profiles.control.acceptance import check_answer, is_current, objections
from barnabas.sim.world import Violation
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from tests.controller.kit import CONFIG, TOPIC, broker, cluster, partition

STATE = cluster(broker(1), broker(2), broker(3, fenced=True), partition(0, [1, 2, 3], isr=[1]))


def proposal(
    *lives: tuple[int, int], leader_epoch: int = 5, partition_epoch: int = 9, recovery: int = 0
) -> AlterPartitionRequest:
    """Return what broker 1 proposes."""
    told = AlterPartitionRequest.PartitionData(
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        leader_recovery_state=recovery,
        new_isr_with_epochs=[
            AlterPartitionRequest.BrokerState(broker_id=broker, broker_epoch=epoch)
            for broker, epoch in lives
        ],
    )
    topic = AlterPartitionRequest.TopicData(topic_id=TOPIC, partitions=[told])
    return AlterPartitionRequest(broker_id=1, broker_epoch=100, topics=[topic])


def why(request: AlterPartitionRequest, state: ControllerState = STATE) -> set[ErrorCode]:
    """Return the reasons to refuse a proposal."""
    return objections(state.image, 3, request)[TOPIC, 0]


PROPOSALS = [
    (proposal((1, 100), (2, 200)), set()),
    (proposal((1, 100), (2, 199)), {ErrorCode.INELIGIBLE_REPLICA}),
    (proposal((1, 100), (3, 300)), {ErrorCode.INELIGIBLE_REPLICA}),
    (proposal((1, 100), (2, -1)), {ErrorCode.INELIGIBLE_REPLICA}),
    (proposal((1, -1), (2, 200)), set()),
    (proposal((1, 100), leader_epoch=4), {ErrorCode.FENCED_LEADER_EPOCH}),
    (proposal((1, 100), leader_epoch=6), {ErrorCode.NOT_CONTROLLER}),
    (proposal((1, 100), partition_epoch=8), {ErrorCode.INVALID_UPDATE_VERSION}),
    (proposal((2, 200)), {ErrorCode.INVALID_REQUEST}),
    (proposal((1, 100), recovery=1), {ErrorCode.INVALID_REQUEST}),
]


@pytest.mark.parametrize(("request_", "reasons"), PROPOSALS)
def test_each_reason_is_found_and_the_decider_names_one_of_them(
    request_: AlterPartitionRequest, reasons: set[ErrorCode]
) -> None:
    assert why(request_) == reasons
    reply = alter(STATE, CONFIG, 3, request_).reply
    assert isinstance(reply, Altered)
    joined = check_answer(STATE.image, 3, request_, reply.response)
    assert joined == ({} if reasons else {(TOPIC, 0): frozenset({2})})


def test_an_answer_that_the_state_does_not_give_is_noticed() -> None:
    def answer(code: ErrorCode) -> AlterPartitionResponse:
        told = AlterPartitionResponse.PartitionData(error_code=code)
        topic = AlterPartitionResponse.TopicData(topic_id=TOPIC, partitions=[told])
        return AlterPartitionResponse(topics=[topic])

    for request, code in (
        (proposal((1, 100), (2, 199)), ErrorCode.NONE),
        (proposal((1, 100), (2, 199)), ErrorCode.FENCED_LEADER_EPOCH),
        (proposal((1, 100), (2, 200)), ErrorCode.INELIGIBLE_REPLICA),
    ):
        with pytest.raises(Violation, match="P-12"):
            check_answer(STATE.image, 3, request, answer(code))
    with pytest.raises(Violation, match="other partitions"):
        check_answer(STATE.image, 3, proposal((1, 100)), AlterPartitionResponse())


def test_a_life_is_current_that_is_registered() -> None:
    assert is_current(STATE.image, 1, 100)
    assert not is_current(STATE.image, 1, 99)
    assert not is_current(STATE.image, 9, 100)
