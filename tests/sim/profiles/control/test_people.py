"""The administrator: wishes that make sense, and what is remembered of answers."""

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.sim.profiles.control.people import UNKNOWN, creation, reassignment, wish
from barnabas.sim.profiles.control.profile import WEIGHTS
from barnabas.wire.messages.create_topics import CreateTopicsResponse
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from tests.controller.kit import broker, cluster, partition
from tests.sim.profiles.control.cluster import Cluster

IMAGE = cluster(broker(1), broker(2), partition(0, [1, 2], adding=[2])).image
DONE_ELSEWHERE = {"silence", "twin", "lose"}


@pytest.mark.parametrize("what", sorted(set(WEIGHTS) - DONE_ELSEWHERE))
def test_there_is_a_request_for_everything_that_is_drawn(what: str) -> None:
    assert wish(what, 1, IMAGE, [1, 2]) is not None


def test_what_nobody_knows_is_no_wish() -> None:
    with pytest.raises(AssertionError, match="nobody knows how to dance"):
        wish("dance", 1, IMAGE, [1, 2])


def test_an_answer_is_remembered_and_a_repeated_request_takes_what_is_there_for_its_own() -> None:
    made = CreateTopicsResponse.CreatableTopicResult
    exists = CreateTopicsResponse(
        topics=[made(name="orders", error_code=ErrorCode.TOPIC_ALREADY_EXISTS)]
    )
    with Cluster(brokers=2) as cluster_:
        cluster_.until_well()
        administrator, request = cluster_.administrator, creation("orders", 3, 1, {})
        administrator.note(request, exists, again=False)
        assert administrator.made == {}
        administrator.note(request, exists, again=True)
        assert administrator.made == {"orders": 3}
        gone = DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name="orders")])
        told = DeleteTopicsResponse.DeletableTopicResult(name="orders")
        administrator.note(gone, DeleteTopicsResponse(responses=[told]), again=False)
        assert administrator.made == {"orders": 0}
        administrator.note(request, None, again=True)
        assert administrator.made == {"orders": UNKNOWN}


def test_a_request_is_asked_again_until_somebody_decides() -> None:
    with Cluster(controllers=3, brokers=2) as cluster_:
        cluster_.until_well()
        leader = cluster_.scene.deciding()[-1].name.partition(".")[0]
        cluster_.world.kill(leader)
        assert cluster_.ask(creation("orders", 1, 1, {})) is not None
        assert cluster_.administrator.made["orders"] == 1
        assert cluster_.ask(reassignment("orders", 0, [11, 12])) is not None
        cluster_.world.restart(leader)
        cluster_.until_well()
        assert cluster_.partition("orders").replicas == (11, 12)
