"""What happens between controllers and brokers; partitions hold nothing, the rest is the product.

Every story is judged by all oracles of the ``control`` profile while it is told.
"""

from barnabas.sim.plan import Operation
from barnabas.sim.profiles.control import marks
from barnabas.sim.profiles.control.people import creation
from tests.sim.profiles.control.cluster import Cluster


def fenced(cluster: Cluster) -> list[bool]:
    """Return of each broker whether it is fenced."""
    brokers = cluster.scene.ledger.image.cluster.brokers
    return [brokers[each].fenced for each in sorted(brokers)]


def places(cluster: Cluster) -> list[bytes]:
    """Return where the replicas of broker 11 lie."""
    return [cluster.partition("orders", at).directory(11) or b"" for at in range(6)]


def test_all_brokers_are_fenced_at_once_and_lead_again_when_they_are_back() -> None:
    with Cluster(controllers=1, brokers=3) as cluster:
        cluster.until_well()
        cluster.ask(creation("orders", 4, 3, {"min.insync.replicas": "2"}))
        cluster.until_well()
        for host in ("b1", "b2", "b3"):
            cluster.world.pause(host)
        cluster.until(lambda: all(fenced(cluster)))
        assert [cluster.partition("orders", at).leader for at in range(4)] == [-1] * 4
        assert all(cluster.partition("orders", at).elr for at in range(4))
        for host in ("b3", "b2", "b1"):
            cluster.world.thaw(host)
        cluster.until_well()
        assert cluster.world.seen[marks.UNFENCED_AGAIN]


def test_a_process_that_slept_while_another_took_its_id_changes_nothing_any_more() -> None:
    with Cluster(controllers=3, brokers=2) as cluster:
        cluster.until_well()
        cluster.ask(creation("orders", 2, 2, {}))
        cluster.until_well()
        cluster.world.pause("b1")
        cluster.scene.perform(Operation(0, "people", "twin", (200_000,)))
        cluster.until(lambda: bool(cluster.world.seen.get(marks.BOUNCED)))
        epoch = cluster.scene.ledger.image.cluster.brokers[11].epoch
        cluster.world.thaw("b1")
        cluster.until(lambda: bool(cluster.world.seen.get(marks.ZOMBIE)))
        assert cluster.world.seen[marks.STALE]
        assert cluster.scene.ledger.image.cluster.brokers[11].epoch == epoch


def test_a_directory_that_is_lost_while_its_broker_runs_is_led_from_no_more() -> None:
    with Cluster(controllers=1, brokers=2, directories=2) as cluster:
        cluster.until_well()
        cluster.ask(creation("orders", 6, 2, {}))
        cluster.until(lambda: all(int.from_bytes(each) > 1 for each in places(cluster)))
        cluster.until_well()
        led = [at for at in range(6) if cluster.partition("orders", at).leader == 11]
        cluster.scene.perform(Operation(0, "people", "lose", ("b1", 0)))
        brokers = cluster.scene.ledger
        cluster.until(lambda: len(brokers.image.cluster.brokers[11].directories) == 1)
        (online,) = brokers.image.cluster.brokers[11].directories
        for at in led:
            partition = cluster.partition("orders", at)
            assert (partition.leader == 11) == (partition.directory(11) == online)
