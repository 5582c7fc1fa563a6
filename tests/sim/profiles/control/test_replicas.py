"""Who stands where the data will be: leads and follows as it is told."""

from barnabas.sim.profiles.control.people import creation
from barnabas.sim.profiles.control.replicas import Board, Post, Proposal, request_of
from tests.controller.kit import TOPIC
from tests.sim.profiles.control.cluster import Cluster


def test_the_board_knows_the_last_two_lives_of_a_broker() -> None:
    now_ms = 0
    board = Board(lambda: now_ms)
    board.post(1, 100)
    now_ms = 5
    board.post(1, 100)
    assert board.lives(1) == [Post(5, 100)]
    for epoch in (200, 300):
        board.post(1, epoch)
    assert [post.epoch for post in board.lives(1)] == [200, 300]
    board.silent[1] = None
    board.post(1, 400)
    assert [post.epoch for post in board.lives(1)] == [200, 300]
    assert board.lives(2) == ()


def test_a_proposal_names_the_life_of_each_member() -> None:
    request = request_of(1, 100, [Proposal(TOPIC, 0, 5, 9, ((1, 100), (2, 200)), 0)])
    (topic,) = request.topics
    (told,) = topic.partitions
    assert (told.leader_epoch, told.partition_epoch) == (5, 9)
    assert [(each.broker_id, each.broker_epoch) for each in told.new_isr_with_epochs] == [
        (1, 100),
        (2, 200),
    ]


def test_a_leader_lets_in_who_keeps_up_and_drops_who_died() -> None:
    with Cluster(brokers=3) as cluster:
        cluster.until_well()
        cluster.ask(creation("orders", 1, 3, {}))
        cluster.until_well()
        leader = cluster.partition("orders").leader
        other = next(each for each in (11, 12, 13) if each != leader)
        cluster.world.kill(f"b{other - 10}")
        cluster.until(lambda: other not in cluster.partition("orders").isr)
        cluster.world.restart(f"b{other - 10}")
        cluster.until(lambda: other in cluster.partition("orders").isr)


def test_each_replica_lies_in_a_directory_that_the_controllers_know() -> None:
    with Cluster(directories=3) as cluster:
        cluster.until_well()
        cluster.ask(creation("orders", 3, 2, {}))

        def told() -> bool:
            places = [cluster.partition("orders", at).directories for at in range(3)]
            return all(int.from_bytes(place) >= 100 for row in places for place in row)

        cluster.until(told)
