"""Partitions get other replicas."""

from barnabas.controller.apis.alter_partition_reassignments import alter_partition_reassignments
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from tests.controller.apis.desk import Desk, at_desk


def moved(name: str, *replicas: int) -> AlterPartitionReassignmentsRequest:
    """Return the wish to have the first partition of a topic elsewhere."""
    partition = AlterPartitionReassignmentsRequest.ReassignablePartition(
        partition_index=0, replicas=replicas
    )
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic(name=name, partitions=[partition])
    return AlterPartitionReassignmentsRequest(topics=[topic])


def test_a_partition_has_both_sets_of_replicas_on_its_way() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3, 4)
        await desk.create("a", 1, 1)
        before = desk.partition("a").leader
        after = 7 - before
        told = await desk.ask(alter_partition_reassignments, moved("a", after))
        assert told.responses[0].partitions[0].error_code == 0
        partition = desk.partition("a")
        assert set(partition.replicas) == {3, 4}
        assert (partition.adding_replicas, partition.removing_replicas) == ((after,), (before,))

    at_desk(story)
