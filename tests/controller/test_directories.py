"""A broker is believed where its replicas lie, and loses those that lie nowhere."""

from collections.abc import Mapping, Sequence

import pytest

from barnabas.controller.directories import Assigned, assign
from barnabas.controller.partitions import LOST
from barnabas.controller.state import ControllerState
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.ids import Uuid
from barnabas.sim.profiles.control.states import Situation, Step, check_state, check_step
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from tests.controller.kit import CONFIG, TOPIC, broker, cluster, directory, partition, registered

FIRST, SECOND = directory(1), directory(1, 1)
OTHER = Uuid(b"x" * 16)


def asking(
    places: Mapping[Uuid, Sequence[int]], *, epoch: int = 100, topic_id: Uuid = TOPIC
) -> AssignReplicasToDirsRequest:
    """Return a request of broker 1."""
    return AssignReplicasToDirsRequest(
        broker_id=1,
        broker_epoch=epoch,
        directories=[
            AssignReplicasToDirsRequest.DirectoryData(
                id=place,
                topics=[
                    AssignReplicasToDirsRequest.TopicData(
                        topic_id=topic_id,
                        partitions=[
                            AssignReplicasToDirsRequest.PartitionData(partition_index=number)
                            for number in numbers
                        ],
                    )
                ],
            )
            for place, numbers in places.items()
        ],
    )


def assigned(
    state: ControllerState, request: AssignReplicasToDirsRequest
) -> tuple[ControllerState, list[int], tuple[Refused, ...]]:
    """Take a request; return the state afterwards, the codes, and why some refuse."""
    decision = assign(state, CONFIG, request)
    assert isinstance(decision.reply, Assigned), decision.reply
    after = state.apply(decision.records)
    check_state(Situation(after.image, {}))
    check_step(Step(Situation(state.image, {}), Situation(after.image, {}), decision.records))
    answers = decision.reply.response.directories
    assert [place.id for place in answers] == [place.id for place in request.directories]
    codes = [
        each.error_code for place in answers for topic in place.topics for each in topic.partitions
    ]
    return after, codes, decision.reply.refusals


def hosted() -> ControllerState:
    """Return two partitions that 1 leads from its first directory, and one that it has not."""
    return cluster(
        broker(1, directories=2),
        broker(2),
        partition(0, [1, 2], directories=[FIRST, directory(2)]),
        partition(1, [1, 2], directories=[FIRST, directory(2)]),
        partition(2, [2]),
        min_in_sync=1,
    )


def test_replicas_lie_where_their_broker_says() -> None:
    after, codes, refusals = assigned(hosted(), asking({SECOND: [0], FIRST: [1]}))
    assert codes == [ErrorCode.NONE, ErrorCode.NONE]
    assert not refusals
    assert registered(after, 0).directories == (SECOND, directory(2))
    assert registered(after, 0).leader == 1
    assert registered(after, 1) == registered(hosted(), 1)


@pytest.mark.parametrize("place", [LOST, directory(1, 5)])
def test_what_lies_in_a_directory_that_is_not_online_is_out_of_sync_at_once(place: Uuid) -> None:
    after, codes, _ = assigned(hosted(), asking({place: [0]}))
    assert codes == [ErrorCode.NONE]
    found = registered(after, 0)
    assert (found.leader, found.isr, found.directories[0]) == (2, (2,), place)
    assert found.partition_epoch == 10


def test_a_replica_that_moves_to_a_good_directory_may_lead_again() -> None:
    bad = directory(1, 5)
    state = cluster(
        broker(1),
        partition(0, [1], isr=[], elr=[1], last=[1], directories=[bad]),
        min_in_sync=1,
    )
    after, _, _ = assigned(state, asking({FIRST: [0]}))
    assert registered(after).leader == 1


def test_what_a_broker_does_not_have_it_cannot_put_anywhere() -> None:
    state = hosted()
    after, codes, refusals = assigned(state, asking({SECOND: [0, 2, 9], FIRST: [0]}))
    assert codes == [
        ErrorCode.NONE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    ]
    assert [each.why for each in refusals] == [
        "broker 1 has a replica of orders-2: [2] should",
        "broker 1 has a replica of orders-9, and there is no such partition",
        "broker 1 has put its replica of orders-0 into two directories",
    ]
    assert registered(after, 0).directories[0] == SECOND
    after, codes, _ = assigned(state, asking({SECOND: [0]}, topic_id=OTHER))
    assert codes == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert after.image == state.image


@pytest.mark.parametrize(
    ("state", "epoch", "code"),
    [
        (hosted(), 99, ErrorCode.STALE_BROKER_EPOCH),
        (cluster(), 100, ErrorCode.STALE_BROKER_EPOCH),
        (cluster(level=16, elr=False), 100, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_who_may_not_ask_is_refused_as_a_whole(
    state: ControllerState, epoch: int, code: ErrorCode
) -> None:
    decision = assign(state, CONFIG, asking({FIRST: [0]}, epoch=epoch))
    assert not decision.records
    assert isinstance(decision.reply, Refused)
    assert decision.reply.code is code
