"""A broker tells where it has put a replica."""

from barnabas.controller.apis.assign_replicas_to_dirs import assign_replicas_to_dirs
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from tests.controller.apis.desk import Desk, at_desk, directory


def test_it_is_noted_and_what_is_not_there_refused() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3)
        topic_id = await desk.create("a", 1, 1)
        request = AssignReplicasToDirsRequest(
            broker_id=3,
            broker_epoch=desk.epochs[3],
            directories=[
                AssignReplicasToDirsRequest.DirectoryData(
                    id=directory(3),
                    topics=[
                        AssignReplicasToDirsRequest.TopicData(
                            topic_id=it,
                            partitions=[AssignReplicasToDirsRequest.PartitionData()],
                        )
                        for it in (topic_id, Uuid(bytes([9] * 16)))
                    ],
                )
            ],
        )
        told = await desk.ask(assign_replicas_to_dirs, request)
        codes = [topic.partitions[0].error_code for topic in told.directories[0].topics]
        assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID]
        assert desk.partition("a").directory(3) == directory(3)

    at_desk(story)
