"""Topics are deleted by name or by id."""

from barnabas.controller.apis.delete_topics import delete_topics
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from tests.controller.apis.desk import Desk, at_desk


def test_one_goes_by_its_name_and_one_by_its_id() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        await desk.create("a", 1, 1)
        topic_id = await desk.create("b", 1, 1)
        wanted = [
            DeleteTopicsRequest.DeleteTopicState(name="a"),
            DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=topic_id),
            DeleteTopicsRequest.DeleteTopicState(name="c"),
        ]
        told = await desk.ask(delete_topics, DeleteTopicsRequest(topics=wanted), 6)
        codes = {it.name: it.error_code for it in told.responses}
        assert codes == {"a": 0, "b": 0, "c": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert desk.state.image.topics.is_empty

    at_desk(story)
