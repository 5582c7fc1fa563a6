"""What a cluster owes: each debt is named, and none is seen where there is none."""

from barnabas.controller.state import ControllerState
from barnabas.sim.profiles.control.liveness import names, unsettled
from barnabas.sim.profiles.control.states import Situation
from tests.controller.kit import broker, cluster, partition
from tests.sim.profiles.control.cluster import Cluster

BROKERS = (broker(1), broker(2), broker(3))


def owed(state: ControllerState) -> list[str]:
    """Return the properties that are not kept yet."""
    return [oracle for oracle, _ in unsettled(Situation(state.image, {}))]


def test_partitions_that_are_led_as_they_should_be_owe_nothing() -> None:
    assert owed(cluster(*BROKERS, partition(0, [1, 2, 3]))) == []


def test_what_is_missing_of_a_partition_is_named() -> None:
    assert owed(cluster(*BROKERS, partition(0, [1, 2], isr=[1], leader=-1))) == [
        "CL-1",
    ]
    assert owed(cluster(*BROKERS, partition(0, [1, 2], isr=[1]))) == ["PL-4"]
    assert owed(cluster(*BROKERS, partition(0, [1, 2], leader=2))) == ["CL-4"]
    moving = partition(0, [1, 2], adding=[2])
    assert owed(cluster(*BROKERS, moving, min_in_sync=1)) == ["CL-3"]


def test_nothing_is_owed_of_what_nobody_can_lead() -> None:
    dead = (broker(1, fenced=True), broker(2))
    assert owed(cluster(*dead, partition(0, [1, 2], isr=[], elr=[1], last=[1]))) == []


def test_topics_are_counted_by_their_partitions() -> None:
    assert names(cluster(*BROKERS, partition(0, [1]), partition(1, [2])).image) == {"orders": 2}


def test_a_broker_that_is_not_there_is_owed() -> None:
    with Cluster() as running:
        running.until_well()
        running.world.kill("b1")
        assert "BL-1" in [oracle for oracle, _ in running.scene.owed()]
        running.world.restart("b1")
        running.until_well()
