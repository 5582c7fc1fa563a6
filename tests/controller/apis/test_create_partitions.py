"""Topics grow."""

from barnabas.controller.apis.create_partitions import create_partitions
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_a_topic_grows_and_never_shrinks() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        await desk.create("a", 2, 1)

        async def grown(count: int) -> int:
            topic = CreatePartitionsRequest.CreatePartitionsTopic(
                name="a", count=count, assignments=None
            )
            told = await desk.ask(create_partitions, CreatePartitionsRequest(topics=[topic]), 3)
            return told.results[0].error_code

        assert await grown(5) == ErrorCode.NONE
        assert desk.partition("a", 4).leader == 3
        assert await grown(4) == ErrorCode.INVALID_PARTITIONS

    at_desk(story)
