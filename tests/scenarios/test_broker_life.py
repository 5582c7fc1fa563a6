"""What happens to brokers: each story is one simulated cluster, whose quorum is the real one."""

from barnabas.broker.lifecycle import NUMBERS, PendingControlledShutdown, Running, ShuttingDown
from barnabas.broker.shell import BrokerFailed
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from tests.scenarios.cluster import Cluster

TOPIC = CreateTopicsRequest(
    topics=[
        CreateTopicsRequest.CreatableTopic(name="orders", num_partitions=2, replication_factor=2)
    ],
    timeout_ms=5_000,
)


def quotas(number: int) -> AlterClientQuotasRequest:
    """Return a request for some quotas, which are in nobody's way."""
    entry, entity = AlterClientQuotasRequest.EntryData, AlterClientQuotasRequest.EntityData
    operation = AlterClientQuotasRequest.OpData(key="producer_byte_rate", value=1_000.0)
    users = [f"user-{number}-{each}" for each in range(10)]
    return AlterClientQuotasRequest(
        entries=[
            entry(entity=[entity(entity_type="user", entity_name=user)], ops=[operation])
            for user in users
        ]
    )


def test_a_broker_comes_up_and_goes_and_comes_back_with_the_epoch_of_its_clean_life() -> None:
    with Cluster() as cluster:
        cluster.until_running("b1")
        first = cluster.epoch("b1")
        cluster.world.stop("b1")
        assert cluster.until_ended("b1").death is not None
        assert [number for number, _ in cluster.states["b1"]] == [1, 2, 3, 6, 7]
        cluster.world.restart("b1")
        cluster.until_running("b1")
        assert cluster.previous == [-1, first]
        assert [each.epoch for each in cluster.registrations] == [first, cluster.epoch("b1")]


def test_who_bounces_faster_than_its_session_waits_for_it_to_expire() -> None:
    with Cluster() as cluster:
        cluster.until_running("b1")
        killed_ms = cluster.world.now_ms
        cluster.world.kill("b1")
        cluster.world.restart("b1")
        cluster.until(lambda: len(cluster.registrations) == 2)
        assert 7_000 < cluster.world.now_ms - killed_ms < 15_000
        former, present = cluster.registrations
        assert present.epoch > former.epoch
        assert present.incarnation != former.incarnation
        # It was killed: nobody vouches for what it had.
        assert {*cluster.previous} == {-1}
        cluster.until_running("b1")


def test_a_registration_whose_answer_was_lost_is_recognised() -> None:
    with Cluster() as cluster:
        cluster.wishes["swallowed"] = 2
        cluster.until_running("b1")
        assert len(cluster.registrations) == 3
        assert len({each.incarnation for each in cluster.registrations}) == 1
        assert {each.epoch for each in cluster.registrations} == {cluster.epoch("b1")}


def test_a_broker_that_sleeps_through_its_session_is_let_in_again_under_its_epoch() -> None:
    with Cluster() as cluster:
        cluster.until_running("b1")
        cluster.world.pause("b1")
        cluster.until(lambda: cluster.fences == 1)
        cluster.world.thaw("b1")
        cluster.until(lambda: cluster.unfences == 2)
        assert len(cluster.registrations) == 1
        assert cluster.is_in("b1", Running)


def test_a_process_that_was_replaced_while_it_slept_ends_when_it_learns_of_it() -> None:
    with Cluster() as cluster:
        cluster.until_running("b1")
        cluster.world.pause("b1")
        cluster.add_broker("b2", 11)
        cluster.until_running("b2")
        cluster.world.thaw("b1")
        death = cluster.until_ended("b1").death
        assert death is not None
        assert isinstance(death.error, BrokerFailed)
        assert f"registered under this node.id with epoch {cluster.epoch('b2')}" in str(death.error)
        cluster.world.run_ms(20_000)
        assert cluster.is_in("b2", Running)
        assert len(cluster.registrations) == 2


def test_the_same_id_started_twice_does_not_touch_the_one_that_lives() -> None:
    with Cluster() as cluster:
        cluster.until_running("b1")
        begun_ms = cluster.world.now_ms
        cluster.add_broker("b2", 11)
        death = cluster.until_ended("b2").death
        assert death is not None
        assert "DUPLICATE_BROKER_REGISTRATION" in str(death.error)
        assert "another node.id" in str(death.error)
        assert 60_000 <= cluster.world.now_ms - begun_ms < 62_000
        assert cluster.is_in("b1", Running)
        assert len(cluster.registrations) == 1


def test_a_controlled_shutdown_outlives_the_controller_that_began_it() -> None:
    with Cluster(controllers=3, brokers=2) as cluster:
        cluster.until_running("b1", "b2")
        created = cluster.ask(TOPIC)
        assert isinstance(created, CreateTopicsResponse)
        assert created.topics[0].error_code == 0
        # The other one does not learn that it leads everything now.
        cluster.world.pause("b2")
        cluster.world.stop("b1")
        cluster.until(lambda: cluster.is_in("b1", PendingControlledShutdown))
        cluster.world.run_ms(1_000)
        cluster.world.kill(cluster.leader)
        cluster.world.run_ms(6_000)
        assert cluster.is_in("b1", PendingControlledShutdown)
        cluster.world.thaw("b2")
        death = cluster.until_ended("b1").death
        assert death is not None
        assert death.error is None
        assert cluster.is_in("b2", Running)


def test_a_broker_far_behind_catches_up_by_a_snapshot() -> None:
    with Cluster(brokers=2) as cluster:
        cluster.until_running("b1", "b2")
        cluster.world.kill("b1")
        for number in range(30):
            cluster.ask(quotas(number))
        cluster.world.run_ms(10_000)
        assert not cluster.snapshots_on("b1")
        cluster.world.restart("b1")
        cluster.until(lambda: len(cluster.registrations) == 3)
        cluster.until_running("b1")
        # It writes none itself before there are 20 MB.
        assert cluster.snapshots_on("b1")


def test_every_broker_is_fenced_at_once_and_comes_back() -> None:
    with Cluster(brokers=3) as cluster:
        cluster.until_running("b1", "b2", "b3")
        epochs = [each.epoch for each in cluster.registrations]
        for host in ("b1", "b2", "b3"):
            cluster.world.pause(host)
        cluster.until(lambda: cluster.fences == 3)
        for host in ("b1", "b2", "b3"):
            cluster.world.thaw(host)
        cluster.until(lambda: cluster.unfences == 6)
        assert [each.epoch for each in cluster.registrations] == epochs
        assert all(cluster.is_in(host, Running) for host in ("b1", "b2", "b3"))


def test_a_broker_of_another_cluster_ends_with_the_reason_after_its_time() -> None:
    with Cluster(cluster_id="XcZZOzUqS4yHOjhMQB6JLQ") as cluster:
        death = cluster.until_ended("b1").death
        assert death is not None
        assert cluster.world.now_ms >= 60_000
        assert "of another cluster" in str(death.error)
        assert "XcZZOzUqS4yHOjhMQB6JLQ" in str(death.error)


def test_a_broker_that_is_stopped_while_it_waits_for_controllers_stops() -> None:
    with Cluster() as cluster:
        cluster.world.kill("c1")
        cluster.world.run_ms(5_000)
        cluster.world.stop("b1")
        assert cluster.until_ended("b1").death is not None
        assert cluster.states["b1"][-1] == (NUMBERS[ShuttingDown], None)
