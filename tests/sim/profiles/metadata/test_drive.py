"""The process of the metadata profile."""

from barnabas.metadata.publication import LeaderAndEpoch
from barnabas.sim.profiles.metadata.drive import POISON, Alter, poison
from barnabas.sim.profiles.metadata.mutants import is_readable
from tests.sim.profiles.metadata.cluster import cluster
from tests.sim.profiles.metadata.test_scenarios import OFTEN, topic


def test_a_new_cluster_is_given_its_level_by_its_first_leader_alone() -> None:
    with cluster(voters=3, observers=1, knobs=(("level", 21),)) as story:
        assert story.settled()
        levels = {story.image(host).features.metadata_version for host in story.scene.hosts}
        assert levels == {21}
        old = story.leader
        story.world.kill(old)
        new = story.new_leader(than=old)
        story.world.restart(old)
        assert story.settled()
        assert story.image(new).features.metadata_version == 21


def test_whoever_leads_writes_and_everybody_has_it_and_snapshots_of_it() -> None:
    with cluster(voters=3, observers=1, knobs=OFTEN) as story:
        story.decide("register", times=40)
        assert story.settled()
        for node in story.scene.all_living():
            assert node.metadata.image.cluster.brokers
            assert node.quorum.node.outline.start_offset > 0
            assert node.readers["first"].image is node.metadata.image
            assert node.readers["vital"].leader == LeaderAndEpoch(*node.desk.known or (None, 0))


def test_a_node_that_is_stopped_ends_in_good_order_and_comes_back() -> None:
    with cluster(voters=3, knobs=OFTEN) as story:
        story.decide("register", times=20)
        old = story.leader
        story.world.stop(old)
        assert story.new_leader(than=old)
        story.until(lambda: story.world.hosts[old].process is None)
        story.world.restart(old)
        assert story.settled()


def test_who_does_not_lead_writes_nothing_and_neither_does_one_in_a_transaction() -> None:
    with cluster(voters=3) as story:
        follower = story.at(story.others(story.leader)[0])
        leader = story.at(story.leader)
        story.ask("transact", 4, 3, 2_000, 0, 0)
        story.until(lambda: leader.metadata.loader.in_transaction)
        ended: list[str] = []
        for node in (follower, leader):
            story.scene.input(node, node.write, "key", ("a",), ended.append)
        story.run(100)
        assert ended == ["refused", "refused"]
        story.until(lambda: not leader.metadata.loader.in_transaction)
        assert story.settled()


def test_an_isr_is_changed_for_who_knows_the_partition_and_for_nobody_else() -> None:
    with cluster(voters=1) as story:
        story.decide("topic")
        node = story.at("n1")
        for _ in range(40):
            if not any(each.role == "leader" for each in node.replicas.table.values()):
                story.decide("topic")
                story.decide("remove_topic")
                story.decide("topic")
        place, held = next(
            (place, held) for place, held in node.replicas.table.items() if held.role == "leader"
        )
        epochs: list[tuple[int, int]] = []
        for late in (1, 0):
            asked = Alter(place, held.leader_epoch, held.partition_epoch + late, (1,))
            story.scene.input(node, node.alter, asked, epochs.append)
            story.run(200)
        assert epochs == [(held.leader_epoch, held.partition_epoch + 1)]
        assert node.replicas.table[place].isr == (1,)


def test_batches_may_be_handed_over_one_by_one() -> None:
    with cluster(voters=3, knobs=(("one_by_one", 1),)) as story:
        away = story.others(story.leader)[0]
        story.cut_off(away)
        story.put(topic(1))
        story.put(topic(2, "payments"))
        story.heal()
        assert story.settled()
        assert story.topics(away) == ["orders", "payments"]


def test_poison_is_what_nobody_can_read() -> None:
    assert not is_readable(POISON)
    assert poison([b"a", b"b"]) == [b"a", POISON]
    assert poison([]) == []
