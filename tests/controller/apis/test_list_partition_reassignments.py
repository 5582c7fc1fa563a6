"""What moves is told."""

from barnabas.controller.apis.alter_partition_reassignments import alter_partition_reassignments
from barnabas.controller.apis.list_partition_reassignments import list_partition_reassignments
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.controller.apis.desk import Desk, at_desk
from tests.controller.apis.test_alter_partition_reassignments import moved


def test_only_what_moves_is_told() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3, 4)
        await desk.create("a", 1, 1)
        await desk.create("b", 1, 1)
        everything = ListPartitionReassignmentsRequest(topics=None)
        assert not (await desk.ask(list_partition_reassignments, everything)).topics
        after = 7 - desk.partition("b").leader
        await desk.ask(alter_partition_reassignments, moved("b", after))
        [topic] = (await desk.ask(list_partition_reassignments, everything)).topics
        assert (topic.name, topic.partitions[0].adding_replicas) == ("b", (after,))

    at_desk(story)
