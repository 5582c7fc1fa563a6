"""The scene: what people do, and who is excused."""

from barnabas.broker.shell import BrokerFailed
from barnabas.sim.plan import Operation
from barnabas.sim.profiles.control import marks
from barnabas.sim.profiles.control.people import creation
from tests.sim.profiles.control.cluster import Cluster


def test_a_cluster_comes_up_and_owes_nothing() -> None:
    with Cluster() as cluster:
        assert not cluster.scene.ready()
        cluster.until(cluster.scene.ready)
        assert len(cluster.scene.deciding()) == 1


def test_a_broker_that_says_nothing_to_leaders_is_out_of_sync_until_it_does() -> None:
    with Cluster() as cluster:
        cluster.until_well()
        cluster.ask(creation("orders", 1, 2, {}))
        leader = cluster.partition("orders").leader
        other = 23 - leader
        cluster.scene.perform(Operation(0, "people", "silence", (f"b{other - 10}", 5_000)))
        cluster.until(lambda: cluster.partition("orders").isr == (leader,))
        cluster.until(lambda: set(cluster.partition("orders").isr) == {leader, other})
        assert cluster.world.seen[marks.JOINED]


def test_a_twin_is_refused_while_the_broker_lives_and_takes_its_place_when_it_sleeps() -> None:
    with Cluster() as cluster:
        cluster.until_well()
        cluster.scene.perform(Operation(0, "people", "twin", (60_000,)))
        cluster.until(lambda: bool(cluster.world.seen.get(marks.DUPLICATE)))
        cluster.world.pause("b1")
        cluster.until(lambda: bool(cluster.world.seen.get(marks.BOUNCED)))
        cluster.world.thaw("b1")
        cluster.until(lambda: bool(cluster.world.seen.get(marks.ZOMBIE)))
        zombie = next(each for each in cluster.world.processes if each.host == "b1")
        assert zombie.death is not None
        assert isinstance(zombie.death.error, BrokerFailed)


def test_a_directory_that_fails_is_told_and_nobody_leads_from_it() -> None:
    with Cluster(directories=2) as cluster:
        cluster.until_well()
        cluster.ask(creation("orders", 4, 2, {}))
        cluster.until_well()
        cluster.scene.perform(Operation(0, "people", "lose", ("b1", 0)))
        brokers = cluster.scene.ledger.image.cluster
        assert len(brokers.brokers[11].directories) == 2

        def told() -> bool:
            return len(cluster.scene.ledger.image.cluster.brokers[11].directories) == 1

        cluster.until(told)
        lost = cluster.scene._on("b1")
        assert lost is not None
        for number in range(4):
            partition = cluster.partition("orders", number)
            assert partition.leader != 11 or partition.directory(11) not in lost[1].offline
        cluster.scene.healed(("n1", "b1", "b2"))
        cluster.until_well()


def test_what_an_administrator_was_told_is_compared_with_what_there_is() -> None:
    with Cluster() as cluster:
        cluster.until_well()
        cluster.ask(creation("orders", 3, 2, {}))
        cluster.scene._compare()
        assert cluster.world.violation is None
        cluster.administrator.made["orders"] = 2
        cluster.scene._compare()
        assert cluster.world.violation is not None
        assert cluster.world.violation.oracle == "C-19"
        cluster.world.violation = None
