"""No two brokers get the same producer ids."""

from barnabas.controller.apis.allocate_producer_ids import allocate_producer_ids
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_blocks_follow_each_other() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3, 4)
        starts = []
        for broker in (3, 4, 3):
            request = AllocateProducerIdsRequest(broker_id=broker, broker_epoch=desk.epochs[broker])
            told = await desk.ask(allocate_producer_ids, request)
            assert told.error_code == 0
            starts.append(told.producer_id_start)
        assert starts == [0, 1_000, 2_000]

    at_desk(story)
