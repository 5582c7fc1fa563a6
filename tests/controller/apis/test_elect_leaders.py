"""Preferred leaders are elected where somebody else leads."""

from barnabas.controller.apis.broker_heartbeat import broker_heartbeat
from barnabas.controller.apis.elect_leaders import elect_leaders
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest
from tests.controller.apis.desk import Desk, at_desk


def test_a_leader_that_is_preferred_already_needs_no_election() -> None:
    async def story(desk: Desk) -> None:
        await desk.join(3, 4)
        await desk.create("a", 1, 2)
        preferred = desk.partition("a").leader
        topics = [ElectLeadersRequest.TopicPartitions(topic="a", partitions=[0])]
        request = ElectLeadersRequest(election_type=0, topic_partitions=topics)
        told = await desk.ask(elect_leaders, request, 2)
        [result] = told.replica_election_results[0].partition_result
        assert result.error_code == ErrorCode.ELECTION_NOT_NEEDED
        await desk.ask(broker_heartbeat, desk.heartbeat(preferred, want_fence=True), 1)
        assert desk.partition("a").leader != preferred
        told = await desk.ask(elect_leaders, request, 2)
        [result] = told.replica_election_results[0].partition_result
        assert result.error_code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE

    at_desk(story)
