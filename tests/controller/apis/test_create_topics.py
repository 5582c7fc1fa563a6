"""Topics are created once, each with an id of its own."""

from barnabas.controller.apis.create_topics import create_topics
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_each_has_an_id_and_none_is_created_twice() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3, 4, 5)
        first, second = await desk.create("a", 4, 3), await desk.create("b", 1, 1)
        assert first != second
        assert len(desk.partition("a", 3).replicas) == 3
        topic = CreateTopicsRequest.CreatableTopic(name="a", num_partitions=1, replication_factor=1)
        told = await desk.ask(create_topics, CreateTopicsRequest(topics=[topic]), 7)
        assert told.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS

    at_desk(story)
