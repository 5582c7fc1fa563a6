"""A leader that proposes an ISR gets it, if it knows the latest."""

import pytest

from barnabas.controller.apis.alter_partition import alter_partition
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.wire.messages.alter_partition import AlterPartitionRequest
from tests.controller.apis.desk import Desk, at_desk


def proposal(
    desk: Desk, topic_id: Uuid, leader: int, isr: list[int], partition_epoch: int
) -> AlterPartitionRequest:
    """Return what a leader proposes."""
    return AlterPartitionRequest(
        broker_id=leader,
        broker_epoch=desk.epochs[leader],
        topics=[
            AlterPartitionRequest.TopicData(
                topic_id=topic_id,
                partitions=[
                    AlterPartitionRequest.PartitionData(
                        partition_index=0,
                        leader_epoch=0,
                        new_isr_with_epochs=[
                            AlterPartitionRequest.BrokerState(
                                broker_id=it, broker_epoch=desk.epochs[it]
                            )
                            for it in isr
                        ],
                        partition_epoch=partition_epoch,
                    )
                ],
            )
        ],
    )


def test_an_isr_is_taken_once_and_a_stale_proposal_refused() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3, 4)
        topic_id = await desk.create("a", 1, 2)
        leader = desk.partition("a").leader
        request = proposal(desk, topic_id, leader, [leader], 0)
        told = await desk.ask(alter_partition, request, 3)
        assert told.topics[0].partitions[0].isr == (leader,)
        assert desk.partition("a").isr == (leader,)
        again = await desk.ask(alter_partition, request, 3)
        code = again.topics[0].partitions[0].error_code
        assert code == ErrorCode.INVALID_UPDATE_VERSION

    at_desk(story)


def test_a_former_life_may_propose_nothing() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        topic_id = await desk.create("a", 1, 1)
        request = proposal(desk, topic_id, 3, [3], 0)
        stale = AlterPartitionRequest(broker_id=3, broker_epoch=1, topics=request.topics)
        with pytest.raises(Refused) as refused:
            await desk.ask(alter_partition, stale, 3)
        assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH

    at_desk(story)
